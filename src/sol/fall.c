#include "sol/fall.h"

#include <stdint.h>

#include "sol/bound.h"
#include "sol/sol.h"

/* A cause that held for less than this part of the time is not named. */
static const double WORTH_NAMING = 0.2;

enum throttle_bits {
    CLOCK_SET = 1 << 1 | 1 << 4 | 1 << 8,
    POWER_CAPPED = 1 << 2 | 1 << 7,
    TOO_HOT = 1 << 3 | 1 << 5 | 1 << 6,
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

static void add_causes(struct fall *fall, const struct sample *sample, double seconds)
{
    uint64_t reasons = (uint64_t)sample_get(sample, METRIC_THROTTLE_REASONS, 0);
    fall->memory += seconds * sample_get(sample, METRIC_MEMORY_SOL, 0);
    fall->link += seconds * sample_get(sample, METRIC_LINK_SOL, 0);
    fall->power += reasons & POWER_CAPPED ? seconds : 0;
    fall->heat += reasons & TOO_HOT ? seconds : 0;
    fall->setting += reasons & CLOCK_SET ? seconds : 0;
    if (sample_has(sample, METRIC_PEAK_FLOPS) && sample_has(sample, METRIC_ACHIEVED_FLOPS)) {
        fall->peak_flops += seconds * sample->value[METRIC_PEAK_FLOPS];
        fall->achieved_flops += seconds * sample->value[METRIC_ACHIEVED_FLOPS];
        fall->flops_seconds += seconds;
    }
}

void fall_add(struct fall *fall, const struct sample *sample, double seconds)
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
    double level = seconds;
    fall->seconds += seconds;
    fall->level[FALL_CLOCK] += seconds;
    for (int i = FALL_BUSY; i < FALL_STEPS; i++) {
        level *= factor[i];
        fall->level[i] += level;
    }
    if (has_clock) {
        level = seconds;
        fall->clock_seconds += seconds;
        for (int i = 0; i < FALL_STEPS; i++) {
            level *= factor[i];
            fall->clock_level[i] += level;
        }
    }
    add_causes(fall, sample, seconds);
}

double fall_left(const struct fall *fall, enum fall_step step)
{
    if (fall->seconds <= 0)
        return 0;
    return fall_knows_clock(fall) ? fall->clock_level[step] / fall->clock_seconds
                                  : fall->level[step] / fall->seconds;
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

static void advise_clock(const struct fall *fall, struct strbuf *out)
{
    double share = WORTH_NAMING * fall->seconds;
    if (fall->heat > share)
        strbuf_puts(out, "heat holds the clock down: see to cooling and air flow");
    else if (fall->power > share)
        strbuf_puts(out, "the power limit holds the clock down: usual for dense work; fewer bytes "
                         "moved or a higher limit give clock back");
    else if (fall->setting > share)
        strbuf_puts(out, "a clock was set: nvidia-smi -rgc and -rac take that back");
    else
        strbuf_puts(out, "the GPU ran below its maximum clock, and the driver names no reason");
}

static void advise_busy(const struct fall *fall, struct strbuf *out)
{
    if (fall->link >= BOUND_LINK_NEAR_PEAK * fall->seconds)
        strbuf_puts(out, "it waits for copies over a link: overlap them with work, or move less");
    else
        strbuf_puts(out, "gaps between launches: larger batches, CUDA graphs, or a faster host");
}

static void advise_pipe(const struct fall *fall, struct strbuf *out)
{
    double pipe = fall->level[FALL_PIPE];
    if (fall->memory > pipe && fall->memory >= BOUND_NEAR_LIMIT * fall->seconds) {
        strbuf_puts(out, "memory sets the pace (Memory SOL ");
        sol_percent(fall->memory / fall->seconds, out);
        strbuf_puts(out, "): fuse kernels, use smaller types, keep data in caches");
    } else
        strbuf_puts(out, "latency inside kernels: more independent work for each SM, asynchronous "
                         "copies; a kernel profiler shows where");
}

void fall_advice(const struct fall *fall, enum fall_step step, struct strbuf *out)
{
    switch (step) {
    case FALL_CLOCK:
        advise_clock(fall, out);
        break;
    case FALL_BUSY:
        advise_busy(fall, out);
        break;
    case FALL_COVERAGE:
        strbuf_puts(out, "kernels too small for all SMs: larger problems, or several streams");
        break;
    default:
        advise_pipe(fall, out);
    }
}
