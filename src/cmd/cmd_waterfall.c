#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cmd/common.h"
#include "sol/fall.h"
#include "view/waterfall.h"

static const double USUAL_INTERVAL = 0.1;
/* Of a live source: at least one burst of CUPTI's counters falls into it. */
static const double USUAL_LENGTH = 10;
static const double PATIENCE = 3;

struct settings {
    struct watch_options watch;
    const char *format;
    const char *from;
    double length; /* 0: the usual one, or the recording's end */
};

static const struct option_row options[] = {
    {.name = "for",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, length),
     .argument = "TIME",
     .help = "How long (10 s, or to the end of the recording or of its mark)"},
    OPTION_FORMAT(struct settings, format, "text, json or svg", "text|json|svg"),
    OPTION_FROM(struct settings, from),
    OPTION_INTERVAL(struct settings, watch, "0.1 s"),
    OPTION_SOURCE(struct settings, watch),
    OPTION_CLOCK(struct settings, watch),
    OPTION_GPU(struct settings, watch),
    OPTIONS_END,
};

struct collection {
    struct view_falls view;
    double seconds; /* so far: the wall clock may be set meanwhile */
    struct fall *falls;
    struct view_fall *rows;
};

static int make_rows(struct collection *collection, const struct monitor *monitor)
{
    size_t count = monitor_count(monitor);
    collection->falls = calloc(count + 1, sizeof(*collection->falls));
    collection->rows = calloc(count + 1, sizeof(*collection->rows));
    if (!collection->falls || !collection->rows)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        collection->rows[i] = (struct view_fall){monitor_device(monitor, i), &collection->falls[i]};
    collection->view.count = count;
    collection->view.falls = collection->rows;
    return 0;
}

static void add_frame(struct collection *collection, const struct monitor *monitor)
{
    double interval = monitor_interval(monitor);
    collection->seconds += interval;
    collection->view.end = monitor_time(monitor);
    if (collection->view.begin == 0)
        collection->view.begin = collection->view.end - interval;
    for (size_t i = 0; i < collection->view.count; i++)
        fall_add(&collection->falls[i], monitor_device(monitor, i),
                 &monitor_reading(monitor, i)->sample, interval);
}

/* The end of the mark that the place is the name of; else of the whole recording. */
static double end_of(const struct counter *counter, const char *from)
{
    for (size_t i = 0; from && i < counter->mark_count; i++)
        if (strcmp(counter->marks[i].name, from) == 0 &&
            counter->marks[i].end > counter->marks[i].time)
            return counter->marks[i].end;
    return counter->end;
}

static int collect(const struct command *command, const struct settings *settings,
                   struct monitor *monitor, struct collection *collection)
{
    const struct counter *counter = monitor_counter(monitor);
    bool live = counter->ops->live;
    unsigned generation = monitor_generation(monitor);
    double length = settings->length > 0 ? settings->length : live ? USUAL_LENGTH : 0;
    double end = live ? 0 : end_of(counter, settings->from);
    if (!live && monitor_set_speed(monitor, 0) < 0)
        return run_error(command, "the recording cannot be read at once");
    for (;;) {
        int r = monitor_wait(monitor, PATIENCE);
        if (r == -ENODATA)
            return EXIT_DONE;
        if (r == -EINTR)
            continue;
        if (r <= 0)
            return watch_broken(command, monitor, r == 0 ? -ETIMEDOUT : r);
        if (monitor_generation(monitor) != generation)
            return run_error(command, "GPUs have come or gone: start again");
        if (end > 0 && monitor_time(monitor) > end + 1e-6)
            return EXIT_DONE;
        add_frame(collection, monitor);
        double seen = live ? collection->seconds : collection->view.end - collection->view.begin;
        if (length > 0 && seen >= length - 1e-6)
            return EXIT_DONE;
    }
}

static int print(const struct command *command, const struct settings *settings,
                 const struct view_falls *falls)
{
    struct strbuf out = {0};
    if (settings->format[0] == 'j')
        view_falls_json(falls, &out);
    else if (settings->format[0] == 's')
        view_falls_svg(falls, &out);
    else
        view_falls_text(falls, &out);
    int code = output_all(command, &out);
    strbuf_free(&out);
    return code;
}

static int show(const struct command *command, const struct settings *settings,
                struct monitor *monitor)
{
    struct collection collection = {0};
    int code = EXIT_DONE;
    if (settings->from)
        code = watch_seek(command, monitor, settings->from);
    if (code == EXIT_DONE && make_rows(&collection, monitor) < 0)
        code = run_error(command, "out of memory");
    if (code == EXIT_DONE)
        code = collect(command, settings, monitor, &collection);
    if (code == EXIT_DONE)
        code = print(command, settings, &collection.view);
    free(collection.rows);
    free(collection.falls);
    return code;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text"};
    int result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result;
    struct monitor *monitor;
    int code = watch_open(command, &settings.watch, USUAL_INTERVAL, &monitor);
    if (code != EXIT_DONE)
        return code;
    code = show(command, &settings, monitor);
    monitor_close(monitor);
    return code;
}

const struct command command_waterfall = {
    .name = "waterfall",
    .summary = "Show where the peak goes: clock, gaps, SMs without work, pipes that wait",
    .operands = "",
    .options = options,
    .more = "Each step's factor, what is left of the peak after it, the points that it loses, and\n"
            "what helps. The product of the factors is what was achieved.\n\n"
            "  rooftop waterfall --for 30s\n"
            "  rooftop waterfall --source replay:run.roof --from prefill --format svg > fall.svg\n",
    .run = run,
};
