/* Where the columns of the process table stand. */
#pragma once

#include <stddef.h>

#include "tui/prefs.h"

struct column_span {
    enum process_column column;
    int x; /* from the table's left edge */
    int width;
};

const char *column_title(enum process_column column);
/* Numbers stand flush right. */
bool column_is_number(enum process_column column);

/* The columns that are wanted and fit, at most COLUMN_COUNT; the command takes the rest. */
size_t columns_place(const struct prefs *prefs, int width, struct column_span *ret);
