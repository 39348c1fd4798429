#include "monitor/monitor.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "jobs/describe.h"
#include "monitor/ceilings.h"
#include "monitor/select.h"
#include "sol/sol.h"

static const double DEFAULT_INTERVAL = 0.1;
static const double FIRST_RETRY = 0.5;
static const double LONGEST_RETRY = 30;

struct monitor {
    char *source; /* without the speed */
    char *gpus;
    bool has_clock;
    enum clock_mode clock;
    bool follows_processes;
    double wanted_interval; /* 0: the recording's own */
    double speed;

    struct counter *counter;
    struct sampler *sampler;
    struct sol_ceilings *ceilings; /* one for each device of the source */
    struct frame frame;
    size_t *selected; /* indices of the source's devices */
    size_t selected_count;
    unsigned generation;

    int epoll;       /* holds the present sampler's descriptor and the timer */
    int retry_timer; /* while the source is away: when to try it again */
    double retry_wait;
    struct counter vacant; /* stands in for the source while it is away: no devices */
    struct counter_failure failure;

    struct jobs_cache *jobs;
    struct process_description description;
};

/* Takes "@SPEED" off the end of a recording's name. */
static int split_speed(char *source, double *ret_speed, struct counter_failure *failure)
{
    *ret_speed = 1;
    char *at = strrchr(source, '@');
    const char *file = strchr(source, ':');
    if (!at || strchr(at, '/') || (file && access(file + 1, F_OK) == 0))
        return 0;
    const char *speed = at + 1;
    if (strcmp(speed, "max") == 0)
        *ret_speed = 0;
    else if (parse_double(speed, ret_speed) < 0 || *ret_speed < SAMPLER_LOWEST_SPEED ||
             *ret_speed > SAMPLER_HIGHEST_SPEED) {
        snprintf(failure->reason, sizeof(failure->reason), "'%s' is not a speed", speed);
        snprintf(failure->advice, sizeof(failure->advice), "use a factor such as @10, or @max");
        return -EINVAL;
    }
    *at = '\0';
    return 0;
}

static bool is_recorded(const char *source)
{
    const struct counter_ops *ops = counter_source(source);
    return ops && !ops->live;
}

static int check_interval(double interval, struct counter_failure *failure)
{
    if (interval == 0 ||
        (interval >= SAMPLER_SHORTEST_INTERVAL && interval <= SAMPLER_LONGEST_INTERVAL))
        return 0;
    snprintf(failure->reason, sizeof(failure->reason), "an interval of %g s is out of range",
             interval);
    snprintf(failure->advice, sizeof(failure->advice), "use one from 1 ms to 24 h");
    return -EINVAL;
}

static int adopt_clock(struct monitor *monitor, const char *clock, struct counter_failure *failure)
{
    static const char *const words[] = {
        [CLOCK_BURST] = "burst", [CLOCK_CONTINUOUS] = "continuous", [CLOCK_OFF] = "off"};
    if (!clock)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i], clock) == 0) {
            monitor->has_clock = true;
            monitor->clock = (enum clock_mode)i;
            return 0;
        }
    snprintf(failure->reason, sizeof(failure->reason), "'%.64s' is not a time for the counters",
             clock);
    snprintf(failure->advice, sizeof(failure->advice), "use burst, continuous or off");
    return -EINVAL;
}

static int set_clock(struct monitor *monitor, struct counter_failure *failure)
{
    struct counter *counter = monitor->counter;
    if (!monitor->has_clock)
        return 0;
    if (counter->ops->set_clock)
        return counter->ops->set_clock(counter, monitor->clock);
    if (monitor->clock == CLOCK_OFF)
        return 0;
    snprintf(failure->reason, sizeof(failure->reason),
             "the source %s does not read CUPTI's counters", counter->ops->name);
    snprintf(failure->advice, sizeof(failure->advice), "leave --clock out, or use --source auto");
    return -EINVAL;
}

static int adopt_config(struct monitor *monitor, const struct monitor_config *config,
                        struct counter_failure *failure)
{
    monitor->source = strdup(counter_usual_source(config->source));
    monitor->gpus = config->gpus ? strdup(config->gpus) : NULL;
    if (!monitor->source || (config->gpus && !monitor->gpus))
        return -ENOMEM;
    monitor->wanted_interval = config->interval;
    monitor->follows_processes = config->follow_processes;
    int r = check_interval(config->interval, failure);
    if (r == 0)
        r = adopt_clock(monitor, config->clock, failure);
    if (r == 0 && is_recorded(monitor->source))
        r = split_speed(monitor->source, &monitor->speed, failure);
    return r;
}

static double chosen_interval(const struct monitor *monitor)
{
    if (monitor->wanted_interval > 0)
        return monitor->wanted_interval;
    const struct counter *counter = monitor->counter;
    if (counter->ops->live || !(counter->interval > 0))
        return DEFAULT_INTERVAL;
    return fmin(fmax(counter->interval, SAMPLER_SHORTEST_INTERVAL), SAMPLER_LONGEST_INTERVAL);
}

static int watch(struct monitor *monitor, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(monitor->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int start_sampling(struct monitor *monitor)
{
    struct sampler_config config = {
        .interval = chosen_interval(monitor),
        .speed = monitor->speed,
        .devices = monitor->selected,
        .device_count = monitor->selected_count,
    };
    int r = sampler_start(&monitor->sampler, monitor->counter, &config);
    return r < 0 ? r : watch(monitor, sampler_fd(monitor->sampler));
}

static int load_ceilings(struct monitor *monitor)
{
    size_t count = monitor->counter->device_count;
    monitor->ceilings = calloc(count + 1, sizeof(*monitor->ceilings));
    if (!monitor->ceilings)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        ceilings_load(&monitor->counter->devices[i], &monitor->ceilings[i]);
    return 0;
}

static int try_source(struct monitor *monitor, struct counter_failure *failure)
{
    struct counter *counter = NULL;
    int r = counter_open(&counter, monitor->source, failure);
    if (r < 0)
        return r;
    monitor->counter = counter;
    monitor->vacant.ops = counter->ops;
    r = set_clock(monitor, failure);
    if (r < 0)
        return r;
    if (monitor->follows_processes && counter->ops->follow_processes)
        counter->ops->follow_processes(counter);
    r = select_devices(counter, monitor->gpus, &monitor->selected, &monitor->selected_count,
                       failure);
    if (r < 0)
        return r;
    r = load_ceilings(monitor);
    if (r == 0)
        r = frame_init(&monitor->frame, counter->device_count);
    return r < 0 ? r : start_sampling(monitor);
}

static void close_source(struct monitor *monitor)
{
    if (monitor->sampler)
        epoll_ctl(monitor->epoll, EPOLL_CTL_DEL, sampler_fd(monitor->sampler), NULL);
    /* Where a thread hangs in the driver, the source stays open for it. */
    if (sampler_stop(monitor->sampler) && monitor->counter != &monitor->vacant)
        counter_close(monitor->counter);
    monitor->sampler = NULL;
    monitor->counter = &monitor->vacant;
    frame_free(&monitor->frame);
    free(monitor->ceilings);
    monitor->ceilings = NULL;
    free(monitor->selected);
    monitor->selected = NULL;
    monitor->selected_count = 0;
}

/* On failure nothing of the source is left, and `failure` says why. */
static int open_source(struct monitor *monitor, struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    int r = try_source(monitor, failure);
    if (r < 0) {
        close_source(monitor);
        if (!failure->reason[0])
            snprintf(failure->reason, sizeof(failure->reason), "%s", strerror(-r));
    }
    return r;
}

static int open_descriptors(struct monitor *monitor)
{
    monitor->epoll = epoll_create1(EPOLL_CLOEXEC);
    monitor->retry_timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (monitor->epoll < 0 || monitor->retry_timer < 0)
        return -errno;
    return watch(monitor, monitor->retry_timer);
}

static int fill_monitor(struct monitor *monitor, const struct monitor_config *config,
                        struct counter_failure *failure)
{
    int r = open_descriptors(monitor);
    if (r == 0)
        r = jobs_cache_new(&monitor->jobs, "");
    if (r == 0)
        r = adopt_config(monitor, config, failure);
    return r < 0 ? r : open_source(monitor, failure);
}

int monitor_open(struct monitor **ret, const struct monitor_config *config,
                 struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    struct monitor *monitor = calloc(1, sizeof(*monitor));
    int r = -ENOMEM;
    if (monitor) {
        monitor->epoll = monitor->retry_timer = -1;
        monitor->counter = &monitor->vacant;
        r = fill_monitor(monitor, config, failure);
    }
    if (r < 0) {
        monitor_close(monitor);
        if (!failure->reason[0])
            snprintf(failure->reason, sizeof(failure->reason), "%s", strerror(-r));
        return r;
    }
    *ret = monitor;
    return 0;
}

void monitor_close(struct monitor *monitor)
{
    if (!monitor)
        return;
    close_source(monitor);
    if (monitor->epoll >= 0)
        close(monitor->epoll);
    if (monitor->retry_timer >= 0)
        close(monitor->retry_timer);
    jobs_cache_free(monitor->jobs);
    free(monitor->source);
    free(monitor->gpus);
    free(monitor);
}

int monitor_fd(const struct monitor *monitor)
{
    return monitor->epoll;
}

static int arm_retry(struct monitor *monitor)
{
    struct itimerspec timer = {.it_value = clock_timespec(monitor->retry_wait)};
    return timerfd_settime(monitor->retry_timer, 0, &timer, NULL) < 0 ? -errno : 0;
}

/* Where the source does not open, it is tried again, less and less often; until then there are no
 * devices, and monitor_failure() says why. */
static int reopen_source(struct monitor *monitor)
{
    if (open_source(monitor, &monitor->failure) == 0)
        return 0;
    double wait = monitor->retry_wait;
    monitor->retry_wait = wait > 0 ? fmin(2 * wait, LONGEST_RETRY) : FIRST_RETRY;
    return arm_retry(monitor);
}

static int retry_source(struct monitor *monitor)
{
    uint64_t expirations;
    if (read(monitor->retry_timer, &expirations, sizeof(expirations)) < 0)
        return errno == EAGAIN ? 0 : -errno;
    int r = reopen_source(monitor);
    if (monitor->sampler)
        monitor->generation++;
    return r;
}

/* Devices have come or gone. */
static int replace_source(struct monitor *monitor)
{
    double time = monitor->frame.time;
    close_source(monitor);
    monitor->generation++;
    monitor->retry_wait = 0;
    int r = reopen_source(monitor);
    monitor->frame.time = time;
    return r;
}

int monitor_next(struct monitor *monitor)
{
    if (!monitor->sampler)
        return retry_source(monitor);
    int r = sampler_next(monitor->sampler, &monitor->frame);
    if (r == -ESTALE)
        return replace_source(monitor);
    if (r <= 0)
        return r;
    for (size_t i = 0; i < monitor->selected_count; i++) {
        size_t device = monitor->selected[i];
        sol_derive(&monitor->counter->devices[device], &monitor->ceilings[device],
                   &monitor->frame.readings[device].sample);
    }
    return 1;
}

int monitor_wait(struct monitor *monitor, double timeout)
{
    double until = clock_monotonic() + timeout;
    for (;;) {
        int r = monitor_next(monitor);
        if (r != 0)
            return r;
        double left = timeout < 0 ? -1 : until - clock_monotonic();
        if (timeout >= 0 && left <= 0)
            return 0;
        struct pollfd poll_fd = {.fd = monitor->epoll, .events = POLLIN};
        int milliseconds = left < 0 ? -1 : left > 3600 ? 3600000 : (int)(left * 1000) + 1;
        if (poll(&poll_fd, 1, milliseconds) < 0)
            return -errno;
    }
}

unsigned monitor_generation(const struct monitor *monitor)
{
    return monitor->generation;
}

size_t monitor_count(const struct monitor *monitor)
{
    return monitor->selected_count;
}

const struct device *monitor_device(const struct monitor *monitor, size_t i)
{
    return &monitor->counter->devices[monitor->selected[i]];
}

const struct reading *monitor_reading(const struct monitor *monitor, size_t i)
{
    return &monitor->frame.readings[monitor->selected[i]];
}

double monitor_time(const struct monitor *monitor)
{
    return monitor->frame.time;
}

double monitor_interval(const struct monitor *monitor)
{
    return monitor->frame.interval;
}

const struct counter_failure *monitor_failure(const struct monitor *monitor)
{
    return monitor->sampler ? NULL : &monitor->failure;
}

double monitor_sampling_interval(const struct monitor *monitor)
{
    return chosen_interval(monitor);
}

int monitor_set_interval(struct monitor *monitor, double interval)
{
    if (!monitor->counter->ops->live)
        return -ENOTSUP;
    int r = monitor->sampler ? sampler_set_interval(monitor->sampler, interval) : 0;
    if (r == 0)
        monitor->wanted_interval = interval;
    return r;
}

const struct counter *monitor_counter(const struct monitor *monitor)
{
    return monitor->counter;
}

const char *monitor_cuda_version(const struct monitor *monitor)
{
    return counter_cuda_version(monitor->counter);
}

void monitor_tell_failure(const struct monitor *monitor, size_t i, char *ret, size_t size)
{
    counter_tell_failure(monitor->counter, monitor->selected[i], ret, size);
}

const struct process_description *monitor_describe(struct monitor *monitor, pid_t pid)
{
    const struct counter_ops *ops = monitor->counter->ops;
    if (ops->live)
        return jobs_cache_describe(monitor->jobs, pid);
    if (!ops->describe || !ops->describe(monitor->counter, pid, &monitor->description))
        monitor->description = (struct process_description){.outside = true};
    return &monitor->description;
}

int monitor_seek(struct monitor *monitor, double time)
{
    return monitor->sampler ? sampler_seek(monitor->sampler, time) : -ENOTSUP;
}

int monitor_set_speed(struct monitor *monitor, double speed)
{
    int r = monitor->sampler ? sampler_set_speed(monitor->sampler, speed) : -ENOTSUP;
    if (r == 0)
        monitor->speed = speed;
    return r;
}

double monitor_speed(const struct monitor *monitor)
{
    return monitor->speed;
}
