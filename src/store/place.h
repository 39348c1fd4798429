/* Where this user's stored data are. */
#pragma once

#include "base/strbuf.h"
#include "base/util.h"

/* Adds the path of a file in the folder rooftop of $XDG_DATA_HOME, or of /var/lib for root, or of
 * ~/.local/share. Returns 0, -ENOENT where there is no such place, or -ENOMEM. */
MUST_CHECK int store_path(const char *file, struct strbuf *out);
