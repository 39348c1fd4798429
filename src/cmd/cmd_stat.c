#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/common.h"
#include "view/view.h"

static const double USUAL_INTERVAL = 1;
/* How long GPUs may be gone before it is said. */
static const double PATIENCE = 2;

struct settings {
    struct watch_options watch;
    uint64_t count;
    const char *format;
    const char *metrics;
    const char *from;
    bool processes;
};

static const struct option_row options[] = {
    OPTION_INTERVAL(struct settings, watch, "1 s"),
    {.name = "count",
     .letter = 'c',
     .kind = OPTION_COUNT,
     .offset = offsetof(struct settings, count),
     .argument = "N",
     .help = "End after N intervals (0: go on)"},
    OPTION_FORMAT(struct settings, format, "text, json or csv", "text|json|csv"),
    {.name = "metrics",
     .letter = 'm',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, metrics),
     .argument = "NAME[,NAME]",
     .help = "Only these metrics, in this order"},
    {.name = "processes",
     .letter = 'p',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, processes),
     .help = "The processes of each GPU too (text and json)"},
    OPTION_FROM(struct settings, from),
    OPTION_SOURCE(struct settings, watch),
    OPTION_CLOCK(struct settings, watch),
    OPTION_GPU(struct settings, watch),
    OPTIONS_END,
};

static int add_metric(const struct command *command, const char *name, enum metric *metrics,
                      size_t *count)
{
    enum metric metric = metric_by_name(name);
    if (metric == METRIC_COUNT)
        return usage_error(command, "--metrics: there is no metric '%s'", name);
    for (size_t i = 0; i < *count; i++)
        if (metrics[i] == metric)
            return usage_error(command, "--metrics: '%s' is there twice", name);
    metrics[(*count)++] = metric;
    return EXIT_DONE;
}

/* `metrics` has room for METRIC_COUNT. */
static int choose_metrics(const struct command *command, const char *text, enum metric *metrics,
                          size_t *ret_count)
{
    CLEANUP_FREE char *words = strdup(text);
    if (!words)
        return run_error(command, "%s", strerror(ENOMEM));
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(words, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
        int code = add_metric(command, word, metrics, &count);
        if (code != EXIT_DONE)
            return code;
    }
    if (count == 0)
        return usage_error(command, "--metrics names no metric");
    *ret_count = count;
    return EXIT_DONE;
}

static const struct process_description *describe(void *monitor, pid_t pid)
{
    return monitor_describe(monitor, pid);
}

static void measure_terminal(struct view *view)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return;
    view->columns = size.ws_col;
    view->rows = size.ws_row;
}

static int write_frame(struct monitor *monitor, struct view *view, double begin, struct strbuf *out)
{
    size_t count = monitor_count(monitor);
    CLEANUP_FREE struct view_gpu *gpus = calloc(count + 1, sizeof(*gpus));
    if (!gpus)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        gpus[i] = (struct view_gpu){monitor_device(monitor, i), monitor_reading(monitor, i)};
    const struct counter *counter = monitor_counter(monitor);
    struct view_frame frame = {.begin = begin,
                               .time = monitor_time(monitor),
                               .count = count,
                               .gpus = gpus,
                               .marks = counter->marks,
                               .mark_count = counter->mark_count};

    strbuf_clear(out);
    measure_terminal(view);
    view->form->write(view, &frame, out);
    return output_write(out);
}

/* Says once that the GPUs went away, and once that they are back. */
static void tell_failure(const struct command *command, const struct monitor *monitor, bool *told)
{
    const struct counter_failure *failure = monitor_failure(monitor);
    if (!failure == !*told)
        return;
    *told = failure != NULL;
    if (failure)
        fprintf(stderr, "rooftop %s: the GPUs are gone: %s; trying again\n", command->name,
                failure->reason);
    else
        fprintf(stderr, "rooftop %s: the GPUs are back\n", command->name);
}

static int watch(const struct command *command, const struct settings *settings,
                 struct monitor *monitor, struct view *view, struct strbuf *out)
{
    bool told = false;
    double begin = 0;
    for (uint64_t written = 0; settings->count == 0 || written < settings->count;) {
        int r = monitor_wait(monitor, PATIENCE);
        if (r == -ENODATA)
            break;
        if (r == -EINTR)
            continue;
        if (r < 0)
            return watch_broken(command, monitor, r);
        tell_failure(command, monitor, &told);
        if (r == 0)
            continue;
        if (written == 0)
            begin = monitor_time(monitor) - monitor_interval(monitor);
        r = write_frame(monitor, view, begin, out);
        if (r < 0)
            return output_result(command, r);
        begin = monitor_time(monitor);
        written++;
    }
    return EXIT_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text"};
    int result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result;

    struct view view = {
        .form = view_form_by_name(settings.format),
        .processes = settings.processes,
        .describe = describe,
    };
    if (view.processes && view.form == &view_csv)
        return usage_error(command, "--processes does not fit into csv: use --format json");
    enum metric metrics[METRIC_COUNT];
    if (settings.metrics) {
        int code = choose_metrics(command, settings.metrics, metrics, &view.metric_count);
        if (code != EXIT_DONE)
            return code;
        view.metrics = metrics;
    }

    struct monitor *monitor;
    int code = watch_open(command, &settings.watch, USUAL_INTERVAL, &monitor);
    if (code != EXIT_DONE)
        return code;
    view.context = monitor;
    output_start();
    struct strbuf out = {0};
    if (settings.from)
        code = watch_seek(command, monitor, settings.from);
    if (code == EXIT_DONE)
        code = watch(command, &settings, monitor, &view, &out);
    strbuf_free(&out);
    monitor_close(monitor);
    return code;
}

const struct command command_stat = {
    .name = "stat",
    .summary = "Print what each GPU does, one line an interval",
    .operands = "",
    .options = options,
    .more = "COMPUTE and MEMORY are the two speeds of light in per cent, each with what sets it.\n"
            "SMI is nvidia-smi's utilisation. A star marks NVML's clock, where the effective\n"
            "clock is not known, and a tilde watts that are the mean of a second. '-' and null\n"
            "are unknown, never zero.\n\n"
            "  rooftop stat --interval 0.1 --format json | jq .gpus[0].compute_sol_ratio\n",
    .run = run,
};
