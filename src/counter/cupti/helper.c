#include "counter/cupti/helper.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "counter/cupti/cuda.h"
#include "counter/cupti/helper_device.h"

static const double RELEASE_SECONDS = 60;
/* A load often changes just after somebody begins to look. */
static const double FIRST_BURSTS = 3;
/* With nothing to do, look at least so often. */
static const double LONGEST_WAIT = 60;

struct helper {
    const struct cupti_helper_config *config;
    int in;
    int out;
    int signals;
    struct cupti cupti;
    struct cuda cuda;
    struct helper_device *devices;
    double released_until; /* monotonic; 0: not released */
    bool unheard;          /* the pipe is full: the parent is stopped, or busy */
    bool ended;
};

/* Read by the handler of SIGALRM. */
static volatile sig_atomic_t busy_device;

static void give_up(int signal)
{
    (void)signal;
    _exit(CUPTI_HUNG_EXIT + busy_device);
}

/* A call that does not come back in time ends the process. */
static void watch(const struct helper *helper, bool on)
{
    double patience = on ? helper->config->patience : 0;
    struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)patience, .tv_usec = (suseconds_t)(fmod(patience, 1) * 1e6)},
    };
    setitimer(ITIMER_REAL, &timer, NULL);
}

static int parse_device(struct cupti_helper_device *device, char *word)
{
    char *equals = strchr(word, '=');
    if (!equals || equals == word || (size_t)(equals - word) >= sizeof(device->uuid))
        return -EINVAL;
    char *end;
    *device = (struct cupti_helper_device){.wanted = strtoull(equals + 1, &end, 16)};
    memcpy(device->uuid, word, (size_t)(equals - word));
    device->bursts = strcmp(end, ",bursts") == 0;
    return end != equals + 1 && (device->bursts || *end == '\0') ? 0 : -EINVAL;
}

int cupti_helper_parse(struct cupti_helper_config *ret, int argc, char **argv)
{
    struct cupti_helper_config config = {0};
    if (argc <= CUPTI_HELPER_NUMBERS || argc - CUPTI_HELPER_NUMBERS > CUPTI_MAX_DEVICES ||
        parse_duration(argv[0], &config.interval) < 0 || config.interval < 0.01 ||
        parse_duration(argv[1], &config.burst) < 0 || config.burst < 0.01 ||
        parse_duration(argv[2], &config.burst_period) < 0 || config.burst_period < config.burst ||
        parse_double(argv[3], &config.burst_cpu) < 0 || config.burst_cpu <= 0 ||
        parse_duration(argv[4], &config.patience) < 0 || config.patience <= 0)
        return -EINVAL;
    for (int i = CUPTI_HELPER_NUMBERS; i < argc; i++)
        if (parse_device(&config.device[config.device_count++], argv[i]) < 0)
            return -EINVAL;
    *ret = config;
    return 0;
}

static void send_report(struct helper *helper, const struct cupti_report *report)
{
    if (write(helper->out, report, sizeof(*report)) == (ssize_t)sizeof(*report))
        return;
    helper->unheard |= errno == EAGAIN;
    helper->ended |= errno != EAGAIN && errno != EINTR;
}

static void send_state(struct helper *helper, enum cupti_state state, const char *text)
{
    struct cupti_report report = {
        .device = CUPTI_ALL_DEVICES,
        .state = (uint16_t)state,
        .time = clock_monotonic(),
    };
    snprintf(report.text, sizeof(report.text), "%s", text);
    send_report(helper, &report);
}

static enum cupti_state state_without_cuda(int error)
{
    return error == -ENOENT ? CUPTI_NO_CUDA : error == -ENOSYS ? CUPTI_CUDA_OLD : CUPTI_NO_DRIVER;
}

static bool has_old_driver(const struct helper *helper)
{
    int version = cuda_version(&helper->cuda);
    return version > 0 && version < cupti_needs_cuda(&helper->cupti);
}

static int load_libraries(struct helper *helper)
{
    char why[sizeof(((struct cupti_report *)0)->text)] = "";
    int r = cupti_load(&helper->cupti, why, sizeof(why));
    if (r < 0) {
        send_state(helper, r == -ENOSYS ? CUPTI_TOO_OLD : CUPTI_NO_LIBRARY, why);
        return r;
    }
    r = cuda_load(&helper->cuda, why, sizeof(why));
    if (r < 0) {
        send_state(helper, state_without_cuda(r), why);
        return r;
    }
    struct cupti_profiler_initialize initialize = {
        .size = CUPTI_SIZE(struct cupti_profiler_initialize, private),
    };
    int result = helper->cupti.initialize(&initialize);
    if (result != CUPTI_OK) {
        cupti_describe(&helper->cupti, result, why, sizeof(why));
        send_state(helper, has_old_driver(helper) ? CUPTI_CUDA_OLD : CUPTI_FAILED, why);
        return -EIO;
    }
    return 0;
}

static int make_devices(struct helper *helper)
{
    const struct cupti_helper_config *config = helper->config;
    helper->devices = calloc(config->device_count, sizeof(*helper->devices));
    if (!helper->devices)
        return -ENOMEM;
    for (size_t i = 0; i < config->device_count; i++)
        helper->devices[i] = (struct helper_device){
            .cupti = &helper->cupti,
            .config = config,
            .wanted = &config->device[i],
            .number = i,
            .has_old_driver = has_old_driver(helper),
            .cuda_index = cuda_find_device(&helper->cuda, config->device[i].uuid),
            .bursts_left = FIRST_BURSTS,
            .paid_at = clock_monotonic(),
        };
    return 0;
}

static int catch_signals(struct helper *helper)
{
    struct sigaction on_alarm = {.sa_handler = give_up};
    sigaction(SIGALRM, &on_alarm, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    helper->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return helper->signals < 0 ? -errno : 0;
}

/* They are due as soon as this is over. */
static void rest_devices(struct helper *helper)
{
    for (size_t i = 0; i < helper->config->device_count; i++) {
        busy_device = (sig_atomic_t)i;
        watch(helper, true);
        helper_device_rest(&helper->devices[i]);
        helper->devices[i].due = 0;
    }
    watch(helper, false);
}

static void release(struct helper *helper, int seconds)
{
    rest_devices(helper);
    helper->released_until = clock_monotonic() + (seconds > 0 ? seconds : RELEASE_SECONDS);
    send_state(helper, CUPTI_RELEASED, "");
}

static void read_signals(struct helper *helper)
{
    struct signalfd_siginfo info;
    while (read(helper->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo == SIGTERM)
            helper->ended = true;
        else
            release(helper, info.ssi_int);
}

static void read_wishes(struct helper *helper)
{
    struct cupti_wish wishes[64];
    ssize_t length = read(helper->in, wishes, sizeof(wishes));
    if (length == 0)
        helper->ended = true;
    size_t count = length > 0 ? (size_t)length / sizeof(wishes[0]) : 0;
    for (size_t i = 0; i < count; i++)
        if (wishes[i].device < helper->config->device_count)
            helper_device_hasten(&helper->devices[wishes[i].device], &wishes[i]);
}

static double next_due(const struct helper *helper)
{
    double due = helper->devices[0].due;
    for (size_t i = 1; i < helper->config->device_count; i++)
        if (helper->devices[i].due < due)
            due = helper->devices[i].due;
    return due > helper->released_until ? due : helper->released_until;
}

/* The parent reads again; what it missed it is told if it still holds. */
static void speak_again(struct helper *helper)
{
    helper->unheard = false;
    if (clock_monotonic() < helper->released_until)
        send_state(helper, CUPTI_RELEASED, "");
}

static void wait_for_something(struct helper *helper)
{
    double wait = helper->unheard ? LONGEST_WAIT : next_due(helper) - clock_monotonic();
    struct timespec timeout = clock_timespec(fmin(fmax(wait, 0), LONGEST_WAIT));
    struct pollfd fds[] = {{.fd = helper->in, .events = POLLIN},
                           {.fd = helper->signals, .events = POLLIN},
                           {.fd = helper->unheard ? helper->out : -1, .events = POLLOUT}};
    if (ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL) <= 0)
        return;
    if (fds[1].revents)
        read_signals(helper);
    if (fds[0].revents)
        read_wishes(helper);
    if (fds[2].revents)
        speak_again(helper);
}

static void step_devices(struct helper *helper)
{
    if (helper->unheard || clock_monotonic() < helper->released_until)
        return;
    for (size_t i = 0; i < helper->config->device_count && !helper->ended; i++) {
        struct helper_device *device = &helper->devices[i];
        if (device->due > clock_monotonic())
            continue;
        struct cupti_report report;
        busy_device = (sig_atomic_t)i;
        watch(helper, true);
        bool news = helper_device_step(device, &report);
        watch(helper, false);
        if (news)
            send_report(helper, &report);
    }
    if (helper->unheard)
        rest_devices(helper);
}

static void close_all(struct helper *helper)
{
    for (size_t i = 0; helper->devices && i < helper->config->device_count; i++) {
        busy_device = (sig_atomic_t)i;
        watch(helper, true);
        helper_device_close(&helper->devices[i]);
    }
    watch(helper, false);
    free(helper->devices);
    close(helper->signals);
}

int cupti_helper_run(const struct cupti_helper_config *config, int in, int out)
{
    struct helper helper = {.config = config, .in = in, .out = out, .signals = -1};
    prctl(PR_SET_NAME, CUPTI_HELPER_NAME);
    /* A library that crashes again and again would fill the disk. */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    int r = catch_signals(&helper);
    watch(&helper, true);
    if (r == 0)
        r = load_libraries(&helper);
    if (r == 0)
        r = make_devices(&helper);
    watch(&helper, false);
    while (r == 0 && !helper.ended) {
        step_devices(&helper);
        wait_for_something(&helper);
    }
    close_all(&helper);
    return r == 0 ? 0 : 1;
}
