#include "sol/fall.h"

#include <math.h>
#include <stdint.h>

#include "sol/bound.h"
#include "sol/sol.h"
#include "sol/tensor_path.h"

/* A cause that held for less than this part of the time is not named. */
static const double WORTH_NAMING = 0.2;

/* What can hold the clock down, by the bits of throttle_reasons: the first that held long enough is
 * named. The driver sets bit 3 for heat as well as for the power supply's brake, mostly beside the
 * bit that tells which. */
static const struct {
    uint64_t bits;
    const char *advice;
} causes[FALL_CAUSES] = {
    {1 << 5 | 1 << 6, "heat holds the clock down: see to cooling and air flow"},
    {1 << 2,
     "the power limit holds the clock down: usual for dense work; fewer bytes moved or a higher "
     "limit give clock back"},
    {1 << 7, "the power supply's brake signal holds the clock down: see to the server's power"},
    {1 << 3, "the hardware holds the clock down: heat, the power supply, or a peak of power"},
    {1 << 1, "a clock was set: nvidia-smi -rgc and -rac take that back"},
    {1 << 4, "the clock follows another GPU of its sync boost group"},
    {1 << 8, "a display's setting holds the clock down"},
    {1 << 0, "the GPU rested, and lowers its clock then"},
};

/* 0 where nothing ran that could have had the factor. */
static bool read_factor(const struct sample *sample, enum metric metric, double *ret,
                        enum absence *ret_why)
{
    *ret = sample_get(sample, metric, 0);
    if (sample_has(sample, metric) || sample->absent[metric] == ABSENT_NOTHING_RAN)
        return true;
    *ret_why = (enum absence)sample->absent[metric];
    return false;
}

static void add_causes(struct fall *fall, const struct device *device, const struct sample *sample,
                       double seconds)
{
    uint64_t reasons = (uint64_t)sample_get(sample, METRIC_THROTTLE_REASONS, 0);
    double memory = seconds * sample_get(sample, METRIC_MEMORY_SOL, 0);
    bool cache = sample_get(sample, METRIC_MEMORY_SOL_LEVEL, LABEL_LEVEL_DRAM) != LABEL_LEVEL_DRAM;
    fall->memory += memory;
    fall->caches += cache ? memory : 0;
    fall->link += seconds * sample_get(sample, METRIC_LINK_SOL, 0);
    for (size_t i = 0; i < FALL_CAUSES; i++)
        fall->held[i] += reasons & causes[i].bits ? seconds : 0;
    if (!sample_has(sample, METRIC_ACHIEVED_FLOPS))
        return;
    fall->achieved_flops += seconds * sample->value[METRIC_ACHIEVED_FLOPS];
    fall->flops_seconds += seconds;
    if (sample_has(sample, METRIC_PEAK_FLOPS)) {
        fall->peak_flops += seconds * sample->value[METRIC_PEAK_FLOPS];
        fall->peak_seconds += seconds;
        fall->old_path_seconds += sol_may_be_old_tensor_path(device, sample) ? seconds : 0;
    }
}

/* Adds `first` × the product of the factors behind the clock's, up to each step. */
static void add_levels(double levels[FALL_STEPS], const double factor[FALL_STEPS], double first)
{
    levels[FALL_CLOCK] += first;
    for (int i = FALL_BUSY; i < FALL_STEPS; i++) {
        first *= factor[i];
        levels[i] += first;
    }
}

void fall_add(struct fall *fall, const struct device *device, const struct sample *sample,
              double seconds)
{
    static const enum metric metrics[FALL_STEPS] = {METRIC_WATERFALL_CLOCK, METRIC_WATERFALL_BUSY,
                                                    METRIC_WATERFALL_COVERAGE,
                                                    METRIC_WATERFALL_PIPE};
    double factor[FALL_STEPS];
    for (int i = FALL_BUSY; i < FALL_STEPS; i++)
        if (!read_factor(sample, metrics[i], &factor[i], &fall->no_step)) {
            fall->missed += seconds;
            return;
        }
    bool has_clock = read_factor(sample, METRIC_WATERFALL_CLOCK, &factor[0], &fall->no_clock);
    fall->seconds += seconds;
    add_levels(fall->level, factor, seconds);
    if (has_clock) {
        fall->clock_seconds += seconds;
        add_levels(fall->known_level, factor, seconds);
        add_levels(fall->clock_level, factor, seconds * factor[FALL_CLOCK]);
    }
    add_causes(fall, device, sample, seconds);
}

/* The clock's factor for what is left by a step: of a clock that was seen at rest only, that. */
static double clock_of(const struct fall *fall, enum fall_step step)
{
    double known = fall->known_level[step];
    return known > 0 ? fall->clock_level[step] / known
                     : fall->clock_level[FALL_CLOCK] / fall->clock_seconds;
}

double fall_left(const struct fall *fall, enum fall_step step)
{
    if (fall->seconds <= 0)
        return 0;
    if (!fall_knows_clock(fall))
        return fall->level[step] / fall->seconds;
    double left = clock_of(fall, step) * fall->level[step] / fall->seconds;
    return step == FALL_CLOCK ? left : fmin(left, fall_left(fall, step - 1));
}

static double left_before(const struct fall *fall, enum fall_step step)
{
    return step == FALL_CLOCK ? 1 : fall_left(fall, step - 1);
}

double fall_factor(const struct fall *fall, enum fall_step step)
{
    double before = left_before(fall, step);
    return before > 0 ? fall_left(fall, step) / before : 0;
}

double fall_lost(const struct fall *fall, enum fall_step step)
{
    return left_before(fall, step) - fall_left(fall, step);
}

const char *fall_name(enum fall_step step)
{
    static const char *const names[] = {"clock", "busy", "coverage", "pipe"};
    return names[step];
}

const char *fall_meaning(enum fall_step step)
{
    static const char *const meanings[] = {
        "effective clock, of the maximum",
        "time in which the engine was busy",
        "SMs with work, while it was busy",
        "busiest pipe, on SMs with work",
    };
    return meanings[step];
}

static const char *clock_advice(const struct fall *fall)
{
    for (size_t i = 0; i < FALL_CAUSES; i++)
        if (fall->held[i] > WORTH_NAMING * fall->seconds)
            return causes[i].advice;
    return "the GPU ran below its maximum clock, and the driver names no reason";
}

static const char *busy_advice(const struct fall *fall)
{
    if (fall->link >= BOUND_LINK_NEAR_PEAK * fall->seconds)
        return "it waits for copies over a link: overlap them with work, or move less";
    if (fall->level[FALL_BUSY] < BOUND_IDLE * fall->seconds)
        return "nothing ran";
    return "gaps between launches: larger batches, CUDA graphs, or a faster host";
}

static void advise_pipe(const struct fall *fall, struct strbuf *out)
{
    struct strbuf memory = {0};
    strbuf_puts(&memory, "Memory SOL ");
    sol_percent(fall->memory / fall->seconds, &memory);
    if (fall->memory < BOUND_NEAR_LIMIT * fall->seconds)
        strbuf_puts(out, "latency inside kernels: more independent work for each SM, asynchronous "
                         "copies; a kernel profiler shows where");
    else if (fall->memory <= fall->level[FALL_PIPE])
        strbuf_printf(
            out,
            "latency inside kernels, or others that wait for memory (%s): a kernel profiler "
            "shows which",
            strbuf_text(&memory));
    else if (fall->caches > fall->memory / 2)
        strbuf_printf(out,
                      "caches set the pace (%s): larger tiles, more reuse in registers and shared "
                      "memory",
                      strbuf_text(&memory));
    else
        strbuf_printf(out,
                      "memory sets the pace (%s): fuse kernels, use smaller types, keep data in "
                      "caches",
                      strbuf_text(&memory));
    strbuf_free(&memory);
}

void fall_advice(const struct fall *fall, enum fall_step step, struct strbuf *out)
{
    switch (step) {
    case FALL_CLOCK:
        strbuf_puts(out, clock_advice(fall));
        break;
    case FALL_BUSY:
        strbuf_puts(out, busy_advice(fall));
        break;
    case FALL_COVERAGE:
        strbuf_puts(out, "kernels too small or too short for all SMs: larger problems, fused "
                         "kernels, or several streams");
        break;
    default:
        advise_pipe(fall, out);
    }
}
