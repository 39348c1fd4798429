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
    if (!measure_known(alone) || !measure_known(shared) || alone->mean <= 0 || shared->mean <= 0) {
        snprintf(why, why_size, "the result has no jobs per hour of exclusive and of %s",
                 bench_mode_info(input->mode)->name);
        return -ENODATA;
    }
    input->theta = shared->mean / alone->mean;
    double spread =
        hypot(measure_interval(alone) / alone->mean, measure_interval(shared) / shared->mean);
    input->theta_low = isfinite(spread) ? fmax(input->theta * (1 - spread), 0) : NAN;
    input->theta_high = isfinite(spread) ? input->theta * (1 + spread) : NAN;
    input->exclusive_watts = power_of(summary, MODE_EXCLUSIVE);
    input->shared_watts = power_of(summary, input->mode);
    input->idle_watts = idle_watts;
    return 0;
}

struct roi roi_compute(const struct roi_input *input, double delta)
{
    struct roi roi = {.delta = delta};
    double hours = input->gpu_hours;
    roi.freed_hours = hours * (1 - 1 / input->theta);
    double idle = roi.freed_hours * (1 - delta);
    /* Where no hour is idle, what an idle one draws does not matter. */
    double idle_kwh = idle == 0 ? 0 : idle * input->idle_watts;
    roi.saved_kwh =
        (hours * input->exclusive_watts - hours / input->theta * input->shared_watts - idle_kwh) /
        1000;
    roi.hours_value = roi.freed_hours * input->gpu_hour_cost * delta;
    roi.power_value = isfinite(roi.saved_kwh) ? roi.saved_kwh * input->pue * input->power_cost : 0;
    roi.benefit = roi.hours_value + roi.power_value;
    roi.cost = input->adoption_cost + input->operations_cost * input->years;
    double gain = roi.benefit * input->years - roi.cost;
    roi.ratio = roi.cost > 0 ? gain / roi.cost : gain > 0 ? INFINITY : 0;
    double monthly = (roi.benefit - input->operations_cost) / MONTHS;
    roi.payback_months = monthly > 0 ? input->adoption_cost / monthly : INFINITY;
    return roi;
}

double roi_break_even(const struct roi_input *input)
{
    struct roi none = roi_compute(input, 0), all = roi_compute(input, 1);
    double slope = (all.benefit - none.benefit) * input->years;
    return slope != 0 ? (none.cost - none.benefit * input->years) / slope : NAN;
}

static double ratio_with(const struct roi_input *input, size_t offset, double value)
{
    struct roi_input varied = *input;
    memcpy((char *)&varied + offset, &value, sizeof(value));
    return roi_compute(&varied, 1).ratio;
}

void roi_vary(const struct roi_input *input, struct roi_variation ret[ROI_VARIATIONS])
{
    static const struct {
        const char *name;
        size_t offset;
    } inputs[ROI_VARIATIONS] = {
        {"throughput ratio", offsetof(struct roi_input, theta)},
        {"GPU hours a year", offsetof(struct roi_input, gpu_hours)},
        {"cost of a GPU hour", offsetof(struct roi_input, gpu_hour_cost)},
        {"cost of a kWh", offsetof(struct roi_input, power_cost)},
        {"adoption", offsetof(struct roi_input, adoption_cost)},
        {"operations a year", offsetof(struct roi_input, operations_cost)},
    };
    for (size_t i = 0; i < ROI_VARIATIONS; i++) {
        double value;
        memcpy(&value, (const char *)input + inputs[i].offset, sizeof(value));
        bool interval = inputs[i].offset == offsetof(struct roi_input, theta) &&
                        isfinite(input->theta_low) && input->theta_low > 0;
        ret[i] = (struct roi_variation){
            .name = inputs[i].name,
            .low = interval ? input->theta_low : value * (1 - VARIED_BY),
            .high = interval ? input->theta_high : value * (1 + VARIED_BY),
        };
        ret[i].ratio_low = ratio_with(input, inputs[i].offset, ret[i].low);
        ret[i].ratio_high = ratio_with(input, inputs[i].offset, ret[i].high);
    }
}
