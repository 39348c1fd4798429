#include "sol/attainable.h"

#include "base/util.h"
#include "sol/bound.h"
#include "sol/ratio.h"

/* The resource that lets the work grow least, so far. */
struct limit {
    double growth; /* how often its present use goes into its ceiling; INFINITY before the first */
    enum label label;
    enum label source;
};

static double ceiling_of(const struct sol_ceilings *ceilings, enum sol_resource resource,
                         enum label *ret_source)
{
    *ret_source = LABEL_CEILING_OF_THE_PEAK;
    if (!ceilings || !ceilings->of[resource].source)
        return 1;
    *ret_source = ceilings->of[resource].source;
    return ceilings->of[resource].ratio;
}

/* What hardly works is no limit: its counter may show no more than the monitor. */
static void consider(struct limit *limit, const struct sol_ceilings *ceilings,
                     enum sol_resource resource, enum label label, double use)
{
    enum label source;
    double ceiling = ceiling_of(ceilings, resource, &source);
    if (use < BOUND_IDLE || ceiling / use >= limit->growth)
        return;
    *limit = (struct limit){ceiling / use, label, source};
}

static enum sol_resource tensor_resource(const struct sample *sample)
{
    double floating = sample_get(sample, METRIC_TENSOR_HMMA_ACTIVE, 0);
    double integer = sample_get(sample, METRIC_TENSOR_IMMA_ACTIVE, 0);
    double wide = sample_get(sample, METRIC_TENSOR_DFMA_ACTIVE, 0);
    if (wide > floating && wide > integer)
        return RESOURCE_TENSOR_FP64;
    return integer > floating ? RESOURCE_TENSOR_INT : RESOURCE_TENSOR_FLOAT;
}

static void consider_metric(struct limit *limit, const struct sol_ceilings *ceilings,
                            const struct sample *sample, enum metric metric,
                            enum sol_resource resource, enum label label)
{
    double use;
    if (ratio_of(sample, metric, &use) == ABSENT_NO)
        consider(limit, ceilings, resource, label, use);
}

static void consider_link(struct limit *limit, const struct sol_ceilings *ceilings,
                          const struct sample *sample)
{
    if (!sample_has(sample, METRIC_LINK_SOL_NAME))
        return;
    double use = sample->value[METRIC_LINK_SOL];
    switch ((enum label)sample->value[METRIC_LINK_SOL_NAME]) {
    case LABEL_LINK_PCIE_RX:
        consider(limit, ceilings, RESOURCE_PCIE_RX, LABEL_LIMIT_PCIE, use);
        break;
    case LABEL_LINK_PCIE_TX:
        consider(limit, ceilings, RESOURCE_PCIE_TX, LABEL_LIMIT_PCIE, use);
        break;
    default:
        consider(limit, ceilings, RESOURCE_NVLINK, LABEL_LIMIT_NVLINK, use);
    }
}

/* The pipe that sets Compute SOL and the level that sets Memory SOL are among the resources, with
 * their very ratios: so neither SOL grows beyond its ceiling. */
static struct limit find_limit(const struct sol_ceilings *ceilings, const struct sample *sample)
{
    static const struct {
        enum metric metric;
        enum sol_resource resource;
        enum label label;
    } parts[] = {
        {METRIC_FP64_ACTIVE, RESOURCE_FP64, LABEL_LIMIT_FP64},
        {METRIC_FP32_ACTIVE, RESOURCE_FP32, LABEL_LIMIT_FP32},
        {METRIC_FP16_ACTIVE, RESOURCE_FP16, LABEL_LIMIT_FP16},
        {METRIC_INT_ACTIVE, RESOURCE_INT, LABEL_LIMIT_INT},
        {METRIC_ISSUE_ACTIVE, RESOURCE_ISSUE, LABEL_LIMIT_ISSUE},
        {METRIC_DRAM_ACTIVE, RESOURCE_DRAM, LABEL_LIMIT_DRAM},
        {METRIC_L2_ACTIVE, RESOURCE_L2, LABEL_LIMIT_L2},
        {METRIC_L1_ACTIVE, RESOURCE_L1, LABEL_LIMIT_L1},
    };
    struct limit limit = {.growth = INFINITY};
    bool tensor = sample_get(sample, METRIC_COMPUTE_SOL_PIPE, -1) == LABEL_PIPE_TENSOR;
    consider_metric(&limit, ceilings, sample, tensor ? METRIC_COMPUTE_SOL : METRIC_TENSOR_ACTIVE,
                    tensor_resource(sample), LABEL_LIMIT_TENSOR);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        consider_metric(&limit, ceilings, sample, parts[i].metric, parts[i].resource,
                        parts[i].label);
    if (sample_get(sample, METRIC_MEMORY_SOL_LEVEL, -1) == LABEL_LEVEL_DRAM)
        consider(&limit, ceilings, RESOURCE_DRAM, LABEL_LIMIT_DRAM,
                 sample->value[METRIC_MEMORY_SOL]);
    consider_link(&limit, ceilings, sample);
    return limit;
}

static enum absence first_missing(const struct sample *sample)
{
    static const enum metric needed[] = {METRIC_COMPUTE_SOL, METRIC_MEMORY_SOL, METRIC_BOUND};
    for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
        if (!sample_has(sample, needed[i]))
            return (enum absence)sample->absent[needed[i]];
    return sample->value[METRIC_BOUND] == LABEL_BOUND_IDLE ? ABSENT_NOTHING_RAN : ABSENT_NO;
}

static void derive_ceiling(const struct sol_ceilings *ceilings, struct sample *sample)
{
    static const enum sol_resource resources[] = {
        [LABEL_PIPE_TENSOR] = RESOURCE_TENSOR_FLOAT,
        [LABEL_PIPE_FP64] = RESOURCE_FP64,
        [LABEL_PIPE_FP32] = RESOURCE_FP32,
        [LABEL_PIPE_FP16] = RESOURCE_FP16,
        [LABEL_PIPE_INT] = RESOURCE_INT,
    };
    if (!sample_has(sample, METRIC_COMPUTE_SOL_PIPE)) {
        sample_miss(sample, METRIC_ATTAINABLE_CEILING,
                    (enum absence)sample->absent[METRIC_COMPUTE_SOL_PIPE]);
        return;
    }
    enum label pipe = (enum label)sample->value[METRIC_COMPUTE_SOL_PIPE];
    enum label source;
    sample_set(sample, METRIC_ATTAINABLE_CEILING,
               ceiling_of(ceilings,
                          pipe == LABEL_PIPE_TENSOR ? tensor_resource(sample) : resources[pipe],
                          &source));
}

/* What lies outside is what the SMs without work would add at the ceiling; what is inside, what the
 * kernels leave while they run. */
static void derive_budget(double growth, struct sample *sample)
{
    double present = fmax(sample->value[METRIC_COMPUTE_SOL], sample->value[METRIC_MEMORY_SOL]);
    double attainable = fmin(present * growth, 1);
    double budget = fmax(attainable - present, 0);
    sample_set(sample, METRIC_ATTAINABLE, attainable);
    sample_set(sample, METRIC_ATTAINABLE_BUDGET, budget);
    double active = 0;
    enum absence absence = ratio_of(sample, METRIC_SM_ACTIVE, &active);
    ratio_set(sample, METRIC_ATTAINABLE_OUTSIDE, absence, fmin(budget, attainable * (1 - active)));
}

void attainable_derive(const struct sol_ceilings *ceilings, struct sample *sample)
{
    static const enum metric outputs[] = {METRIC_ATTAINABLE,        METRIC_ATTAINABLE_COMPUTE,
                                          METRIC_ATTAINABLE_MEMORY, METRIC_ATTAINABLE_LIMIT,
                                          METRIC_ATTAINABLE_SOURCE, METRIC_ATTAINABLE_BUDGET,
                                          METRIC_ATTAINABLE_OUTSIDE};
    derive_ceiling(ceilings, sample);
    enum absence absence = first_missing(sample);
    struct limit limit = find_limit(ceilings, sample);
    if (absence == ABSENT_NO && !isfinite(limit.growth))
        absence = ABSENT_NOTHING_RAN;
    if (absence != ABSENT_NO) {
        for (size_t i = 0; i < ARRAY_SIZE(outputs); i++)
            sample_miss(sample, outputs[i], absence);
        return;
    }
    sample_set(sample, METRIC_ATTAINABLE_COMPUTE,
               fmin(sample->value[METRIC_COMPUTE_SOL] * limit.growth, 1));
    sample_set(sample, METRIC_ATTAINABLE_MEMORY,
               fmin(sample->value[METRIC_MEMORY_SOL] * limit.growth, 1));
    sample_set(sample, METRIC_ATTAINABLE_LIMIT, limit.label);
    sample_set(sample, METRIC_ATTAINABLE_SOURCE, limit.source);
    derive_budget(limit.growth, sample);
}
