/* Text inside XML and HTML. */
#pragma once

#include "base/strbuf.h"

/* Adds the text with what means something in XML escaped, in attributes too. Control characters
 * become spaces: XML knows none, escaped or not. */
void xml_put_text(struct strbuf *out, const char *text);
