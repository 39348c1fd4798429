#include "counter/gpm.h"

#include <math.h>
#include <stdlib.h>

/* A little less than the counters' 0.1 s, since a tick may come early by a hair. */
static const double SHORTEST_PERIOD = 0.095;
/* A metric that the chip lacks is asked for again, in case the driver's answer was of the moment.
 */
static const double RETRY_PERIOD = 60;
/* NVML's utilisation is of up to the last second, so that the end of a load looks for so long as if
 * the counters stood still. */
static const double STUCK_PATIENCE = 3;
static const double BUSY_UTILIZATION = 0.5;
static const double FIRST_RENEWAL = 10; /* seconds to the next, then twice as long */
static const double LONGEST_RENEWAL = 600;
static const double MEBIBYTE = 1048576;
/* Counters are read one after the other, so a full pipe can come out a little above 1. */
static const double LARGEST_RATIO = 1.05;

static const struct {
    enum nvml_gpm_metric id;
    enum metric metric;
} rows[] = {
    {NVML_GPM_GRAPHICS, METRIC_GRAPHICS_ACTIVE},
    {NVML_GPM_SM, METRIC_SM_ACTIVE},
    {NVML_GPM_OCCUPANCY, METRIC_SM_OCCUPANCY},
    {NVML_GPM_INTEGER, METRIC_INT_ACTIVE},
    {NVML_GPM_TENSOR, METRIC_TENSOR_ACTIVE},
    {NVML_GPM_TENSOR_DFMA, METRIC_TENSOR_DFMA_ACTIVE},
    {NVML_GPM_TENSOR_HMMA, METRIC_TENSOR_HMMA_ACTIVE},
    {NVML_GPM_TENSOR_IMMA, METRIC_TENSOR_IMMA_ACTIVE},
    {NVML_GPM_DRAM, METRIC_DRAM_ACTIVE},
    {NVML_GPM_FP64, METRIC_FP64_ACTIVE},
    {NVML_GPM_FP32, METRIC_FP32_ACTIVE},
    {NVML_GPM_FP16, METRIC_FP16_ACTIVE},
    {NVML_GPM_PCIE_TX, METRIC_PCIE_TX},
    {NVML_GPM_PCIE_RX, METRIC_PCIE_RX},
    {NVML_GPM_NVLINK_RX, METRIC_NVLINK_RX},
    {NVML_GPM_NVLINK_TX, METRIC_NVLINK_TX},
};
enum { ROW_COUNT = ARRAY_SIZE(rows) };

struct gpm {
    const struct nvml_functions *call;
    struct gpm_target target;

    nvml_gpm_sample base; /* where the next interval begins */
    nvml_gpm_sample spare;
    bool has_base;
    double base_time;
    double asked_at;

    double stuck_since; /* INFINITY: they move */
    double renewal_at;
    double renewal_wait;

    double retry_at[ROW_COUNT];
    unsigned char asked[ROW_COUNT]; /* which row each metric of the request is */
    struct nvml_gpm_metrics metrics;
};

static bool has_functions(const struct nvml_functions *call, bool is_mig)
{
    return call->nvmlGpmQueryDeviceSupport && call->nvmlGpmSampleAlloc && call->nvmlGpmSampleFree &&
           call->nvmlGpmMetricsGet &&
           (is_mig ? (void *)call->nvmlGpmMigSampleGet != NULL
                   : (void *)call->nvmlGpmSampleGet != NULL);
}

static void note_motion(struct gpm *gpm)
{
    gpm->stuck_since = INFINITY;
    gpm->renewal_at = -INFINITY;
    gpm->renewal_wait = FIRST_RENEWAL;
}

enum absence gpm_open(struct gpm **ret, const struct nvml_functions *call,
                      const struct gpm_target *target)
{
    if (!has_functions(call, target->is_mig))
        return ABSENT_NO_FUNCTION;
    struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};
    nvml_return result = call->nvmlGpmQueryDeviceSupport(target->gpu, &support);
    if (result != NVML_SUCCESS)
        return nvml_absence(result);
    if (!support.supported)
        return ABSENT_NOT_SUPPORTED;

    struct gpm *gpm = calloc(1, sizeof(*gpm));
    if (!gpm)
        return ABSENT_DRIVER_ERROR;
    gpm->call = call;
    gpm->target = *target;
    gpm->asked_at = -INFINITY;
    note_motion(gpm);
    if (call->nvmlGpmSampleAlloc(&gpm->base) != NVML_SUCCESS ||
        call->nvmlGpmSampleAlloc(&gpm->spare) != NVML_SUCCESS) {
        gpm_free(gpm);
        return ABSENT_DRIVER_ERROR;
    }
    *ret = gpm;
    return ABSENT_NO;
}

void gpm_free(struct gpm *gpm)
{
    if (!gpm)
        return;
    if (gpm->base)
        gpm->call->nvmlGpmSampleFree(gpm->base);
    if (gpm->spare)
        gpm->call->nvmlGpmSampleFree(gpm->spare);
    free(gpm);
}

void gpm_restart(struct gpm *gpm, nvml_handle gpu)
{
    if (!gpm)
        return;
    gpm->target.gpu = gpu;
    gpm->has_base = false;
    gpm->asked_at = -INFINITY;
    note_motion(gpm);
}

void gpm_miss(struct sample *sample, enum absence reason)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        sample_miss(sample, rows[i].metric, reason);
}

static nvml_return take(struct gpm *gpm, nvml_gpm_sample into)
{
    const struct gpm_target *target = &gpm->target;
    return target->is_mig ? gpm->call->nvmlGpmMigSampleGet(target->gpu, target->gpu_instance, into)
                          : gpm->call->nvmlGpmSampleGet(target->gpu, into);
}

static nvml_return ask(struct gpm *gpm, double now)
{
    struct nvml_gpm_metrics *metrics = &gpm->metrics;
    metrics->version = NVML_GPM_VERSION;
    metrics->count = 0;
    metrics->older = gpm->base;
    metrics->newer = gpm->spare;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (now < gpm->retry_at[i])
            continue;
        gpm->asked[metrics->count] = (unsigned char)i;
        metrics->metric[metrics->count++] = (struct nvml_gpm_metric_value){.id = rows[i].id};
    }
    return metrics->count ? gpm->call->nvmlGpmMetricsGet(metrics) : NVML_SUCCESS;
}

static bool is_ratio(enum metric metric)
{
    return metric_info(metric)->unit == UNIT_RATIO;
}

/* Every ratio is 0, and DRAM, a quotient over no time, is no number. */
static bool is_empty(const struct gpm *gpm)
{
    bool dram_undefined = false;
    for (size_t i = 0; i < gpm->metrics.count; i++) {
        const struct nvml_gpm_metric_value *value = &gpm->metrics.metric[i];
        enum metric metric = rows[gpm->asked[i]].metric;
        if (value->result != NVML_SUCCESS || !is_ratio(metric))
            continue;
        if (metric == METRIC_DRAM_ACTIVE && isnan(value->value))
            dram_undefined = true;
        else if (value->value != 0)
            return false;
    }
    return dram_undefined;
}

static void set(struct sample *sample, enum metric metric, double value)
{
    bool ratio = is_ratio(metric);
    double scaled = ratio ? value / 100 : value * MEBIBYTE;
    if (!(scaled >= 0) || (ratio && scaled > LARGEST_RATIO))
        sample_miss(sample, metric, ABSENT_NOT_PLAUSIBLE);
    else
        sample_set(sample, metric, ratio ? fmin(scaled, 1) : scaled);
}

static void fill(struct gpm *gpm, double now, struct sample *sample)
{
    for (size_t i = 0; i < gpm->metrics.count; i++) {
        const struct nvml_gpm_metric_value *value = &gpm->metrics.metric[i];
        size_t row = gpm->asked[i];
        if (value->result == NVML_SUCCESS) {
            set(sample, rows[row].metric, value->value);
            continue;
        }
        sample_miss(sample, rows[row].metric, nvml_absence(value->result));
        gpm->retry_at[row] = now + RETRY_PERIOD;
    }
}

static void advance(struct gpm *gpm, double now)
{
    nvml_gpm_sample newer = gpm->spare;
    gpm->spare = gpm->base;
    gpm->base = newer;
    gpm->base_time = now;
    gpm->has_base = true;
}

/* Marks as missing what the chip has, and leaves the others their own reason. */
static void miss_present(const struct gpm *gpm, double now, struct sample *sample,
                         enum absence reason)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (now >= gpm->retry_at[i])
            sample_miss(sample, rows[i].metric, reason);
}

/* Counters have been seen to stand at 0 after an Xid error while the GPU worked on. A GPU that only
 * copies has its links' rates. */
static bool seems_stuck(const struct gpm *gpm, const struct sample *sample)
{
    if (!(sample_get(sample, METRIC_NVML_UTILIZATION, 0) >= BUSY_UTILIZATION))
        return false;
    for (size_t i = 0; i < gpm->metrics.count; i++) {
        const struct nvml_gpm_metric_value *value = &gpm->metrics.metric[i];
        if (value->result == NVML_SUCCESS && !isnan(value->value) && value->value != 0)
            return false;
    }
    return true;
}

/* The driver's samples anew, with ever longer pauses. */
static void renew(struct gpm *gpm, double now)
{
    if (now < gpm->renewal_at)
        return;
    gpm->renewal_at = now + gpm->renewal_wait;
    gpm->renewal_wait = fmin(2 * gpm->renewal_wait, LONGEST_RENEWAL);
    nvml_gpm_sample fresh[2] = {NULL, NULL};
    for (size_t i = 0; i < ARRAY_SIZE(fresh); i++)
        if (gpm->call->nvmlGpmSampleAlloc(&fresh[i]) != NVML_SUCCESS)
            fresh[i] = NULL;
    bool whole = fresh[0] && fresh[1];
    nvml_gpm_sample unused[2] = {whole ? gpm->base : fresh[0], whole ? gpm->spare : fresh[1]};
    if (whole) {
        gpm->base = fresh[0];
        gpm->spare = fresh[1];
        gpm->has_base = false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(unused); i++)
        if (unused[i])
            gpm->call->nvmlGpmSampleFree(unused[i]);
}

static bool is_stuck(const struct gpm *gpm, double now)
{
    return now - gpm->stuck_since >= STUCK_PATIENCE;
}

/* True where the counters have stood still for too long to be believed. */
static bool handle_stuck(struct gpm *gpm, double now, struct sample *sample)
{
    if (!seems_stuck(gpm, sample)) {
        note_motion(gpm);
        return false;
    }
    gpm->stuck_since = fmin(gpm->stuck_since, now);
    if (!is_stuck(gpm, now))
        return false;
    miss_present(gpm, now, sample, ABSENT_COUNTERS_STUCK);
    advance(gpm, now);
    renew(gpm, now);
    return true;
}

nvml_return gpm_read(struct gpm *gpm, double now, struct sample *sample)
{
    if (now - gpm->asked_at < SHORTEST_PERIOD)
        return NVML_SUCCESS;
    gpm->asked_at = now;
    nvml_return result = take(gpm, gpm->spare);
    if (result != NVML_SUCCESS) {
        gpm->has_base = false;
        miss_present(gpm, now, sample, nvml_absence(result));
        return result;
    }
    if (!gpm->has_base) {
        miss_present(gpm, now, sample,
                     is_stuck(gpm, now) ? ABSENT_COUNTERS_STUCK : ABSENT_FIRST_SAMPLE);
        advance(gpm, now);
        return NVML_SUCCESS;
    }
    result = ask(gpm, now);
    if (result != NVML_SUCCESS) {
        miss_present(gpm, now, sample, nvml_absence(result));
        advance(gpm, now);
        return result;
    }
    if (handle_stuck(gpm, now, sample))
        return NVML_SUCCESS;
    if (is_empty(gpm)) {
        miss_present(gpm, now, sample, ABSENT_NO_NEW_SAMPLE);
        return NVML_SUCCESS;
    }
    fill(gpm, now, sample);
    sample->interval = now - gpm->base_time;
    advance(gpm, now);
    return NVML_SUCCESS;
}
