#include "tui/view_parts.h"

#include <string.h>

#include "base/utf8.h"

static void drop_last_character(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] & 0xC0) == 0x80)
        length--;
    text[length > 0 ? length - 1 : 0] = '\0';
}

static void type(char *text, uint32_t code)
{
    struct strbuf typed = {0};
    bool printable = (code >= 0x20 && code < 0x7F) || (code >= 0xA0 && code < INPUT_ENTER);
    if (printable)
        utf8_put(&typed, code);
    if (strlen(text) + typed.length < VIEW_TEXT_SIZE)
        strcat(text, strbuf_text(&typed));
    strbuf_free(&typed);
}

struct request view_type(struct view *view, const struct view_context *context, uint32_t code)
{
    bool filter = view->dialog == DIALOG_FILTER;
    switch (code) {
    case INPUT_ESCAPE:
        view->dialog = DIALOG_NONE;
        if (filter)
            view->filter[0] = '\0';
        return view_no_request;
    case INPUT_ENTER:
        view->dialog = DIALOG_NONE;
        if (filter || !view->text[0])
            return view_no_request;
        return view_request(REQUEST_MARK, view_shown_time(view, context->model));
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
    return view_no_request;
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
        view_sort_by(view, (enum process_column)view->item);
        view->dialog = DIALOG_NONE;
        return view_no_request;
    case DIALOG_KILL:
        view->dialog = DIALOG_NONE;
        return view_request(REQUEST_KILL, kill_choices[view->item].signal);
    case DIALOG_SETUP:
        change_pref(view, 1);
        return view_no_request;
    default:
        view->dialog = DIALOG_NONE;
        return view_no_request;
    }
}

struct request view_close_dialog(struct view *view)
{
    bool setup = view->dialog == DIALOG_SETUP;
    view->dialog = DIALOG_NONE;
    return setup ? view_request(REQUEST_SAVE, 0) : view_no_request;
}

struct request view_handle_list(struct view *view, uint32_t code)
{
    size_t last = dialog_items(view) - 1;
    switch (code) {
    case INPUT_UP:
    case INPUT_WHEEL_UP:
        view->item -= util_min(view->item, 1);
        return view_no_request;
    case INPUT_DOWN:
    case INPUT_WHEEL_DOWN:
        view->item = util_min(view->item + 1, last);
        return view_no_request;
    case INPUT_PAGE_UP:
        view->item -= util_min(view->item, 8);
        return view_no_request;
    case INPUT_PAGE_DOWN:
        view->item = util_min(view->item + 8, last);
        return view_no_request;
    case INPUT_LEFT:
        if (view->dialog == DIALOG_SETUP)
            change_pref(view, pref_table[view->item].count - 1);
        return view_no_request;
    case INPUT_RIGHT:
    case ' ':
        return view->dialog == DIALOG_SETUP ? choose(view) : view_no_request;
    case INPUT_ENTER:
        return choose(view);
    case 'y':
        return view->dialog == DIALOG_KILL ? choose(view) : view_no_request;
    case INPUT_ESCAPE:
    case 'q':
    case 'n':
        return view_close_dialog(view);
    default:
        break;
    }
    enum action action = action_of(code);
    bool same = (action == ACTION_HELP && view->dialog == DIALOG_HELP) ||
                (action == ACTION_SETUP && view->dialog == DIALOG_SETUP) || action == ACTION_QUIT;
    return same ? view_close_dialog(view) : view_no_request;
}
