#include "counter/cupti/overlay.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "counter/cupti/overlay_supervise.h"

/* Values are withdrawn when so many of their periods have passed. */
static const double PERIODS_TO_HOLD = 3;
enum { THREAD_STACK_BYTES = 256 * 1024 };

#define BESIDE_GPM                                                                                 \
    (METRIC_BIT(METRIC_EFFECTIVE_CLOCK) | METRIC_BIT(METRIC_L2_ACTIVE) |                           \
     METRIC_BIT(METRIC_ISSUE_ACTIVE) | METRIC_BIT(METRIC_DRAM_READ) |                              \
     METRIC_BIT(METRIC_DRAM_WRITE))
/* On the H200, decoding L1's throughput takes a third of a core at any rate, and any other a
 * hundredth (docs/COUNTERS.md). */
#define TOO_DEAR METRIC_BIT(METRIC_L1_ACTIVE)

const struct overlay_config overlay_defaults = {
    .mode = CLOCK_BURST,
    .interval = 0.1,
    .burst = 0.2,
    .burst_period = 5,
    .burst_cpu = 0.004,
    .patience = 8,
    .delay = 0.4,
};

static enum absence absence_of(enum cupti_state state)
{
    static const uint8_t absences[CUPTI_STATE_COUNT] = {
        [CUPTI_STARTING] = ABSENT_COUNTERS_STARTING,
        [CUPTI_SAMPLING] = ABSENT_NOT_SUPPORTED,
        [CUPTI_NO_LIBRARY] = ABSENT_NO_CUPTI,
        [CUPTI_TOO_OLD] = ABSENT_CUPTI_OLD,
        [CUPTI_NO_CUDA] = ABSENT_NO_CUDA,
        [CUPTI_CUDA_OLD] = ABSENT_CUDA_OLD,
        [CUPTI_NO_DRIVER] = ABSENT_CUDA_FAILED,
        [CUPTI_NO_PERMISSION] = ABSENT_COUNTERS_FOR_ADMIN,
        [CUPTI_HELD] = ABSENT_COUNTERS_HELD,
        [CUPTI_RELEASED] = ABSENT_COUNTERS_RELEASED,
        [CUPTI_UNSUPPORTED] = ABSENT_NOT_SUPPORTED,
        [CUPTI_NOT_HERE] = ABSENT_COUNTERS_NOT_HERE,
        [CUPTI_HUNG] = ABSENT_COUNTERS_FAILED,
        [CUPTI_FAILED] = ABSENT_COUNTERS_FAILED,
    };
    return (enum absence)absences[state];
}

static uint64_t whole_catalog(void)
{
    uint64_t all = 0;
    for (size_t i = 0; i < cupti_catalog_size; i++)
        all |= METRIC_BIT(cupti_catalog[i].metric);
    return all;
}

static bool has_gpm(const struct device *device)
{
    return device_number(device, DEVICE_COMPUTE_CAPABILITY, 0) >= 9;
}

static void want_all(struct overlay_device *ours, enum clock_mode mode)
{
    ours->beside_gpm = ours->bursts = false;
    ours->dear = 0;
    ours->wanted = whole_catalog() & ~(TOO_DEAR | METRIC_BIT(METRIC_TENSOR_SHARED_LOADS));
    if (mode == CLOCK_OFF)
        ours->wanted &= ~METRIC_BIT(METRIC_EFFECTIVE_CLOCK);
}

/* Only Hopper has both paths to its tensor cores, wgmma and the older one. */
static bool has_two_tensor_paths(const struct device *device)
{
    return floor(device_number(device, DEVICE_COMPUTE_CAPABILITY, 0)) == 9;
}

static void want_beside_gpm(struct overlay_device *ours, const struct device *device,
                            enum clock_mode mode)
{
    ours->beside_gpm = true;
    ours->bursts = mode == CLOCK_BURST;
    ours->dear = PLAN_APART;
    if (!has_two_tensor_paths(device))
        ours->dear &= ~METRIC_BIT(METRIC_TENSOR_SHARED_LOADS);
    if (mode != CLOCK_OFF)
        ours->wanted = BESIDE_GPM | (ours->bursts ? ours->dear : 0);
}

/* Where GPM measures the rest without cost, CUPTI adds what it lacks, in bursts by default; where
 * nothing else measures, CUPTI does it all, all the time. */
static void decide(struct overlay_device *ours, const struct device *device, enum clock_mode mode)
{
    ours->uuid = device->text[DEVICE_UUID];
    if (device_is_mig(device) || device_number(device, DEVICE_MIG_ENABLED, 0) > 0) {
        ours->reason = device_is_mig(device) ? ABSENT_SHARED_MIG : ABSENT_NOT_SUPPORTED;
        return;
    }
    ours->reason = ABSENT_COUNTERS_OFF;
    if (has_gpm(device))
        want_beside_gpm(ours, device, mode);
    else
        want_all(ours, mode);
}

/* A driver that is too old, or a virtual GPU, has no GPM where the chip would have it. Under the
 * lock, before the helper starts. */
static void decide_anew(struct overlay_device *ours, enum clock_mode mode,
                        const struct sample *sample)
{
    uint8_t absence = sample->absent[METRIC_SM_ACTIVE];
    if (!ours->asked && ours->beside_gpm && ours->wanted &&
        (absence == ABSENT_NO_FUNCTION || absence == ABSENT_NOT_SUPPORTED))
        want_all(ours, mode);
}

static double period(const struct overlay *overlay, const struct overlay_device *device)
{
    /* sets that take turns come back after a second each */
    return overlay->config.interval + (device->share < 0.9 ? 1 / fmax(device->share, 0.2) : 0);
}

int overlay_open(struct overlay **ret, const struct device *devices, size_t count,
                 const struct overlay_config *config)
{
    struct overlay *overlay = calloc(1, sizeof(*overlay));
    if (!overlay)
        return -ENOMEM;
    overlay->config = *config;
    overlay->device_count = count;
    overlay->devices = calloc(count + 1, sizeof(*overlay->devices));
    overlay->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pthread_mutex_init(&overlay->lock, NULL);
    if (!overlay->devices || overlay->wake < 0) {
        overlay_close(overlay);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        decide(&overlay->devices[i], &devices[i], config->mode);
    *ret = overlay;
    return 0;
}

void overlay_close(struct overlay *overlay)
{
    if (!overlay)
        return;
    if (overlay->started) {
        pthread_mutex_lock(&overlay->lock);
        overlay->stopping = true;
        pthread_mutex_unlock(&overlay->lock);
        eventfd_write(overlay->wake, 1);
        pthread_join(overlay->thread, NULL);
    }
    if (overlay->wake >= 0)
        close(overlay->wake);
    pthread_mutex_destroy(&overlay->lock);
    free(overlay->devices);
    free(overlay);
}

static bool start_thread(struct overlay *overlay)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    int r = pthread_create(&overlay->thread, &attributes, overlay_supervise, overlay);
    pthread_attr_destroy(&attributes);
    return r == 0;
}

/* Under the lock. */
static void ask_for(struct overlay *overlay, struct overlay_device *device)
{
    if (device->asked)
        return;
    device->asked = true;
    overlay->members_changed = true;
    if (!overlay->started)
        overlay->started = start_thread(overlay);
    else
        eventfd_write(overlay->wake, 1);
}

static void miss_the_rest(const struct overlay_device *device, struct sample *sample)
{
    sample_miss(sample, METRIC_L1_ACTIVE, ABSENT_COUNTERS_COSTLY);
    for (size_t i = 0; i < WORK_METRICS; i++)
        if (PLAN_APART & ~device->wanted & UINT64_C(1) << i)
            sample_miss(sample, (enum metric)i,
                        device->dear >> i & 1 ? ABSENT_COUNTERS_IN_BURSTS : ABSENT_NOT_SUPPORTED);
}

/* Why a metric has no value that was measured. */
static enum absence why_none(const struct overlay_device *device, enum metric metric)
{
    bool comes = device->planned & METRIC_BIT(metric);
    if (device->state != CUPTI_SAMPLING || !device->bursts || !comes)
        return absence_of(device->state);
    return work_is_idle(&device->work) ? ABSENT_COUNTERS_IDLE : ABSENT_COUNTERS_RESTING;
}

static void fill_metric(const struct overlay_device *device, const struct work_values *values,
                        double oldest, enum metric metric, struct sample *sample)
{
    double when = values ? values->when[metric] : 0;
    if (when == 0)
        sample_miss(sample, metric, why_none(device, metric));
    else if (when < oldest)
        sample_miss(sample, metric,
                    device->state == CUPTI_SAMPLING ? ABSENT_STALE : absence_of(device->state));
    else if (isnan(values->value[metric]))
        sample_miss(sample, metric, ABSENT_NOTHING_RAN);
    else
        sample_set(sample, metric, values->value[metric]);
}

static void fill_metrics(const struct overlay_device *device, const struct work_values *values,
                         double oldest, struct sample *sample)
{
    for (size_t i = 0; i < WORK_METRICS; i++)
        if (device->wanted >> i & 1)
            fill_metric(device, values, oldest, (enum metric)i, sample);
    miss_the_rest(device, sample);
}

/* How far to trust the values, and what they cost. */
static void fill_account(const struct overlay_device *device, bool has_values, double age,
                         struct sample *sample)
{
    enum absence missing = absence_of(device->state);
    enum absence no_age = why_none(device, METRIC_EFFECTIVE_CLOCK);
    if (has_values) {
        sample_set(sample, METRIC_COUNTERS_AGE, age);
        sample_set(sample, METRIC_COUNTERS_SHARE, device->share);
    } else {
        sample_miss(sample, METRIC_COUNTERS_AGE, no_age);
        sample_miss(sample, METRIC_COUNTERS_SHARE, no_age);
    }
    const struct {
        enum metric metric;
        double value;
    } totals[] = {
        {METRIC_COUNTERS_OVERFLOWS, device->overflows},
        {METRIC_COUNTERS_SESSIONS, device->sessions},
        {METRIC_COUNTERS_CPU, device->cpu},
    };
    for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
        if (device->last.end > 0)
            sample_set(sample, totals[i].metric, totals[i].value);
        else
            sample_miss(sample, totals[i].metric, missing);
}

/* Values of all the time: they are withdrawn when they do not come any more. */
static void fill_continuous(const struct overlay *overlay, const struct overlay_device *device,
                            double now, struct sample *sample)
{
    double oldest = now - PERIODS_TO_HOLD * period(overlay, device);
    fill_metrics(device, &device->values, oldest, sample);
    fill_account(device, device->last.end > 0 && device->last.end >= oldest, 0, sample);
}

/* Values of the last burst that saw such work, and their age tells. Returns what is wished. */
static enum work_wish fill_from_bursts(const struct overlay *overlay, struct overlay_device *device,
                                       double now, struct sample *sample)
{
    const struct work_state *state = work_look_at(&device->work, sample, now, &device->last);
    fill_metrics(device, state ? &state->values : NULL, 0, sample);
    if (state && sample_has(sample, METRIC_EFFECTIVE_CLOCK))
        sample_set(sample, METRIC_EFFECTIVE_CLOCK, work_clock(&device->work, state));
    fill_account(device, state, state ? now - state->seen : 0, sample);
    return work_wish(&device->work, state, now, overlay->config.burst_period);
}

/* Under the lock. */
static bool pass_wish(struct overlay_device *device, enum work_wish wish)
{
    bool news = wish != WORK_NO_BURST && !device->hasten;
    device->hasten = wish != WORK_NO_BURST;
    device->hasten_apart = wish == WORK_BURST_APART;
    device->hasten_slow = work_is_slow(&device->work);
    return news;
}

void overlay_read(struct overlay *overlay, size_t number, struct sample *sample)
{
    struct overlay_device *device = &overlay->devices[number];
    if (!device->wanted) {
        sample_miss(sample, METRIC_EFFECTIVE_CLOCK, device->reason);
        return;
    }
    bool wake = false;
    pthread_mutex_lock(&overlay->lock);
    /* Under the lock, so that no report is younger. */
    double now = clock_monotonic();
    decide_anew(device, overlay->config.mode, sample);
    ask_for(overlay, device);
    if (device->bursts)
        wake = pass_wish(device, fill_from_bursts(overlay, device, now, sample));
    else
        fill_continuous(overlay, device, now, sample);
    pthread_mutex_unlock(&overlay->lock);
    if (wake)
        eventfd_write(overlay->wake, 1);
}

void overlay_status(struct overlay *overlay, size_t number, struct overlay_status *ret)
{
    pthread_mutex_lock(&overlay->lock);
    const struct overlay_device *device = &overlay->devices[number];
    ret->state = device->state;
    ret->overflows = device->overflows;
    snprintf(ret->text, sizeof(ret->text), "%s", device->text);
    pthread_mutex_unlock(&overlay->lock);
}
