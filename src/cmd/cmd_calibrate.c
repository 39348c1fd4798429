#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "calibrate/calibrate.h"
#include "calibrate/witness.h"
#include "cmd/ceiling_table.h"
#include "cmd/common.h"
#include "store/ceiling.h"

static const double INTERVAL = 0.1;
/* So many readings in a row without other work are enough; NVML's utilisation and its list of
 * processes forget what has just ended after a second. */
enum { IDLE_READINGS = 3, MOST_READINGS = 14 };
static const double BUSY_RATIO = 0.05;

enum { BUSY_NAMES = 3 };

struct settings {
    struct watch_options watch;
    const char *format;
    const char *only;
    bool verify;
    bool force;
};

static const struct option_row options[] = {
    {.name = "verify",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, verify),
     .help = "Compare each counter with the known work; stores nothing"},
    {.name = "only",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, only),
     .argument = "CEILING[,CEILING]",
     .help = "Only these, such as tensor_bf16,hbm_read"},
    {.name = "force",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, force),
     .help = "Also beside other work; what is found then is not stored"},
    OPTION_FORMAT(struct settings, format, "text or json", "text|json"),
    OPTION_LIVE_SOURCE(struct settings, watch),
    OPTION_CLOCK(struct settings, watch),
    OPTION_GPU(struct settings, watch),
    OPTIONS_END,
};

struct session {
    const struct command *command;
    const struct settings *settings;
    struct monitor *monitor;
    unsigned generation;
    int signals;
    size_t gpu; /* among the monitor's devices */
    bool ended; /* something failed: the GPUs behind this one are left alone */

    struct witness witness;
    struct witness_row rows[CEILING_COUNT * WITNESS_ROWS];
    size_t row_count;

    bool shows_progress;
    uint32_t wanted;
    unsigned done, count;
};

static int no_such_ceiling(const struct command *command, const char *name)
{
    struct strbuf names = {0};
    for (size_t i = 0; i < CEILING_COUNT; i++)
        strbuf_printf(&names, "%s%s", i > 0 ? ", " : "", ceiling_info((enum ceiling)i)->name);
    int code = usage_error(command, "--only: there is no ceiling '%s'; there are %s", name,
                           strbuf_text(&names));
    strbuf_free(&names);
    return code;
}

static int parse_only(const struct command *command, const char *only, uint32_t *ret)
{
    *ret = 0;
    while (*only) {
        char name[32];
        size_t length = strcspn(only, ",");
        snprintf(name, sizeof(name), "%.*s", (int)util_min(length, sizeof(name) - 1), only);
        enum ceiling ceiling = ceiling_by_name(name);
        if (ceiling == CEILING_COUNT)
            return no_such_ceiling(command, name);
        *ret |= 1U << ceiling;
        only += length + (only[length] == ',');
    }
    return *ret ? EXIT_DONE : usage_error(command, "--only: no ceiling is named");
}

/* Takes what the monitor has; waits for it at most so long. */
static int idle(void *context, double seconds)
{
    struct session *session = context;
    struct pollfd fds[] = {
        {.fd = session->signals, .events = POLLIN},
        {.fd = monitor_fd(session->monitor), .events = POLLIN},
    };
    struct timespec timeout = clock_timespec(seconds);
    if (ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL) < 0 && errno != EINTR)
        return -errno;
    if (fds[0].revents)
        return -EINTR;
    int r;
    while ((r = monitor_next(session->monitor)) == 1) {
        if (monitor_generation(session->monitor) != session->generation)
            return -ENODEV;
        witness_add(&session->witness, &monitor_reading(session->monitor, session->gpu)->sample);
    }
    return r;
}

static int idle_for(struct session *session, double seconds)
{
    double end = clock_monotonic() + seconds;
    int r = 0;
    for (double left = seconds; r == 0 && left > 0; left = end - clock_monotonic())
        r = idle(session, left);
    return r;
}

static void show_next(void *context, enum ceiling ceiling)
{
    struct session *session = context;
    session->done++;
    if (session->shows_progress)
        fprintf(stderr, "\r\033[K[%u/%u] %s", session->done, session->count,
                ceiling_info(ceiling)->help);
}

static void end_progress(const struct session *session)
{
    if (session->shows_progress)
        fputs("\r\033[K", stderr);
}

static void begin(void *context, const struct calibration_work *work)
{
    struct session *session = context;
    (void)work;
    witness_begin(&session->witness, clock_realtime());
}

static void end(void *context, const struct calibration_work *work, double mean,
                struct ceiling_value *value)
{
    struct session *session = context;
    const struct device *device = monitor_device(session->monitor, session->gpu);
    witness_tell(&session->witness, work->ceiling, value);
    snprintf(value->driver, sizeof(value->driver), "%.31s",
             monitor_counter(session->monitor)->driver_version);
    if (session->settings->verify)
        session->row_count += witness_compare(&session->witness, device, work, mean,
                                              session->rows + session->row_count);
    session->witness.begin = INFINITY;
}

/* Names of others that compute on the GPU. The counters' helper is a child of this process. */
static size_t list_others(const struct session *session, size_t gpu, struct strbuf *names)
{
    const struct process_list *list = &monitor_reading(session->monitor, gpu)->processes;
    size_t count = 0;
    for (size_t i = 0; list->known && i < list->count; i++) {
        const struct process *process = &list->process[i];
        const struct process_description *description =
            monitor_describe(session->monitor, process->pid);
        if (process->kinds == PROCESS_GRAPHICS || process->pid == getpid() ||
            description->parent == getpid())
            continue;
        if (count++ < BUSY_NAMES)
            strbuf_printf(names, "%s%.40s (PID %ld)", count > 1 ? ", " : "",
                          description->command[0] ? description->command : "a process",
                          (long)process->pid);
    }
    if (count > BUSY_NAMES)
        strbuf_printf(names, " and %zu more", count - BUSY_NAMES);
    return count;
}

/* True, with the reason, where somebody else works on the GPU. */
static bool is_busy(const struct session *session, size_t gpu, struct strbuf *reason)
{
    const struct sample *sample = &monitor_reading(session->monitor, gpu)->sample;
    strbuf_clear(reason);
    if (list_others(session, gpu, reason) > 0)
        return true;
    static const enum metric metrics[] = {METRIC_GRAPHICS_ACTIVE, METRIC_NVML_UTILIZATION};
    for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
        double ratio = sample_get(sample, metrics[i], 0);
        if (ratio > BUSY_RATIO) {
            strbuf_printf(reason, "%s is %.0f %%", metric_info(metrics[i])->name, ratio * 100);
            return true;
        }
    }
    return false;
}

static int look(struct session *session, bool *ret_busy, struct strbuf *reason)
{
    int idle_readings = 0;
    for (int i = 0; i < MOST_READINGS && idle_readings < IDLE_READINGS; i++) {
        int r = idle_for(session, INTERVAL);
        if (r < 0)
            return r;
        *ret_busy = is_busy(session, session->gpu, reason);
        idle_readings = *ret_busy ? 0 : idle_readings + 1;
    }
    return 0;
}

/* EXIT_DONE, or why this GPU is left alone. */
static int check_idle(struct session *session, bool *ret_busy)
{
    const struct device *device = monitor_device(session->monitor, session->gpu);
    struct strbuf reason = {0};
    int code = EXIT_DONE;
    session->witness.begin = INFINITY;
    int r = look(session, ret_busy, &reason);
    if (r < 0) {
        session->ended = true;
        code = run_error(session->command, "%s",
                         r == -EINTR ? "stopped" : "the GPUs cannot be read any more");
    } else if (*ret_busy && !session->settings->force)
        code = run_error(session->command,
                         "GPU %u is in use: %s\nWait until it is free, or measure beside that with "
                         "--force: the ceilings are then too low, and are not stored.",
                         device->index, strbuf_text(&reason));
    strbuf_free(&reason);
    return code;
}

static bool has_nvlinks(const struct session *session, size_t gpu)
{
    const struct device *device = monitor_device(session->monitor, gpu);
    return !device_is_mig(device) && device_number(device, DEVICE_NVLINK_COUNT, 0) > 0;
}

/* Another of the chosen GPUs to which NVLinks can lead, and which nobody uses. */
static const char *find_peer(const struct session *session)
{
    struct strbuf reason = {0};
    const char *found = NULL;
    for (size_t i = 0; !found && i < monitor_count(session->monitor); i++)
        if (i != session->gpu && has_nvlinks(session, session->gpu) && has_nvlinks(session, i) &&
            !is_busy(session, i, &reason))
            found = monitor_device(session->monitor, i)->text[DEVICE_UUID];
    strbuf_free(&reason);
    return found;
}

static int store(struct session *session, const struct calibration *calibration)
{
    struct strbuf path = {0};
    struct ceiling_store *opened;
    char why[256] = "neither XDG_DATA_HOME nor HOME is set";
    int r = ceiling_store_path(&path);
    if (r == 0)
        r = ceiling_store_open(&opened, path.text, why, sizeof(why));
    if (r == 0) {
        r = ceiling_store_add(opened,
                              monitor_device(session->monitor, session->gpu)->text[DEVICE_UUID],
                              &calibration->ceilings);
        snprintf(why, sizeof(why), "%.150s: %s", path.text, strerror(-r));
        ceiling_store_close(opened);
    }
    strbuf_free(&path);
    return r < 0 ? run_error(session->command, "cannot store the ceilings: %s", why) : EXIT_DONE;
}

static void put_text(const struct session *session, const struct calibration *calibration,
                     struct strbuf *out)
{
    const struct device *device = monitor_device(session->monitor, session->gpu);
    ceiling_table_title(device, out);
    ceiling_table_put(device, &calibration->ceilings, out);
    for (size_t i = 0; i < CEILING_COUNT; i++)
        if (calibration->missing[i][0])
            strbuf_printf(out, "%-12s  not measured: %s\n", ceiling_info((enum ceiling)i)->name,
                          calibration->missing[i]);
    if (session->settings->verify) {
        strbuf_puts(out, "\nThe counters, beside the work that was done:\n");
        ceiling_table_put_errors(session->rows, session->row_count, out);
    }
}

static void put_json_missing(const struct calibration *calibration, struct json *json)
{
    json_object_begin(json);
    for (size_t i = 0; i < CEILING_COUNT; i++)
        if (calibration->missing[i][0]) {
            json_key(json, ceiling_info((enum ceiling)i)->name);
            json_add_text(json, calibration->missing[i]);
        }
    json_object_end(json);
}

static void put_json(const struct session *session, const struct calibration *calibration,
                     struct strbuf *out)
{
    const struct device *device = monitor_device(session->monitor, session->gpu);
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "index");
    json_add_integer(&json, device->index);
    json_key(&json, "uuid");
    json_add_text(&json, device->text[DEVICE_UUID]);
    json_key(&json, "name");
    json_add_text(&json, device->text[DEVICE_NAME]);
    json_key(&json, "ceilings");
    json_array_begin(&json);
    for (size_t i = 0; i < CEILING_COUNT; i++) {
        if (calibration->ceilings.of[i].origin == CEILING_UNKNOWN)
            continue;
        json_object_begin(&json);
        ceiling_table_json(device, (enum ceiling)i, &calibration->ceilings.of[i], &json);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_key(&json, "missing");
    put_json_missing(calibration, &json);
    json_key(&json, "errors");
    ceiling_table_json_errors(session->rows, session->row_count, &json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}

static int print(const struct session *session, const struct calibration *calibration)
{
    struct strbuf out = {0};
    if (session->settings->format[0] == 'j')
        put_json(session, calibration, &out);
    else
        put_text(session, calibration, &out);
    int code = output_result(session->command, output_write(&out));
    strbuf_free(&out);
    return code;
}

static int explain(const struct session *session, int r, const char *why)
{
    const struct device *device = monitor_device(session->monitor, session->gpu);
    end_progress(session);
    if (r == -EINTR)
        return run_error(session->command, "stopped; the GPU is free again, nothing is stored");
    run_error(session->command, "GPU %u: %s", device->index, why);
    return r == -ENODEV || r == -ENOENT || r == -EACCES ? EXIT_NO_GPU : EXIT_FAILED;
}

static int calibrate_one(struct session *session)
{
    const struct device *device = monitor_device(session->monitor, session->gpu);
    bool busy = false;
    if (device_is_mig(device) || device_number(device, DEVICE_MIG_ENABLED, 0) == 1)
        return run_error(session->command,
                         "GPU %u is divided into MIG instances: only whole GPUs can be measured",
                         device->index);
    int code = check_idle(session, &busy);
    if (code != EXIT_DONE)
        return code;
    const struct calibration_config config = {
        .uuid = device->text[DEVICE_UUID],
        .peer = find_peer(session),
        .wanted = session->wanted,
        .hooks = {session, idle, show_next, begin, end},
    };
    session->done = 0;
    session->row_count = 0;
    struct calibration calibration;
    char why[256] = "";
    int r = calibrate(&config, &calibration, why, sizeof(why));
    session->ended = r < 0;
    if (r < 0)
        return explain(session, r, why);
    end_progress(session);
    code = print(session, &calibration);
    if (code == EXIT_DONE && !busy && !session->settings->verify)
        code = store(session, &calibration);
    session->ended = code != EXIT_DONE;
    return code;
}

static int calibrate_all(struct session *session)
{
    session->generation = monitor_generation(session->monitor);
    session->count = (unsigned)__builtin_popcount(session->wanted);
    session->shows_progress = isatty(STDERR_FILENO);
    output_start();
    int code = EXIT_DONE;
    for (session->gpu = 0; !session->ended && session->gpu < monitor_count(session->monitor);
         session->gpu++) {
        int one = calibrate_one(session);
        code = one == EXIT_DONE ? code : one;
    }
    return code;
}

/* What would end the program ends the calibration instead, so that all is freed. */
static int catch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text"};
    int result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result;
    struct session session = {
        .command = command, .settings = &settings, .wanted = UINT32_MAX >> (32 - CEILING_COUNT)};
    if (settings.only) {
        int code = parse_only(command, settings.only, &session.wanted);
        if (code != EXIT_DONE)
            return code;
    }
    const struct counter_ops *ops = counter_source(counter_usual_source(settings.watch.source));
    if (ops && !ops->live)
        return usage_error(command, "--source: a recording cannot be calibrated");
    /* CUPTI's counters draw power, and hold the work up for a moment when they begin. */
    if (!settings.watch.clock)
        settings.watch.clock = settings.verify ? "continuous" : "off";
    session.signals = catch_signals();
    if (session.signals < 0)
        return run_error(command, "%s", strerror(errno));
    int code = watch_open(command, &settings.watch, INTERVAL, &session.monitor);
    if (code == EXIT_DONE) {
        code = calibrate_all(&session);
        monitor_close(session.monitor);
    }
    close(session.signals);
    return code;
}

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "Measure what this GPU can do at best: its ceilings",
    .operands = "",
    .options = options,
    .more =
        "Runs kernels of known work, under a minute in all, and keeps the ceilings by the GPU's\n"
        "UUID. Nothing else should run on the GPU meanwhile. It takes a quarter of the free\n"
        "device memory, 4 GiB at most, and frees it.\n\n"
        "  rooftop calibrate\n"
        "  rooftop calibrate --verify\n"
        "  rooftop calibrate --gpu 1 --only tensor_bf16,hbm_read\n",
    .run = run,
};
