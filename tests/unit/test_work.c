#include "counter/cupti/work.h"

#include "cmocka_test.h"
#include "counter/cupti/plan.h"

#define CLOCK_BIT METRIC_BIT(METRIC_EFFECTIVE_CLOCK)

static struct sample sample_of(double sm, double clock)
{
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_PROVIDED);
    sample_set(&sample, METRIC_SM_ACTIVE, sm);
    sample_set(&sample, METRIC_SM_CLOCK, clock);
    return sample;
}

static struct work_values values;

/* A burst that ended 0.2 s after `begin` and saw a clock. */
static struct work_burst burst_of(double begin, double clock)
{
    values.value[METRIC_EFFECTIVE_CLOCK] = clock;
    values.when[METRIC_EFFECTIVE_CLOCK] = begin + .2;
    return (struct work_burst){
        .begin = begin, .end = begin + .2, .metrics = CLOCK_BIT, .values = &values};
}

static const struct work_burst no_burst;

static const struct work_state *look(struct work_watch *watch, double sm, double clock, double now,
                                     const struct work_burst *last)
{
    struct sample sample = sample_of(sm, clock);
    return work_look_at(watch, &sample, now, last);
}

static void knows_nothing_before_the_first_burst(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    assert_null(look(&watch, .1, 1.98e9, 1, &no_burst));
    assert_null(look(&watch, .9, 1.98e9, 2, &no_burst));
}

static void compares_with_what_the_burst_saw(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    struct work_burst burst = burst_of(1.1, 1.5e9);
    look(&watch, .9, 1.98e9, 1.0, &no_burst);
    assert_non_null(look(&watch, .9, 1.98e9, 1.4, &burst));
    assert_non_null(look(&watch, .85, 1.9e9, 1.5, &burst));
    assert_null(look(&watch, .7, 1.98e9, 1.6, &burst));
    assert_null(look(&watch, .9, 1.5e9, 1.7, &burst));
    assert_non_null(look(&watch, .9, 1.98e9, 1.8, &burst));
}

static void believes_no_burst_of_two_loads(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    struct work_burst burst = burst_of(1.1, 1.5e9);
    look(&watch, .9, 1.98e9, 1.0, &no_burst);
    look(&watch, .2, 1.98e9, 1.2, &no_burst);
    assert_null(look(&watch, .2, 1.98e9, 1.4, &burst));
    assert_null(look(&watch, .9, 1.98e9, 1.5, &burst));
    look(&watch, .2, 1.98e9, 1.55, &burst);
    burst = burst_of(1.6, 1.5e9);
    assert_non_null(look(&watch, .2, 1.98e9, 1.9, &burst));
}

static void remembers_long_enough_at_any_rate(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    /* a burst of 0.2 s, whose report comes as much later */
    for (int i = 0; i < 5000; i++)
        look(&watch, i < 950 ? .9 : .2, 1.98e9, 1 + i * 1e-4, &no_burst);
    struct work_burst burst = burst_of(1.09, 1.5e9);
    assert_null(look(&watch, .2, 1.98e9, 1.5, &burst));
}

static void takes_the_unknown_for_no_change(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    struct work_burst burst = burst_of(.5, 1.5e9);
    struct sample unknown;
    sample_reset(&unknown, ABSENT_NO_NEW_SAMPLE);
    assert_non_null(look(&watch, .9, 1.98e9, 1.0, &burst));
    assert_non_null(work_look_at(&watch, &unknown, 1.1, &burst));
    assert_null(look(&watch, .2, 1.98e9, 1.2, &burst));
}

static void knows_work_again_that_comes_back(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    struct work_burst burst = burst_of(1, 1.5e9);
    look(&watch, .9, 1.98e9, 1.3, &burst);
    look(&watch, .2, 1.98e9, 1.9, &burst);
    burst = burst_of(2, 1.9e9);
    const struct work_state *little = look(&watch, .2, 1.98e9, 2.3, &burst);
    assert_non_null(little);
    assert_float_equal(work_clock(&watch, little), 1.9e9, 1);
    const struct work_state *much = look(&watch, .9, 1.98e9, 3, &burst);
    assert_non_null(much);
    assert_float_equal(work_clock(&watch, much), 1.5e9, 1);
    assert_float_equal(much->seen, 1.2, 1e-9);
    /* but not for ever */
    assert_non_null(look(&watch, .9, 1.98e9, 300, &burst));
    assert_null(look(&watch, .9, 1.98e9, 302, &burst));
    assert_non_null(look(&watch, .2, 1.98e9, 302, &burst));
}

static void forgets_the_oldest_where_there_are_many(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    struct work_burst burst = no_burst;
    for (int i = 0; i <= WORK_STATES; i++) {
        double clock = 1e8 * (i + 1) * (i + 1);
        look(&watch, .9, clock, 1 + i, &burst);
        burst = burst_of(1.1 + i, 1e9);
        assert_non_null(look(&watch, .9, clock, 1.5 + i, &burst));
    }
    assert_null(look(&watch, .9, 1e8, 20, &burst));
    assert_non_null(look(&watch, .9, 4e8, 20.1, &burst));
}

static void moves_the_clock_as_the_driver_does(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    struct work_burst burst = burst_of(1.1, 1.5e9);
    look(&watch, .9, 1.95e9, 1.05, &no_burst);
    look(&watch, .9, 1.99e9, 1.15, &no_burst); /* since the look before 1.97 GHz */
    look(&watch, .9, 2.07e9, 1.25, &no_burst); /* 2.03 */
    look(&watch, .9, 2.1e9, 1.35, &no_burst);  /* after it */
    const struct work_state *work = look(&watch, .9, 2.0e9, 1.4, &burst);
    assert_non_null(work); /* during the burst NVML said 2 GHz on average */
    assert_float_equal(work_clock(&watch, work), 1.5e9 * 2.05 / 2, 1);
    work = look(&watch, .9, 1.9e9, 1.5, &burst);
    assert_float_equal(work_clock(&watch, work), 1.5e9 * 1.95 / 2, 1);
    struct sample unknown;
    sample_reset(&unknown, ABSENT_NO_NEW_SAMPLE);
    work = work_look_at(&watch, &unknown, 1.6, &burst);
    assert_float_equal(work_clock(&watch, work), 1.5e9, 1);
    work = look(&watch, .9, 1.96e9, 1.7, &burst);
    assert_float_equal(work_clock(&watch, work), 1.5e9 * 1.96 / 2, 1);
}

/* NVML's clock wavers while the load and its true clock stay the same. */
static void several_bursts_tell_the_clock_together(void **state)
{
    (void)state;
    static const double drivers[] = {1.50e9, 1.48e9, 1.53e9, 1.49e9};
    struct work_watch watch = {0};
    struct work_burst last = no_burst;
    const struct work_state *work = NULL;
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++)
            look(&watch, .9, drivers[i], 10 * i + 1 + .1 * k, &last);
        last = burst_of(10 * i + 1.05, 1.32e9);
        work = look(&watch, .9, drivers[i], 10 * i + 1.4, &last);
        sum += 1.32e9 / drivers[i];
    }
    look(&watch, .9, 1.5e9, 50, &last);
    look(&watch, .9, 1.5e9, 50.1, &last);
    assert_float_equal(work_clock(&watch, work), 1.5e9 * sum / 4, 1e6);
}

static void knows_who_looks_rarely(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    look(&watch, .9, 1.5e9, 1, &no_burst);
    look(&watch, .9, 1.5e9, 1.1, &no_burst);
    assert_false(work_is_slow(&watch));
    look(&watch, .9, 1.5e9, 2.1, &no_burst);
    assert_true(work_is_slow(&watch));
}

static void other_work_before_has_no_part_in_the_clock(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    struct work_burst burst = burst_of(1.1, 1.5e9);
    look(&watch, .9, 2e9, 1.15, &no_burst);
    look(&watch, .9, 2e9, 1.4, &burst);
    look(&watch, .2, 1.9e9, 1.5, &burst);
    const struct work_state *work = look(&watch, .9, 2e9, 1.6, &burst);
    assert_float_equal(work_clock(&watch, work), 1.5e9, 1);
}

static void wishes_for_a_burst_when_new_work_has_settled(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    for (int i = 0; i < 10; i++)
        look(&watch, .1, 1.98e9, 1 + .1 * i, &no_burst);
    for (int i = 0; i < 5; i++) {
        assert_null(look(&watch, .9, 1.98e9, 2 + .1 * i, &no_burst));
        assert_int_equal(work_wish(&watch, NULL, 2 + .1 * i, 5), WORK_NO_BURST);
    }
    look(&watch, .9, 1.98e9, 2.6, &no_burst);
    assert_int_equal(work_wish(&watch, NULL, 2.6, 5), WORK_BURST);
}

/* The clock of what draws too much dips while it is braked. */
static void waits_for_the_brake_at_the_power_limit(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    look(&watch, .1, 1.98e9, .9, &no_burst);
    for (int i = 0; i <= 25; i++) {
        struct sample sample = sample_of(.9, 1.5e9);
        sample_set(&sample, METRIC_POWER, i < 5 ? 720 : 690);
        sample_set(&sample, METRIC_POWER_LIMIT, 700);
        double now = 1 + .1 * i;
        const struct work_state *work = work_look_at(&watch, &sample, now, &no_burst);
        enum work_wish wish = work_wish(&watch, work, now, 5);
        if (i < 20)
            assert_int_equal(wish, WORK_NO_BURST);
        if (i == 25)
            assert_int_equal(wish, WORK_BURST);
    }
}

static void wishes_for_none_while_nothing_runs(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    struct sample sample = sample_of(0, 1.98e9);
    sample_set(&sample, METRIC_GRAPHICS_ACTIVE, 0);
    work_look_at(&watch, &sample, 1, &no_burst);
    assert_true(work_is_idle(&watch));
    assert_int_equal(work_wish(&watch, NULL, 1, 5), WORK_NO_BURST);
    sample_set(&sample, METRIC_GRAPHICS_ACTIVE, .02);
    work_look_at(&watch, &sample, 2, &no_burst);
    assert_false(work_is_idle(&watch));
    assert_int_equal(work_wish(&watch, NULL, 2, 5), WORK_BURST);
    sample_miss(&sample, METRIC_GRAPHICS_ACTIVE, ABSENT_NOT_SUPPORTED);
    work_look_at(&watch, &sample, 3, &no_burst);
    assert_int_equal(work_wish(&watch, NULL, 3, 5), WORK_BURST);
}

/* The first second, counted from `time`, in which steady work wishes for a burst, and for which. */
static double next_wish(struct work_watch *watch, const struct work_burst *last, double time,
                        enum work_wish *ret)
{
    for (;; time += 1) {
        const struct work_state *work = look(watch, .9, 1.98e9, time, last);
        *ret = work_wish(watch, work, time, 5);
        if (*ret != WORK_NO_BURST)
            return time;
    }
}

static void wishes_for_fewer_while_the_work_stays(void **state)
{
    (void)state;
    static const struct {
        double after;
        enum work_wish wish;
    } expected[] = {{10, WORK_BURST_APART},
                    {30, WORK_BURST},
                    {30, WORK_BURST},
                    {30, WORK_BURST},
                    {30, WORK_BURST_APART}};
    struct work_watch watch = {0};
    struct work_burst burst = burst_of(.8, 1.5e9);
    values.value[METRIC_XU_ACTIVE] = .4;
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        enum work_wish wish;
        double begin = burst.end;
        double at = next_wish(&watch, &burst, begin, &wish);
        assert_float_equal(at - begin, expected[i].after + .5, .51);
        assert_int_equal(wish, expected[i].wish);
        burst = burst_of(at, 1.5e9);
        if (wish == WORK_BURST_APART) {
            burst.metrics = METRIC_BIT(METRIC_XU_ACTIVE);
            values.when[METRIC_XU_ACTIVE] = burst.end;
        }
    }
    const struct work_state *work = look(&watch, .9, 1.98e9, burst.end, &burst);
    assert_float_equal(work->values.value[METRIC_XU_ACTIVE], .4, 0);
    assert_true(work->seen < burst.end); /* the clock is of the burst before */
}

static void makes_nothing_of_a_burst_without_a_clock(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    struct work_burst burst = burst_of(1.1, 1.5e9);
    burst.metrics = METRIC_BIT(METRIC_XU_ACTIVE);
    look(&watch, .9, 1.98e9, 1.0, &no_burst);
    assert_null(look(&watch, .9, 1.98e9, 1.4, &burst));
    assert_true(watch.states[0].bursts == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_nothing_before_the_first_burst),
        cmocka_unit_test(compares_with_what_the_burst_saw),
        cmocka_unit_test(believes_no_burst_of_two_loads),
        cmocka_unit_test(remembers_long_enough_at_any_rate),
        cmocka_unit_test(takes_the_unknown_for_no_change),
        cmocka_unit_test(knows_work_again_that_comes_back),
        cmocka_unit_test(forgets_the_oldest_where_there_are_many),
        cmocka_unit_test(moves_the_clock_as_the_driver_does),
        cmocka_unit_test(several_bursts_tell_the_clock_together),
        cmocka_unit_test(knows_who_looks_rarely),
        cmocka_unit_test(other_work_before_has_no_part_in_the_clock),
        cmocka_unit_test(wishes_for_a_burst_when_new_work_has_settled),
        cmocka_unit_test(waits_for_the_brake_at_the_power_limit),
        cmocka_unit_test(wishes_for_none_while_nothing_runs),
        cmocka_unit_test(wishes_for_fewer_while_the_work_stays),
        cmocka_unit_test(makes_nothing_of_a_burst_without_a_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
