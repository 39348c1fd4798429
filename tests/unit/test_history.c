#include "tui/history.h"

#include <math.h>

#include "cmocka_test.h"

/* A hundred samples a level or so. */
enum { LEVEL_TEST_BYTES = 200 * 1024 };

static void add(struct history *history, double time, double compute)
{
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_PROVIDED);
    sample_set(&sample, METRIC_COMPUTE_SOL, compute);
    sample_set(&sample, METRIC_COMPUTE_SOL_PIPE, LABEL_PIPE_FP32);
    history_add(history, time, &sample);
}

static struct history *filled(size_t bytes, size_t count)
{
    struct history *history;
    assert_int_equal(history_new(&history, bytes), 0);
    for (size_t i = 1; i <= count; i++)
        add(history, 1000 + 0.1 * (double)i, (double)(i % 100) / 100);
    return history;
}

static void gives_the_sample_at_a_time(void **state)
{
    (void)state;
    struct history *history = filled(1 << 20, 50);
    struct sample sample;
    assert_true(history_at(history, 1000.55, &sample));
    assert_float_equal(sample.time, 1000.5, 1e-9);
    assert_float_equal(sample_get(&sample, METRIC_COMPUTE_SOL, -1), 0.05, 1e-6);
    assert_int_equal(sample.absent[METRIC_POWER], ABSENT_NOT_RECORDED);
    assert_false(history_at(history, 1000.05, &sample));
    assert_float_equal(history_begin(history), 1000.1, 1e-9);
    assert_float_equal(history_end(history), 1005, 1e-9);
    history_free(history);
}

static void a_series_has_means_and_gaps(void **state)
{
    (void)state;
    struct history *history;
    assert_int_equal(history_new(&history, 1 << 20), 0);
    for (int i = 1; i <= 10; i++)
        add(history, 0.1 * i, i <= 5 ? 0.2 : 0.4);
    add(history, 5.0, 0.8); /* nothing was known for four seconds */
    float series[6];
    history_series(history, METRIC_COMPUTE_SOL, 0, 0.5, 2, series);
    assert_float_equal(series[0], 0.2, 1e-6);
    assert_float_equal(series[1], 0.4, 1e-6);
    history_series(history, METRIC_COMPUTE_SOL, 0, 1, 6, series);
    assert_float_equal(series[0], 0.3, 1e-6);
    for (int i = 1; i <= 3; i++)
        assert_true(isnan(series[i]));
    assert_float_equal(series[4], 0.8, 1e-6);
    assert_true(isnan(series[5]));
    history_free(history);
}

/* Spans shorter than the samples' distance have the value of the sample that covers them. */
static void a_fine_series_has_no_holes(void **state)
{
    (void)state;
    struct history *history = filled(1 << 20, 50);
    float series[160];
    history_series(history, METRIC_COMPUTE_SOL, 1001, 0.025, 160, series);
    for (size_t i = 0; i < 160; i++)
        assert_float_equal(series[i], (double)(i / 4 + 11) / 100, 1e-6);
    history_free(history);
}

static void reaches_back_further_than_its_samples(void **state)
{
    (void)state;
    struct history *history = filled(LEVEL_TEST_BYTES, 20000);
    double held = history_end(history) - history_begin(history);
    assert_true(held > 400);
    float series[10];
    double begin = history_end(history) - 400;
    history_series(history, METRIC_COMPUTE_SOL, begin, 40, 10, series);
    for (size_t i = 0; i < 10; i++)
        assert_float_equal(series[i], 0.495, 0.02);
    struct sample sample;
    assert_true(history_at(history, begin, &sample));
    assert_float_equal(sample.time, begin, 6.5);
    /* labels have no mean */
    assert_float_equal(sample_get(&sample, METRIC_COMPUTE_SOL_PIPE, -1), LABEL_PIPE_FP32, 0);
    history_free(history);
}

/* The longest span is full after half a day, with points enough for a chart 200 columns wide. */
static void the_longest_span_is_seen_at_ten_hertz(void **state)
{
    (void)state;
    enum { HALF_DAY = 12 * 3600, COLUMNS = 200 };
    struct history *history = filled(2 << 20, 10 * HALF_DAY);
    float series[COLUMNS];
    double width = (double)HALF_DAY / COLUMNS;
    history_series(history, METRIC_COMPUTE_SOL, history_end(history) - HALF_DAY, width, COLUMNS,
                   series);
    for (size_t i = 0; i < COLUMNS; i++)
        assert_float_equal(series[i], 0.495, 0.02);
    history_free(history);
}

static void forgets_when_cleared_and_ignores_the_past(void **state)
{
    (void)state;
    struct history *history = filled(1 << 20, 10);
    add(history, 1000.5, 0.9);
    assert_float_equal(history_end(history), 1001, 1e-9);
    history_clear(history);
    assert_float_equal(history_end(history), 0, 0);
    add(history, 5, 0.9);
    assert_float_equal(history_begin(history), 5, 0);
    history_free(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_sample_at_a_time),
        cmocka_unit_test(a_series_has_means_and_gaps),
        cmocka_unit_test(a_fine_series_has_no_holes),
        cmocka_unit_test(reaches_back_further_than_its_samples),
        cmocka_unit_test(the_longest_span_is_seen_at_ten_hertz),
        cmocka_unit_test(forgets_when_cleared_and_ignores_the_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
