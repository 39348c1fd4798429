#include "sol/bound.h"

#include "base/util.h"
#include "sol/ratio.h"

/* Something is at work that any counter sees. */
static bool anything_runs(const struct sample *sample)
{
    static const enum metric signs[] = {METRIC_GRAPHICS_ACTIVE, METRIC_SM_ACTIVE,
                                        METRIC_COMPUTE_SOL, METRIC_MEMORY_SOL, METRIC_LINK_SOL};
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
        if (sample_get(sample, signs[i], 0) >= BOUND_IDLE)
            return true;
    return false;
}

/* Enough is seen to tell rest from work. nvidia-smi's number serves where no counter does, and then
 * only its zero is believed. */
static enum absence rest_is_seen(const struct sample *sample)
{
    if (sample_has(sample, METRIC_GRAPHICS_ACTIVE) || sample_has(sample, METRIC_SM_ACTIVE))
        return ABSENT_NO;
    if (sample_get(sample, METRIC_NVML_UTILIZATION, 1) < BOUND_IDLE)
        return ABSENT_NO;
    return (enum absence)sample->absent[METRIC_SM_ACTIVE];
}

/* Copies alone may be at work where no link is seen. */
static bool rest_of_copies(const struct sample *sample)
{
    return sample_has(sample, METRIC_LINK_SOL) ||
           sample_get(sample, METRIC_NVML_UTILIZATION, 0) < BOUND_IDLE;
}

static enum absence find_bound(const struct sample *sample, enum label *ret)
{
    if (!anything_runs(sample)) {
        enum absence absence = rest_is_seen(sample);
        if (absence == ABSENT_NO && !rest_of_copies(sample))
            absence = (enum absence)sample->absent[METRIC_LINK_SOL];
        *ret = LABEL_BOUND_IDLE;
        return absence;
    }
    if (!sample_has(sample, METRIC_COMPUTE_SOL))
        return (enum absence)sample->absent[METRIC_COMPUTE_SOL];
    if (!sample_has(sample, METRIC_MEMORY_SOL))
        return (enum absence)sample->absent[METRIC_MEMORY_SOL];

    double compute = sample->value[METRIC_COMPUTE_SOL];
    double memory = sample->value[METRIC_MEMORY_SOL];
    double link = sample_get(sample, METRIC_LINK_SOL, 0);
    double larger = fmax(compute, memory);
    if (link >= BOUND_LINK_NEAR_PEAK && link > larger)
        *ret = LABEL_BOUND_LINK;
    else if (larger >= BOUND_NEAR_LIMIT)
        *ret = compute >= memory ? LABEL_BOUND_COMPUTE : LABEL_BOUND_MEMORY;
    else if (!sample_has(sample, METRIC_LINK_SOL))
        return (enum absence)sample->absent[METRIC_LINK_SOL];
    else
        *ret = LABEL_BOUND_LATENCY;
    return ABSENT_NO;
}

void bound_derive(struct sample *sample)
{
    enum label bound = LABEL_BOUND_IDLE;
    enum absence absence = find_bound(sample, &bound);
    ratio_set(sample, METRIC_BOUND, absence, bound);
}
