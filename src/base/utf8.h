/* UTF-8, for text that comes from drivers and from other people's processes. */
#pragma once

#include <stddef.h>

/* Bytes of the well-formed sequence that `text` begins with, 1 to 4, or 0 where it is malformed
 * (overlong, surrogate, truncated or stray). */
size_t utf8_sequence_length(const char *text);
