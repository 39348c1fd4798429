#include "sol/waterfall.h"

#include "sol/ratio.h"

static void derive_clock(const struct device *device, struct sample *sample)
{
    double maximum = device_number(device, DEVICE_MAX_SM_CLOCK, 0);
    double ratio = 0;
    enum absence absence = ABSENT_NO;
    if (!sample_has(sample, METRIC_EFFECTIVE_CLOCK))
        absence = (enum absence)sample->absent[METRIC_EFFECTIVE_CLOCK];
    else if (maximum <= 0)
        absence = ABSENT_INPUT_MISSING;
    else
        absence = ratio_check(sample->value[METRIC_EFFECTIVE_CLOCK] / maximum, &ratio);
    ratio_set(sample, METRIC_WATERFALL_CLOCK, absence, ratio);
}

/* A pipe works only on an SM that has work, and that only while the engine is busy. Where jitter
 * makes a part larger than what contains it, the whole is raised to the part: so no factor passes 1
 * and the product stays that of the counters. Returns false where they contradict each other. */
static bool contain(double part, double *whole)
{
    if (part > *whole + JITTER)
        return false;
    *whole = fmax(*whole, part);
    return true;
}

static void part_of(struct sample *sample, enum metric metric, enum absence absence, double part,
                    double whole)
{
    if (absence == ABSENT_NO && whole <= 0)
        absence = ABSENT_NOTHING_RAN;
    ratio_set(sample, metric, absence, absence == ABSENT_NO ? part / whole : 0);
}

static enum absence first(enum absence a, enum absence b)
{
    return a != ABSENT_NO ? a : b;
}

void waterfall_derive(const struct device *device, struct sample *sample)
{
    derive_clock(device, sample);
    double busy = 0, active = 0, pipe = 0;
    enum absence no_busy = ratio_of(sample, METRIC_GRAPHICS_ACTIVE, &busy);
    enum absence no_active = ratio_of(sample, METRIC_SM_ACTIVE, &active);
    enum absence no_pipe = ratio_of(sample, METRIC_COMPUTE_SOL, &pipe);

    if (no_pipe == ABSENT_NO && no_active == ABSENT_NO && !contain(pipe, &active))
        no_pipe = ABSENT_NOT_PLAUSIBLE;
    if (no_active == ABSENT_NO && no_busy == ABSENT_NO && !contain(active, &busy))
        no_active = ABSENT_NOT_PLAUSIBLE;
    ratio_set(sample, METRIC_WATERFALL_BUSY, no_busy, busy);
    part_of(sample, METRIC_WATERFALL_COVERAGE, first(no_busy, no_active), active, busy);
    part_of(sample, METRIC_WATERFALL_PIPE, first(no_active, no_pipe), pipe, active);
}
