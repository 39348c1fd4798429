#include "bench/moment.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

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
    int r =
        array_grow(&moments->moments, moments->count, &moments->room, sizeof(*moments->moments));
    if (r < 0)
        return r;
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

/* What the counter says of a part of the window, from the first to the last reading in it that had
 * changed; how long a value has stood that did not change, or the first, is not known. */
struct counted {
    double begin, end; /* where they are alike, it says nothing */
    double joules;
};

static struct counted count_energy(const struct moments *moments, const struct window *window)
{
    struct counted counted = {window->begin, window->begin, 0};
    double held = NAN, first = NAN;
    for (size_t i = 0; i < moments->count && moments->moments[i].time <= window->end; i++) {
        const struct moment *moment = &moments->moments[i];
        double energy = moment->value[GAUGE_ENERGY];
        if (!isfinite(energy) || energy <= held)
            continue;
        bool is_change = isfinite(held);
        held = energy;
        if (!is_change || moment->time < window->begin)
            continue;
        if (!isfinite(first)) {
            first = energy;
            counted.begin = moment->time;
        }
        counted.end = moment->time;
        counted.joules = energy - first;
    }
    return counted;
}

static double energy_by_power(const struct moments *moments, double begin, double end)
{
    return begin < end ? moments_mean(moments, GAUGE_POWER, begin, end) * (end - begin) : 0;
}

static double energy_of(const struct moments *moments, const struct window *windows, size_t count)
{
    double joules = 0;
    for (size_t i = 0; i < count; i++) {
        struct counted counted = count_energy(moments, &windows[i]);
        joules += energy_by_power(moments, windows[i].begin, counted.begin) + counted.joules +
                  energy_by_power(moments, counted.end, windows[i].end);
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
