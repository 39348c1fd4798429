/* What the person looks at: modes, selections, time, dialogs. Keys change it; nothing here knows a
 * terminal or a driver. What a key asks of the program comes back as a request. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tui/keys.h"
#include "tui/layout.h"
#include "tui/model.h"
#include "tui/prefs.h"
#include "tui/processes.h"

enum focus { FOCUS_DEVICES, FOCUS_PROCESSES };

enum dialog {
    DIALOG_NONE,
    DIALOG_HELP,
    DIALOG_SETUP,
    DIALOG_SORT,
    DIALOG_KILL,
    DIALOG_FILTER, /* typed into the bar at the bottom */
    DIALOG_MARK,   /* the same */
};

enum { VIEW_TEXT_SIZE = 64, VIEW_MESSAGE_SIZE = 200 };

/* The process that a signal would go to, settled when the dialog opens. */
struct view_victim {
    pid_t pid;
    char user[32];
    char command[128];
};

struct view {
    struct prefs prefs; /* the present ones, saved on request */
    enum focus focus;
    bool zoomed;
    size_t device;       /* selected */
    size_t first_device; /* at the top, where not all fit */

    size_t process; /* selected row of the table, and what it is: rows move */
    pid_t process_pid;
    size_t process_device;
    size_t first_process;

    bool paused;
    double cursor; /* live: the time that is shown while paused; 0: the present */

    enum dialog dialog;
    size_t item;               /* selected in a dialog's list */
    size_t first_item;         /* at its top */
    char text[VIEW_TEXT_SIZE]; /* being typed */
    char filter[VIEW_TEXT_SIZE];
    struct view_victim victim;

    char message[VIEW_MESSAGE_SIZE];
    double message_until; /* monotonic */
};

enum request_kind {
    REQUEST_NONE,
    REQUEST_QUIT,
    REQUEST_REDRAW,
    REQUEST_PAUSE,    /* recording: number is 1 to stop, 0 to play */
    REQUEST_SEEK,     /* recording: to the time `number` */
    REQUEST_SPEED,    /* recording: to the factor `number` */
    REQUEST_MARK,     /* at the time `number`, with the view's text as its name */
    REQUEST_RECORD,   /* start, or stop */
    REQUEST_ASK_KILL, /* of the selected process: may it be? then DIALOG_KILL */
    REQUEST_KILL,     /* the victim, by the signal `number` */
    REQUEST_SAVE,     /* the preferences */
};

struct request {
    enum request_kind kind;
    double number;
};

/* What a key can refer to; all of the last frame. */
struct view_context {
    const struct model *model;
    const struct process_table *table;
    const struct layout *layout;
    double now; /* monotonic */
};

void view_init(struct view *view, const struct prefs *prefs);
struct request view_handle(struct view *view, const struct view_context *context,
                           const struct input *input);

/* Brings selections into bounds after devices or processes have changed, and follows the selected
 * process to its present row. */
void view_settle(struct view *view, const struct view_context *context);

/* Shows a message for some seconds in the bar at the bottom. */
void view_say(struct view *view, double now, const char *format, ...) PRINTF_LIKE(3, 4);
bool view_has_message(const struct view *view, double now);

/* The time that is shown: 0 for the present. */
double view_time(const struct view *view);
double view_span(const struct view *view);

/* Signals that the kill dialog offers. */
struct kill_choice {
    int signal;
    const char *name;
    const char *help;
};
extern const struct kill_choice kill_choices[];
extern const size_t kill_choice_count;

/* The modes in the title, each with a column before and behind its word; on a narrow screen only
 * the present one. */
enum { VIEW_TABS_X = 10, VIEW_TABS_MIN_WIDTH = 72 };
extern const char *const mode_titles[];

/* The bar at the bottom: keys with a word each. */
struct bar_item {
    const char *key;
    const char *word;
    enum action action;
    bool recorded_only;
    bool live_only;
};
extern const struct bar_item bar_items[];
extern const size_t bar_item_count;
/* Columns that an item takes, with the gap behind it. */
int bar_item_width(const struct bar_item *item);
bool bar_item_shown(const struct bar_item *item, const struct model *model);
