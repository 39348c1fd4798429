#include "counter/cupti/plan.h"

#include <errno.h>
#include <string.h>

#include "cmocka_test.h"
#include "counter/cupti/helper.h"

/* A chip of which a pass holds `room` counters, without those whose name has `lacks` in it, and
 * with a pass of its own for each whose name has `alone` in it. */
struct toy {
    size_t room;
    const char *lacks;
    const char *alone;
};

static int toy_passes(void *chip, const char *const *names, size_t count)
{
    const struct toy *toy = chip;
    bool has_loner = false;
    for (size_t i = 0; i < count; i++) {
        if (toy->lacks && strstr(names[i], toy->lacks))
            return -ENOENT;
        has_loner = has_loner || (toy->alone && strstr(names[i], toy->alone));
    }
    if (has_loner && count > 1)
        return 2;
    return (int)((count + toy->room - 1) / toy->room);
}

static size_t place_of(const struct plan *plan, enum metric metric)
{
    for (size_t i = 0; i < plan->set_count; i++)
        for (size_t k = 0; k < plan->set[i].count; k++)
            if (plan->set[i].counter[k] && plan->set[i].counter[k]->metric == metric)
                return i;
    return PLAN_MAX_SETS;
}

static void puts_all_in_one_set_where_they_fit(void **state)
{
    (void)state;
    struct toy toy = {.room = PLAN_MAX_COUNTERS};
    struct plan plan;
    plan_make(&plan, UINT64_MAX, PLAN_MAX_SETS, toy_passes, &toy);
    assert_int_equal(plan.set_count, 1);
    assert_int_equal(plan.refused, 0);
    assert_int_equal(__builtin_popcountll(plan.planned), plan.set[0].count - 1); /* a divisor */
    assert_string_equal(plan.set[0].name[0], plan.set[0].counter[0]->name);
}

static void takes_only_what_is_wanted(void **state)
{
    (void)state;
    struct toy toy = {.room = PLAN_MAX_COUNTERS};
    uint64_t wanted = METRIC_BIT(METRIC_EFFECTIVE_CLOCK) | METRIC_BIT(METRIC_POWER);
    struct plan plan;
    plan_make(&plan, wanted, PLAN_MAX_SETS, toy_passes, &toy);
    assert_int_equal(plan.set[0].count, 1);
    assert_int_equal(plan.planned, METRIC_BIT(METRIC_EFFECTIVE_CLOCK));
}

static void gives_what_does_not_fit_a_turn(void **state)
{
    (void)state;
    struct toy toy = {.room = PLAN_MAX_COUNTERS, .alone = "l1tex"};
    struct plan plan;
    plan_make(&plan, UINT64_MAX, PLAN_MAX_SETS, toy_passes, &toy);
    assert_int_equal(plan.set_count, 2);
    assert_int_equal(place_of(&plan, METRIC_EFFECTIVE_CLOCK), 0);
    assert_int_equal(place_of(&plan, METRIC_L1_ACTIVE), 1);
    assert_int_equal(place_of(&plan, METRIC_SM_OCCUPANCY), 0);
    assert_int_equal(plan.set[1].count, 1);
}

static void refuses_the_least_valuable(void **state)
{
    (void)state;
    struct toy toy = {.room = 2};
    struct plan plan;
    plan_make(&plan, UINT64_MAX, 2, toy_passes, &toy);
    assert_int_equal(plan.set_count, 2);
    assert_int_equal(place_of(&plan, METRIC_EFFECTIVE_CLOCK), 0);
    assert_int_equal(place_of(&plan, METRIC_TENSOR_ACTIVE), 0);
    assert_int_equal(place_of(&plan, METRIC_DRAM_ACTIVE), 1);
    assert_true(plan.refused & METRIC_BIT(METRIC_SM_OCCUPANCY));
    assert_int_equal(plan.planned & plan.refused, 0);
}

static void takes_another_counter_where_the_first_is_missing(void **state)
{
    (void)state;
    struct toy toy = {.room = PLAN_MAX_COUNTERS, .lacks = "Triage"};
    struct plan plan;
    plan_make(&plan, METRIC_BIT(METRIC_TENSOR_ACTIVE), 1, toy_passes, &toy);
    assert_string_equal(plan.set[0].name[0],
                        "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed");
    toy.lacks = "tensor";
    plan_make(&plan, METRIC_BIT(METRIC_TENSOR_ACTIVE), 1, toy_passes, &toy);
    assert_int_equal(plan.set_count, 0);
    assert_int_equal(plan.refused, METRIC_BIT(METRIC_TENSOR_ACTIVE));
}

static void keeps_a_quotient_in_one_set(void **state)
{
    (void)state;
    const uint64_t quotient = METRIC_BIT(METRIC_TENSOR_SHARED_LOADS);
    const uint64_t others = METRIC_BIT(METRIC_EFFECTIVE_CLOCK) | METRIC_BIT(METRIC_L2_ACTIVE);
    struct toy toy = {.room = 3}; /* beside two others there is room for half of it */
    struct plan plan;
    plan_make(&plan, others | quotient, PLAN_MAX_SETS, toy_passes, &toy);
    assert_int_equal(plan.set[0].count, 2);
    assert_int_equal(plan.set[1].count, 2);
    assert_int_equal(plan.set[1].counter[0]->metric, METRIC_TENSOR_SHARED_LOADS);
    assert_string_equal(plan.set[1].name[1], plan.set[1].counter[0]->divisor);
    assert_null(plan.set[1].counter[1]);

    toy = (struct toy){.room = 3, .lacks = "pipe_tensor"}; /* one of its two */
    plan_make(&plan, others | quotient, PLAN_MAX_SETS, toy_passes, &toy);
    assert_int_equal(plan.set_count, 1);
    assert_int_equal(plan.refused, quotient);
}

static void keeps_apart_what_may_spoil_the_others(void **state)
{
    (void)state;
    struct toy toy = {.room = PLAN_MAX_COUNTERS};
    uint64_t wanted = METRIC_BIT(METRIC_EFFECTIVE_CLOCK) | METRIC_BIT(METRIC_L2_ACTIVE);
    struct plan plan;
    plan_make(&plan, wanted, PLAN_MAX_SETS - 1, toy_passes, &toy);
    plan_add_apart(&plan, PLAN_APART, PLAN_MAX_SETS, toy_passes, &toy);
    assert_int_equal(plan.set_count, 2);
    assert_int_equal(plan.planned, wanted | PLAN_APART);
    assert_int_equal(place_of(&plan, METRIC_EFFECTIVE_CLOCK), 0);
    assert_int_equal(place_of(&plan, METRIC_L2_ACTIVE), 0);
    assert_int_equal(place_of(&plan, METRIC_XU_ACTIVE), 1);
    assert_int_equal(place_of(&plan, METRIC_TENSOR_SHARED_LOADS), 1);
}

static void reads_the_helpers_arguments(void **state)
{
    (void)state;
    char device[] = "GPU-1=3e80b", bursts[] = "GPU-2=20000,bursts";
    char *good[] = {"0.1", "0.2", "5", "0.01", "8", device, bursts};
    struct cupti_helper_config config;
    assert_int_equal(cupti_helper_parse(&config, 7, good), 0);
    assert_int_equal(config.device_count, 2);
    assert_string_equal(config.device[0].uuid, "GPU-1");
    assert_int_equal(config.device[0].wanted, 0x3e80b);
    assert_false(config.device[0].bursts);
    assert_true(config.device[1].bursts);
    assert_float_equal(config.burst_period, 5, 0);
    assert_float_equal(config.burst_cpu, .01, 0);

    char without_metrics[] = "GPU-1=", without_uuid[] = "=1", without_both[] = "GPU-1";
    char *const wrong[] = {without_metrics, without_uuid, without_both};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        good[5] = wrong[i];
        assert_int_equal(cupti_helper_parse(&config, 6, good), -EINVAL);
    }
    assert_int_equal(cupti_helper_parse(&config, 5, good), -EINVAL);
    char no_share[] = "0";
    good[3] = no_share;
    good[5] = device;
    assert_int_equal(cupti_helper_parse(&config, 6, good), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_all_in_one_set_where_they_fit),
        cmocka_unit_test(takes_only_what_is_wanted),
        cmocka_unit_test(gives_what_does_not_fit_a_turn),
        cmocka_unit_test(refuses_the_least_valuable),
        cmocka_unit_test(takes_another_counter_where_the_first_is_missing),
        cmocka_unit_test(keeps_a_quotient_in_one_set),
        cmocka_unit_test(keeps_apart_what_may_spoil_the_others),
        cmocka_unit_test(reads_the_helpers_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
