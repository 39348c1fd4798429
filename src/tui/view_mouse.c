#include "tui/view_parts.h"

#include <string.h>

#include "tui/columns.h"

static bool inside(struct rect rect, const struct input *input)
{
    return input->x >= rect.x && input->x < rect.x + rect.width && input->y >= rect.y &&
           input->y < rect.y + rect.height;
}

static struct request click_bar(struct view *view, const struct view_context *context, int x)
{
    int at = 0;
    for (size_t i = 0; i < bar_item_count; i++) {
        if (!bar_item_shown(&bar_items[i], context->model))
            continue;
        int width = bar_item_width(&bar_items[i]);
        if (x >= at && x < at + width)
            return view_act(view, context, bar_items[i].action);
        at += width;
    }
    return view_no_request;
}

static void click_title(struct view *view, int width, int x)
{
    int at = VIEW_TABS_X;
    for (unsigned i = 0; i < MODE_COUNT && width >= VIEW_TABS_MIN_WIDTH; i++) {
        int tab = (int)strlen(mode_titles[i]) + 2;
        if (x >= at && x < at + tab)
            view->prefs.mode = i;
        at += tab;
    }
}

/* A second time: the other way round. */
static void click_head(struct view *view, enum process_column column)
{
    if (view->prefs.sort == column)
        view->prefs.descending = !view->prefs.descending;
    else
        view_sort_by(view, column);
}

static void click_table(struct view *view, const struct view_context *context,
                        const struct input *input)
{
    struct rect table = context->layout->processes;
    if (input->y > table.y) {
        view->focus = FOCUS_PROCESSES;
        view->process = view->first_process + (size_t)(input->y - table.y - 1);
        view_move(view, context, 0);
        return;
    }
    struct column_span spans[COLUMN_COUNT];
    size_t count = columns_place(&view->prefs, table.width, spans);
    for (size_t i = 0; i < count; i++)
        if (input->x >= spans[i].x && input->x <= spans[i].x + spans[i].width)
            return click_head(view, spans[i].column);
}

static void click_devices(struct view *view, const struct view_context *context,
                          const struct input *input)
{
    for (size_t i = 0; i < context->layout->panel_count; i++)
        if (inside(context->layout->panels[i].area, input)) {
            view->focus = FOCUS_DEVICES;
            view->device = context->layout->panels[i].device;
            if (input->code == INPUT_DOUBLE_CLICK)
                view->zoomed = !view->zoomed;
        }
}

struct request view_handle_mouse(struct view *view, const struct view_context *context,
                                 const struct input *input)
{
    const struct layout *layout = context->layout;
    bool in_table = inside(layout->processes, input);
    if (input->code == INPUT_WHEEL_UP || input->code == INPUT_WHEEL_DOWN) {
        view->focus = in_table ? FOCUS_PROCESSES : FOCUS_DEVICES;
        view_move(view, context, input->code == INPUT_WHEEL_UP ? -1 : 1);
    } else if (inside(layout->keys, input))
        return click_bar(view, context, input->x);
    else if (inside(layout->title, input))
        click_title(view, layout->title.width, input->x);
    else if (in_table)
        click_table(view, context, input);
    else if (inside(layout_track(layout->timeline), input)) {
        struct rect track = layout_track(layout->timeline);
        double part = (input->x - track.x + 0.5) / track.width;
        const struct model *model = context->model;
        double begin = model_begin(model);
        return view_go_to(view, model, begin + part * (model_end(model) - begin));
    } else
        click_devices(view, context, input);
    return view_no_request;
}
