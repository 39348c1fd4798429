#include "sol/sol.h"

#include "sol/attainable.h"
#include "sol/bound.h"
#include "sol/link.h"
#include "sol/ratio.h"
#include "sol/waterfall.h"

/* The busiest of several: its ratio and its word. */
struct busiest {
    double ratio;
    enum label label;
    enum absence absence; /* the first reason why a part that has to be seen is not */
};

static void consider(struct busiest *busiest, enum absence absence, double ratio, enum label label)
{
    if (absence == ABSENT_NO && ratio > busiest->ratio) {
        busiest->ratio = ratio;
        busiest->label = label;
    }
}

/* Without this part the others would pass for the whole. A part that the chip lacks is no loss. */
static void require(struct busiest *busiest, enum absence absence)
{
    if (absence != ABSENT_NO && absence != ABSENT_NOT_SUPPORTED && busiest->absence == ABSENT_NO)
        busiest->absence = absence;
}

/* The tensor pipe of any type; some sources see its parts only. */
static enum absence tensor_ratio(const struct sample *sample, double *ret)
{
    enum absence absence = ratio_of(sample, METRIC_TENSOR_ACTIVE, ret);
    if (absence == ABSENT_NO)
        return absence;
    static const enum metric parts[] = {METRIC_TENSOR_HMMA_ACTIVE, METRIC_TENSOR_IMMA_ACTIVE,
                                        METRIC_TENSOR_DFMA_ACTIVE};
    double most = -1;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        double part;
        if (ratio_of(sample, parts[i], &part) == ABSENT_NO && part > most)
            most = part;
    }
    if (most < 0)
        return absence;
    *ret = most;
    return ABSENT_NO;
}

static void derive_compute(struct sample *sample)
{
    static const struct {
        enum metric metric;
        enum label label;
    } pipes[] = {
        {METRIC_FP32_ACTIVE, LABEL_PIPE_FP32},
        {METRIC_FP64_ACTIVE, LABEL_PIPE_FP64},
        {METRIC_FP16_ACTIVE, LABEL_PIPE_FP16},
        {METRIC_INT_ACTIVE, LABEL_PIPE_INT},
    };
    struct busiest busiest = {0};
    double ratio = 0;
    bool seen = false;
    enum absence absence = tensor_ratio(sample, &ratio);
    consider(&busiest, absence, ratio, LABEL_PIPE_TENSOR);
    require(&busiest, absence);
    seen |= absence == ABSENT_NO;
    for (size_t i = 0; i < ARRAY_SIZE(pipes); i++) {
        absence = ratio_of(sample, pipes[i].metric, &ratio);
        consider(&busiest, absence, ratio, pipes[i].label);
        if (pipes[i].label == LABEL_PIPE_FP32)
            require(&busiest, absence);
        seen |= absence == ABSENT_NO;
    }
    if (!seen && busiest.absence == ABSENT_NO)
        busiest.absence = ABSENT_NOT_SUPPORTED;
    ratio_set(sample, METRIC_COMPUTE_SOL, busiest.absence, busiest.ratio);
    if (busiest.absence == ABSENT_NO && busiest.ratio <= 0)
        busiest.absence = ABSENT_NOTHING_RAN;
    ratio_set(sample, METRIC_COMPUTE_SOL_PIPE, busiest.absence, busiest.label);
}

static void derive_dram(const struct device *device, struct sample *sample)
{
    double peak = 0;
    enum absence why = ABSENT_NO;
    sol_peak_dram(device, &peak, &why);
    ratio_set(sample, METRIC_PEAK_DRAM, why, peak);

    double ratio;
    enum absence absence = ratio_of(sample, METRIC_DRAM_ACTIVE, &ratio);
    /* Bytes that were counted in a burst some time ago are behind a ratio that is of now. */
    bool held =
        absence == ABSENT_NO && why == ABSENT_NO && sample_get(sample, METRIC_COUNTERS_AGE, 0) > 0;
    if (!held && sample_has(sample, METRIC_DRAM_READ) && sample_has(sample, METRIC_DRAM_WRITE))
        sample_set(sample, METRIC_ACHIEVED_DRAM,
                   sample->value[METRIC_DRAM_READ] + sample->value[METRIC_DRAM_WRITE]);
    else if (absence == ABSENT_NO && why == ABSENT_NO)
        sample_set(sample, METRIC_ACHIEVED_DRAM, ratio * peak);
    else
        sample_miss(sample, METRIC_ACHIEVED_DRAM, absence == ABSENT_NO ? why : absence);
}

static enum absence dram_ratio(const struct sample *sample, double *ret)
{
    enum absence absence = ratio_of(sample, METRIC_DRAM_ACTIVE, ret);
    if (absence == ABSENT_NO || !sample_has(sample, METRIC_ACHIEVED_DRAM) ||
        !sample_has(sample, METRIC_PEAK_DRAM))
        return absence;
    return ratio_check(sample->value[METRIC_ACHIEVED_DRAM] / sample->value[METRIC_PEAK_DRAM], ret);
}

static void derive_memory(struct sample *sample)
{
    struct busiest busiest = {0};
    double ratio = 0;
    enum absence absence = dram_ratio(sample, &ratio);
    busiest.absence = absence;
    consider(&busiest, absence, ratio, LABEL_LEVEL_DRAM);
    absence = ratio_of(sample, METRIC_L2_ACTIVE, &ratio);
    consider(&busiest, absence, ratio, LABEL_LEVEL_L2);
    absence = ratio_of(sample, METRIC_L1_ACTIVE, &ratio);
    consider(&busiest, absence, ratio, LABEL_LEVEL_L1);
    ratio_set(sample, METRIC_MEMORY_SOL, busiest.absence, busiest.ratio);
    if (busiest.absence == ABSENT_NO && busiest.ratio <= 0)
        busiest.absence = ABSENT_NOTHING_RAN;
    ratio_set(sample, METRIC_MEMORY_SOL_LEVEL, busiest.absence, busiest.label);
}

/* The type that a pipe's work is taken for. No counter tells the types of the floating-point tensor
 * pipe apart: BF16 stands for them, being what most of today's work is. */
static enum label assumed_type(const struct sample *sample, enum label pipe)
{
    switch (pipe) {
    case LABEL_PIPE_FP64:
        return LABEL_TYPE_FP64;
    case LABEL_PIPE_FP32:
        return LABEL_TYPE_FP32;
    case LABEL_PIPE_FP16:
        return LABEL_TYPE_BF16;
    case LABEL_PIPE_INT:
        return LABEL_TYPE_INT32;
    default:
        break;
    }
    double floating = sample_get(sample, METRIC_TENSOR_HMMA_ACTIVE, 0);
    double integer = sample_get(sample, METRIC_TENSOR_IMMA_ACTIVE, 0);
    double wide = sample_get(sample, METRIC_TENSOR_DFMA_ACTIVE, 0);
    if (wide > floating && wide > integer)
        return LABEL_TYPE_FP64;
    return integer > floating ? LABEL_TYPE_INT8 : LABEL_TYPE_BF16;
}

static void derive_work(const struct device *device, struct sample *sample)
{
    enum absence no_pipe = (enum absence)sample->absent[METRIC_COMPUTE_SOL_PIPE];
    if (no_pipe != ABSENT_NO) {
        sample_miss(sample, METRIC_ASSUMED_TYPE, no_pipe);
        sample_miss(sample, METRIC_PEAK_FLOPS, no_pipe);
        ratio_set(sample, METRIC_ACHIEVED_FLOPS,
                  no_pipe == ABSENT_NOTHING_RAN ? ABSENT_NO : no_pipe, 0);
        return;
    }
    enum label pipe = (enum label)sample->value[METRIC_COMPUTE_SOL_PIPE];
    enum label type = assumed_type(sample, pipe);
    struct sol_peak peak = {0};
    enum absence why = ABSENT_NO;
    sol_peak(device, pipe, type, &peak, &why);
    sample_set(sample, METRIC_ASSUMED_TYPE, type);
    ratio_set(sample, METRIC_PEAK_FLOPS, why, peak.flops);

    /* NVML's clock is an upper bound of the effective one, and so is what is reckoned from it. */
    enum metric clock =
        sample_has(sample, METRIC_EFFECTIVE_CLOCK) ? METRIC_EFFECTIVE_CLOCK : METRIC_SM_CLOCK;
    double speed = 0;
    if (why == ABSENT_NO && !sample_has(sample, clock))
        why = (enum absence)sample->absent[clock];
    else if (why == ABSENT_NO)
        why = ratio_check(sample->value[clock] / device->number[DEVICE_MAX_SM_CLOCK], &speed);
    ratio_set(sample, METRIC_ACHIEVED_FLOPS, why,
              sample->value[METRIC_COMPUTE_SOL] * speed * peak.flops);
}

void sol_derive(const struct device *device, const struct sol_ceilings *ceilings,
                struct sample *sample)
{
    derive_compute(sample);
    derive_dram(device, sample);
    derive_memory(sample);
    link_derive(device, sample);
    bound_derive(sample);
    waterfall_derive(device, sample);
    derive_work(device, sample);
    attainable_derive(ceilings, sample);
}
