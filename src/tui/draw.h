/* From the model and the view to a screen of cells. */
#pragma once

#include "tui/cells.h"
#include "tui/layout.h"
#include "tui/model.h"
#include "tui/processes.h"
#include "tui/view.h"

/* The same for all headers, so that numbers stand below each other. */
struct header_form {
    int length; /* how much words are shortened */
    int bar;    /* columns of each bar */
};

/* All that a panel needs to draw itself. */
struct draw {
    struct cells *cells;
    const struct model *model;
    const struct view *view;
    const struct process_table *table;
    struct layout *layout;
    double now; /* monotonic */
    struct header_form header;
};

/* Computes the layout for the cells' size, settles the view by it, and draws. The cells' character
 * set and size are the caller's. */
void draw_screen(struct cells *cells, const struct model *model, struct view *view,
                 const struct process_table *table, struct layout *layout, double now);

/* Part of draw_screen(), one file each. */
void draw_title(const struct draw *draw, struct rect rect);
void draw_device(const struct draw *draw, const struct panel *panel);
void draw_processes(const struct draw *draw, struct rect rect);
void draw_timeline(const struct draw *draw, struct rect rect);
void draw_bar(const struct draw *draw, struct rect rect);
/* Returns the item that is selected, within those that there are. */
size_t draw_dialog(const struct draw *draw);
