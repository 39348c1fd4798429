/* Ratios that counters give, made fit to reckon with. Part of src/sol. */
#pragma once

#include "metric/sample.h"

/* Counters of one interval are not latched at one instant: a ratio can come out a little above 1,
 * or above another that contains it. Up to this much is taken for jitter and cut off; what is
 * further out is not plausible. */
static const double JITTER = 0.05;

/* A ratio cut to 0…1, or why there is none. */
enum absence ratio_check(double ratio, double *ret);
enum absence ratio_of(const struct sample *sample, enum metric metric, double *ret);

static inline void ratio_set(struct sample *sample, enum metric metric, enum absence absence,
                             double ratio)
{
    if (absence == ABSENT_NO)
        sample_set(sample, metric, ratio);
    else
        sample_miss(sample, metric, absence);
}
