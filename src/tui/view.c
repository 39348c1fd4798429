#include "tui/view.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tui/view_parts.h"

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

const char *const mode_titles[MODE_COUNT] = {"SOL", "waterfall", "pipes", "links", "power"};

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

const struct request view_no_request = {REQUEST_NONE, 0};

double view_shown_time(const struct view *view, const struct model *model)
{
    return view->cursor > 0 ? view->cursor : model->time;
}

/* In the present a step forward ends at the present, which then goes on. */
struct request view_go_to(struct view *view, const struct model *model, double time)
{
    if (model->recorded)
        return view_request(REQUEST_SEEK, fmin(fmax(time, model->begin), model->end));
    if (time >= model->time) {
        view->paused = false;
        view->cursor = 0;
    } else {
        view->paused = true;
        view->cursor = fmax(time, model_begin(model));
    }
    return view_no_request;
}

static struct request step_time(struct view *view, const struct model *model, double spans)
{
    return view_go_to(view, model, view_shown_time(view, model) + spans * view_span(view));
}

static struct request toggle_pause(struct view *view, const struct model *model)
{
    view->paused = !view->paused;
    if (model->recorded)
        return view_request(REQUEST_PAUSE, view->paused);
    view->cursor = view->paused ? model->time : 0;
    return view_no_request;
}

static struct request go_to_mark(struct view *view, const struct view_context *context, bool next)
{
    const struct model *model = context->model;
    double now = view_shown_time(view, model);
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
        return view_no_request;
    }
    /* The frame at the mark's time is of what was before it. */
    return view_go_to(view, model, found->time + model->interval);
}

static struct request change_span(struct view *view, const struct model *model, int step)
{
    int span = (int)view->prefs.span + step;
    if (span < 0 || span >= SPAN_COUNT)
        return view_no_request;
    view->prefs.span = (unsigned)span;
    /* A recording has more to show than what was played. */
    return model->recorded && step > 0 ? view_request(REQUEST_SEEK, model->time) : view_no_request;
}

static struct request change_speed(struct view *view, const struct view_context *context,
                                   double factor)
{
    if (!context->model->recorded) {
        view_say(view, context->now, "only a recording has a speed");
        return view_no_request;
    }
    double speed = context->model->speed > 0 ? context->model->speed * factor : HIGHEST_SPEED;
    return view_request(REQUEST_SPEED, fmin(fmax(speed, LOWEST_SPEED), HIGHEST_SPEED));
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

void view_sort_by(struct view *view, enum process_column column)
{
    if (view->prefs.sort != column)
        view->prefs.descending =
            column == COLUMN_MEMORY || column == COLUMN_SM || column == COLUMN_TIME;
    view->prefs.sort = column;
}

/* The selection is the row's process from now on. */
static void select_process(struct view *view, const struct process_table *table)
{
    if (view->process >= table->count)
        return;
    view->process_pid = table->rows[view->process].pid;
    view->process_device = table->rows[view->process].device;
}

void view_move(struct view *view, const struct view_context *context, long step)
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
    if (!devices)
        select_process(view, context->table);
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

/* For what is done to the selected process: false, with a hint, where none is selected yet. */
static bool process_selected(struct view *view, const struct view_context *context,
                             const char *keys)
{
    if (!table_shown(context) || context->table->count == 0)
        view_say(view, context->now, "there is no process to select");
    else if (view->focus != FOCUS_PROCESSES) {
        view->focus = FOCUS_PROCESSES;
        view_say(view, context->now, "select a process with Up and Down, then press %s", keys);
    } else
        return true;
    return false;
}

static struct request ask_kill(struct view *view, const struct view_context *context)
{
    return process_selected(view, context, "F9 or k") ? view_request(REQUEST_ASK_KILL, 0)
                                                      : view_no_request;
}

static void toggle_user(struct view *view, const struct view_context *context)
{
    if (view->filter[0])
        view->filter[0] = '\0';
    else if (process_selected(view, context, "u"))
        snprintf(view->filter, sizeof(view->filter), "%s",
                 context->table->rows[view->process].user);
}

/* One list goes on into the other. */
static void step(struct view *view, const struct view_context *context, bool down)
{
    bool devices = view->focus == FOCUS_DEVICES;
    bool onward = down ? devices && view->device + 1 >= context->model->device_count &&
                             table_shown(context) && context->table->count > 0
                       : !devices && view->process == 0;
    if (onward)
        view->focus = devices ? FOCUS_PROCESSES : FOCUS_DEVICES;
    else
        view_move(view, context, down ? 1 : -1);
}

/* The first row or the last, while the processes are what the keys are about. */
static bool move_to_end(struct view *view, const struct view_context *context, enum action action)
{
    if (view->focus != FOCUS_PROCESSES || (action != ACTION_FIRST && action != ACTION_LAST))
        return false;
    long count = (long)context->table->count;
    view_move(view, context, action == ACTION_FIRST ? -count : count);
    return true;
}

/* Among the processes the selected GPU is that of the selected one. */
static void zoom(struct view *view, const struct view_context *context)
{
    const struct process_table *table = context->table;
    view->zoomed = !view->zoomed;
    if (view->zoomed && view->focus == FOCUS_PROCESSES && view->process < table->count)
        view->device = table->rows[view->process].device;
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
        return view_go_to(view, model, model_begin(model));
    case ACTION_LAST:
        return view_go_to(view, model, model_end(model));
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
        return view_no_request;
    case ACTION_RECORD:
        if (!model->recorded)
            return view_request(REQUEST_RECORD, 0);
        view_say(view, context->now, "this is a recording already");
        return view_no_request;
    default:
        return view_no_request;
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
        view_sort_by(view, COLUMN_MEMORY);
        break;
    case ACTION_SORT_SM:
        view_sort_by(view, COLUMN_SM);
        break;
    case ACTION_SORT_TIME:
        view_sort_by(view, COLUMN_TIME);
        break;
    case ACTION_SORT_PID:
        view_sort_by(view, COLUMN_PID);
        break;
    case ACTION_INVERT:
        view->prefs.descending = !view->prefs.descending;
        break;
    case ACTION_ASCENDING:
    case ACTION_DESCENDING:
        view->prefs.descending = action == ACTION_DESCENDING;
        break;
    case ACTION_FILTER:
        open_dialog(view, DIALOG_FILTER);
        break;
    case ACTION_USER:
        toggle_user(view, context);
        break;
    case ACTION_TREE:
        view->prefs.tree = !view->prefs.tree;
        break;
    case ACTION_KILL:
        return ask_kill(view, context);
    default:
        break;
    }
    return view_no_request;
}

struct request view_act(struct view *view, const struct view_context *context, enum action action)
{
    switch (action) {
    case ACTION_MODE_SOL:
    case ACTION_MODE_WATERFALL:
    case ACTION_MODE_PIPES:
    case ACTION_MODE_LINKS:
    case ACTION_MODE_POWER:
        view->prefs.mode = (unsigned)(action - ACTION_MODE_SOL);
        return view_no_request;
    case ACTION_ZOOM:
        zoom(view, context);
        return view_no_request;
    case ACTION_PROCESSES:
        view->prefs.processes = !view->prefs.processes;
        view->focus = FOCUS_DEVICES;
        return view_no_request;
    case ACTION_BACK:
        go_back(view);
        return view_no_request;
    case ACTION_UP:
    case ACTION_DOWN:
        step(view, context, action == ACTION_DOWN);
        return view_no_request;
    case ACTION_PAGE_UP:
        view_move(view, context, -page(view, context));
        return view_no_request;
    case ACTION_PAGE_DOWN:
        view_move(view, context, page(view, context));
        return view_no_request;
    case ACTION_FOCUS:
        change_focus(view, context);
        return view_no_request;
    case ACTION_HELP:
        open_dialog(view, DIALOG_HELP);
        return view_no_request;
    case ACTION_SETUP:
        open_dialog(view, DIALOG_SETUP);
        return view_no_request;
    case ACTION_REDRAW:
        return view_request(REQUEST_REDRAW, 0);
    case ACTION_QUIT:
        return view_request(REQUEST_QUIT, 0);
    default:
        break;
    }
    if (move_to_end(view, context, action))
        return view_no_request;
    if (action >= ACTION_PAUSE && action <= ACTION_RECORD)
        return act_in_time(view, context, action);
    return act_on_processes(view, context, action);
}

struct request view_handle(struct view *view, const struct view_context *context,
                           const struct input *input)
{
    view->message[0] = '\0';
    bool mouse = input->code >= INPUT_CLICK && input->code <= INPUT_WHEEL_DOWN;
    if (view->dialog == DIALOG_FILTER || view->dialog == DIALOG_MARK)
        return view_type(view, context, input->code);
    if (view->dialog != DIALOG_NONE)
        return input->code == INPUT_CLICK ? view_close_dialog(view)
                                          : view_handle_list(view, input->code);
    if (mouse)
        return view_handle_mouse(view, context, input);
    return view_act(view, context, action_of(input->code));
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
    if (view->focus == FOCUS_PROCESSES)
        select_process(view, table);
    size_t rows =
        context->layout->processes.height > 1 ? (size_t)context->layout->processes.height - 1 : 1;
    if (view->process < view->first_process)
        view->first_process = view->process;
    if (view->process >= view->first_process + rows)
        view->first_process = view->process - rows + 1;
    if (table->count <= rows)
        view->first_process = 0;
}
