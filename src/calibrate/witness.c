#include "calibrate/witness.h"

#include <math.h>
#include <string.h>

#include "sol/sol.h"

void witness_begin(struct witness *witness, double now)
{
    witness->begin = now;
    memset(witness->metrics, 0, sizeof(witness->metrics));
}

/* Where CUPTI's counters run in bursts, these are held until the next one. */
static bool is_held(enum metric metric)
{
    switch (metric) {
    case METRIC_EFFECTIVE_CLOCK:
    case METRIC_ISSUE_ACTIVE:
    case METRIC_DRAM_READ:
    case METRIC_DRAM_WRITE:
    case METRIC_L2_ACTIVE:
    case METRIC_L1_ACTIVE:
    case METRIC_XU_ACTIVE:
    case METRIC_TENSOR_SHARED_LOADS:
        return true;
    default:
        return false;
    }
}

/* Before Hopper, counters that do not fit one set take turns and stand still in between. */
static bool takes_turns(const struct sample *sample, enum metric metric)
{
    return (metric <= METRIC_EFFECTIVE_CLOCK || metric == METRIC_COMPUTE_SOL ||
            metric == METRIC_MEMORY_SOL) &&
           sample_get(sample, METRIC_COUNTERS_AGE, 1) == 0 &&
           sample_get(sample, METRIC_COUNTERS_SHARE, 1) < 1;
}

void witness_add(struct witness *witness, const struct sample *sample)
{
    bool counts = sample->time - sample->interval >= witness->begin;
    bool old = sample->time - sample_get(sample, METRIC_COUNTERS_AGE, 0) < witness->begin;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        enum metric metric = (enum metric)i;
        if (!sample_has(sample, metric))
            continue;
        bool stands = takes_turns(sample, metric) && sample->value[i] == witness->last[i];
        witness->last[i] = sample->value[i];
        if (counts && !stands && !(old && is_held(metric)))
            stats_add(&witness->metrics[i], sample->value[i]);
    }
}

static double mean(const struct witness *witness, enum metric metric)
{
    const struct stats *stats = &witness->metrics[metric];
    return stats->count > 0 ? stats->mean : NAN;
}

/* The counter of the unit that a ceiling is of, or METRIC_COUNT. */
static enum metric counter_of(enum ceiling ceiling)
{
    switch (ceiling) {
    case CEILING_HBM_READ:
    case CEILING_HBM_WRITE:
    case CEILING_HBM_COPY:
    case CEILING_HBM_TRIAD:
        return METRIC_DRAM_ACTIVE;
    case CEILING_L2_READ:
        return METRIC_L2_ACTIVE;
    case CEILING_FP64:
        return METRIC_FP64_ACTIVE;
    case CEILING_FP32:
        return METRIC_FP32_ACTIVE;
    case CEILING_FP16:
        return METRIC_FP16_ACTIVE;
    case CEILING_INT32:
        return METRIC_INT_ACTIVE;
    case CEILING_TENSOR_FP64:
    case CEILING_TENSOR_TF32:
    case CEILING_TENSOR_BF16:
    case CEILING_TENSOR_FP8:
    case CEILING_TENSOR_INT8:
        return METRIC_TENSOR_ACTIVE;
    case CEILING_PCIE_H2D:
    case CEILING_PCIE_D2H:
    case CEILING_NVLINK_SEND:
        return METRIC_LINK_SOL;
    default:
        return METRIC_COUNT;
    }
}

void witness_tell(const struct witness *witness, enum ceiling ceiling, struct ceiling_value *value)
{
    enum metric counter = counter_of(ceiling);
    double effective = mean(witness, METRIC_EFFECTIVE_CLOCK);
    value->clock = isnan(effective) ? mean(witness, METRIC_SM_CLOCK) : effective;
    value->temperature = mean(witness, METRIC_TEMPERATURE);
    value->power = mean(witness, METRIC_POWER);
    value->ratio = counter == METRIC_COUNT ? NAN : mean(witness, counter);
}

struct comparison {
    const struct witness *witness;
    const struct device *device;
    const struct calibration_work *work;
    struct witness_row *rows;
    size_t count;
};

static void add_row(struct comparison *comparison, enum metric metric, double known,
                    bool nvml_clock)
{
    const struct stats *stats = &comparison->witness->metrics[metric];
    comparison->rows[comparison->count++] = (struct witness_row){
        .ceiling = comparison->work->ceiling,
        .metric = metric,
        .samples = stats->count,
        .known = known,
        .seen = mean(comparison->witness, metric),
        .nvml_clock = nvml_clock,
        .old_tensor_path = comparison->work->old_tensor_path,
    };
}

/* Of the tensor pipe, the part that the type is counted in; METRIC_COUNT of other pipes. */
static enum metric tensor_part(enum label pipe, enum label type)
{
    if (pipe != LABEL_PIPE_TENSOR)
        return METRIC_COUNT;
    return type == LABEL_TYPE_FP64   ? METRIC_TENSOR_DFMA_ACTIVE
           : type == LABEL_TYPE_INT8 ? METRIC_TENSOR_IMMA_ACTIVE
                                     : METRIC_TENSOR_HMMA_ACTIVE;
}

/* A pipe's rate as a part of its peak at the clock that the GPU ran at. */
static void compare_pipe(struct comparison *comparison, enum label pipe, enum label type,
                         double value)
{
    struct sol_peak peak;
    enum absence why;
    double effective = mean(comparison->witness, METRIC_EFFECTIVE_CLOCK);
    double clock = isnan(effective) ? mean(comparison->witness, METRIC_SM_CLOCK) : effective;
    if (isnan(clock) || !sol_peak(comparison->device, pipe, type, &peak, &why))
        return;
    double known = value / (peak.flops * clock /
                            device_number(comparison->device, DEVICE_MAX_SM_CLOCK, clock));
    enum metric part = tensor_part(pipe, type);
    add_row(comparison, METRIC_COMPUTE_SOL, known, isnan(effective));
    add_row(comparison, counter_of(comparison->work->ceiling), known, isnan(effective));
    if (part != METRIC_COUNT)
        add_row(comparison, part, known, isnan(effective));
}

static void compare_dram(struct comparison *comparison, double read, double written)
{
    double peak;
    enum absence why;
    if (sol_peak_dram(comparison->device, &peak, &why)) {
        add_row(comparison, METRIC_MEMORY_SOL, (read + written) / peak, false);
        add_row(comparison, METRIC_DRAM_ACTIVE, (read + written) / peak, false);
    }
    if (read > 0)
        add_row(comparison, METRIC_DRAM_READ, read, false);
    if (written > 0)
        add_row(comparison, METRIC_DRAM_WRITE, written, false);
}

size_t witness_compare(const struct witness *witness, const struct device *device,
                       const struct calibration_work *work, double value,
                       struct witness_row rows[WITNESS_ROWS])
{
    struct comparison comparison = {witness, device, work, rows, 0};
    enum label pipe, type;
    if (ceiling_arithmetic(work->ceiling, &pipe, &type))
        compare_pipe(&comparison, pipe, type, value);
    switch (work->ceiling) {
    case CEILING_HBM_READ:
        compare_dram(&comparison, value, 0);
        break;
    case CEILING_HBM_WRITE:
        compare_dram(&comparison, 0, value);
        break;
    case CEILING_HBM_COPY:
        compare_dram(&comparison, value / 2, value / 2);
        break;
    case CEILING_HBM_TRIAD:
        compare_dram(&comparison, value * 2 / 3, value / 3);
        break;
    case CEILING_PCIE_H2D:
        add_row(&comparison, METRIC_PCIE_RX, value, false);
        break;
    case CEILING_PCIE_D2H:
        add_row(&comparison, METRIC_PCIE_TX, value, false);
        break;
    case CEILING_NVLINK_SEND:
        add_row(&comparison, METRIC_NVLINK_TX, value, false);
        break;
    default:
        break;
    }
    return comparison.count;
}
