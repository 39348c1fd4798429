/* Percentiles and phases, from readings of known values. */
#include "share/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

struct stage {
    struct profiler *profiler;
    struct reading *reading;
    struct account_gpu gpu;
    struct account account;
    struct profile *profile;
};

static const char *const command[] = {"train", "--fast", NULL};

static int set_up(void **state)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    assert_int_equal(profiler_new(&stage->profiler), 0);
    stage->reading = calloc(1, sizeof(*stage->reading));
    stage->profile = calloc(1, sizeof(*stage->profile));
    stage->account = (struct account){.command = command, .gpu_count = 1, .gpus = &stage->gpu};
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;
    profiler_free(stage->profiler);
    free(stage->reading);
    free(stage->profile);
    free(stage);
    return 0;
}

static void observe(struct stage *stage, double seconds, enum label bound, double compute,
                    double active)
{
    stage->reading->state = READING_OK;
    sample_reset(&stage->reading->sample, ABSENT_NOT_SUPPORTED);
    sample_set(&stage->reading->sample, METRIC_BOUND, bound);
    sample_set(&stage->reading->sample, METRIC_COMPUTE_SOL, compute);
    sample_set(&stage->reading->sample, METRIC_GRAPHICS_ACTIVE, active);
    profiler_observe(stage->profiler, stage->reading, seconds);
}

static void percentiles_are_by_nearest_rank(void **state)
{
    struct stage *stage = *state;
    for (int i = 100; i >= 1; i--)
        observe(stage, 0.1, LABEL_BOUND_COMPUTE, i / 100.0, i <= 20 ? 0 : 1);
    assert_int_equal(profiler_finish(stage->profiler, &stage->account, NULL, stage->profile), 0);
    const struct profile_spread *spread = &stage->profile->metrics[METRIC_COMPUTE_SOL];
    assert_int_equal(spread->count, 100);
    assert_near(spread->mean, 0.505, 1e-6);
    assert_near(spread->p5, 0.05, 1e-6);
    assert_near(spread->p50, 0.50, 1e-6);
    assert_near(spread->p95, 0.95, 1e-6);
    assert_near(spread->max, 1, 1e-6);
    assert_near(stage->profile->idle_ratio, 0.2, 1e-9);
    assert_near(stage->profile->measured_seconds, 10, 1e-6);
    assert_int_equal(stage->profile->metrics[METRIC_MEMORY_SOL].count, 0);
    assert_string_equal(stage->profile->command, "train --fast");
    assert_int_equal(strlen(stage->profile->key), 16);
}

/* Drivers and GPUs without the counters. */
static void what_is_not_known_is_not_zero(void **state)
{
    struct stage *stage = *state;
    struct sample *sample = &stage->reading->sample;
    observe(stage, 0.5, LABEL_BOUND_COMPUTE, 0.8, 1);
    for (int i = 0; i < 3; i++) {
        sample_reset(sample, ABSENT_NOT_SUPPORTED);
        sample_set(sample, METRIC_NVML_UTILIZATION, i % 2);
        profiler_observe(stage->profiler, stage->reading, 0.1);
    }
    assert_int_equal(profiler_finish(stage->profiler, &stage->account, NULL, stage->profile), 0);
    assert_near(stage->profile->idle_ratio, 0.5, 1e-9);
    assert_int_equal(stage->profile->phase_count, 1);
    assert_near(stage->profile->phases[0].compute_sol, 0.8, 1e-9);
}

static void phases_change_with_the_bound(void **state)
{
    struct stage *stage = *state;
    for (int i = 0; i < 30; i++)
        observe(stage, 0.1, LABEL_BOUND_LATENCY, 0.1, 1);
    for (int i = 0; i < 20; i++)
        observe(stage, 0.1, LABEL_BOUND_COMPUTE, 0.9, 1);
    assert_int_equal(profiler_finish(stage->profiler, &stage->account, "x", stage->profile), 0);
    assert_int_equal(stage->profile->phase_count, 2);
    assert_int_equal(stage->profile->phases[0].bound, LABEL_BOUND_LATENCY);
    assert_near(stage->profile->phases[0].length, 3, 0.11);
    assert_int_equal(stage->profile->phases[1].bound, LABEL_BOUND_COMPUTE);
    assert_near(stage->profile->phases[1].begin, 3, 0.11);
    assert_near(stage->profile->phases[1].compute_sol, 0.9, 0.1);
    assert_string_equal(stage->profile->key, "x");
}

static void phases_are_bounded_and_lose_no_time(void **state)
{
    struct stage *stage = *state;
    for (int i = 0; i < 1000; i++)
        observe(stage, 1, i % 2 ? LABEL_BOUND_COMPUTE : LABEL_BOUND_MEMORY, 0.5, 1);
    assert_int_equal(profiler_finish(stage->profiler, &stage->account, "x", stage->profile), 0);
    assert_true(stage->profile->phase_count <= PROFILE_PHASES);
    double sum = 0;
    for (size_t i = 0; i < stage->profile->phase_count; i++)
        sum += stage->profile->phases[i].length;
    assert_near(sum, 1000, 1e-6);
}

static void nothing_measured_is_no_profile(void **state)
{
    struct stage *stage = *state;
    stage->reading->state = READING_LOST;
    profiler_observe(stage->profiler, stage->reading, 0.1);
    assert_int_equal(profiler_finish(stage->profiler, &stage->account, "x", stage->profile),
                     -ENODATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(percentiles_are_by_nearest_rank, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_known_is_not_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(phases_change_with_the_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(phases_are_bounded_and_lose_no_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_measured_is_no_profile, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
