#include "bench/moment.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const enum metric metrics[GAUGE_COUNT] = {
    [GAUGE_COMPUTE_SOL] = METRIC_COMPUTE_SOL,
    [GAUGE_MEMORY_SOL] = METRIC_MEMORY_SOL,
    [GAUGE_SM_ACTIVE] = METRIC_SM_ACTIVE,
    [GAUGE_NVML_UTILIZATION] = METRIC_NVML_UTILIZATION,
    [GAUGE_POWER] = METRIC_POWER,
    [GAUGE_MEMORY_USED] = METRIC_MEMORY_USED,
    [GAUGE_SM_CLOCK] = METRIC_SM_CLOCK,
    [GAUGE_EFFECTIVE_CLOCK] = METRIC_EFFECTIVE_CLOCK,
    [GAUGE_ENERGY] = METRIC_ENERGY,
};

int moments_add(struct moments *moments, const struct reading *reading, double time,
                double interval)
{
    if (moments->count == moments->capacity) {
        size_t capacity = moments->capacity ? 2 * moments->capacity : 256;
        struct moment *grown = reallocarray(moments->moments, capacity, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        moments->moments = grown;
        moments->capacity = capacity;
    }
    struct moment *moment = &moments->moments[moments->count++];
    *moment = (struct moment){.time = time, .interval = interval};
    for (size_t i = 0; i < GAUGE_COUNT; i++)
        moment->value[i] =
            reading->state == READING_OK ? sample_get(&reading->sample, metrics[i], NAN) : NAN;
    return 0;
}

void moments_free(struct moments *moments)
{
    free(moments->moments);
    *moments = (struct moments){0};
}

static double overlap(const struct moment *moment, double begin, double end)
{
    return fmax(fmin(moment->time, end) - fmax(moment->time - moment->interval, begin), 0);
}

struct mean {
    double sum;
    double weight;
    double most;
};

static void add_window(const struct moments *moments, enum gauge gauge, double begin, double end,
                       struct mean *mean)
{
    for (size_t i = 0; i < moments->count; i++) {
        const struct moment *moment = &moments->moments[i];
        double part = overlap(moment, begin, end);
        if (part <= 0 || !isfinite(moment->value[gauge]))
            continue;
        mean->sum += moment->value[gauge] * part;
        mean->weight += part;
        mean->most = fmax(mean->most, moment->value[gauge]);
    }
}

static double mean_of(const struct mean *mean)
{
    return mean->weight > 0 ? mean->sum / mean->weight : NAN;
}

double moments_mean(const struct moments *moments, enum gauge gauge, double begin, double end)
{
    struct mean mean = {0};
    add_window(moments, gauge, begin, end, &mean);
    return mean_of(&mean);
}

/* The counter at a time that lies between two changes of it; in between it grows as the power says.
 * The first value may have stood for a while: it is no change. */
static double energy_at(const struct moments *moments, double time)
{
    double held = NAN, t0 = NAN, e0 = NAN;
    for (size_t i = 0; i < moments->count; i++) {
        const struct moment *moment = &moments->moments[i];
        double energy = moment->value[GAUGE_ENERGY];
        if (!isfinite(energy) || energy <= held)
            continue;
        bool is_change = isfinite(held);
        held = energy;
        if (!is_change)
            continue;
        if (moment->time >= time && isfinite(t0)) {
            struct mean before = {0}, all = {0};
            add_window(moments, GAUGE_POWER, t0, time, &before);
            add_window(moments, GAUGE_POWER, t0, moment->time, &all);
            double part = all.sum > 0 ? before.sum / all.sum : (time - t0) / (moment->time - t0);
            return e0 + (energy - e0) * part;
        }
        if (moment->time > time)
            return NAN;
        t0 = moment->time;
        e0 = energy;
    }
    return NAN;
}

static double energy_of(const struct moments *moments, const struct window *windows, size_t count)
{
    double joules = 0;
    for (size_t i = 0; i < count; i++) {
        double used = energy_at(moments, windows[i].end) - energy_at(moments, windows[i].begin);
        if (!isfinite(used))
            used = moments_mean(moments, GAUGE_POWER, windows[i].begin, windows[i].end) *
                   (windows[i].end - windows[i].begin);
        joules += used;
    }
    return joules;
}

void moments_measure(const struct moments *moments, const struct window *windows, size_t count,
                     double seen[MEASURE_COUNT])
{
    static const struct {
        enum measure measure;
        enum gauge gauge;
    } means[] = {
        {MEASURE_COMPUTE_SOL, GAUGE_COMPUTE_SOL},
        {MEASURE_MEMORY_SOL, GAUGE_MEMORY_SOL},
        {MEASURE_SM_ACTIVE, GAUGE_SM_ACTIVE},
        {MEASURE_NVML_UTILIZATION, GAUGE_NVML_UTILIZATION},
        {MEASURE_SM_CLOCK, GAUGE_SM_CLOCK},
        {MEASURE_EFFECTIVE_CLOCK, GAUGE_EFFECTIVE_CLOCK},
    };
    struct mean memory = {.most = -1};
    for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
        struct mean mean = {0};
        for (size_t k = 0; k < count; k++)
            add_window(moments, means[i].gauge, windows[k].begin, windows[k].end, &mean);
        seen[means[i].measure] = mean_of(&mean);
    }
    for (size_t k = 0; k < count; k++)
        add_window(moments, GAUGE_MEMORY_USED, windows[k].begin, windows[k].end, &memory);
    seen[MEASURE_MEMORY_PEAK] = memory.most >= 0 ? memory.most : NAN;
    seen[MEASURE_ENERGY] = energy_of(moments, windows, count);
}
