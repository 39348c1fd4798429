#include "base/stats.h"

#include <math.h>

#include "base/util.h"

void stats_add(struct stats *stats, double value)
{
    double before = value - stats->mean;
    stats->count++;
    stats->mean += before / (double)stats->count;
    stats->squares += before * (value - stats->mean);
}

static double variance(const struct stats *stats)
{
    return stats->count < 2 ? 0 : stats->squares / (double)(stats->count - 1);
}

double stats_deviation(const struct stats *stats)
{
    return sqrt(variance(stats));
}

/* The quantile of Student's t that leaves half the doubt on each side. Above the table: Cornish and
 * Fisher's expansion about the normal quantile, right to 5 digits there. */
static double student_quantile(double freedom, enum stats_confidence confidence)
{
    enum { ROWS = 30 };
    static const double tables[][ROWS] = {
        [STATS_95] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042},
        [STATS_99] = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
                      3.106,  3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
                      2.831,  2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750},
    };
    static const double normal[] = {[STATS_95] = 1.9599640, [STATS_99] = 2.5758293};
    if (freedom < ROWS + 1)
        return tables[confidence][freedom < 1 ? 0 : (size_t)freedom - 1];
    double z = normal[confidence];
    double z3 = z * z * z, z5 = z3 * z * z;
    return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

double stats_welch(const struct stats *a, const struct stats *b, enum stats_confidence confidence)
{
    if (a->count < 2 || b->count < 2)
        return INFINITY;
    double of_a = variance(a) / (double)a->count;
    double of_b = variance(b) / (double)b->count;
    double both = of_a + of_b;
    if (both <= 0)
        return 0;
    double freedom =
        both * both / (of_a * of_a / (double)(a->count - 1) + of_b * of_b / (double)(b->count - 1));
    return student_quantile(freedom, confidence) * sqrt(both);
}

double stats_interval(const struct stats *stats, enum stats_confidence confidence)
{
    if (stats->count < 2)
        return INFINITY;
    double freedom = (double)stats->count - 1;
    return student_quantile(freedom, confidence) * sqrt(variance(stats) / (double)stats->count);
}
