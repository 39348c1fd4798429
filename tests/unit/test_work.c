#include "counter/cupti/work.h"

#include "cmocka_test.h"

static struct sample sample_of(double sm, double clock)
{
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_PROVIDED);
    sample_set(&sample, METRIC_SM_ACTIVE, sm);
    sample_set(&sample, METRIC_SM_CLOCK, clock);
    return sample;
}

static bool looks_same(struct work_watch *watch, double sm, double clock, double now, double begin,
                       double end)
{
    struct sample sample = sample_of(sm, clock);
    return work_is_same(watch, &sample, now, begin, end);
}

static void waits_for_the_first_burst(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    assert_true(looks_same(&watch, .1, 1.98e9, 1, 0, 0));
    assert_true(looks_same(&watch, .9, 1.98e9, 2, 0, 0));
}

static void compares_with_what_the_burst_saw(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    assert_true(looks_same(&watch, .9, 1.98e9, 1.0, 0, 0));
    assert_true(looks_same(&watch, .9, 1.98e9, 1.4, 1.1, 1.3));
    assert_true(looks_same(&watch, .85, 1.9e9, 1.5, 1.1, 1.3));
    assert_false(looks_same(&watch, .7, 1.98e9, 1.6, 1.1, 1.3));
    assert_false(looks_same(&watch, .9, 1.5e9, 1.7, 1.1, 1.3));
    assert_true(looks_same(&watch, .9, 1.98e9, 1.8, 1.1, 1.3));
    /* the next burst sees the new work */
    assert_false(looks_same(&watch, .3, 1.98e9, 1.9, 1.1, 1.3));
    assert_true(looks_same(&watch, .3, 1.98e9, 2.3, 2.0, 2.2));
}

static void believes_no_burst_of_two_loads(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    assert_true(looks_same(&watch, .9, 1.98e9, 1.0, 0, 0));
    assert_true(looks_same(&watch, .2, 1.98e9, 1.2, 0, 0));
    assert_false(looks_same(&watch, .2, 1.98e9, 1.4, 1.1, 1.3));
    assert_false(looks_same(&watch, .2, 1.98e9, 1.5, 1.1, 1.3));
    assert_true(looks_same(&watch, .2, 1.98e9, 1.9, 1.6, 1.8));
}

static void remembers_long_enough_at_any_rate(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    /* a burst of 0.2 s, whose report comes as much later */
    for (int i = 0; i < 5000; i++)
        looks_same(&watch, i < 950 ? .9 : .2, 1.98e9, 1 + i * 1e-4, 0, 0);
    assert_false(looks_same(&watch, .2, 1.98e9, 1.5, 1.09, 1.29));
}

static void takes_the_unknown_for_no_change(void **state)
{
    (void)state;
    struct work_watch watch = {0};
    struct sample unknown;
    sample_reset(&unknown, ABSENT_NO_NEW_SAMPLE);
    assert_true(looks_same(&watch, .9, 1.98e9, 1.0, .5, .7));
    assert_true(work_is_same(&watch, &unknown, 1.1, .5, .7));
    assert_false(looks_same(&watch, .2, 1.98e9, 1.2, .5, .7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_the_first_burst),
        cmocka_unit_test(compares_with_what_the_burst_saw),
        cmocka_unit_test(believes_no_burst_of_two_loads),
        cmocka_unit_test(remembers_long_enough_at_any_rate),
        cmocka_unit_test(takes_the_unknown_for_no_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
