#include "sol/fall.h"

#include <string.h>

#include "cmocka_test.h"

static struct sample sample_of(double clock, double busy, double coverage, double pipe)
{
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_PROVIDED);
    sample_set(&sample, METRIC_WATERFALL_CLOCK, clock);
    sample_set(&sample, METRIC_WATERFALL_BUSY, busy);
    sample_set(&sample, METRIC_WATERFALL_COVERAGE, coverage);
    sample_set(&sample, METRIC_WATERFALL_PIPE, pipe);
    return sample;
}

static void keeps_the_product(void **state)
{
    (void)state;
    struct fall fall = {0};
    struct sample a = sample_of(.9, .5, .8, .7), b = sample_of(.6, 1, 1, .9);
    fall_add(&fall, &a, 1);
    fall_add(&fall, &b, 3);
    double achieved = (.9 * .5 * .8 * .7 + 3 * .6 * .9) / 4;
    assert_float_equal(fall_left(&fall, FALL_PIPE), achieved, 1e-12);
    double product = 1, lost = 0;
    for (int i = 0; i < FALL_STEPS; i++) {
        product *= fall_factor(&fall, (enum fall_step)i);
        lost += fall_lost(&fall, (enum fall_step)i);
    }
    assert_float_equal(product, achieved, 1e-12);
    assert_float_equal(1 - lost, achieved, 1e-12);
    assert_float_equal(fall_factor(&fall, FALL_CLOCK), (.9 + 3 * .6) / 4, 1e-12);
}

static void counts_time_in_which_nothing_ran(void **state)
{
    (void)state;
    struct fall fall = {0};
    struct sample busy = sample_of(1, 1, 1, .8), idle = sample_of(1, 0, 0, 0);
    sample_miss(&idle, METRIC_WATERFALL_COVERAGE, ABSENT_NOTHING_RAN);
    sample_miss(&idle, METRIC_WATERFALL_PIPE, ABSENT_NOTHING_RAN);
    fall_add(&fall, &busy, 1);
    fall_add(&fall, &idle, 1);
    assert_float_equal(fall_left(&fall, FALL_BUSY), .5, 1e-12);
    assert_float_equal(fall_factor(&fall, FALL_PIPE), .8, 1e-12);
    assert_float_equal(fall_lost(&fall, FALL_BUSY), .5, 1e-12);
}

static void leaves_out_what_is_not_known(void **state)
{
    (void)state;
    struct fall fall = {0};
    struct sample known = sample_of(.5, 1, 1, .8), unknown = sample_of(.5, 1, 1, .1);
    sample_miss(&unknown, METRIC_WATERFALL_PIPE, ABSENT_NO_NEW_SAMPLE);
    fall_add(&fall, &known, 1);
    fall_add(&fall, &unknown, 9);
    assert_float_equal(fall.missed, 9, 0);
    assert_float_equal(fall_left(&fall, FALL_PIPE), .4, 1e-12);
    assert_int_equal(fall.no_step, ABSENT_NO_NEW_SAMPLE);
}

static void does_without_the_clock(void **state)
{
    (void)state;
    struct fall fall = {0};
    assert_float_equal(fall_left(&fall, FALL_PIPE), 0, 0);
    struct sample sample = sample_of(.5, .5, 1, 1);
    sample_miss(&sample, METRIC_WATERFALL_CLOCK, ABSENT_COUNTERS_HELD);
    fall_add(&fall, &sample, 2);
    assert_false(fall_knows_clock(&fall));
    assert_int_equal(fall.no_clock, ABSENT_COUNTERS_HELD);
    assert_float_equal(fall_left(&fall, FALL_CLOCK), 1, 0);
    assert_float_equal(fall_left(&fall, FALL_PIPE), .5, 1e-12);
}

static void assert_advice(const struct fall *fall, enum fall_step step, const char *words)
{
    struct strbuf out = {0};
    fall_advice(fall, step, &out);
    if (!strstr(strbuf_text(&out), words))
        fail_msg("'%s' says nothing of '%s'", strbuf_text(&out), words);
    strbuf_free(&out);
}

static void names_the_cause(void **state)
{
    (void)state;
    struct fall fall = {0};
    struct sample sample = sample_of(.5, .9, .9, .1);
    fall_add(&fall, &sample, 1);
    assert_advice(&fall, FALL_CLOCK, "no reason");
    assert_advice(&fall, FALL_BUSY, "gaps between launches");
    assert_advice(&fall, FALL_COVERAGE, "too small");
    assert_advice(&fall, FALL_PIPE, "latency");

    sample_set(&sample, METRIC_THROTTLE_REASONS, 1 << 2);
    sample_set(&sample, METRIC_MEMORY_SOL, .64);
    sample_set(&sample, METRIC_LINK_SOL, .9);
    fall = (struct fall){0};
    fall_add(&fall, &sample, 1);
    assert_advice(&fall, FALL_CLOCK, "power limit");
    assert_advice(&fall, FALL_BUSY, "link");
    assert_advice(&fall, FALL_PIPE, "Memory SOL 64 %");

    sample_set(&sample, METRIC_THROTTLE_REASONS, 1 << 2 | 1 << 6);
    fall_add(&fall, &sample, 1);
    assert_advice(&fall, FALL_CLOCK, "heat");
    struct fall set = {0};
    sample_set(&sample, METRIC_THROTTLE_REASONS, 1 << 1);
    fall_add(&set, &sample, 1);
    assert_advice(&set, FALL_CLOCK, "nvidia-smi -rgc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_product),
        cmocka_unit_test(counts_time_in_which_nothing_ran),
        cmocka_unit_test(leaves_out_what_is_not_known),
        cmocka_unit_test(does_without_the_clock),
        cmocka_unit_test(names_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
