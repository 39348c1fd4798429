/* Text to numbers, strictly: the whole text must be a number, and a finite one.
 * Each returns 0, -EINVAL (not of the form) or -ERANGE, and leaves the output alone on failure. */
#pragma once

#include <stdint.h>

#include "base/util.h"

MUST_CHECK int parse_double(const char *text, double *ret);
MUST_CHECK int parse_unsigned(const char *text, uint64_t *ret);

/* Seconds: "0.1", "250ms", "5s", "2m", "1h". */
MUST_CHECK int parse_duration(const char *text, double *ret_seconds);

/* Bytes: "512", "8G", "8GiB" (powers of 1024), "8GB" (powers of 1000). */
MUST_CHECK int parse_bytes(const char *text, uint64_t *ret_bytes);
