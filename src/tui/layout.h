/* Where everything goes: sizes in, rectangles out. Pure: no terminal, no clock, no allocation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tui/cells.h"

enum { LAYOUT_MAX_PANELS = 512 };

struct layout_input {
    int width;
    int height;
    size_t device_count;
    const bool *nested;  /* device i is a MIG instance: a row below its GPU; NULL: none is */
    size_t first_device; /* the first to be shown, where not all fit */
    bool zoomed;         /* first_device alone, with everything about it */
    size_t process_rows; /* as many as there are to show */
    bool processes_hidden;
    bool timeline;
};

/* How much of a device is shown. */
enum panel_form {
    FORM_ROW,   /* one line */
    FORM_BRIEF, /* two lines: numbers and the verdict */
    FORM_FULL,  /* numbers, verdict, and a chart */
};

/* Rectangles without room have a height or width of 0. */
struct panel {
    size_t device;
    enum panel_form form;
    struct rect area; /* the others are within */
    struct rect header;
    struct rect verdict;
    struct rect chart;
    struct rect side; /* links beside the chart */
};

struct layout {
    struct rect title;
    struct rect devices;
    struct rect processes; /* its first row is the table's head */
    struct rect timeline;
    struct rect keys;
    size_t first_device; /* as asked for, kept in bounds */
    size_t end_device;   /* one past the last that is shown */
    size_t panel_count;
    struct panel panels[LAYOUT_MAX_PANELS];
};

/* The part of the time line that stands for the recording's span. */
struct rect layout_track(struct rect timeline);

void layout_compute(const struct layout_input *input, struct layout *ret);
