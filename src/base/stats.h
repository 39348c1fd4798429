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

/* How sure an interval is: 95 % is usual for repeated runs (Georges, Buytaert and Eeckhout, OOPSLA
 * 2007); 99 % where dozens of differences are looked at together, lest chance alone shows some. */
enum stats_confidence { STATS_95, STATS_99 };

/* Half the width of the confidence interval of b.mean − a.mean, by Welch's t: the two may have
 * different spreads and lengths (Welch 1947; degrees of freedom after Satterthwaite 1946, rounded
 * down). INFINITY where either has fewer than two values. */
double stats_welch(const struct stats *a, const struct stats *b, enum stats_confidence confidence);
/* Half the width of the confidence interval of the mean, by Student's t. INFINITY for fewer than
 * two values. */
double stats_interval(const struct stats *stats, enum stats_confidence confidence);
