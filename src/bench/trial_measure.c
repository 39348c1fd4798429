#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/trial_internal.h"

enum { POINTS = 240 };

/* The window's time on the trial's time line, on which windows follow each other at once. */
static double offset_of(const struct trial *trial, size_t window)
{
    double offset = 0;
    for (size_t i = 0; i < window; i++)
        offset += trial->windows[i].end - trial->windows[i].begin;
    return offset;
}

static void place_runs(struct trial *trial)
{
    for (size_t i = 0; i < trial->count; i++) {
        struct member *member = &trial->members[i];
        size_t window = trial->config.turn.mode == MODE_EXCLUSIVE ? i : 0;
        double offset = offset_of(trial, window);
        double begin = trial->windows[window].begin;
        member->run->begin = offset;
        member->run->end = member->going ? offset + fmax(member->end - begin, 0) : offset;
    }
}

static int place_points(struct trial *trial)
{
    double length = offset_of(trial, trial->window_count);
    struct result_points *points = &trial->points;
    points->points = calloc(POINTS + trial->window_count, sizeof(*points->points));
    if (!points->points)
        return -ENOMEM;
    for (size_t i = 0; i < trial->window_count; i++) {
        const struct window *window = &trial->windows[i];
        double rest = window->end - window->begin, offset = offset_of(trial, i);
        size_t count = (size_t)fmin(ceil(POINTS * rest / length), ceil(rest / 0.1));
        for (size_t k = 0; k < count; k++) {
            double begin = window->begin + rest * (double)k / (double)count;
            double end = window->begin + rest * (double)(k + 1) / (double)count;
            points->points[points->count++] = (struct result_point){
                .time = offset + end - window->begin,
                .compute_sol = moments_mean(&trial->moments, GAUGE_COMPUTE_SOL, begin, end),
                .memory_sol = moments_mean(&trial->moments, GAUGE_MEMORY_SOL, begin, end),
                .nvml_utilization =
                    moments_mean(&trial->moments, GAUGE_NVML_UTILIZATION, begin, end),
                .power = moments_mean(&trial->moments, GAUGE_POWER, begin, end),
            };
        }
    }
    return 0;
}

int trial_measure(struct trial *trial)
{
    trial->result.time = trial->windows[0].begin;
    for (int i = 0; i < MEASURE_COUNT; i++)
        trial->result.seen[i] = NAN;
    moments_measure(&trial->moments, trial->windows, trial->window_count, trial->result.seen);
    place_runs(trial);
    return place_points(trial);
}
