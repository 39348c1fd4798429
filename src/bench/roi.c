#include "bench/roi.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double VARIED_BY = 0.2, MONTHS = 12;

static double power_of(const struct bench_summary *summary, enum bench_mode mode)
{
    const struct stats *stats = &summary->of[mode][MEASURE_POWER];
    return measure_known(stats) ? stats->mean : NAN;
}

int roi_take(struct roi_input *input, const struct bench_summary *summary, double idle_watts,
             char *why, size_t why_size)
{
    const struct stats *alone = &summary->of[MODE_EXCLUSIVE][MEASURE_JOBS_PER_HOUR];
    const struct stats *shared = &summary->of[input->mode][MEASURE_JOBS_PER_HOUR];
    if (!measure_known(alone) || !measure_known(shared)) {
        enum bench_mode lacks = measure_known(alone) ? input->mode : MODE_EXCLUSIVE;
        snprintf(why, why_size, "no trial of %s without a failed job is in the result",
                 bench_mode_info(lacks)->name);
        return -ENODATA;
    }
    input->theta = measure_ratio(shared, alone);
    input->exclusive_watts = power_of(summary, MODE_EXCLUSIVE);
    input->shared_watts = power_of(summary, input->mode);
    input->idle_watts = idle_watts;
    return 0;
}

static double gain_of(const struct roi_input *input, const struct roi *roi)
{
    return roi->benefit * input->years - roi->cost;
}

static double ratio_of(double gain, double cost)
{
    if (cost > 0)
        return gain / cost;
    return gain == 0 ? 0 : copysign(INFINITY, gain);
}

struct roi roi_compute(const struct roi_input *input, double delta)
{
    struct roi roi = {.delta = delta};
    double hours = input->gpu_hours;
    roi.freed_hours = hours * (1 - 1 / input->theta.value);
    double idle = roi.freed_hours * (1 - delta);
    /* Where no hour is idle, what an idle one draws does not matter. */
    double idle_kwh = idle == 0 ? 0 : idle * input->idle_watts;
    roi.saved_kwh = (hours * input->exclusive_watts -
                     hours / input->theta.value * input->shared_watts - idle_kwh) /
                    1000;
    roi.hours_value = roi.freed_hours * input->gpu_hour_cost * delta;
    roi.power_value = isfinite(roi.saved_kwh) ? roi.saved_kwh * input->pue * input->power_cost : 0;
    roi.benefit = roi.hours_value + roi.power_value;
    roi.cost = input->adoption_cost + input->operations_cost * input->years;
    roi.ratio = ratio_of(gain_of(input, &roi), roi.cost);
    double monthly = (roi.benefit - input->operations_cost) / MONTHS;
    roi.payback_months = monthly > 0 ? input->adoption_cost / monthly : INFINITY;
    return roi;
}

double roi_break_even(const struct roi_input *input)
{
    if (!(input->theta.value > 1))
        return NAN;
    struct roi unused = roi_compute(input, 0), used = roi_compute(input, 1);
    double none = gain_of(input, &unused), all = gain_of(input, &used);
    if (!(all > 0))
        return INFINITY;
    return none >= 0 ? 0 : -none / (all - none);
}

static double ratio_with(const struct roi_input *input, size_t offset, double value)
{
    struct roi_input varied = *input;
    memcpy((char *)&varied + offset, &value, sizeof(value));
    /* Jobs that never end. */
    return varied.theta.value > 0 ? roi_compute(&varied, 1).ratio : -INFINITY;
}

void roi_vary(const struct roi_input *input, struct roi_variation ret[ROI_VARIATIONS])
{
    static const struct {
        const char *name;
        size_t offset;
    } inputs[ROI_VARIATIONS] = {
        {"throughput ratio", offsetof(struct roi_input, theta.value)},
        {"GPU hours a year", offsetof(struct roi_input, gpu_hours)},
        {"cost of a GPU hour", offsetof(struct roi_input, gpu_hour_cost)},
        {"cost of a kWh", offsetof(struct roi_input, power_cost)},
        {"adoption", offsetof(struct roi_input, adoption_cost)},
        {"operations a year", offsetof(struct roi_input, operations_cost)},
    };
    for (size_t i = 0; i < ROI_VARIATIONS; i++) {
        double value;
        memcpy(&value, (const char *)input + inputs[i].offset, sizeof(value));
        bool interval = inputs[i].offset == offsetof(struct roi_input, theta.value) &&
                        isfinite(input->theta.low);
        ret[i] = (struct roi_variation){
            .name = inputs[i].name,
            .low = interval ? input->theta.low : value * (1 - VARIED_BY),
            .high = interval ? input->theta.high : value * (1 + VARIED_BY),
        };
        ret[i].ratio_low = ratio_with(input, inputs[i].offset, ret[i].low);
        ret[i].ratio_high = ratio_with(input, inputs[i].offset, ret[i].high);
    }
}
