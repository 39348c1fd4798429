/* What a terminal sends, as keys: the sequences of ECMA-48 that xterm and its like use, rxvt's and
 * the Linux console's own, the mouse, UTF-8, and the answer to the question for the background. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tui/keys.h"

/* Reads one input from the beginning of `bytes`; its code is INPUT_NONE where it means nothing
 * here. Returns the bytes that it took, or 0 where more must come first: `whole` says that nothing
 * will, and an Escape that begins no sequence is the key then. `length` is at least 1. */
size_t input_parse(const char *bytes, size_t length, bool whole, struct input *ret);

/* The bytes begin an answer, whose rest is on its way. */
bool input_begins_answer(const char *bytes, size_t length);
