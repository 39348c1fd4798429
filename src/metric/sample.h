/* One device at one moment: a value for each metric, or the reason why there is none. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "metric/metric.h"

struct sample {
    double time;     /* seconds since 1970, at the end of the interval */
    double interval; /* seconds that INTERVAL metrics cover */
    double value[METRIC_COUNT];
    uint8_t absent[METRIC_COUNT]; /* enum absence; the value counts only where this is ABSENT_NO */
};

/* A sample in which everything is missing for the given reason. */
void sample_reset(struct sample *sample, enum absence reason);

/* Marks every metric missing, except those that are missing already and so have their reason. */
void sample_withdraw(struct sample *sample, enum absence reason);

static inline bool sample_has(const struct sample *sample, enum metric metric)
{
    return sample->absent[metric] == ABSENT_NO;
}

/* A value that is not finite becomes absent: it never leaves the program. */
static inline void sample_set(struct sample *sample, enum metric metric, double value)
{
    sample->value[metric] = value;
    sample->absent[metric] = isfinite(value) ? ABSENT_NO : ABSENT_NOT_PLAUSIBLE;
}

static inline void sample_miss(struct sample *sample, enum metric metric, enum absence reason)
{
    sample->absent[metric] = (uint8_t)reason;
}

/* The value, or `otherwise` where it is missing. */
static inline double sample_get(const struct sample *sample, enum metric metric, double otherwise)
{
    return sample_has(sample, metric) ? sample->value[metric] : otherwise;
}

/* The metric that tells the power best: that of the moment, else the driver's mean of a second. */
static inline enum metric sample_power(const struct sample *sample)
{
    return sample_has(sample, METRIC_POWER) || !sample_has(sample, METRIC_POWER_AVERAGE)
               ? METRIC_POWER
               : METRIC_POWER_AVERAGE;
}

/* Not measured since nothing runs, and so nothing of it happens: in a mean over more time it is 0.
 * By itself it stays unknown. */
bool metric_rests(enum metric metric, enum absence absence);
