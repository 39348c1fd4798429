#include "tui/feed.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Of recordings that play fast, so that keys are not kept waiting. */
static const double LONGEST_TAKE = 0.02;

static int take_devices(struct feed *feed)
{
    size_t count = monitor_count(feed->monitor);
    CLEANUP_FREE const struct device **devices = calloc(count + 1, sizeof(struct device *));
    if (!devices)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        devices[i] = monitor_device(feed->monitor, i);
    feed->generation = monitor_generation(feed->monitor);
    const struct counter_failure *failure = monitor_failure(feed->monitor);
    snprintf(feed->model->trouble, sizeof(feed->model->trouble), "%.*s",
             (int)sizeof(feed->model->trouble) - 1, failure ? failure->reason : "");
    return model_set_devices(feed->model, devices, count);
}

static void describe_source(struct model *model, const struct counter *counter, const char *source)
{
    const char *colon = strchr(source, ':');
    const char *slash = strrchr(source, '/');
    if (counter->ops->live)
        snprintf(model->source, sizeof(model->source), "%s", counter->ops->name);
    else
        snprintf(model->source, sizeof(model->source), "%s %.*s", counter->ops->name, 64,
                 slash   ? slash + 1
                 : colon ? colon + 1
                         : source);
    snprintf(model->driver, sizeof(model->driver), "%s", counter->driver_version);
}

static int take_marks(struct model *model, const struct counter *counter)
{
    for (size_t i = 0; i < counter->mark_count; i++) {
        int r = model_mark(model, &counter->marks[i]);
        if (r < 0 && r != -ENOSPC)
            return r;
    }
    return 0;
}

int feed_start(struct feed *feed, struct monitor *monitor, struct model *model, const char *source)
{
    const struct counter *counter = monitor_counter(monitor);
    *feed = (struct feed){.monitor = monitor, .model = model};
    model->recorded = !counter->ops->live;
    model->begin = counter->begin;
    model->end = counter->end;
    model->speed = monitor_speed(monitor);
    model->interval = monitor_sampling_interval(monitor);
    describe_source(model, counter, source);
    int r = take_marks(model, counter);
    return r < 0 ? r : take_devices(feed);
}

int feed_take(struct feed *feed)
{
    struct model *model = feed->model;
    if (feed->generation != monitor_generation(feed->monitor)) {
        int r = take_devices(feed);
        if (r < 0)
            return r;
    }
    model->time = monitor_time(feed->monitor);
    model->ended = false;
    for (size_t i = 0; i < monitor_count(feed->monitor); i++)
        model_add(model, i, monitor_reading(feed->monitor, i));
    return 0;
}

int feed_take_all(struct feed *feed)
{
    double until = clock_monotonic() + LONGEST_TAKE;
    int count = 0;
    do {
        int r = monitor_next(feed->monitor);
        if (r == 0 && feed->generation != monitor_generation(feed->monitor))
            return take_devices(feed) < 0 ? -ENOMEM : 1;
        if (r == 1)
            r = feed_take(feed) < 0 ? -ENOMEM : 1;
        if (r == -ENODATA) { /* that is told once */
            feed->model->ended = true;
            return count;
        }
        if (r <= 0)
            return count > 0 ? count : r;
        count++;
    } while (clock_monotonic() < until);
    return count;
}

int feed_seek(struct feed *feed, double time, double span)
{
    struct model *model = feed->model;
    double interval = model->interval;
    double steps = ceil(fmin(span, time - model->begin) / interval - 1e-6);
    double speed = monitor_speed(feed->monitor);
    model_forget(model);
    int r = monitor_seek(feed->monitor, fmax(time - fmax(steps, 1) * interval, model->begin));
    if (r == 0)
        r = monitor_set_speed(feed->monitor, 0);
    model->time = 0;
    while (r >= 0 && model->time < time - interval * 1e-3) {
        r = monitor_wait(feed->monitor, 1);
        if (r == 1)
            r = feed_take(feed);
        else if (r == -EINTR)
            r = 0;
        else if (r == 0)
            break;
    }
    if (model->time == 0)
        model->time = time;
    model->ended = r == -ENODATA || model->time >= model->end;
    int restored = monitor_set_speed(feed->monitor, speed);
    return r < 0 && r != -ENODATA ? r : restored;
}

static const struct process_description *describe(void *context, pid_t pid)
{
    struct feed *feed = context;
    return monitor_describe(feed->monitor, pid);
}

struct process_lookup feed_lookup(struct feed *feed)
{
    return (struct process_lookup){describe, feed};
}
