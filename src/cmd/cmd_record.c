#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/spawn.h"
#include "cmd/common.h"
#include "monitor/recording.h"
#include "record/spans.h"
#include "record/writer.h"
#include "share/job.h"

static const double TICK = 0.5;

struct settings {
    struct watch_options watch;
    const char *output;
    double length;
    const char *marks;
    bool redact;
    bool force;
};

static const struct option_row options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .offset = offsetof(struct settings, output),
     .argument = "FILE",
     .help = "The recording (rooftop-DATE-TIME.roof)"},
    {.name = "for",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, length),
     .argument = "TIME",
     .help = "End after that time"},
    OPTION_INTERVAL(struct settings, watch, "0.1 s"),
    {.name = "marks",
     .kind = OPTION_FILE,
     .offset = offsetof(struct settings, marks),
     .argument = "FILE",
     .help = "Take marks from this file of JSON lines, also while it grows"},
    {.name = "redact",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, redact),
     .help = "No users, command lines, containers or host name"},
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, force),
     .help = "Replace the file where it exists"},
    OPTION_SOURCE(struct settings, watch),
    OPTION_CLOCK(struct settings, watch),
    OPTION_GPU(struct settings, watch),
    OPTIONS_END,
};

struct recorder {
    const struct command *command;
    const struct settings *settings;
    const char *path;
    struct loop *loop;
    struct monitor *monitor;
    struct recording *recording;
    struct record_spans *spans;
    bool spans_failed;
    int code; /* of the recording itself */

    pid_t child; /* 0: none */
    int child_fd;
    int child_code;

    bool shows_progress;
    bool progress_shown;
    bool has_keys;
    struct termios terminal; /* as it was */
};

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void describe_so_far(const struct recorder *recorder, struct strbuf *out)
{
    size_t samples = record_writer_samples(recording_writer(recorder->recording));
    size_t gpus = monitor_count(recorder->monitor);
    size_t marks = recording_mark_count(recorder->recording);
    strbuf_printf(out, "%s: %.1f s, %zu sample%s of %zu GPU%s", recorder->path,
                  recording_length(recorder->recording), samples, plural(samples), gpus,
                  plural(gpus));
    if (marks)
        strbuf_printf(out, ", %zu mark%s", marks, plural(marks));
}

static void show_progress(struct recorder *recorder)
{
    if (!recorder->shows_progress || !recorder->recording)
        return;
    struct strbuf line = {0};
    describe_so_far(recorder, &line);
    fprintf(stderr, "\r%s%s\033[K", strbuf_text(&line),
            recorder->has_keys ? "; m sets a mark, q ends" : "; Ctrl-C ends");
    recorder->progress_shown = true;
    strbuf_free(&line);
}

static void end_progress(struct recorder *recorder)
{
    if (recorder->progress_shown)
        fputs("\r\033[K", stderr);
    recorder->progress_shown = false;
}

/* The recording is over; where a command runs, it is waited for all the same. */
static void finish(struct recorder *recorder)
{
    if (recorder->child == 0)
        loop_stop(recorder->loop, 0);
    else
        loop_remove(recorder->loop, monitor_fd(recorder->monitor));
}

static void fail(struct recorder *recorder, int error)
{
    end_progress(recorder);
    recorder->code =
        run_error(recorder->command, "%s: %s%s", recorder->path, recording_strerror(error),
                  error == -ENOSPC ? "; it keeps what was written before" : "");
    finish(recorder);
}

static void on_frame(void *context, uint32_t events)
{
    (void)events;
    struct recorder *recorder = context;
    int r = monitor_next(recorder->monitor);
    if (r == -ENODATA) {
        finish(recorder);
        return;
    }
    if (r < 0) {
        end_progress(recorder);
        recorder->code = watch_broken(recorder->command, recorder->monitor, r);
        finish(recorder);
        return;
    }
    if (r == 1)
        r = recording_add(recorder->recording);
    if (r < 0) {
        fail(recorder, r);
        return;
    }
    double length = recorder->settings->length;
    /* Frames come a trifle before or after their time. */
    double slack = monitor_sampling_interval(recorder->monitor) / 2;
    if (length > 0 && recording_length(recorder->recording) >= length - slack)
        finish(recorder);
}

static void read_spans(struct recorder *recorder, bool last)
{
    if (!recorder->spans || recorder->code != EXIT_DONE)
        return;
    char why[384] = "";
    int r = record_spans_write(recorder->spans, recording_writer(recorder->recording), last, why,
                               sizeof(why));
    /* The program that writes them may not have begun yet. */
    if (r >= 0 || (r == -ENOENT && !last))
        return;
    end_progress(recorder);
    run_error(recorder->command, "--marks: %s", why[0] ? why : strerror(-r));
    recorder->spans_failed = true;
}

static void on_tick(void *context, uint32_t events)
{
    (void)events;
    struct recorder *recorder = context;
    read_spans(recorder, false);
    show_progress(recorder);
}

/* Ctrl-C reaches the command by itself; what was sent to this program alone is passed on. */
static void on_signal(void *context, int signal)
{
    struct recorder *recorder = context;
    if (recorder->child == 0)
        loop_stop(recorder->loop, 0);
    else if (signal != SIGINT)
        kill(recorder->child, signal);
}

static void on_key(void *context, uint32_t events)
{
    (void)events;
    struct recorder *recorder = context;
    char key;
    ssize_t got = read(STDIN_FILENO, &key, 1);
    if (got <= 0) {
        loop_remove(recorder->loop, STDIN_FILENO);
    } else if (key == 'q' || key == 'Q') {
        loop_stop(recorder->loop, 0);
    } else if (key == 'm') {
        char name[MARK_NAME_SIZE];
        snprintf(name, sizeof(name), "mark %zu", recording_mark_count(recorder->recording) + 1);
        double now = monitor_time(recorder->monitor);
        recording_mark(recorder->recording, now, now, name);
        show_progress(recorder);
    }
}

/* Single keys, where this program is in front on a terminal. */
static int watch_keys(struct recorder *recorder)
{
    if (recorder->child || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
        tcgetattr(STDIN_FILENO, &recorder->terminal) < 0)
        return 0;
    struct termios raw = recorder->terminal;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
        return 0;
    recorder->has_keys = true;
    return loop_add(recorder->loop, STDIN_FILENO, EPOLLIN, on_key, recorder);
}

static void on_child_end(void *context, uint32_t events)
{
    (void)events;
    struct recorder *recorder = context;
    int status;
    if (waitpid(recorder->child, &status, WNOHANG) <= 0)
        return;
    recorder->child_code = job_exit_code(status);
    recorder->child = 0;
    loop_stop(recorder->loop, 0);
}

static int refuse_child(const struct recorder *recorder, const char *program, int error)
{
    run_error(recorder->command, "%s: %s", program, strerror(error));
    return error == ENOENT ? JOB_EXIT_NOT_FOUND : JOB_EXIT_CANNOT_RUN;
}

/* Before a file is made, or replaced, for nothing. */
static int check_child(const struct recorder *recorder, const char *program)
{
    char path[PATH_MAX];
    int r = spawn_find(program, path, sizeof(path));
    return r < 0 ? refuse_child(recorder, program, -r) : EXIT_DONE;
}

static int start_child(struct recorder *recorder, char **argv)
{
    /* The command gets the signals that this program has blocked or ignores. */
    sigset_t none, ignored;
    sigemptyset(&none);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGXFSZ);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &ignored);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t child;
    int error = posix_spawnp(&child, argv[0], NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    if (error)
        return refuse_child(recorder, argv[0], error);
    recorder->child = child;
    recorder->child_fd = pidfd_open(child, 0);
    int r = recorder->child_fd < 0
                ? -errno
                : loop_add(recorder->loop, recorder->child_fd, EPOLLIN, on_child_end, recorder);
    return r < 0 ? run_error(recorder->command, "%s", strerror(-r)) : EXIT_DONE;
}

static int watch_all(struct recorder *recorder)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct loop_timer *timer;
    /* A file that may not grow further is an error to report. */
    signal(SIGXFSZ, SIG_IGN);
    int r = loop_new(&recorder->loop);
    for (size_t i = 0; i < ARRAY_SIZE(signals) && r == 0; i++)
        r = loop_add_signal(recorder->loop, signals[i], on_signal, recorder);
    if (r == 0)
        r = loop_add_timer(recorder->loop, &timer, on_tick, recorder);
    if (r == 0)
        r = loop_timer_set(timer, TICK, TICK);
    return r;
}

static int start(struct recorder *recorder, char **child)
{
    const struct settings *settings = recorder->settings;
    int code = child[0] ? check_child(recorder, child[0]) : EXIT_DONE;
    if (code == EXIT_DONE)
        code = watch_open(recorder->command, &settings->watch, 0, &recorder->monitor);
    if (code != EXIT_DONE)
        return code;
    const struct recording_options recording_options = {
        .replace = settings->force,
        .redact = settings->redact,
    };
    struct counter_failure failure;
    int r = recording_start(&recorder->recording, recorder->monitor, recorder->path,
                            &recording_options, &failure);
    if (r == -EEXIST)
        return usage_error(recorder->command, "%s; --force replaces it", failure.reason);
    if (r == -EINVAL || r == -EBUSY || file_is_misplaced(r))
        return usage_error(recorder->command, "--output: %s", failure.reason);
    if (r < 0)
        return run_error(recorder->command, "%s",
                         failure.reason[0] ? failure.reason : strerror(-r));
    r = loop_add(recorder->loop, monitor_fd(recorder->monitor), EPOLLIN, on_frame, recorder);
    if (r == 0 && settings->marks)
        r = record_spans_open(&recorder->spans, settings->marks);
    if (r < 0)
        return run_error(recorder->command, "%s", strerror(-r));
    if (child[0])
        return start_child(recorder, child);
    return watch_keys(recorder) < 0 ? EXIT_FAILED : EXIT_DONE;
}

static void stop(struct recorder *recorder)
{
    end_progress(recorder);
    if (recorder->has_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &recorder->terminal);
    if (recorder->recording) {
        read_spans(recorder, true);
        recording_finish(recorder->recording);
        struct strbuf summary = {0};
        describe_so_far(recorder, &summary);
        int r = recording_stop(recorder->recording);
        recorder->recording = NULL;
        if (r < 0 && recorder->code == EXIT_DONE)
            fail(recorder, r);
        if (r == 0)
            fprintf(stderr, "%s\n", strbuf_text(&summary));
        strbuf_free(&summary);
    }
    record_spans_close(recorder->spans);
    monitor_close(recorder->monitor);
    if (recorder->child_fd >= 0)
        close(recorder->child_fd);
    loop_free(recorder->loop);
}

static int record(struct recorder *recorder, char **child)
{
    int r = watch_all(recorder);
    if (r < 0)
        recorder->code = run_error(recorder->command, "%s", strerror(-r));
    else
        recorder->code = start(recorder, child);
    if (recorder->code == EXIT_DONE) {
        r = loop_run(recorder->loop);
        if (r < 0)
            recorder->code = run_error(recorder->command, "%s", strerror(-r));
    }
    stop(recorder);
    if (recorder->child_code)
        return recorder->child_code;
    return recorder->code == EXIT_DONE && recorder->spans_failed ? EXIT_FAILED : recorder->code;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {0};
    int operands;
    int result = options_parse(command, argc, argv, &settings, &operands);
    if (result != OPTIONS_GO)
        return result;
    if (operands < argc && strcmp(argv[operands - 1], "--") != 0)
        return usage_error(command, "'%s': a command goes behind --, the file behind -o",
                           argv[operands]);
    char usual[64];
    time_t now = time(NULL);
    struct tm local;
    strftime(usual, sizeof(usual), "rooftop-%Y%m%d-%H%M%S.roof", localtime_r(&now, &local));
    struct recorder recorder = {
        .command = command,
        .settings = &settings,
        .path = settings.output ? settings.output : usual,
        .child_fd = -1,
        .shows_progress = isatty(STDERR_FILENO),
    };
    return record(&recorder, argv + operands);
}

const struct command command_record = {
    .name = "record",
    .summary = "Write what the GPUs do to a file, to be replayed and compared",
    .operands = "[-- COMMAND [ARGUMENT…]]",
    .options = options,
    .more = "Ends at q, Ctrl-C, the end of the time, of the source, or of the command, whose exit\n"
            "code it returns. `rooftop mark NAME` sets a mark while it runs.\n\n"
            "  rooftop record -o before.roof -- python train.py\n"
            "  rooftop top --source replay:before.roof\n",
    .run = run,
};
