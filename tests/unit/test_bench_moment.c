/* Every expected value is worked out by hand. */
#include "bench/moment.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

/* A second each, from 0 on. */
static void add(struct moments *moments, double end, double sol, double power, double memory,
                double energy)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    reading->state = READING_OK;
    sample_reset(&reading->sample, ABSENT_NOT_SUPPORTED);
    if (isfinite(sol))
        sample_set(&reading->sample, METRIC_COMPUTE_SOL, sol);
    if (isfinite(power))
        sample_set(&reading->sample, METRIC_POWER, power);
    sample_set(&reading->sample, METRIC_MEMORY_USED, memory);
    if (isfinite(energy))
        sample_set(&reading->sample, METRIC_ENERGY, energy);
    assert_int_equal(moments_add(moments, reading, end, 1), 0);
    free(reading);
}

static void means_by_what_lies_in_the_windows(void **state)
{
    (void)state;
    struct moments moments = {0};
    double seen[MEASURE_COUNT];
    add(&moments, 1, 0.1, 100, 5, NAN);
    add(&moments, 2, 0.5, 300, 9, NAN);
    add(&moments, 3, NAN, 500, 7, NAN);
    add(&moments, 4, 0.9, 100, 50, NAN);
    const struct window windows[] = {{0.5, 2}, {2.75, 3}};
    moments_measure(&moments, windows, 2, seen);
    /* 0.5 s of 0.1 and 1 s of 0.5; the unknown third does not count. */
    assert_near(seen[MEASURE_COMPUTE_SOL], (0.05 + 0.5) / 1.5, 1e-12);
    assert_true(isnan(seen[MEASURE_MEMORY_SOL]));
    assert_near(seen[MEASURE_MEMORY_PEAK], 9, 0); /* 50 came after the end */
    /* No counter: mean power of each window by its length, 50 + 300 and 125 J. */
    assert_near(seen[MEASURE_ENERGY], 475, 1e-9);
    assert_near(moments_mean(&moments, GAUGE_POWER, 1, 3), 400, 1e-12);
    assert_true(isnan(moments_mean(&moments, GAUGE_POWER, 4, 5)));
    moments_free(&moments);
}

static void energy_is_the_counters(void **state)
{
    (void)state;
    struct moments moments = {0};
    double seen[MEASURE_COUNT];
    /* The counter changes at 2, 4 and 6. */
    add(&moments, 1, 0, 100, 0, 1000); /* how long it has stood is not known */
    add(&moments, 2, 0, 100, 0, 1100);
    add(&moments, 3, 0, 100, 0, 1100);
    add(&moments, 4, 0, 300, 0, 1550);
    add(&moments, 5, 0, 200, 0, 1550);
    add(&moments, 6, 0, 200, 0, 1960);
    add(&moments, 7, 0, 210, 0, 1960);
    /* One change: the power serves. */
    const struct window inside = {3, 5};
    moments_measure(&moments, &inside, 1, seen);
    assert_near(seen[MEASURE_ENERGY], 500, 1e-9);
    /* Counted from 4 to 6, by the power before and behind. */
    const struct window across = {2.5, 7};
    moments_measure(&moments, &across, 1, seen);
    assert_near(seen[MEASURE_ENERGY], 50 + 300 + 410 + 210, 1e-9);
    /* The first value is no change: from 2 on. */
    const struct window all = {0, 7};
    moments_measure(&moments, &all, 1, seen);
    assert_near(seen[MEASURE_ENERGY], 200 + 860 + 210, 1e-9);
    moments_free(&moments);
}

static void a_stale_reading_has_no_values(void **state)
{
    (void)state;
    struct moments moments = {0};
    struct reading *reading = calloc(1, sizeof(*reading));
    reading->state = READING_STALE;
    sample_set(&reading->sample, METRIC_COMPUTE_SOL, 0.5);
    assert_int_equal(moments_add(&moments, reading, 1, 1), 0);
    assert_true(isnan(moments.moments[0].value[GAUGE_COMPUTE_SOL]));
    free(reading);
    moments_free(&moments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_by_what_lies_in_the_windows),
        cmocka_unit_test(energy_is_the_counters),
        cmocka_unit_test(a_stale_reading_has_no_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
