/* UTF-8, for text that comes from drivers and from other people's processes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Bytes of the well-formed sequence that `text` begins with, 1 to 4, or 0 where it is malformed
 * (overlong, surrogate, truncated or stray). */
size_t utf8_sequence_length(const char *text);

/* The character of a well-formed sequence, and the sequence of a character. */
uint32_t utf8_character(const char *sequence, size_t length);
void utf8_put(struct strbuf *out, uint32_t character);

/* Copies text that may hold anything into `ret`, of `size` bytes, as well-formed UTF-8 on one line:
 * malformed bytes and control characters become U+FFFD, line ends and tabs become spaces; what does
 * not fit is cut between characters. Returns the length. */
size_t utf8_clean(char *ret, size_t size, const char *text);

/* Characters (code points) in well-formed text. */
size_t utf8_count(const char *text);
