#include "bench/stage.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/gpus.h"
#include "share/place.h"

static const struct device *gpu_of(const struct stage *stage)
{
    return monitor_device(stage->monitor, 0);
}

static int check_monitor(const struct stage *stage, struct counter_failure *failure)
{
    if (!monitor_counter(stage->monitor)->ops->live)
        return share_fail(failure, -EINVAL, "leave --source out",
                          "jobs can be measured on a real GPU only");
    if (device_is_mig(gpu_of(stage)))
        return share_fail(failure, -EINVAL, "name its GPU: the mode mig uses the instances",
                          "a bench is of a whole GPU, not of a MIG instance");
    return 0;
}

/* Nobody else's job comes to the GPU through `rooftop run` meanwhile. */
static int take_lease(struct stage *stage, bool beside, struct counter_failure *failure)
{
    struct slot_gpu gpus[SLOT_GPUS];
    const struct slot_request request = {
        .mode = SLOT_EXCLUSIVE,
        .gpu_count = 1,
        .beside = beside,
        .name = "rooftop bench",
    };
    struct slot_grant grant;
    int r = place_open(stage->folder, sizeof(stage->folder), failure);
    if (r == 0)
        r = slot_open(&stage->slots, stage->folder, failure);
    if (r < 0)
        return r;
    size_t count = gpus_list(stage->monitor, stage->slots, stage->folder, NULL, gpus);
    /* Of a GPU with instances the list holds those. */
    if (count == 0 || strcmp(gpus[0].uuid, gpu_of(stage)->text[DEVICE_UUID]) != 0)
        return 0;
    stage->memory_bytes = gpus[0].memory_bytes;
    r = slot_take(stage->slots, &request, gpus, 1, &grant, failure);
    if (r == 0)
        stage->lease = grant.id;
    return r;
}

/* The first GPU that the environment leaves becomes the monitor's only one. */
static int keep_visible(struct monitor **monitor, const char *source, const char *clock,
                        const char *visible, struct counter_failure *failure)
{
    size_t i = 0;
    while (i < monitor_count(*monitor) && !gpus_is_visible(monitor_device(*monitor, i), visible))
        i++;
    if (i == 0)
        return 0;
    if (i == monitor_count(*monitor))
        return gpus_none_visible(visible, failure);
    struct device device = *monitor_device(*monitor, i);
    monitor_close(*monitor);
    *monitor = NULL;
    return gpus_open(monitor, source, device.text[DEVICE_UUID], clock, failure);
}

int stage_open(struct stage *ret, const char *source, const char *gpu, const char *clock,
               bool beside, struct counter_failure *failure)
{
    *ret = (struct stage){0};
    int r = gpus_open(&ret->monitor, source, gpu, clock, failure);
    const char *visible = gpu ? NULL : secure_getenv("CUDA_VISIBLE_DEVICES");
    if (r == 0)
        r = keep_visible(&ret->monitor, source, clock, visible, failure);
    if (r == 0)
        r = check_monitor(ret, failure);
    return r < 0 ? r : take_lease(ret, beside, failure);
}

void stage_close(struct stage *stage)
{
    if (stage->lease)
        slot_release(stage->slots, stage->lease);
    slot_close(stage->slots);
    monitor_close(stage->monitor);
    *stage = (struct stage){0};
}

static bool has_mig(const struct stage *stage)
{
    return device_number(gpu_of(stage), DEVICE_MIG_ENABLED, 0) > 0;
}

static int find_instances(const struct stage *stage, const struct bench_plan *plan,
                          struct stage_place *ret, struct counter_failure *failure)
{
    const struct counter *counter = monitor_counter(stage->monitor);
    size_t found = 0;
    for (size_t i = 0; i < counter->device_count; i++) {
        const struct device *device = &counter->devices[i];
        if (device_is_mig(device) && device->number[DEVICE_PARENT] == gpu_of(stage)->index &&
            found < plan->instance_count)
            ret->devices[found++] = device->text[DEVICE_UUID];
    }
    if (found == plan->instance_count)
        return 0;
    return share_fail(failure, -ENOTSUP, "", "%s, and there are %zu jobs",
                      !has_mig(stage) ? "MIG is off"
                      : found == 0    ? "there are no instances"
                                      : "there are too few instances",
                      plan->instance_count);
}

/* The daemon's own limits bound every client: they are those of the largest job. */
static struct mps_limits largest_limits(const struct stage *stage, const struct bench_plan *plan,
                                        enum bench_mode mode)
{
    struct mps_limits largest = {0};
    bool unlimited = false;
    for (size_t i = 0; i < plan->job_count; i++) {
        const struct bench_job *job = &plan->jobs[i];
        struct mps_limits limits = bench_plan_limits(plan, mode, job, stage->memory_bytes);
        largest.sm_percent = fmax(largest.sm_percent, limits.sm_percent);
        if (limits.memory_bytes > largest.memory_bytes)
            largest.memory_bytes = limits.memory_bytes;
        unlimited = unlimited || limits.memory_bytes == 0;
    }
    if (unlimited)
        largest.memory_bytes = 0;
    return largest;
}

static int start_mps(struct stage *stage, const struct bench_plan *plan, enum bench_mode mode,
                     struct stage_place *ret, struct counter_failure *failure)
{
    int r = mps_open(&stage->mps, stage->folder, gpu_of(stage)->text[DEVICE_UUID], failure);
    if (r < 0)
        return -ENOTSUP;
    ret->mps = &stage->mps;
    r = mps_lock(&stage->mps);
    if (r < 0)
        return share_fail(failure, r, "", "another rooftop holds the MPS daemon: %s", strerror(-r));
    r = mps_start(&stage->mps, failure);
    if (r == 0) {
        const struct mps_limits limits = largest_limits(stage, plan, mode);
        r = mps_limit(&stage->mps, &limits, failure);
    }
    mps_unlock(&stage->mps);
    return r < 0 ? -ENOTSUP : 0;
}

int stage_set(struct stage *stage, const struct bench_plan *plan, enum bench_mode mode,
              struct stage_place *ret, struct counter_failure *failure)
{
    *ret = (struct stage_place){0};
    if (mode == MODE_MIG)
        return find_instances(stage, plan, ret, failure);
    if (has_mig(stage))
        return share_fail(failure, -ENOTSUP, "",
                          "MIG is on, and this mode is of the whole GPU: run the same command "
                          "again with MIG off, the result takes both");
    for (size_t i = 0; i < plan->instance_count; i++)
        ret->devices[i] = gpu_of(stage)->text[DEVICE_UUID];
    return bench_mode_is_mps(mode) ? start_mps(stage, plan, mode, ret, failure) : 0;
}

void stage_clear(struct stage *stage, struct stage_place *place)
{
    if (!place->mps)
        return;
    if (mps_lock(&stage->mps) == 0)
        mps_stop(&stage->mps);
    mps_close(&stage->mps);
    place->mps = NULL;
}
