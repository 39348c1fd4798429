#include "counter/playback.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

static const double LONGEST_LAG = 0.5;

struct playback {
    struct counter *counter;
    double interval;
    double speed;
    int timer;

    /* Tick n of the present stretch is at recorded time origin + n·interval. */
    double origin;
    double started; /* when the stretch began, on the monotonic clock */
    unsigned long tick;
};

static double tick_time(const struct playback *playback, unsigned long tick)
{
    return playback->origin + (double)tick * playback->interval;
}

static double due(const struct playback *playback)
{
    if (playback->speed <= 0)
        return playback->started;
    double recorded = tick_time(playback, playback->tick) - playback->origin;
    return playback->started + recorded / playback->speed;
}

/* A timer set in the past fires at once, and stays readable until it is set again. */
static int arm(struct playback *playback)
{
    struct itimerspec when = {.it_value = clock_timespec(due(playback))};
    return timerfd_settime(playback->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0 ? -errno : 0;
}

/* Nothing is due any more; a readable timer would keep its watchers busy for nothing. */
static void disarm(struct playback *playback)
{
    timerfd_settime(playback->timer, 0, &(struct itimerspec){0}, NULL);
}

static void rest(const struct playback *playback)
{
    if (playback->counter->ops->rest)
        playback->counter->ops->rest(playback->counter);
}

static int begin_stretch(struct playback *playback, double origin)
{
    playback->origin = origin;
    playback->started = clock_monotonic();
    playback->tick = 1;
    return arm(playback);
}

int playback_start(struct playback **ret, struct counter *counter, double interval, double speed)
{
    struct playback *playback = calloc(1, sizeof(*playback));
    if (!playback)
        return -ENOMEM;
    *playback = (struct playback){
        .counter = counter,
        .interval = interval,
        .speed = speed,
        .timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
    };
    int r = playback->timer < 0 ? -errno : begin_stretch(playback, counter->begin);
    if (r < 0) {
        playback_stop(playback);
        return r;
    }
    *ret = playback;
    return 0;
}

void playback_stop(struct playback *playback)
{
    if (playback->timer >= 0)
        close(playback->timer);
    free(playback);
}

int playback_fd(const struct playback *playback)
{
    return playback->timer;
}

/* Whoever comes this late was stopped, or cannot keep up: go on from here at the same speed, rather
 * than rush through what was missed. */
static void forgive_lag(struct playback *playback, double lag)
{
    if (playback->speed > 0 && lag > LONGEST_LAG)
        playback->started += lag;
}

int playback_next(struct playback *playback, struct frame *frame)
{
    double lag = clock_monotonic() - due(playback);
    if (lag < 0)
        return 0;
    forgive_lag(playback, lag);
    double until = tick_time(playback, playback->tick);
    int r = playback->counter->ops->collect(playback->counter, until, frame);
    if (r < 0 || playback->speed > 0)
        rest(playback);
    if (r < 0) {
        disarm(playback);
        return r;
    }
    frame->time = until;
    frame->interval = playback->interval;
    playback->tick++;
    if (playback->speed > 0) {
        r = arm(playback);
        if (r < 0)
            return r;
    }
    return 1;
}

int playback_seek(struct playback *playback, double time)
{
    const struct counter *counter = playback->counter;
    if (!isfinite(time))
        return -EINVAL;
    double origin = fmin(fmax(time, counter->begin), counter->end);
    int r = counter->ops->seek(playback->counter, origin);
    return r < 0 ? r : begin_stretch(playback, origin);
}

int playback_set_speed(struct playback *playback, double speed)
{
    playback->speed = speed;
    rest(playback);
    return begin_stretch(playback, tick_time(playback, playback->tick - 1));
}
