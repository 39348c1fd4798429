#include "tui/top.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "monitor/recording.h"
#include "tui/cost.h"
#include "tui/draw.h"
#include "tui/feed.h"
#include "tui/screen.h"
#include "tui/victim.h"

/* The table follows its processes this often, and what a key asks at once. */
static const double TABLE_PERIOD = 0.5;
/* One screen as text is not held up longer by a device that does not answer. */
static const double ONCE_PATIENCE = 5;

struct top {
    const struct top_options *options;
    struct loop *loop;
    struct monitor *monitor;
    struct feed feed;
    struct screen *screen;
    struct recording *recording;

    struct model model;
    struct view view;
    struct process_table table;
    struct layout layout;
    struct cells cells;

    struct loop_timer *frame_timer;
    struct cost_meter meter;
    double drawn;              /* when the last frame was, monotonic */
    double table_filled;       /* the same for the table */
    unsigned table_generation; /* of the devices that its rows name */
    bool awaits_frame;         /* the timer is set */
    bool listens;              /* to the monitor */
    struct victim victim;
};

/* The table, and what is selected in it, of the model as it is now. */
static int fill_table(struct top *top)
{
    struct process_lookup lookup = feed_lookup(&top->feed);
    struct process_query query = {
        .sort = (enum process_column)top->view.prefs.sort,
        .descending = top->view.prefs.descending,
        .tree = top->view.prefs.tree,
        .filter = top->view.filter,
        .only_device = top->view.zoomed ? top->view.device : SIZE_MAX,
    };
    top->table_filled = clock_monotonic();
    top->table_generation = top->feed.generation;
    int r = process_table_fill(&top->table, &top->model, &query, &lookup);
    struct view_context context = {&top->model, &top->table, &top->layout, top->table_filled};
    view_settle(&top->view, &context);
    return r;
}

static void fail(struct top *top, int error)
{
    loop_stop(top->loop, error);
}

/* Sampling slows down with the drawing, since it may be what costs so much. */
static void sample_within_budget(struct top *top)
{
    double interval =
        fmax(top->model.interval, top->model.cost.slowed ? top->model.cost.frame_period : 0);
    if (top->model.recorded || interval == monitor_sampling_interval(top->monitor))
        return;
    int r = monitor_set_interval(top->monitor, interval);
    if (r < 0)
        fail(top, r);
}

static void draw(struct top *top)
{
    double now = clock_monotonic();
    int width, height;
    screen_size(top->screen, &width, &height);
    screen_adopt(top->screen, &top->view.prefs);
    top->cells.charset = screen_charset(top->view.prefs.characters);
    int r = cells_resize(&top->cells, width, height);
    if (r == 0 && now - top->table_filled >= TABLE_PERIOD)
        r = fill_table(top);
    if (r < 0) {
        fail(top, r);
        return;
    }
    draw_screen(&top->cells, &top->model, &top->view, &top->table, &top->layout, now);
    screen_show(top->screen, &top->cells);
    top->drawn = now;
    if (cost_update(&top->meter, &top->model.cost, now))
        sample_within_budget(top);
    /* A message goes by itself; a frame that comes before it sets the timer anew. */
    double left = top->view.message_until - now;
    if (top->view.message[0] && left > 0 && !top->awaits_frame)
        loop_timer_set(top->frame_timer, left + 0.01, 0);
}

/* Now, or as soon as the next frame may be. */
static void ask_for_frame(struct top *top)
{
    double wait = top->drawn + top->model.cost.frame_period - clock_monotonic();
    if (top->awaits_frame)
        return;
    if (wait <= 0) {
        draw(top);
        return;
    }
    top->awaits_frame = loop_timer_set(top->frame_timer, wait, 0) == 0;
}

static void on_frame_timer(void *context, uint32_t events)
{
    (void)events;
    struct top *top = context;
    top->awaits_frame = false;
    draw(top);
}

static void say(struct top *top, const char *format, ...) PRINTF_LIKE(2, 3);

static void say(struct top *top, const char *format, ...)
{
    char text[VIEW_MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    view_say(&top->view, clock_monotonic(), "%s", text);
}

static void stop_recording(struct top *top)
{
    if (!top->recording)
        return;
    int r = recording_stop(top->recording);
    top->recording = NULL;
    if (r < 0)
        say(top, "%s: %s", top->model.recording, recording_strerror(r));
    else
        say(top, "recorded to %s", top->model.recording);
    top->model.recording[0] = '\0';
}

/* From outside: `rooftop mark`. */
static void show_mark(void *context, const struct mark *mark)
{
    struct top *top = context;
    if (model_mark(&top->model, mark) == 0)
        say(top, "marked from outside: %s", mark->name);
}

static void start_recording(struct top *top)
{
    time_t now = time(NULL);
    struct tm local;
    strftime(top->model.recording, sizeof(top->model.recording), "rooftop-%Y%m%d-%H%M%S.roof",
             localtime_r(&now, &local));
    const struct recording_options options = {.on_mark = show_mark, .context = top};
    struct counter_failure failure = {0};
    int r =
        recording_start(&top->recording, top->monitor, top->model.recording, &options, &failure);
    if (r < 0) {
        top->recording = NULL;
        say(top, "%s", failure.reason[0] ? failure.reason : strerror(-r));
        top->model.recording[0] = '\0';
    } else
        say(top, "recording to %s; r stops it", top->model.recording);
}

static void add_to_recording(struct top *top)
{
    int r = top->recording ? recording_add(top->recording) : 0;
    if (r < 0) {
        stop_recording(top);
        say(top, "the recording was stopped: %s", recording_strerror(r));
    }
}

static void on_monitor(void *context, uint32_t events);

static void listen_to_monitor(struct top *top, bool listens)
{
    if (listens == top->listens)
        return;
    top->listens = listens;
    if (!listens) {
        loop_remove(top->loop, monitor_fd(top->monitor));
        return;
    }
    int r = loop_add(top->loop, monitor_fd(top->monitor), EPOLLIN, on_monitor, top);
    if (r < 0)
        fail(top, r);
}

static void at_the_end(struct top *top)
{
    top->model.ended = true;
    top->view.paused = true;
    listen_to_monitor(top, false);
    say(top, "the end of the recording; Space plays it again");
}

/* A recording that is being written takes each frame; it cannot take several at once. */
static int take_frames(struct top *top)
{
    if (!top->recording)
        return feed_take_all(&top->feed);
    int r = monitor_next(top->monitor);
    if (r != 1)
        return r;
    add_to_recording(top);
    r = feed_take(&top->feed);
    return r < 0 ? r : 1;
}

static void on_monitor(void *context, uint32_t events)
{
    (void)events;
    struct top *top = context;
    int r = take_frames(top);
    if (r < 0) {
        fail(top, r);
        return;
    }
    if (top->table_generation != top->feed.generation && fill_table(top) < 0)
        fail(top, -ENOMEM);
    if (top->model.ended)
        at_the_end(top);
    if (r > 0 || top->model.ended)
        ask_for_frame(top);
}

static void seek(struct top *top, double time)
{
    int r = feed_seek(&top->feed, time, view_span(&top->view));
    if (r < 0)
        fail(top, r);
    else if (top->model.ended)
        at_the_end(top);
    else
        listen_to_monitor(top, !top->view.paused);
}

static void set_paused(struct top *top, bool paused)
{
    if (!paused && top->model.ended) {
        seek(top, top->model.begin);
        return;
    }
    /* A stretch of playing begins with the speed that is set; after one the file is let go. */
    if (monitor_set_speed(top->monitor, top->model.speed) < 0)
        return;
    listen_to_monitor(top, !paused);
}

static void set_speed(struct top *top, double speed)
{
    int r = monitor_set_speed(top->monitor, speed);
    if (r == 0)
        top->model.speed = speed;
}

static void set_mark(struct top *top, double time)
{
    struct mark mark = {.time = time, .end = time};
    snprintf(mark.name, sizeof(mark.name), "%s", top->view.text);
    int r = model_mark(&top->model, &mark);
    if (r == 0 && top->recording)
        r = recording_mark(top->recording, time, time, mark.name);
    if (r < 0)
        say(top, "no mark was set: %s", strerror(-r));
    else
        say(top, top->model.recorded ? "marked here, until Rooftop ends"
                 : top->recording    ? "marked, in the recording too"
                                     : "marked; r would record it too");
}

static void ask_kill(struct top *top)
{
    const struct process_row *row = &top->table.rows[top->view.process];
    if (top->model.recorded) {
        say(top, "a recording: its processes cannot be signalled");
        return;
    }
    if (row->kind != ROW_PROCESS) {
        say(top, "this row is no process");
        return;
    }
    if (row->outside) {
        say(top, "it cannot be signalled from here: it is of another container or host");
        return;
    }
    victim_close(&top->victim);
    int r = victim_open(&top->victim, row->pid, row->start_time);
    if (r == -EPERM)
        say(top, "process %d belongs to %s: you may not signal it", (int)row->pid, row->user);
    else if (r == -ESRCH)
        say(top, "process %d has ended", (int)row->pid);
    else if (r == -ECHILD)
        say(top, "that is Rooftop itself; q quits");
    else if (r < 0)
        say(top, "process %d: %s", (int)row->pid, strerror(-r));
    if (r < 0)
        return;
    struct view_victim *victim = &top->view.victim;
    victim->pid = row->pid;
    snprintf(victim->user, sizeof(victim->user), "%s", row->user);
    snprintf(victim->command, sizeof(victim->command), "%.*s", (int)sizeof(victim->command) - 1,
             row->command);
    top->view.dialog = DIALOG_KILL;
    top->view.item = 0;
}

static void kill_victim(struct top *top, int signal)
{
    int r = victim_signal(&top->victim, signal);
    victim_close(&top->victim);
    if (r < 0)
        say(top, "process %d: %s", (int)top->victim.pid, strerror(-r));
    else
        say(top, "sent SIG%s to process %d", sigabbrev_np(signal), (int)top->victim.pid);
}

static void save_prefs(struct top *top)
{
    const char *path = top->options->prefs_path;
    int r = path ? prefs_write(&top->view.prefs, path) : -ENOENT;
    if (r < 0)
        say(top, "the settings are not saved: %s",
            path ? strerror(-r) : "neither XDG_CONFIG_HOME nor HOME is set");
    else
        say(top, "saved to %s", path);
}

static void serve(struct top *top, struct request request)
{
    switch (request.kind) {
    case REQUEST_NONE:
        break;
    case REQUEST_QUIT:
        loop_stop(top->loop, 0);
        break;
    case REQUEST_REDRAW:
        screen_forget(top->screen);
        break;
    case REQUEST_PAUSE:
        set_paused(top, request.number != 0);
        break;
    case REQUEST_SEEK:
        seek(top, request.number);
        break;
    case REQUEST_SPEED:
        set_speed(top, request.number);
        break;
    case REQUEST_MARK:
        set_mark(top, request.number);
        break;
    case REQUEST_RECORD:
        if (top->recording)
            stop_recording(top);
        else
            start_recording(top);
        break;
    case REQUEST_ASK_KILL:
        ask_kill(top);
        break;
    case REQUEST_KILL:
        kill_victim(top, (int)request.number);
        break;
    case REQUEST_SAVE:
        save_prefs(top);
        break;
    }
}

static void on_input(void *context, uint32_t events)
{
    struct top *top = context;
    struct input input;
    while (screen_read(top->screen, &input)) {
        struct view_context view_context = {&top->model, &top->table, &top->layout,
                                            clock_monotonic()};
        serve(top, view_handle(&top->view, &view_context, &input));
        /* Several keys may come at once: each is to find the rows that the one before made. */
        if (fill_table(top) < 0)
            fail(top, -ENOMEM);
    }
    if (events & (EPOLLHUP | EPOLLERR))
        loop_stop(top->loop, 0);
    ask_for_frame(top);
}

static void on_signal(void *context, int signal)
{
    struct top *top = context;
    if (signal == SIGTSTP)
        screen_suspend(top->screen);
    else if (signal == SIGWINCH)
        screen_resized(top->screen);
    else {
        loop_stop(top->loop, 0);
        return;
    }
    ask_for_frame(top);
}

static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};

int top_block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        sigaddset(&set, signals[i]);
    return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
}

/* To the first frame behind the place that was asked for, or to `otherwise`. */
static int begin(struct top *top, double otherwise)
{
    const struct model *model = &top->model;
    double time = otherwise;
    if (!isnan(top->options->from))
        time = fmin(top->options->from + model->interval, model->end);
    if (!model->recorded || isnan(time))
        return 0;
    return feed_seek(&top->feed, time, view_span(&top->view));
}

static int init(struct top *top, struct monitor *monitor, const struct top_options *options)
{
    *top = (struct top){
        .options = options,
        .monitor = monitor,
        .victim.pidfd = -1,
        .table_filled = -INFINITY,
        .drawn = -INFINITY,
    };
    view_init(&top->view, &options->prefs);
    top->view.paused = options->paused && !monitor_counter(monitor)->ops->live;
    return feed_start(&top->feed, monitor, &top->model, options->source);
}

static void end(struct top *top)
{
    stop_recording(top);
    victim_close(&top->victim);
    process_table_free(&top->table);
    model_free(&top->model);
    cells_free(&top->cells);
}

static int prepare_loop(struct top *top)
{
    int r = loop_new(&top->loop);
    for (size_t i = 0; i < ARRAY_SIZE(signals) && r == 0; i++)
        r = loop_add_signal(top->loop, signals[i], on_signal, top);
    if (r == 0)
        r = loop_add_timer(top->loop, &top->frame_timer, on_frame_timer, top);
    if (r == 0)
        r = loop_add(top->loop, STDIN_FILENO, EPOLLIN, on_input, top);
    return r;
}

int top_run(struct monitor *monitor, const struct top_options *options)
{
    struct top *top = malloc(sizeof(*top));
    if (!top)
        return -ENOMEM;
    int r = init(top, monitor, options);
    if (r == 0)
        r = begin(top, top->view.paused ? top->model.begin : NAN);
    if (r == 0)
        r = screen_open(&top->screen, &options->prefs);
    if (r == 0)
        r = prepare_loop(top);
    if (r == 0) {
        cost_start(&top->meter, &top->model.cost, options->budget, clock_monotonic());
        listen_to_monitor(top, !top->view.paused);
        draw(top);
        r = loop_run(top->loop);
    }
    screen_close(top->screen);
    loop_free(top->loop);
    end(top);
    free(top);
    return r;
}

static double newest_reading(const struct model *model)
{
    double newest = 0;
    for (size_t i = 0; i < model->device_count; i++)
        newest = fmax(newest, model->devices[i].reading.sample.time);
    return newest;
}

/* Live: the first frame with all devices, which a busy host or a driver that hangs may keep one
 * waiting for, or one of those behind it where GPM's counters did not advance in time. */
static int take_one(struct top *top)
{
    enum { READINGS_TO_WAIT = 3 };
    double until = clock_monotonic() + ONCE_PATIENCE, left = -1, newest = 0;
    int readings = 0;
    for (;;) {
        int r = monitor_wait(top->monitor, left);
        if (r == 1)
            r = feed_take(&top->feed);
        left = until - clock_monotonic();
        if (r < 0 || left <= 0)
            return r;
        readings += newest_reading(&top->model) > newest;
        newest = newest_reading(&top->model);
        bool waits = model_awaits_devices(&top->model) ||
                     (model_awaits_counters(&top->model) && readings < READINGS_TO_WAIT);
        if (!waits)
            return 0;
    }
}

int top_print(struct monitor *monitor, const struct top_options *options, struct strbuf *out)
{
    struct top *top = malloc(sizeof(*top));
    if (!top)
        return -ENOMEM;
    int r = init(top, monitor, options);
    if (r == 0)
        r = begin(top, top->model.end);
    if (r == 0 && !top->model.recorded)
        r = take_one(top);
    if (r == 0)
        r = fill_table(top);
    top->cells.charset = screen_charset(options->prefs.characters);
    if (r == 0)
        r = cells_resize(&top->cells, options->width, options->height);
    if (r == 0) {
        draw_screen(&top->cells, &top->model, &top->view, &top->table, &top->layout, 0);
        cells_to_text(&top->cells, out);
        r = strbuf_failed(out) ? -ENOMEM : 0;
    }
    end(top);
    free(top);
    return r;
}
