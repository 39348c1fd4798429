#include "monitor/monitor.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "jobs/describe.h"
#include "monitor/select.h"
#include "sol/sol.h"

static const double DEFAULT_INTERVAL = 0.1;

struct monitor {
    char *source; /* without the speed */
    char *gpus;
    double wanted_interval; /* 0: the recording's own */
    double speed;

    struct counter *counter;
    struct sampler *sampler;
    struct frame frame;
    size_t *selected; /* indices of the source's devices */
    size_t selected_count;
    unsigned generation;

    int epoll; /* holds the present sampler's descriptor */
    struct jobs_cache *jobs;
    struct process_description description;
};

/* Takes "@SPEED" off the end of a recording's name. */
static int split_speed(char *source, double *ret_speed, struct counter_failure *failure)
{
    *ret_speed = 1;
    char *at = strrchr(source, '@');
    if (!at || strchr(at, '/'))
        return 0;
    const char *speed = at + 1;
    if (strcmp(speed, "max") == 0)
        *ret_speed = 0;
    else if (parse_double(speed, ret_speed) < 0 || *ret_speed <= 0) {
        snprintf(failure->reason, sizeof(failure->reason), "'%s' is not a speed", speed);
        snprintf(failure->advice, sizeof(failure->advice), "use a factor such as @10, or @max");
        return -EINVAL;
    }
    *at = '\0';
    return 0;
}

static bool is_recorded(const char *source)
{
    return strncmp(source, "replay:", 7) == 0 || strncmp(source, "sim:", 4) == 0;
}

static int adopt_config(struct monitor *monitor, const struct monitor_config *config,
                        struct counter_failure *failure)
{
    const char *source = config->source ? config->source : secure_getenv("ROOFTOP_SOURCE");
    monitor->source = strdup(source && source[0] ? source : "auto");
    monitor->gpus = config->gpus ? strdup(config->gpus) : NULL;
    if (!monitor->source || (config->gpus && !monitor->gpus))
        return -ENOMEM;
    monitor->wanted_interval = config->interval;
    return is_recorded(monitor->source) ? split_speed(monitor->source, &monitor->speed, failure)
                                        : 0;
}

static double chosen_interval(const struct monitor *monitor)
{
    if (monitor->wanted_interval > 0)
        return monitor->wanted_interval;
    const struct counter *counter = monitor->counter;
    return !counter->ops->live && counter->interval > 0 ? counter->interval : DEFAULT_INTERVAL;
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
    if (r < 0)
        return r;
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(monitor->epoll, EPOLL_CTL_ADD, sampler_fd(monitor->sampler), &event) < 0
               ? -errno
               : 0;
}

static int open_source(struct monitor *monitor, struct counter_failure *failure)
{
    int r = counter_open(&monitor->counter, monitor->source, failure);
    if (r < 0)
        return r;
    r = select_devices(monitor->counter, monitor->gpus, &monitor->selected,
                       &monitor->selected_count, failure);
    if (r < 0)
        return r;
    r = frame_init(&monitor->frame, monitor->counter->device_count);
    return r < 0 ? r : start_sampling(monitor);
}

static void close_source(struct monitor *monitor)
{
    if (monitor->sampler)
        epoll_ctl(monitor->epoll, EPOLL_CTL_DEL, sampler_fd(monitor->sampler), NULL);
    /* Where a thread hangs in the driver, the source stays open for it. */
    if (sampler_stop(monitor->sampler))
        counter_close(monitor->counter);
    monitor->sampler = NULL;
    monitor->counter = NULL;
    frame_free(&monitor->frame);
    free(monitor->selected);
    monitor->selected = NULL;
    monitor->selected_count = 0;
}

int monitor_open(struct monitor **ret, const struct monitor_config *config,
                 struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    struct monitor *monitor = calloc(1, sizeof(*monitor));
    if (!monitor)
        return -ENOMEM;
    monitor->epoll = epoll_create1(EPOLL_CLOEXEC);
    int r = monitor->epoll < 0 ? -errno : jobs_cache_new(&monitor->jobs, "");
    if (r == 0)
        r = adopt_config(monitor, config, failure);
    if (r == 0)
        r = open_source(monitor, failure);
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
    jobs_cache_free(monitor->jobs);
    free(monitor->source);
    free(monitor->gpus);
    free(monitor);
}

int monitor_fd(const struct monitor *monitor)
{
    return monitor->epoll;
}

static int reopen_source(struct monitor *monitor)
{
    close_source(monitor);
    monitor->generation++;
    struct counter_failure failure;
    return open_source(monitor, &failure);
}

int monitor_next(struct monitor *monitor)
{
    int r = sampler_next(monitor->sampler, &monitor->frame);
    if (r == -ESTALE)
        return reopen_source(monitor);
    if (r <= 0)
        return r;
    for (size_t i = 0; i < monitor->selected_count; i++) {
        size_t device = monitor->selected[i];
        sol_derive(&monitor->counter->devices[device], &monitor->frame.readings[device].sample);
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

const struct counter *monitor_counter(const struct monitor *monitor)
{
    return monitor->counter;
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
    return sampler_seek(monitor->sampler, time);
}

int monitor_set_speed(struct monitor *monitor, double speed)
{
    return sampler_set_speed(monitor->sampler, speed);
}
