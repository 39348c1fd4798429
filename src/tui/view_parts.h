/* What view.c, view_dialog.c and view_mouse.c share. Part of the view. */
#pragma once

#include "tui/view.h"

extern const struct request view_no_request;

static inline struct request view_request(enum request_kind kind, double number)
{
    return (struct request){kind, number};
}

double view_shown_time(const struct view *view, const struct model *model);
struct request view_act(struct view *view, const struct view_context *context, enum action action);
/* Moves the selection in the list that has the focus. */
void view_move(struct view *view, const struct view_context *context, long step);
/* In the column's usual order, unless it is the one already. */
void view_sort_by(struct view *view, enum process_column column);
/* In the present a step forward ends at the present, which then goes on. */
struct request view_go_to(struct view *view, const struct model *model, double time);

struct request view_type(struct view *view, const struct view_context *context, uint32_t code);
struct request view_handle_list(struct view *view, uint32_t code);
struct request view_close_dialog(struct view *view);
struct request view_handle_mouse(struct view *view, const struct view_context *context,
                                 const struct input *input);
