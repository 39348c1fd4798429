#include "bench/limits.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

static struct profile *new_profile(void)
{
    struct profile *profile = calloc(1, sizeof(*profile));
    assert_non_null(profile);
    profile->wall_seconds = 109.5;
    profile->span_seconds = 9.5;
    return profile;
}

static void takes_the_share_that_keeps_the_speed(void **state)
{
    (void)state;
    struct profile *profile = new_profile();
    profile->scaling_count = 3;
    /* 95 % of the speed take 10 s. */
    const struct {
        double seconds[3];
        double percent;
    } cases[] = {
        {{10, 9.5, 9.5}, 25},
        {{9, 9.5, 9.5}, 25},
        {{19, 10, 9.5}, 50},
        /* Speeds 0.5 at 50 and 1 at 75 %: 0.95 at 50 + 25 × 0.9. */
        {{38, 19, 9.5}, 73},
        /* 0.75 at 75 and 1 at all. */
        {{38, 19, 9.5 / 0.75}, 95},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (size_t k = 0; k < 3; k++)
            profile->scaling[k] = (struct profile_scaling){
                25 * (double)(k + 1), 100 + cases[i].seconds[k], cases[i].seconds[k]};
        assert_near(bench_need_of(profile).sm_percent, cases[i].percent, 0);
        assert_string_equal(bench_need_of(profile).sm_from, "keeps 95 % of its speed");
    }
    free(profile);
}

/* As a run of GEMMs on an H200 that takes 8 s to start: the whole time hides what it loses. */
static void a_start_hides_no_loss(void **state)
{
    (void)state;
    struct profile *profile = new_profile();
    profile->wall_seconds = 10.5;
    profile->span_seconds = 2.5;
    profile->scaling_count = 1;
    profile->scaling[0] = (struct profile_scaling){25, 11, 3};
    /* Speed 2.5 ÷ 3 at 25 %, 1 at all: 0.95 at 25 + 75 × 0.7. */
    assert_near(bench_need_of(profile).sm_percent, 78, 0);
    profile->scaling[0].span_seconds = 0; /* a profile of before */
    assert_near(bench_need_of(profile).sm_percent, 25, 0);
    assert_non_null(strstr(bench_need_of(profile).sm_from, "its start included"));
    free(profile);
}

static void takes_the_sms_in_use_without_a_curve(void **state)
{
    (void)state;
    struct profile *profile = new_profile();
    assert_near(bench_need_of(profile).sm_percent, 0, 0);
    profile->metrics[METRIC_SM_ACTIVE] = (struct profile_spread){.count = 9, .p95 = 0.301};
    assert_near(bench_need_of(profile).sm_percent, 31, 0);
    profile->metrics[METRIC_WATERFALL_COVERAGE] = (struct profile_spread){.count = 9, .p95 = 0.6};
    assert_near(bench_need_of(profile).sm_percent, 60, 0);
    free(profile);
}

static void takes_the_peak_with_headroom(void **state)
{
    (void)state;
    struct profile *profile = new_profile();
    assert_int_equal(bench_need_of(profile).memory_bytes, 0);
    profile->memory_peak_bytes = 1ULL << 30;
    /* 1.2 GiB in steps of 256 MiB. */
    assert_int_equal(bench_need_of(profile).memory_bytes, 5ULL << 28);
    free(profile);
}

static void shrinks_what_comes_from_profiles(void **state)
{
    (void)state;
    struct bench_job jobs[] = {
        {.name = "given", .count = 1, .sm_percent = 40},
        {.name = "a", .count = 2, .sm_percent = 30, .sm_from = "profile a"},
        {.name = "b", .count = 1, .sm_percent = 60, .sm_from = "profile b"},
    };
    struct bench_plan plan = {.jobs = jobs, .job_count = 3};
    bench_limits_fit(&plan);
    assert_near(jobs[0].sm_percent, 40, 0);
    assert_near(jobs[1].sm_percent, 15, 0);
    assert_near(jobs[2].sm_percent, 30, 0);
    assert_string_equal(jobs[1].sm_from, "profile a; 30 %, shrunk so that all fit");
    bench_limits_fit(&plan);
    assert_near(jobs[2].sm_percent, 30, 0);
    /* Nothing is left for them. */
    jobs[0].sm_percent = 99;
    bench_limits_fit(&plan);
    assert_near(jobs[2].sm_percent, 30, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_share_that_keeps_the_speed),
        cmocka_unit_test(a_start_hides_no_loss),
        cmocka_unit_test(takes_the_sms_in_use_without_a_curve),
        cmocka_unit_test(takes_the_peak_with_headroom),
        cmocka_unit_test(shrinks_what_comes_from_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
