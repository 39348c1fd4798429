#include "sol/sol.h"

#include "sol/bound.h"
#include "sol/tensor_path.h"

/* Below it an engine's rests are worth a word. */
static const double FULLY_BUSY = 0.9;
/* SMs that have work less than this sleep, for a person's purposes. */
static const double ASLEEP = 0.05;
static const double MOSTLY = 0.5;
/* Directions that differ by less are the same, for a person's purposes. */
static const double ALIKE = 0.95;
/* A budget below it is not worth a word on where it lies. */
static const double WORTH_A_WORD = 0.05;

void sol_percent(double ratio, struct strbuf *out)
{
    double percent = ratio * 100;
    if (percent > 0 && percent < 1)
        strbuf_puts(out, "under 1 %");
    else
        strbuf_printf(out, "%.0f %%", percent);
}

static void add_percent(const struct sample *sample, enum metric metric, struct strbuf *out)
{
    sol_percent(sample_get(sample, metric, 0), out);
}

static const char *words_of(const struct sample *sample, enum metric metric,
                            const char *const words[LABEL_COUNT])
{
    return sample_has(sample, metric) ? words[(size_t)sample->value[metric]] : "";
}

static const char *pipe_words(const struct sample *sample)
{
    static const char *const words[LABEL_COUNT] = {
        [LABEL_PIPE_TENSOR] = "tensor", [LABEL_PIPE_FP64] = "FP64",   [LABEL_PIPE_FP32] = "FP32",
        [LABEL_PIPE_FP16] = "FP16",     [LABEL_PIPE_INT] = "integer",
    };
    return words_of(sample, METRIC_COMPUTE_SOL_PIPE, words);
}

void sol_pipe_words(const struct sample *sample, struct strbuf *out)
{
    strbuf_puts(out, pipe_words(sample));
}

static const char *level_words(const struct device *device, const struct sample *sample)
{
    const char *words[LABEL_COUNT] = {
        [LABEL_LEVEL_DRAM] = sol_dram_name(device),
        [LABEL_LEVEL_L2] = "L2",
        [LABEL_LEVEL_L1] = "L1",
    };
    return words_of(sample, METRIC_MEMORY_SOL_LEVEL, words);
}

void sol_level_words(const struct device *device, const struct sample *sample, struct strbuf *out)
{
    const char *words = level_words(device, sample);
    strbuf_puts(out, words);
    if (words[0] && !sample_has(sample, METRIC_L2_ACTIVE) && !sample_has(sample, METRIC_L1_ACTIVE))
        strbuf_puts(out, " only");
}

/* A collective operation loads both directions alike; which is ahead changes from sample to sample.
 */
static bool both_ways(const struct sample *sample)
{
    enum label link = (enum label)sample_get(sample, METRIC_LINK_SOL_NAME, LABEL_LINK_PCIE_RX);
    bool nvlink = link == LABEL_LINK_NVLINK_RX || link == LABEL_LINK_NVLINK_TX;
    double rx = sample_get(sample, nvlink ? METRIC_NVLINK_RX : METRIC_PCIE_RX, 0);
    double tx = sample_get(sample, nvlink ? METRIC_NVLINK_TX : METRIC_PCIE_TX, 0);
    return fmin(rx, tx) >= ALIKE * fmax(rx, tx);
}

void sol_link_words(const struct sample *sample, struct strbuf *out)
{
    static const char *const one_way[LABEL_COUNT] = {
        [LABEL_LINK_PCIE_RX] = "PCIe host-to-device",
        [LABEL_LINK_PCIE_TX] = "PCIe device-to-host",
        [LABEL_LINK_NVLINK_RX] = "NVLink incoming",
        [LABEL_LINK_NVLINK_TX] = "NVLink outgoing",
    };
    static const char *const two_ways[LABEL_COUNT] = {
        [LABEL_LINK_PCIE_RX] = "PCIe both ways",
        [LABEL_LINK_PCIE_TX] = "PCIe both ways",
        [LABEL_LINK_NVLINK_RX] = "NVLink both ways",
        [LABEL_LINK_NVLINK_TX] = "NVLink both ways",
    };
    strbuf_puts(out,
                words_of(sample, METRIC_LINK_SOL_NAME, both_ways(sample) ? two_ways : one_way));
}

/* Most of what there is to gain lies on SMs without work, and no ceiling is in doubt. */
static bool is_lost_outside(const struct sample *sample)
{
    double budget = sample_get(sample, METRIC_ATTAINABLE_BUDGET, 0);
    return sample_get(sample, METRIC_ATTAINABLE_SOURCE, LABEL_CEILING_OF_THE_PEAK) !=
               LABEL_CEILING_OF_THE_PEAK &&
           sample_get(sample, METRIC_SM_ACTIVE, 1) < FULLY_BUSY && budget >= WORTH_A_WORD &&
           sample_get(sample, METRIC_ATTAINABLE_OUTSIDE, 0) >= budget / 2;
}

static void add_sm_time(const struct sample *sample, struct strbuf *out)
{
    strbuf_puts(out, "SMs have work ");
    add_percent(sample, METRIC_SM_ACTIVE, out);
    strbuf_puts(out, " of the time");
}

/* What is lost outside of the kernels, before what is lost in them. */
static void add_gaps(const struct sample *sample, struct strbuf *out)
{
    if (sample_get(sample, METRIC_GRAPHICS_ACTIVE, 1) < FULLY_BUSY) {
        strbuf_puts(out, ", busy ");
        add_percent(sample, METRIC_GRAPHICS_ACTIVE, out);
        strbuf_puts(out, " of the time");
    } else if (is_lost_outside(sample)) {
        strbuf_puts(out, ", SMs busy ");
        add_percent(sample, METRIC_SM_ACTIVE, out);
    }
}

static void add_link(const struct sample *sample, struct strbuf *out)
{
    sol_link_words(sample, out);
    strbuf_puts(out, " at ");
    add_percent(sample, METRIC_LINK_SOL, out);
    strbuf_puts(out, " of its peak");
}

static void say_link(const struct sample *sample, struct strbuf *out)
{
    strbuf_puts(out, "link-bound: ");
    add_link(sample, out);
    if (!sample_has(sample, METRIC_SM_ACTIVE))
        return;
    if (sample->value[METRIC_SM_ACTIVE] < ASLEEP) {
        strbuf_puts(out, " while the SMs sleep");
        return;
    }
    strbuf_puts(out, "; ");
    add_sm_time(sample, out);
}

static bool only_copies(const struct sample *sample)
{
    return sample_get(sample, METRIC_GRAPHICS_ACTIVE, 1) < BOUND_IDLE &&
           sample_get(sample, METRIC_SM_ACTIVE, 1) < BOUND_IDLE &&
           sample_get(sample, METRIC_LINK_SOL, 0) >= BOUND_IDLE;
}

static void say_latency(const struct sample *sample, struct strbuf *out)
{
    strbuf_puts(out, "latency-bound: ");
    if (!sample_has(sample, METRIC_SM_ACTIVE)) {
        strbuf_puts(out, "busy, but nothing is near its limit");
        return;
    }
    if (only_copies(sample)) {
        strbuf_puts(out, "only copies run, ");
        add_link(sample, out);
        return;
    }
    add_sm_time(sample, out);
    if (sample_get(sample, METRIC_GRAPHICS_ACTIVE, 1) < FULLY_BUSY)
        strbuf_puts(out, ": launches and gaps");
    else if (sample->value[METRIC_SM_ACTIVE] < MOSTLY)
        strbuf_puts(out, ": kernels too small for this GPU");
    else
        strbuf_puts(out, " but mostly wait: small or dependent steps");
}

/* A busy pipe may do less than it seems. */
static void add_tensor_path(const struct device *device, const struct sample *sample,
                            struct strbuf *out)
{
    if (!sol_may_be_old_tensor_path(device, sample))
        return;
    strbuf_puts(out, " (in FLOPs about ");
    sol_percent(TENSOR_OLD_RATE * sample->value[METRIC_COMPUTE_SOL], out);
    strbuf_puts(out, ", if by mma.sync)");
}

static void say_bound(const struct device *device, const struct sample *sample, struct strbuf *out)
{
    switch ((enum label)sample->value[METRIC_BOUND]) {
    case LABEL_BOUND_COMPUTE:
        strbuf_printf(out, "compute-bound: %s pipe at ", pipe_words(sample));
        add_percent(sample, METRIC_COMPUTE_SOL, out);
        add_tensor_path(device, sample, out);
        add_gaps(sample, out);
        break;
    case LABEL_BOUND_MEMORY:
        strbuf_printf(out, "memory-bound: %s at ", level_words(device, sample));
        add_percent(sample, METRIC_MEMORY_SOL, out);
        add_gaps(sample, out);
        break;
    case LABEL_BOUND_LINK:
        say_link(sample, out);
        break;
    case LABEL_BOUND_LATENCY:
        say_latency(sample, out);
        break;
    default:
        strbuf_puts(out, "idle");
        break;
    }
}

static const char *limit_words(const struct device *device, const struct sample *sample)
{
    const char *words[LABEL_COUNT] = {
        [LABEL_LIMIT_TENSOR] = "tensor pipe",
        [LABEL_LIMIT_FP64] = "FP64 pipe",
        [LABEL_LIMIT_FP32] = "FP32 pipe",
        [LABEL_LIMIT_FP16] = "FP16 pipe",
        [LABEL_LIMIT_INT] = "integer pipe",
        [LABEL_LIMIT_ISSUE] = "instruction rate",
        [LABEL_LIMIT_DRAM] = sol_dram_name(device),
        [LABEL_LIMIT_L2] = "L2",
        [LABEL_LIMIT_L1] = "L1",
        [LABEL_LIMIT_PCIE] = "PCIe",
        [LABEL_LIMIT_NVLINK] = "NVLink",
    };
    return words_of(sample, METRIC_ATTAINABLE_LIMIT, words);
}

void sol_attainable_words(const struct device *device, const struct sample *sample,
                          struct strbuf *out)
{
    enum label bound = (enum label)sample_get(sample, METRIC_BOUND, LABEL_BOUND_IDLE);
    enum label source =
        (enum label)sample_get(sample, METRIC_ATTAINABLE_SOURCE, LABEL_CEILING_OF_THE_PEAK);
    if (bound == LABEL_BOUND_IDLE || bound == LABEL_BOUND_LINK ||
        source == LABEL_CEILING_OF_THE_PEAK)
        return;
    bool compute = sample->value[METRIC_COMPUTE_SOL] >= sample->value[METRIC_MEMORY_SOL];
    double present = sample->value[compute ? METRIC_COMPUTE_SOL : METRIC_MEMORY_SOL];
    /* Of the whole numbers that the reader sees. */
    double budget = rint(sample->value[METRIC_ATTAINABLE] * 100) - rint(present * 100);
    strbuf_puts(out, "attainable ");
    if (bound == LABEL_BOUND_LATENCY)
        strbuf_puts(out, compute ? "Compute SOL " : "Memory SOL ");
    add_percent(sample, METRIC_ATTAINABLE, out);
    if (budget >= 1)
        strbuf_printf(out, ", %s stops it; %.0f point%s of budget", limit_words(device, sample),
                      budget, budget > 1 ? "s" : "");
    else
        strbuf_printf(out, ": %s is at its ceiling", limit_words(device, sample));
}

static void say_unknown(const struct sample *sample, struct strbuf *out)
{
    bool compute = sample_has(sample, METRIC_COMPUTE_SOL);
    if (compute && sample_has(sample, METRIC_MEMORY_SOL) && !sample_has(sample, METRIC_LINK_SOL)) {
        strbuf_puts(out, "neither compute nor memory is near its limit; links are not seen");
        return;
    }
    enum metric missing = compute ? METRIC_MEMORY_SOL : METRIC_COMPUTE_SOL;
    enum absence absence = (enum absence)sample->absent[missing];
    strbuf_printf(out, "bound not known, for want of %s: %s",
                  compute ? "Memory SOL" : "Compute SOL", absence_info(absence)->reason);
}

void sol_judgement(const struct device *device, const struct sample *sample, struct strbuf *out)
{
    if (sample_has(sample, METRIC_BOUND))
        say_bound(device, sample, out);
    else
        say_unknown(sample, out);
    size_t length = out->length;
    strbuf_puts(out, "; ");
    sol_attainable_words(device, sample, out);
    if (out->length == length + 2)
        strbuf_truncate(out, length);
}

void sol_verdict(const struct device *device, const struct sample *sample, struct strbuf *out)
{
    sol_judgement(device, sample, out);
    bool idle = sample_get(sample, METRIC_BOUND, -1) == LABEL_BOUND_IDLE;
    double said = sample_get(sample, METRIC_NVML_UTILIZATION, 0);
    if (!sample_has(sample, METRIC_NVML_UTILIZATION) || (idle && said <= 0))
        return;
    strbuf_puts(out, "; nvidia-smi says ");
    sol_percent(said, out);
}
