/* What the GPU did while the jobs of a trial ran, from the samples of the monitor. Pure functions.
 */
#pragma once

#include "bench/measure.h"
#include "counter/frame.h"

/* Those of a sample that count. */
enum gauge {
    GAUGE_COMPUTE_SOL,
    GAUGE_MEMORY_SOL,
    GAUGE_SM_ACTIVE,
    GAUGE_NVML_UTILIZATION,
    GAUGE_POWER,
    GAUGE_MEMORY_USED,
    GAUGE_SM_CLOCK,
    GAUGE_EFFECTIVE_CLOCK,
    GAUGE_ENERGY,
    GAUGE_COUNT
};

struct moment {
    double time;               /* seconds since 1970, at its end */
    double interval;           /* seconds */
    double value[GAUGE_COUNT]; /* NAN where not known */
};

/* A time in which jobs ran, seconds since 1970. */
struct window {
    double begin;
    double end;
};

struct moments {
    size_t count;
    size_t room;
    struct moment *moments;
};

/* A reading that is not OK is a moment without values. Returns 0 or -ENOMEM. */
MUST_CHECK int moments_add(struct moments *moments, const struct reading *reading, double time,
                           double interval);
void moments_free(struct moments *moments);

/* Sets the measures that the samples tell: means over the windows, each sample counting for the
 * part of it that lies in them; the most of the memory; the energy from the driver's counter, which
 * is read each five seconds, and from the power before its first change in a window and behind its
 * last. Windows are in order and do not overlap. */
void moments_measure(const struct moments *moments, const struct window *windows, size_t count,
                     double seen[MEASURE_COUNT]);

/* The mean of a gauge between two times, NAN where there is none. */
double moments_mean(const struct moments *moments, enum gauge gauge, double begin, double end);
