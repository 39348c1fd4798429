#include "cmd/common.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "counter/sampler.h"

/* The hardware counters advance each 0.1 s: a shorter interval would be empty every other time. */
static const double SHORTEST_INTERVAL = 0.1;

int watch_exit_code(int error)
{
    switch (error) {
    case -ENODEV:
    case -EACCES:
    case -EPERM:
        return EXIT_NO_GPU;
    case -EINVAL:
    case -ENOENT:
    case -EISDIR:
        return EXIT_USAGE;
    default:
        return EXIT_FAILED;
    }
}

int watch_failed(const struct command *command, int error, const struct counter_failure *failure)
{
    run_error(command, "%s", failure->reason[0] ? failure->reason : strerror(-error));
    if (failure->advice[0])
        fprintf(stderr, "%s\n", failure->advice);
    return watch_exit_code(error);
}

int watch_open(const struct command *command, const struct watch_options *options,
               double usual_interval, struct monitor **ret)
{
    /* Written as a decimal, 0.1 is a little more or less than 0.1. */
    if (options->interval > 0 && options->interval < SHORTEST_INTERVAL - 1e-9)
        return usage_error(command,
                           "--interval: %g s is too short: the GPU's counters advance each %g s",
                           options->interval, SHORTEST_INTERVAL);
    if (options->interval > SAMPLER_LONGEST_INTERVAL)
        return usage_error(command, "--interval: %g s is too long: a day at most",
                           options->interval);
    struct monitor_config config = {
        .source = options->source,
        .gpus = options->gpus,
        .clock = options->clock,
        .interval = options->interval > 0 ? options->interval : usual_interval,
    };
    struct counter_failure failure;
    int r = monitor_open(ret, &config, &failure);
    if (r == 0)
        return EXIT_DONE;
    const char *usual = options->source ? NULL : secure_getenv("ROOFTOP_SOURCE");
    int code = watch_failed(command, r, &failure);
    if (usual && usual[0])
        fprintf(stderr, "the source is that of ROOFTOP_SOURCE, %s\n", usual);
    return code;
}

int watch_broken(const struct command *command, const struct monitor *monitor, int error)
{
    const struct counter *counter = monitor_counter(monitor);
    bool recorded = counter && !counter->ops->live;
    if (recorded && error == -EBUSY)
        return run_error(command, "%s: another program holds the file locked", counter->library);
    if (!recorded || error != -EBADMSG)
        return watch_failed(command, error, &(struct counter_failure){0});
    double time = monitor_time(monitor);
    if (time > 0)
        run_error(command, "%s: the recording is damaged, %.1f s from its beginning",
                  counter->library, time - counter->begin);
    else
        run_error(command, "%s: the recording is damaged", counter->library);
    return EXIT_USAGE;
}

static bool find_mark(const struct counter *counter, const char *name, size_t length,
                      double *ret_time)
{
    for (size_t i = 0; i < counter->mark_count; i++)
        if (strlen(counter->marks[i].name) == length &&
            strncmp(counter->marks[i].name, name, length) == 0) {
            *ret_time = counter->marks[i].time;
            return true;
        }
    return false;
}

/* "MARK", "TIME" or "MARK+TIME". A mark whose own name looks like that comes first. */
static bool find_place(const struct counter *counter, const char *where, double *ret_time)
{
    if (find_mark(counter, where, strlen(where), ret_time))
        return true;
    const char *plus = strrchr(where, '+');
    double seconds, base = counter->begin;
    if (parse_duration(plus ? plus + 1 : where, &seconds) < 0)
        return false;
    if (plus && !find_mark(counter, where, (size_t)(plus - where), &base))
        return false;
    if (base + seconds > counter->end)
        return false;
    *ret_time = base + seconds;
    return true;
}

int watch_find_place(const struct command *command, const struct monitor *monitor,
                     const char *where, double *ret_time)
{
    const struct counter *counter = monitor_counter(monitor);
    if (counter->ops->live)
        return usage_error(command, "--from: '%s': the present has no other times than now", where);
    if (!find_place(counter, where, ret_time))
        return usage_error(command,
                           "--from: '%s' is no mark, and no time of this recording (%.1f s)", where,
                           counter->end - counter->begin);
    return EXIT_DONE;
}

int watch_seek(const struct command *command, struct monitor *monitor, const char *where)
{
    double time;
    int code = watch_find_place(command, monitor, where, &time);
    if (code != EXIT_DONE)
        return code;
    int r = monitor_seek(monitor, time);
    return r < 0 ? watch_broken(command, monitor, r) : EXIT_DONE;
}

void output_start(void)
{
    signal(SIGPIPE, SIG_IGN);
}

static int wait_writable(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int output_write(const struct strbuf *text)
{
    if (strbuf_failed(text))
        return -ENOMEM;
    const char *rest = strbuf_text(text);
    size_t length = text->length;
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, rest, length);
        if (written >= 0) {
            rest += written;
            length -= (size_t)written;
        } else if (errno == EAGAIN) {
            int r = wait_writable();
            if (r < 0)
                return r;
        } else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

int output_result(const struct command *command, int r)
{
    if (r == 0 || r == -EPIPE)
        return EXIT_DONE;
    return run_error(command, "cannot write the output: %s", strerror(-r));
}

int output_all(const struct command *command, const struct strbuf *text)
{
    output_start();
    return output_result(command, output_write(text));
}
