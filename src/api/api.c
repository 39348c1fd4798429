#include "rooftop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handle.h"
#include "version.h"

const char *rooftop_version(void)
{
    return ROOFTOP_VERSION;
}

static void report(const struct counter_failure *failure, struct rooftop_failure *ret)
{
    if (!ret)
        return;
    snprintf(ret->reason, sizeof(ret->reason), "%s", failure->reason);
    snprintf(ret->advice, sizeof(ret->advice), "%s", failure->advice);
}

int rooftop_open(rooftop **ret, const char *source, const char *gpus, double interval,
                 struct rooftop_failure *failure)
{
    WITH_PLAIN_NUMBERS;
    struct counter_failure why = {0};
    struct monitor_config config = {.source = source, .gpus = gpus, .interval = interval};
    rooftop *handle = calloc(1, sizeof(*handle));
    int r = handle ? monitor_open(&handle->monitor, &config, &why) : -ENOMEM;
    if (r < 0) {
        free(handle);
        if (!why.reason[0])
            snprintf(why.reason, sizeof(why.reason), "%s", strerror(-r));
        report(&why, failure);
        return r;
    }
    *ret = handle;
    return 0;
}

void rooftop_close(rooftop *handle)
{
    if (!handle)
        return;
    monitor_close(handle->monitor);
    strbuf_free(&handle->verdict);
    free(handle);
}

const char *rooftop_source_text(const rooftop *handle, const char *field)
{
    const struct counter *counter = monitor_counter(handle->monitor);
    if (strcmp(field, "cuda_version") == 0)
        return monitor_cuda_version(handle->monitor);
    const struct {
        const char *name;
        const char *text;
    } fields[] = {
        {"source", counter->ops->name},
        {"driver_version", counter->driver_version},
        {"library", counter->library},
        {"library_version", counter->library_version},
    };
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strcmp(fields[i].name, field) == 0)
            return fields[i].text;
    return NULL;
}

int rooftop_fd(const rooftop *handle)
{
    return monitor_fd(handle->monitor);
}

int rooftop_next(rooftop *handle)
{
    WITH_PLAIN_NUMBERS;
    return monitor_next(handle->monitor);
}

int rooftop_wait(rooftop *handle, double timeout)
{
    WITH_PLAIN_NUMBERS;
    return monitor_wait(handle->monitor, timeout);
}

double rooftop_time(const rooftop *handle)
{
    return monitor_time(handle->monitor);
}

double rooftop_interval(const rooftop *handle)
{
    return monitor_interval(handle->monitor);
}

size_t rooftop_device_count(const rooftop *handle)
{
    return monitor_count(handle->monitor);
}

unsigned rooftop_generation(const rooftop *handle)
{
    return monitor_generation(handle->monitor);
}

const char *rooftop_away(const rooftop *handle)
{
    const struct counter_failure *failure = monitor_failure(handle->monitor);
    return failure ? failure->reason : NULL;
}

int rooftop_recorded_span(const rooftop *handle, double *ret_begin, double *ret_end)
{
    const struct counter *counter = monitor_counter(handle->monitor);
    if (counter->ops->live)
        return -ENOTSUP;
    *ret_begin = counter->begin;
    *ret_end = counter->end;
    return 0;
}

size_t rooftop_recorded_mark_count(const rooftop *handle)
{
    return monitor_counter(handle->monitor)->mark_count;
}

const struct rooftop_span *rooftop_recorded_mark(rooftop *handle, size_t mark)
{
    const struct counter *counter = monitor_counter(handle->monitor);
    if (mark >= counter->mark_count)
        return NULL;
    const struct mark *recorded = &counter->marks[mark];
    handle->mark = (struct rooftop_span){
        .time = recorded->time,
        .end = recorded->end,
        .name = recorded->name,
    };
    return &handle->mark;
}

int rooftop_seek(rooftop *handle, double time)
{
    return monitor_seek(handle->monitor, time);
}

int rooftop_set_speed(rooftop *handle, double speed)
{
    return monitor_set_speed(handle->monitor, speed);
}
