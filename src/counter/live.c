#include "counter/live.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

/* The first frame comes early, but late enough for counters that advance each 0.1 s. */
static const double FIRST_FRAME_DELAY = 0.12;
static const double LONGEST_GRACE = 0.25;
static const double SHORTEST_STALE_AGE = 0.3;
static const double LONGEST_BACK_OFF = 30;
static const double CHANGE_PERIOD = 5;
static const double STOP_PATIENCE = 1;
/* Of virtual memory: a driver library may want more of it than our own code does. */
enum { WORKER_STACK_BYTES = 1024 * 1024 };

struct worker {
    struct live *live;
    size_t device;
    pthread_t thread;

    /* The thread's own. */
    struct sample sample;
    struct process_list processes;
    unsigned failures;

    /* Under the live lock. */
    struct reading latest;
    unsigned long done_tick; /* the last tick that this worker has served */
    double done_at;          /* when it last succeeded (at first: began), monotonic clock */
    bool awaited;            /* frames wait for it: it neither hangs nor backs off */
    bool ended;
};

struct live {
    struct counter *counter;
    double interval;
    double base;        /* when tick 0 is, on the monotonic clock */
    double first_delay; /* from tick 0 to tick 1; then one interval each */

    double change_period;

    pthread_mutex_t lock;
    pthread_cond_t wake_signal; /* of `stopping`, of another interval, and of each worker's end */
    bool stopping;
    bool abandoned; /* stopped while a worker hung: the last worker frees it all */
    bool devices_changed;
    bool checking_changes; /* a worker asks the source just now */
    double next_change_check;
    unsigned long tick; /* the tick of the next frame */
    double deadline;    /* when that frame comes without those that have not served the tick */
    bool extended;      /* the deadline was put off */
    double frame_time;  /* of the last frame, on the monotonic clock */

    int ready_event; /* all awaited workers have served the tick */
    int grace_timer; /* the tick's grace is over */
    int epoll;       /* the two together */

    size_t worker_count;
    struct worker *workers;
};

/* Tick 0 only gives rates a start; frames begin with tick 1. */
static double tick_time(const struct live *live, unsigned long tick)
{
    if (tick == 0)
        return live->base;
    return live->base + live->first_delay + (double)(tick - 1) * live->interval;
}

/* The first tick that comes after `tick` and is not over by `now`. */
static unsigned long tick_after(const struct live *live, unsigned long tick, double now)
{
    double passed = (now - live->base - live->first_delay) / live->interval;
    unsigned long next = passed > 0 ? (unsigned long)passed + 1 : 1;
    if (next <= tick)
        next = tick + 1;
    while (tick_time(live, next) <= now)
        next++;
    return next;
}

static double grace(const struct live *live)
{
    double half = live->interval / 2;
    return half < LONGEST_GRACE ? half : LONGEST_GRACE;
}

static double stale_age(const struct live *live)
{
    double age = 2.5 * live->interval;
    return age > SHORTEST_STALE_AGE ? age : SHORTEST_STALE_AGE;
}

/* Sleeps until the tick, which live_set_interval() may move; false where the sampler is to stop. */
static bool sleep_until(struct live *live, unsigned long tick)
{
    pthread_mutex_lock(&live->lock);
    while (!live->stopping && clock_monotonic() < tick_time(live, tick)) {
        struct timespec until = clock_timespec(tick_time(live, tick));
        pthread_cond_timedwait(&live->wake_signal, &live->lock, &until);
    }
    bool go_on = !live->stopping;
    pthread_mutex_unlock(&live->lock);
    return go_on;
}

static bool is_stale(const struct worker *worker, double now)
{
    return now - worker->done_at > stale_age(worker->live);
}

static bool all_served(const struct live *live, double now)
{
    for (size_t i = 0; i < live->worker_count; i++) {
        const struct worker *worker = &live->workers[i];
        if (worker->awaited && (worker->done_tick < live->tick || is_stale(worker, now)))
            return false;
    }
    return true;
}

static enum reading_state state_of(int error)
{
    if (error == 0)
        return READING_OK;
    return error == -ENODEV ? READING_LOST : READING_FAILED;
}

static void publish(struct worker *worker, unsigned long tick, int error)
{
    struct live *live = worker->live;
    pthread_mutex_lock(&live->lock);
    worker->latest.state = state_of(error);
    worker->latest.error = error;
    if (error == 0) {
        worker->latest.sample = worker->sample;
        process_list_copy(&worker->latest.processes, &worker->processes);
        worker->done_at = clock_monotonic();
    }
    worker->done_tick = tick;
    worker->awaited = error == 0;
    bool ready = all_served(live, clock_monotonic());
    pthread_mutex_unlock(&live->lock);
    if (ready)
        eventfd_write(live->ready_event, 1);
}

/* Seconds to wait after the n-th failure in a row. Under the lock. */
static double back_off(const struct live *live, unsigned failures)
{
    double wait = live->interval;
    for (unsigned i = 0; i < failures && wait < LONGEST_BACK_OFF; i++)
        wait *= 2;
    return wait < LONGEST_BACK_OFF ? wait : LONGEST_BACK_OFF;
}

static int read_device(struct worker *worker)
{
    struct counter *counter = worker->live->counter;
    if (worker->failures > 0 && counter->ops->reopen) {
        int r = counter->ops->reopen(counter, worker->device);
        if (r < 0)
            return r;
    }
    int r = counter->ops->read(counter, worker->device, &worker->sample, &worker->processes);
    worker->sample.time = clock_realtime();
    return r;
}

/* Any worker may look after the list of devices, so that one that hangs or backs off does not stop
 * the looking; never two at once, so that a look that hangs holds up one worker only. */
static bool claim_change_check(struct live *live)
{
    pthread_mutex_lock(&live->lock);
    bool claimed = !live->checking_changes && clock_monotonic() >= live->next_change_check;
    if (claimed)
        live->checking_changes = true;
    pthread_mutex_unlock(&live->lock);
    return claimed;
}

static void check_for_changes(struct live *live)
{
    if (!live->counter->ops->changed || !claim_change_check(live))
        return;
    bool changed = live->counter->ops->changed(live->counter);
    pthread_mutex_lock(&live->lock);
    live->checking_changes = false;
    live->next_change_check = clock_monotonic() + live->change_period;
    live->devices_changed |= changed;
    pthread_mutex_unlock(&live->lock);
    if (changed)
        eventfd_write(live->ready_event, 1);
}

static bool all_ended(const struct live *live)
{
    for (size_t i = 0; i < live->worker_count; i++)
        if (!live->workers[i].ended)
            return false;
    return true;
}

static void close_descriptor(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void destroy(struct live *live)
{
    close_descriptor(live->epoll);
    close_descriptor(live->grace_timer);
    close_descriptor(live->ready_event);
    pthread_cond_destroy(&live->wake_signal);
    pthread_mutex_destroy(&live->lock);
    free(live->workers);
    free(live);
}

static void sign_off(struct worker *worker)
{
    struct live *live = worker->live;
    pthread_mutex_lock(&live->lock);
    worker->ended = true;
    bool last = live->abandoned && all_ended(live);
    pthread_cond_broadcast(&live->wake_signal);
    pthread_mutex_unlock(&live->lock);
    if (last)
        destroy(live);
}

/* The tick that the worker serves after `tick`. */
static unsigned long next_tick(const struct worker *worker, unsigned long tick)
{
    struct live *live = worker->live;
    double now = clock_monotonic();
    pthread_mutex_lock(&live->lock);
    double wait = worker->failures == 0 ? 0 : back_off(live, worker->failures);
    tick = tick_after(live, tick, now + wait);
    pthread_mutex_unlock(&live->lock);
    return tick;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct live *live = worker->live;
    unsigned long tick = 0;
    while (sleep_until(live, tick)) {
        int error = read_device(worker);
        worker->failures = error == 0 ? 0 : worker->failures + 1;
        publish(worker, tick, error);
        check_for_changes(live);
        tick = next_tick(worker, tick);
    }
    sign_off(worker);
    return NULL;
}

static void await_tick(struct live *live, unsigned long tick)
{
    live->tick = tick;
    live->deadline = tick_time(live, tick) + grace(live);
    live->extended = false;
}

static int arm_grace(struct live *live)
{
    struct itimerspec timer = {.it_value = clock_timespec(live->deadline)};
    return timerfd_settime(live->grace_timer, TFD_TIMER_ABSTIME, &timer, NULL) < 0 ? -errno : 0;
}

static int watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_descriptors(struct live *live)
{
    live->ready_event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    live->grace_timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    live->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (live->ready_event < 0 || live->grace_timer < 0 || live->epoll < 0)
        return -errno;
    int r = watch(live->epoll, live->ready_event);
    return r < 0 ? r : watch(live->epoll, live->grace_timer);
}

static void init_lock(struct live *live)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&live->wake_signal, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&live->lock, NULL);
}

static int start_worker(struct live *live, struct worker *worker, size_t device)
{
    worker->live = live;
    worker->device = device;
    worker->awaited = true;
    worker->done_at = live->base;
    sample_reset(&worker->sample, ABSENT_FIRST_SAMPLE);
    sample_reset(&worker->latest.sample, ABSENT_FIRST_SAMPLE);

    return thread_start(&worker->thread, WORKER_STACK_BYTES, work, worker);
}

/* The lock is held until all are there: where one does not start, no other has yet called the
 * driver, and all end at once. */
static int start_workers(struct live *live, const struct sampler_config *config)
{
    live->workers = calloc(config->device_count + 1, sizeof(*live->workers));
    if (!live->workers)
        return -ENOMEM;
    int r = 0;
    pthread_mutex_lock(&live->lock);
    for (size_t i = 0; r == 0 && i < config->device_count; i++) {
        r = start_worker(live, &live->workers[i], config->devices[i]);
        if (r == 0)
            live->worker_count++;
    }
    live->stopping = r < 0;
    pthread_mutex_unlock(&live->lock);
    return r;
}

int live_start(struct live **ret, struct counter *counter, const struct sampler_config *config)
{
    double interval = config->interval;
    double change_period = config->change_period > 0 ? config->change_period : CHANGE_PERIOD;
    double now = clock_monotonic();
    struct live *live = calloc(1, sizeof(*live));
    if (!live)
        return -ENOMEM;
    *live = (struct live){
        .counter = counter,
        .interval = interval,
        .first_delay = interval < FIRST_FRAME_DELAY ? interval : FIRST_FRAME_DELAY,
        .base = now,
        .frame_time = now,
        .change_period = change_period,
        .next_change_check = now + change_period,
        .ready_event = -1,
        .grace_timer = -1,
        .epoll = -1,
    };
    await_tick(live, 1);
    init_lock(live);
    int r = open_descriptors(live);
    if (r == 0)
        r = start_workers(live, config);
    if (r == 0)
        r = arm_grace(live);
    if (r < 0) {
        live_stop(live);
        return r;
    }
    *ret = live;
    return 0;
}

static void await_ends(struct live *live)
{
    struct timespec until = clock_timespec(clock_monotonic() + STOP_PATIENCE);
    int r = 0;
    while (!all_ended(live) && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&live->wake_signal, &live->lock, &until);
}

/* False where one hangs in the driver. */
static bool end_workers(struct live *live)
{
    pthread_mutex_lock(&live->lock);
    live->stopping = true;
    pthread_cond_broadcast(&live->wake_signal);
    await_ends(live);
    bool ended = all_ended(live);
    live->abandoned = !ended;
    for (size_t i = 0; !ended && i < live->worker_count; i++)
        pthread_detach(live->workers[i].thread);
    pthread_mutex_unlock(&live->lock);
    return ended;
}

bool live_stop(struct live *live)
{
    if (!end_workers(live))
        return false;
    for (size_t i = 0; i < live->worker_count; i++)
        pthread_join(live->workers[i].thread, NULL);
    destroy(live);
    return true;
}

/* The tick that is awaited comes when it would have, or one new interval from now if that is
 * sooner; those behind it follow in the new distance. */
void live_set_interval(struct live *live, double interval)
{
    pthread_mutex_lock(&live->lock);
    double when = tick_time(live, live->tick);
    double soonest = clock_monotonic() + interval;
    if (when > soonest)
        when = soonest;
    live->interval = interval;
    live->base = when - live->first_delay - (double)(live->tick - 1) * interval;
    await_tick(live, live->tick);
    pthread_cond_broadcast(&live->wake_signal);
    pthread_mutex_unlock(&live->lock);
    arm_grace(live);
}

int live_fd(const struct live *live)
{
    return live->epoll;
}

static void fill_reading(struct worker *worker, double now, struct reading *reading)
{
    const struct reading *latest = &worker->latest;
    reading->state = latest->state;
    reading->error = latest->error;
    reading->age = now - worker->done_at;
    reading->sample = latest->sample;
    process_list_copy(&reading->processes, &latest->processes);

    if (is_stale(worker, now) && reading->state <= READING_OK) {
        reading->state = READING_STALE;
        worker->awaited = false;
    }
    reading_withdraw(reading);
}

static void fill_frame(struct live *live, double now, struct frame *frame)
{
    frame->time = clock_realtime();
    frame->interval = now - live->frame_time;
    for (size_t i = 0; i < live->worker_count; i++)
        fill_reading(&live->workers[i], now, &frame->readings[live->workers[i].device]);
    live->frame_time = now;
}

/* A caller who comes late may have been stopped, and the workers with it: before they are called
 * stale, they get their time once more. */
static bool is_due(struct live *live, double now)
{
    if (now < tick_time(live, live->tick))
        return false;
    if (all_served(live, now))
        return true;
    if (now > live->deadline + grace(live) && !live->extended) {
        live->deadline = now + grace(live);
        live->extended = true;
    }
    return now >= live->deadline;
}

int live_next(struct live *live, struct frame *frame)
{
    eventfd_t drained;
    eventfd_read(live->ready_event, &drained);
    double now = clock_monotonic();
    int r = 0;
    pthread_mutex_lock(&live->lock);
    if (live->devices_changed)
        r = -ESTALE;
    else if (is_due(live, now)) {
        fill_frame(live, now, frame);
        await_tick(live, tick_after(live, live->tick, now));
        r = 1;
    }
    pthread_mutex_unlock(&live->lock);
    int armed = arm_grace(live);
    return armed < 0 ? armed : r;
}
