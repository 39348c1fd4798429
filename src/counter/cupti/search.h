/* Where libcupti may lie. */
#pragma once

#include <stdbool.h>

/* The path in ROOFTOP_CUPTI, or NULL where it is not set or the program has raised privileges. */
const char *cupti_search_override(void);

/* Calls back for each candidate, newest of each place first, until `visit` returns false. A name
 * without a slash is for the loader's own search. As root only files come whose whole path belongs
 * to root and cannot be written by others, and none from a person's Python environment. */
void cupti_search(bool (*visit)(void *context, const char *path), void *context);
