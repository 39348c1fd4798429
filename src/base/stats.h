/* Mean and spread of a series, and whether two series differ by more than chance explains. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct stats {
    size_t count;
    double mean;
    double squares; /* sum of squared deviations from the mean */
};

void stats_add(struct stats *stats, double value);
/* Standard deviation, 0 for fewer than two values. */
double stats_deviation(const struct stats *stats);

/* Half the width of the 99 % confidence interval of b.mean − a.mean, by Welch's t: the two may have
 * different spreads and lengths (Welch 1947; degrees of freedom after Satterthwaite 1946, rounded
 * down). INFINITY where either has fewer than two values. */
double stats_welch(const struct stats *a, const struct stats *b);
/* Half the width of the 99 % confidence interval of the mean, by Student's t. INFINITY for fewer
 * than two values. */
double stats_interval(const struct stats *stats);
