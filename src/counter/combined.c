#include "counter/combined.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "counter/cupti/overlay.h"

struct combined {
    struct counter counter;
    struct counter *inner;
    struct overlay *overlay;
    atomic_bool read; /* by a device's thread */
};

static const struct counter_ops wrapped_ops;

static struct combined *combined_of(struct counter *counter)
{
    return (struct combined *)counter;
}

/* The overlay is exchanged, which nobody may be reading then: once sampling has begun it stays. */
static int combined_set_clock(struct counter *counter, enum clock_mode mode)
{
    struct combined *combined = combined_of(counter);
    if (atomic_load(&combined->read))
        return -EBUSY;
    struct overlay_config config = overlay_defaults;
    config.mode = mode;
    struct overlay *overlay;
    int r = overlay_open(&overlay, counter->devices, counter->device_count, &config);
    if (r < 0)
        return r;
    overlay_close(combined->overlay);
    combined->overlay = overlay;
    return 0;
}

static int wrap(struct counter **ret, struct counter *inner, const struct counter_ops *ops,
                enum clock_mode mode)
{
    struct combined *combined = calloc(1, sizeof(*combined));
    if (!combined)
        return -ENOMEM;
    combined->counter = *inner; /* what it tells of its devices and versions */
    combined->counter.ops = ops;
    combined->inner = inner;
    int r = combined_set_clock(&combined->counter, mode);
    if (r < 0) {
        free(combined);
        return r;
    }
    *ret = &combined->counter;
    return 0;
}

int combined_wrap(struct counter **ret, struct counter *inner)
{
    return wrap(ret, inner, &wrapped_ops, CLOCK_BURST);
}

static int open_cupti(struct counter **ret, const char *argument, struct counter_failure *failure)
{
    struct counter *inner;
    int r = nvml_counter.open(&inner, argument, failure);
    if (r < 0)
        return r;
    r = wrap(ret, inner, &cupti_counter, CLOCK_CONTINUOUS);
    if (r < 0)
        counter_close(inner);
    return r;
}

static void combined_close(struct counter *counter)
{
    struct combined *combined = combined_of(counter);
    overlay_close(combined->overlay);
    counter_close(combined->inner);
    free(combined);
}

static int combined_read(struct counter *counter, size_t device, struct sample *sample,
                         struct process_list *processes)
{
    struct combined *combined = combined_of(counter);
    struct counter *inner = combined->inner;
    atomic_store_explicit(&combined->read, true, memory_order_relaxed);
    int r = inner->ops->read(inner, device, sample, processes);
    if (r == 0)
        overlay_read(combined->overlay, device, sample);
    return r;
}

static int combined_reopen(struct counter *counter, size_t device)
{
    struct counter *inner = combined_of(counter)->inner;
    return inner->ops->reopen ? inner->ops->reopen(inner, device) : 0;
}

static bool combined_changed(struct counter *counter)
{
    struct counter *inner = combined_of(counter)->inner;
    return inner->ops->changed && inner->ops->changed(inner);
}

static void combined_follow_processes(struct counter *counter)
{
    struct counter *inner = combined_of(counter)->inner;
    if (inner->ops->follow_processes)
        inner->ops->follow_processes(inner);
}

static void combined_read_cuda_version(struct counter *counter)
{
    const char *version = counter_cuda_version(combined_of(counter)->inner);
    snprintf(counter->cuda_version, sizeof(counter->cuda_version), "%s", version);
}

static void combined_tell_failure(struct counter *counter, size_t device, char *ret, size_t size)
{
    struct overlay_status status;
    overlay_status(combined_of(counter)->overlay, device, &status);
    snprintf(ret, size, "%s", status.text);
}

static const struct counter_ops wrapped_ops = {
    .name = "auto",
    .help = "the NVIDIA driver, with CUPTI's counters beside it",
    .live = true,
    .close = combined_close,
    .read = combined_read,
    .reopen = combined_reopen,
    .changed = combined_changed,
    .set_clock = combined_set_clock,
    .follow_processes = combined_follow_processes,
    .read_cuda_version = combined_read_cuda_version,
    .tell_failure = combined_tell_failure,
};

const struct counter_ops cupti_counter = {
    .name = "cupti",
    .help = "the NVIDIA driver, and CUPTI's hardware counters all the time: more than GPM tells, "
            "and the only ones before Hopper",
    .live = true,
    .open = open_cupti,
    .close = combined_close,
    .read = combined_read,
    .reopen = combined_reopen,
    .changed = combined_changed,
    .set_clock = combined_set_clock,
    .follow_processes = combined_follow_processes,
    .read_cuda_version = combined_read_cuda_version,
    .tell_failure = combined_tell_failure,
};
