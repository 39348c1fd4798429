#include "tui/view.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tui/columns.h"

static const double MESSAGE_SECONDS = 5;
static const double LOWEST_SPEED = 1.0 / 16, HIGHEST_SPEED = 1024;
/* Nearer than this, one is at the mark already. */
static const double AT_MARK = 0.25;

const struct kill_choice kill_choices[] = {
    {SIGTERM, "SIGTERM", "asks it to end"},     {SIGINT, "SIGINT", "as Ctrl-C does"},
    {SIGHUP, "SIGHUP", "its terminal is gone"}, {SIGKILL, "SIGKILL", "ends it at once, unasked"},
    {SIGSTOP, "SIGSTOP", "holds it"},           {SIGCONT, "SIGCONT", "lets it go on"},
    {SIGUSR1, "SIGUSR1", "what it makes of it"}};
const size_t kill_choice_count = ARRAY_SIZE(kill_choices);

const struct bar_item bar_items[] = {
    {"F1", "Help", ACTION_HELP, false, false},
    {"F2", "Setup", ACTION_SETUP, false, false},
    {"F4", "Filter", ACTION_FILTER, false, false},
    {"F5", "Tree", ACTION_TREE, false, false},
    {"F6", "Sort", ACTION_SORT, false, false},
    {"F9", "Kill", ACTION_KILL, false, true},
    {"Space", "Pause", ACTION_PAUSE, false, false},
    {"Enter", "Zoom", ACTION_ZOOM, false, false},
    {"[", "Shorter", ACTION_SPAN_SHORTER, false, false},
    {"]", "Longer", ACTION_SPAN_LONGER, false, false},
    {"m", "Mark", ACTION_MARK, false, false},
    {"r", "Record", ACTION_RECORD, false, true},
    {"{", "Slower", ACTION_SLOWER, true, false},
    {"}", "Faster", ACTION_FASTER, true, false},
    {"F10", "Quit", ACTION_QUIT, false, false},
};
const size_t bar_item_count = ARRAY_SIZE(bar_items);

int bar_item_width(const struct bar_item *item)
{
    return (int)(strlen(item->key) + strlen(item->word)) + 1;
}

bool bar_item_shown(const struct bar_item *item, const struct model *model)
{
    return model->recorded ? !item->live_only : !item->recorded_only;
}

void view_init(struct view *view, const struct prefs *prefs)
{
    *view = (struct view){.prefs = *prefs, .process_device = SIZE_MAX};
}

void view_say(struct view *view, double now, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(view->message, sizeof(view->message), format, args);
    va_end(args);
    view->message_until = now + MESSAGE_SECONDS;
}

bool view_has_message(const struct view *view, double now)
{
    return view->message[0] && now < view->message_until;
}

double view_time(const struct view *view)
{
    return view->cursor;
}

double view_span(const struct view *view)
{
    return span_seconds(view->prefs.span);
}

static struct request request(enum request_kind kind, double number)
{
    return (struct request){kind, number};
}

static const struct request nothing = {REQUEST_NONE, 0};

static double shown_time(const struct view *view, const struct model *model)
{
    return view->cursor > 0 ? view->cursor : model->time;
}

/* In the present a step forward ends at the present, which then goes on. */
static struct request go_to(struct view *view, const struct model *model, double time)
{
    if (model->recorded)
        return request(REQUEST_SEEK, fmin(fmax(time, model->begin), model->end));
    if (time >= model->time) {
        view->paused = false;
        view->cursor = 0;
    } else {
        view->paused = true;
        view->cursor = fmax(time, model_begin(model));
    }
    return nothing;
}

static struct request step_time(struct view *view, const struct model *model, double spans)
{
    return go_to(view, model, shown_time(view, model) + spans * view_span(view));
}

static struct request toggle_pause(struct view *view, const struct model *model)
{
    view->paused = !view->paused;
    if (model->recorded)
        return request(REQUEST_PAUSE, view->paused);
    view->cursor = view->paused ? model->time : 0;
    return nothing;
}

static struct request go_to_mark(struct view *view, const struct view_context *context, bool next)
{
    const struct model *model = context->model;
    double now = shown_time(view, model);
    double near = fmax(AT_MARK, 1.5 * model->interval);
    const struct mark *found = NULL;
    for (size_t i = 0; i < model->mark_count; i++) {
        const struct mark *mark = &model->marks[i];
        if (next && mark->time > now + near) {
            found = mark;
            break;
        }
        if (!next && mark->time < now - near)
            found = mark;
    }
    if (!found) {
        view_say(view, context->now, next ? "no mark after this" : "no mark before this");
        return nothing;
    }
    /* The frame at the mark's time is of what was before it. */
    return go_to(view, model, found->time + model->interval);
}

static struct request change_span(struct view *view, const struct model *model, int step)
{
    int span = (int)view->prefs.span + step;
    if (span < 0 || span >= SPAN_COUNT)
        return nothing;
    view->prefs.span = (unsigned)span;
    /* A recording has more to show than what was played. */
    return model->recorded && step > 0 ? request(REQUEST_SEEK, model->time) : nothing;
}

static struct request change_speed(struct view *view, const struct view_context *context,
                                   double factor)
{
    if (!context->model->recorded) {
        view_say(view, context->now, "only a recording has a speed");
        return nothing;
    }
    double speed = context->model->speed > 0 ? context->model->speed * factor : HIGHEST_SPEED;
    return request(REQUEST_SPEED, fmin(fmax(speed, LOWEST_SPEED), HIGHEST_SPEED));
}

static void open_dialog(struct view *view, enum dialog dialog)
{
    view->dialog = dialog;
    view->item = 0;
    view->first_item = 0;
    view->text[0] = '\0';
    if (dialog == DIALOG_SORT)
        view->item = view->prefs.sort;
    if (dialog == DIALOG_FILTER)
        memcpy(view->text, view->filter, sizeof(view->text));
}

static void sort_by(struct view *view, enum process_column column)
{
    if (view->prefs.sort == column)
        view->prefs.descending = !view->prefs.descending;
    else
        view->prefs.descending =
            column == COLUMN_MEMORY || column == COLUMN_SM || column == COLUMN_TIME;
    view->prefs.sort = column;
}

static void move(struct view *view, const struct view_context *context, long step)
{
    bool devices = view->focus == FOCUS_DEVICES;
    size_t count = devices ? context->model->device_count : context->table->count;
    size_t *selected = devices ? &view->device : &view->process;
    if (count == 0)
        return;
    if (step < 0)
        *selected -= util_min(*selected, (size_t)-step);
    else
        *selected = util_min(*selected + (size_t)step, count - 1);
    if (!devices && *selected < context->table->count) {
        view->process_pid = context->table->rows[*selected].pid;
        view->process_device = context->table->rows[*selected].device;
    }
}

static bool table_shown(const struct view_context *context)
{
    return context->layout->processes.height > 1;
}

static long page(const struct view *view, const struct view_context *context)
{
    const struct layout *layout = context->layout;
    long rows = view->focus == FOCUS_PROCESSES
                    ? layout->processes.height - 2
                    : (long)(layout->end_device - layout->first_device) - 1;
    return rows > 1 ? rows : 1;
}

static struct request ask_kill(struct view *view, const struct view_context *context)
{
    if (!table_shown(context) || context->table->count == 0) {
        view_say(view, context->now, "there is no process to select");
        return nothing;
    }
    if (view->focus != FOCUS_PROCESSES) {
        view->focus = FOCUS_PROCESSES;
        view_say(view, context->now, "select a process with Up and Down, then press F9 or k");
        return nothing;
    }
    return request(REQUEST_ASK_KILL, 0);
}

static void go_back(struct view *view)
{
    if (view->zoomed)
        view->zoomed = false;
    else if (view->filter[0])
        view->filter[0] = '\0';
    else if (view->focus == FOCUS_PROCESSES)
        view->focus = FOCUS_DEVICES;
}

static void default_mark_name(struct view *view, const struct model *model)
{
    snprintf(view->text, sizeof(view->text), "mark %zu", model->mark_count + 1);
}

static void change_focus(struct view *view, const struct view_context *context)
{
    if (view->focus == FOCUS_DEVICES && table_shown(context))
        view->focus = FOCUS_PROCESSES;
    else
        view->focus = FOCUS_DEVICES;
}

/* Actions that concern time. */
static struct request act_in_time(struct view *view, const struct view_context *context,
                                  enum action action)
{
    const struct model *model = context->model;
    switch (action) {
    case ACTION_PAUSE:
        return toggle_pause(view, model);
    case ACTION_EARLIER:
        return step_time(view, model, -1.0 / 12);
    case ACTION_LATER:
        return step_time(view, model, 1.0 / 12);
    case ACTION_EARLIER_MUCH:
        return step_time(view, model, -1);
    case ACTION_LATER_MUCH:
        return step_time(view, model, 1);
    case ACTION_FIRST:
        return go_to(view, model, model_begin(model));
    case ACTION_LAST:
        return go_to(view, model, model_end(model));
    case ACTION_SPAN_SHORTER:
        return change_span(view, model, -1);
    case ACTION_SPAN_LONGER:
        return change_span(view, model, 1);
    case ACTION_SLOWER:
        return change_speed(view, context, 0.5);
    case ACTION_FASTER:
        return change_speed(view, context, 2);
    case ACTION_MARK_NEXT:
        return go_to_mark(view, context, true);
    case ACTION_MARK_PREVIOUS:
        return go_to_mark(view, context, false);
    case ACTION_MARK:
        open_dialog(view, DIALOG_MARK);
        default_mark_name(view, model);
        return nothing;
    case ACTION_RECORD:
        if (!model->recorded)
            return request(REQUEST_RECORD, 0);
        view_say(view, context->now, "this is a recording already");
        return nothing;
    default:
        return nothing;
    }
}

/* Actions that concern the processes. */
static struct request act_on_processes(struct view *view, const struct view_context *context,
                                       enum action action)
{
    switch (action) {
    case ACTION_SORT:
        open_dialog(view, DIALOG_SORT);
        break;
    case ACTION_SORT_MEMORY:
        sort_by(view, COLUMN_MEMORY);
        break;
    case ACTION_SORT_SM:
        sort_by(view, COLUMN_SM);
        break;
    case ACTION_SORT_TIME:
        sort_by(view, COLUMN_TIME);
        break;
    case ACTION_SORT_PID:
        sort_by(view, COLUMN_PID);
        break;
    case ACTION_INVERT:
        view->prefs.descending = !view->prefs.descending;
        break;
    case ACTION_FILTER:
        open_dialog(view, DIALOG_FILTER);
        break;
    case ACTION_TREE:
        view->prefs.tree = !view->prefs.tree;
        break;
    case ACTION_KILL:
        return ask_kill(view, context);
    default:
        break;
    }
    return nothing;
}

static struct request act(struct view *view, const struct view_context *context, enum action action)
{
    switch (action) {
    case ACTION_MODE_SOL:
    case ACTION_MODE_WATERFALL:
    case ACTION_MODE_PIPES:
    case ACTION_MODE_LINKS:
    case ACTION_MODE_POWER:
        view->prefs.mode = (unsigned)(action - ACTION_MODE_SOL);
        return nothing;
    case ACTION_ZOOM:
        view->zoomed = !view->zoomed;
        return nothing;
    case ACTION_PROCESSES:
        view->prefs.processes = !view->prefs.processes;
        view->focus = FOCUS_DEVICES;
        return nothing;
    case ACTION_BACK:
        go_back(view);
        return nothing;
    case ACTION_UP:
        move(view, context, -1);
        return nothing;
    case ACTION_DOWN:
        move(view, context, 1);
        return nothing;
    case ACTION_PAGE_UP:
        move(view, context, -page(view, context));
        return nothing;
    case ACTION_PAGE_DOWN:
        move(view, context, page(view, context));
        return nothing;
    case ACTION_FOCUS:
        change_focus(view, context);
        return nothing;
    case ACTION_HELP:
        open_dialog(view, DIALOG_HELP);
        return nothing;
    case ACTION_SETUP:
        open_dialog(view, DIALOG_SETUP);
        return nothing;
    case ACTION_REDRAW:
        return request(REQUEST_REDRAW, 0);
    case ACTION_QUIT:
        return request(REQUEST_QUIT, 0);
    default:
        break;
    }
    if (action >= ACTION_PAUSE && action <= ACTION_RECORD)
        return act_in_time(view, context, action);
    return act_on_processes(view, context, action);
}

static void drop_last_character(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] & 0xC0) == 0x80)
        length--;
    text[length > 0 ? length - 1 : 0] = '\0';
}

static void type(char *text, uint32_t code)
{
    size_t length = strlen(text);
    if (code >= 0x20 && code < 0x7F && length + 1 < VIEW_TEXT_SIZE) {
        text[length] = (char)code;
        text[length + 1] = '\0';
    }
}

static struct request handle_typing(struct view *view, const struct view_context *context,
                                    uint32_t code)
{
    bool filter = view->dialog == DIALOG_FILTER;
    switch (code) {
    case INPUT_ESCAPE:
        view->dialog = DIALOG_NONE;
        if (filter)
            view->filter[0] = '\0';
        return nothing;
    case INPUT_ENTER:
        view->dialog = DIALOG_NONE;
        if (filter || !view->text[0])
            return nothing;
        return request(REQUEST_MARK, shown_time(view, context->model));
    case INPUT_BACKSPACE:
        drop_last_character(view->text);
        break;
    case 0x15: /* Ctrl-U */
        view->text[0] = '\0';
        break;
    default:
        type(view->text, code);
        break;
    }
    if (filter)
        memcpy(view->filter, view->text, sizeof(view->filter));
    return nothing;
}

static size_t dialog_items(const struct view *view)
{
    switch (view->dialog) {
    case DIALOG_SORT:
        return COLUMN_COUNT;
    case DIALOG_KILL:
        return kill_choice_count;
    case DIALOG_SETUP:
        return pref_count;
    default:
        return ACTION_COUNT + 16; /* lines of the help; the drawing stops at the last */
    }
}

static void change_pref(struct view *view, size_t step)
{
    const struct pref *pref = &pref_table[view->item];
    unsigned *value = pref_value(&view->prefs, pref);
    *value = (unsigned)((*value + step) % pref->count);
}

/* Enter, and what stands for it. */
static struct request choose(struct view *view)
{
    switch (view->dialog) {
    case DIALOG_SORT:
        sort_by(view, (enum process_column)view->item);
        view->dialog = DIALOG_NONE;
        return nothing;
    case DIALOG_KILL:
        view->dialog = DIALOG_NONE;
        return request(REQUEST_KILL, kill_choices[view->item].signal);
    case DIALOG_SETUP:
        change_pref(view, 1);
        return nothing;
    default:
        view->dialog = DIALOG_NONE;
        return nothing;
    }
}

static struct request close_dialog(struct view *view)
{
    bool setup = view->dialog == DIALOG_SETUP;
    view->dialog = DIALOG_NONE;
    return setup ? request(REQUEST_SAVE, 0) : nothing;
}

static struct request handle_list(struct view *view, uint32_t code)
{
    size_t last = dialog_items(view) - 1;
    switch (code) {
    case INPUT_UP:
    case INPUT_WHEEL_UP:
        view->item -= util_min(view->item, 1);
        return nothing;
    case INPUT_DOWN:
    case INPUT_WHEEL_DOWN:
        view->item = util_min(view->item + 1, last);
        return nothing;
    case INPUT_PAGE_UP:
        view->item -= util_min(view->item, 8);
        return nothing;
    case INPUT_PAGE_DOWN:
        view->item = util_min(view->item + 8, last);
        return nothing;
    case INPUT_LEFT:
        if (view->dialog == DIALOG_SETUP)
            change_pref(view, pref_table[view->item].count - 1);
        return nothing;
    case INPUT_RIGHT:
    case ' ':
        return view->dialog == DIALOG_SETUP ? choose(view) : nothing;
    case INPUT_ENTER:
        return choose(view);
    case 'y':
        return view->dialog == DIALOG_KILL ? choose(view) : nothing;
    case INPUT_ESCAPE:
    case 'q':
    case 'n':
        return close_dialog(view);
    default:
        break;
    }
    enum action action = action_of(code);
    bool same = (action == ACTION_HELP && view->dialog == DIALOG_HELP) ||
                (action == ACTION_SETUP && view->dialog == DIALOG_SETUP) || action == ACTION_QUIT;
    return same ? close_dialog(view) : nothing;
}

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
            return act(view, context, bar_items[i].action);
        at += width;
    }
    return nothing;
}

static void click_table(struct view *view, const struct view_context *context,
                        const struct input *input)
{
    struct rect table = context->layout->processes;
    if (input->y > table.y) {
        view->focus = FOCUS_PROCESSES;
        view->process = view->first_process + (size_t)(input->y - table.y - 1);
        move(view, context, 0);
        return;
    }
    struct column_span spans[COLUMN_COUNT];
    size_t count = columns_place(&view->prefs, table.width, spans);
    for (size_t i = 0; i < count; i++)
        if (input->x >= spans[i].x && input->x <= spans[i].x + spans[i].width)
            sort_by(view, spans[i].column);
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

static struct request handle_mouse(struct view *view, const struct view_context *context,
                                   const struct input *input)
{
    const struct layout *layout = context->layout;
    bool in_table = inside(layout->processes, input);
    if (input->code == INPUT_WHEEL_UP || input->code == INPUT_WHEEL_DOWN) {
        view->focus = in_table ? FOCUS_PROCESSES : FOCUS_DEVICES;
        move(view, context, input->code == INPUT_WHEEL_UP ? -1 : 1);
    } else if (inside(layout->keys, input))
        return click_bar(view, context, input->x);
    else if (in_table)
        click_table(view, context, input);
    else if (inside(layout_track(layout->timeline), input)) {
        struct rect track = layout_track(layout->timeline);
        double part = (input->x - track.x + 0.5) / track.width;
        const struct model *model = context->model;
        double begin = model_begin(model);
        return go_to(view, model, begin + part * (model_end(model) - begin));
    } else
        click_devices(view, context, input);
    return nothing;
}

struct request view_handle(struct view *view, const struct view_context *context,
                           const struct input *input)
{
    view->message[0] = '\0';
    bool mouse = input->code >= INPUT_CLICK && input->code <= INPUT_WHEEL_DOWN;
    if (view->dialog == DIALOG_FILTER || view->dialog == DIALOG_MARK)
        return handle_typing(view, context, input->code);
    if (view->dialog != DIALOG_NONE)
        return input->code == INPUT_CLICK ? close_dialog(view) : handle_list(view, input->code);
    if (mouse)
        return handle_mouse(view, context, input);
    return act(view, context, action_of(input->code));
}

static size_t find_process(const struct view *view, const struct process_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].pid == view->process_pid &&
            table->rows[i].device == view->process_device)
            return i;
    return SIZE_MAX;
}

static size_t bounded(size_t value, size_t count)
{
    return count == 0 ? 0 : util_min(value, count - 1);
}

void view_settle(struct view *view, const struct view_context *context)
{
    const struct model *model = context->model;
    const struct process_table *table = context->table;
    view->device = bounded(view->device, model->device_count);
    if (model->device_count == 0)
        view->zoomed = false;
    view->first_device =
        view->zoomed ? view->device : bounded(view->first_device, model->device_count);

    size_t process = find_process(view, table);
    view->process = process != SIZE_MAX ? process : bounded(view->process, table->count);
    size_t rows =
        context->layout->processes.height > 1 ? (size_t)context->layout->processes.height - 1 : 1;
    if (view->process < view->first_process)
        view->first_process = view->process;
    if (view->process >= view->first_process + rows)
        view->first_process = view->process - rows + 1;
    if (table->count <= rows)
        view->first_process = 0;
}
