#include "sol/ratio.h"

enum absence ratio_check(double ratio, double *ret)
{
    if (!(ratio >= -JITTER && ratio <= 1 + JITTER))
        return ABSENT_NOT_PLAUSIBLE;
    *ret = fmin(fmax(ratio, 0), 1);
    return ABSENT_NO;
}

enum absence ratio_of(const struct sample *sample, enum metric metric, double *ret)
{
    if (!sample_has(sample, metric))
        return (enum absence)sample->absent[metric];
    return ratio_check(sample->value[metric], ret);
}
