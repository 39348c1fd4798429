#include "tui/columns.h"

static const struct {
    const char *title;
    int width;
    bool number;
    int rank; /* where the room is short, the highest go first */
} columns[COLUMN_COUNT] = {
    [COLUMN_PID] = {"PID", 8, true, 1},
    [COLUMN_USER] = {"USER", 10, false, 3},
    [COLUMN_GPU] = {"GPU", 4, true, 2},
    [COLUMN_TYPE] = {"TYPE", 8, false, 6},
    [COLUMN_MEMORY] = {"MEMORY", 7, true, 1},
    [COLUMN_SM] = {"SM %", 6, true, 5},
    [COLUMN_TIME] = {"TIME", 8, true, 4},
    [COLUMN_CONTAINER] = {"CONTAINER/JOB", 20, false, 7},
    [COLUMN_COMMAND] = {"COMMAND", 8, false, 0},
};

const char *column_title(enum process_column column)
{
    return columns[column].title;
}

bool column_is_number(enum process_column column)
{
    return columns[column].number;
}

static int width_of_all(const bool *wanted)
{
    int width = 0;
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (wanted[i])
            width += columns[i].width + 1;
    return width;
}

static int highest_rank(const bool *wanted)
{
    int highest = -1;
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (wanted[i] && (highest < 0 || columns[i].rank > columns[highest].rank))
            highest = i;
    return highest;
}

size_t columns_place(const struct prefs *prefs, int width, struct column_span *ret)
{
    bool wanted[COLUMN_COUNT];
    for (int i = 0; i < COLUMN_COUNT; i++)
        wanted[i] = prefs->column[i];
    while (width_of_all(wanted) > width + 1 && highest_rank(wanted) >= 0)
        wanted[highest_rank(wanted)] = false;

    size_t count = 0;
    int x = 0;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (!wanted[i])
            continue;
        int columns_left = width - x;
        int taken = i == COLUMN_COMMAND ? columns_left : columns[i].width;
        ret[count++] = (struct column_span){(enum process_column)i, x, taken};
        x += taken + 1;
    }
    return count;
}
