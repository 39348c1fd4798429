#include "sol/fall.h"

#include <string.h>

#include "cmocka_test.h"

static const struct device gpu;
/* So many fit into the drawing's small print, behind the points (tests/cli/waterfall.sh). */
enum { MOST_LETTERS = 114 };

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
    fall_add(&fall, &gpu, &a, 1);
    fall_add(&fall, &gpu, &b, 3);
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
    fall_add(&fall, &gpu, &busy, 1);
    fall_add(&fall, &gpu, &idle, 1);
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
    fall_add(&fall, &gpu, &known, 1);
    fall_add(&fall, &gpu, &unknown, 9);
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
    fall_add(&fall, &gpu, &sample, 2);
    assert_false(fall_knows_clock(&fall));
    assert_int_equal(fall.no_clock, ABSENT_COUNTERS_HELD);
    assert_float_equal(fall_left(&fall, FALL_CLOCK), 1, 0);
    assert_float_equal(fall_left(&fall, FALL_PIPE), .5, 1e-12);
}

/* In bursts the clock is not known while nothing runs, nor of work that no burst has seen: the rest
 * of the account is of the whole time. */
static void takes_a_clock_that_is_known_at_times_for_all_of_them(void **state)
{
    (void)state;
    struct fall fall = {0};
    struct sample seen = sample_of(.7, 1, .9, .8), unseen = sample_of(.7, 1, .5, .8);
    struct sample idle = sample_of(.7, 0, 0, 0);
    sample_miss(&unseen, METRIC_WATERFALL_CLOCK, ABSENT_COUNTERS_RESTING);
    sample_miss(&idle, METRIC_WATERFALL_CLOCK, ABSENT_COUNTERS_IDLE);
    sample_miss(&idle, METRIC_WATERFALL_COVERAGE, ABSENT_NOTHING_RAN);
    sample_miss(&idle, METRIC_WATERFALL_PIPE, ABSENT_NOTHING_RAN);
    fall_add(&fall, &gpu, &idle, 6);
    fall_add(&fall, &gpu, &seen, 1);
    fall_add(&fall, &gpu, &unseen, 3);
    assert_true(fall_knows_clock(&fall));
    assert_float_equal(fall_factor(&fall, FALL_CLOCK), .7, 1e-12);
    assert_float_equal(fall_factor(&fall, FALL_BUSY), .4, 1e-12);
    assert_float_equal(fall_factor(&fall, FALL_COVERAGE), (.9 + 3 * .5) / 4, 1e-12);
    assert_float_equal(fall_left(&fall, FALL_PIPE), .7 * .4 * .6 * .8, 1e-12);

    /* The clock was seen at rest only, and higher there than later: no step gains anything. */
    fall = (struct fall){0};
    sample_set(&idle, METRIC_WATERFALL_CLOCK, 1);
    fall_add(&fall, &gpu, &idle, 1);
    fall_add(&fall, &gpu, &unseen, 1);
    assert_float_equal(fall_left(&fall, FALL_PIPE), .5 * .5 * .8, 1e-12);
    fall = (struct fall){0};
    struct sample half = sample_of(.5, .5, 1, 1), other = sample_of(1, .5, 1, 1);
    sample_set(&half, METRIC_WATERFALL_BUSY, 0);
    fall_add(&fall, &gpu, &half, 1);
    fall_add(&fall, &gpu, &other, 1);
    fall_add(&fall, &gpu, &unseen, 98);
    for (int i = 0; i < FALL_STEPS; i++)
        assert_true(fall_lost(&fall, (enum fall_step)i) >= 0);
}

/* Also of the time in which nothing ran, whose work was none. */
static void counts_the_flops_of_all_the_time(void **state)
{
    (void)state;
    struct fall fall = {0};
    struct sample busy = sample_of(1, 1, 1, .8), idle = sample_of(1, 0, 0, 0);
    sample_set(&busy, METRIC_PEAK_FLOPS, 1000);
    sample_set(&busy, METRIC_ACHIEVED_FLOPS, 800);
    sample_set(&idle, METRIC_ACHIEVED_FLOPS, 0);
    fall_add(&fall, &gpu, &busy, 1);
    fall_add(&fall, &gpu, &idle, 3);
    assert_float_equal(fall.achieved_flops / fall.flops_seconds, 200, 1e-9);
    assert_float_equal(fall.peak_flops / fall.peak_seconds, 1000, 1e-9);
}

static void assert_advice(const struct fall *fall, enum fall_step step, const char *words)
{
    struct strbuf out = {0};
    fall_advice(fall, step, &out);
    if (!strstr(strbuf_text(&out), words))
        fail_msg("'%s' says nothing of '%s'", strbuf_text(&out), words);
    assert_true(out.length <= MOST_LETTERS);
    strbuf_free(&out);
}

/* A second of work that leaves something to be said of each step. */
static struct fall fall_of(double memory, enum label level, double link, double throttle)
{
    struct fall fall = {0};
    struct sample sample = sample_of(.5, .9, .9, .5);
    sample_set(&sample, METRIC_MEMORY_SOL, memory);
    sample_set(&sample, METRIC_MEMORY_SOL_LEVEL, level);
    sample_set(&sample, METRIC_LINK_SOL, link);
    sample_set(&sample, METRIC_THROTTLE_REASONS, throttle);
    fall_add(&fall, &gpu, &sample, 1);
    return fall;
}

static void names_what_holds_the_clock(void **state)
{
    (void)state;
    static const struct {
        int bits;
        const char *words;
    } cases[] = {
        {0, "no reason"},
        {1 << 0, "rested"},
        {1 << 1, "nvidia-smi -rgc"},
        {1 << 2, "power limit"},
        {1 << 3, "heat, the power supply"},
        {1 << 4, "sync boost"},
        {1 << 5, "cooling"},
        {1 << 6, "cooling"},
        {1 << 7, "brake signal"},
        {1 << 8, "display"},
        /* The bit of "some hardware reason" stands beside the one that tells which. */
        {1 << 3 | 1 << 7, "brake signal"},
        {1 << 3 | 1 << 6, "cooling"},
        {1 << 2 | 1 << 6, "cooling"},
        {1 << 0 | 1 << 2, "power limit"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fall fall = fall_of(0, LABEL_LEVEL_DRAM, 0, cases[i].bits);
        assert_advice(&fall, FALL_CLOCK, cases[i].words);
    }
}

static void names_the_cause(void **state)
{
    (void)state;
    struct fall fall = fall_of(.1, LABEL_LEVEL_DRAM, 0, 0);
    assert_advice(&fall, FALL_BUSY, "gaps between launches");
    assert_advice(&fall, FALL_COVERAGE, "too small");
    assert_advice(&fall, FALL_PIPE, "latency inside kernels: more");
    fall = fall_of(.64, LABEL_LEVEL_DRAM, .9, 0);
    assert_advice(&fall, FALL_BUSY, "link");
    assert_advice(&fall, FALL_PIPE, "memory sets the pace (Memory SOL 64 %)");
    fall = fall_of(.64, LABEL_LEVEL_L2, 0, 0);
    assert_advice(&fall, FALL_PIPE, "caches set the pace (Memory SOL 64 %)");
    /* Less than the pipe, which is busy for 40 % of the time: both may take turns. */
    fall = fall_of(.34, LABEL_LEVEL_DRAM, 0, 0);
    assert_advice(&fall, FALL_PIPE, "or others that wait for memory (Memory SOL 34 %)");
}

static void says_that_nothing_ran(void **state)
{
    (void)state;
    struct fall fall = {0};
    struct sample idle = sample_of(.2, 0, 0, 0);
    sample_miss(&idle, METRIC_WATERFALL_COVERAGE, ABSENT_NOTHING_RAN);
    sample_miss(&idle, METRIC_WATERFALL_PIPE, ABSENT_NOTHING_RAN);
    fall_add(&fall, &gpu, &idle, 1);
    assert_advice(&fall, FALL_BUSY, "nothing ran");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_product),
        cmocka_unit_test(counts_time_in_which_nothing_ran),
        cmocka_unit_test(leaves_out_what_is_not_known),
        cmocka_unit_test(does_without_the_clock),
        cmocka_unit_test(takes_a_clock_that_is_known_at_times_for_all_of_them),
        cmocka_unit_test(counts_the_flops_of_all_the_time),
        cmocka_unit_test(names_what_holds_the_clock),
        cmocka_unit_test(names_the_cause),
        cmocka_unit_test(says_that_nothing_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
