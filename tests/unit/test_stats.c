/* Expected values worked out by hand, with Student's quantiles from the
 * usual tables. */
#include "base/stats.h"

#include <math.h>

#include "cmocka_test.h"

static struct stats of(const double *values, size_t count)
{
    struct stats stats = {0};
    for (size_t i = 0; i < count; i++)
        stats_add(&stats, values[i]);
    return stats;
}

static void mean_and_deviation(void **state)
{
    (void)state;
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    struct stats stats = of(values, 8);
    assert_near(stats.mean, 5, 1e-12);
    assert_near(stats_deviation(&stats), sqrt(32.0 / 7), 1e-12);
    /* A large offset must not eat the spread. */
    struct stats far = {0};
    for (size_t i = 0; i < 8; i++)
        stats_add(&far, values[i] + 1e9);
    assert_near(stats_deviation(&far), sqrt(32.0 / 7), 1e-6);
}

static void welch_interval(void **state)
{
    (void)state;
    const double first[] = {1, 2, 3, 4, 5}, second[] = {10, 12, 14};
    struct stats a = of(first, 5), b = of(second, 3);
    /* Variances 2.5/5 and 4/3: standard error 1.354006, degrees of freedom 3.533 -> 3. */
    assert_near(stats_welch(&a, &b, STATS_99), 5.841 * 1.354006, 1e-4);
    assert_near(stats_welch(&b, &a, STATS_99), 5.841 * 1.354006, 1e-4);
    assert_near(stats_welch(&a, &b, STATS_95), 3.182 * 1.354006, 1e-4);
}

static void welch_interval_of_long_series(void **state)
{
    (void)state;
    struct stats a = {0}, b = {0};
    for (int i = 0; i < 101; i++) {
        stats_add(&a, i % 2);
        stats_add(&b, 10 + i % 2);
    }
    /* Standard error sqrt(2 · 0.2525 ÷ 101) = 0.0707, 200 degrees of freedom: t = 2.60063
     * and 1.97190. */
    double variance = a.squares / 100;
    assert_near(stats_welch(&a, &b, STATS_99), 2.60063 * sqrt(2 * variance / 101), 1e-5);
    assert_near(stats_welch(&a, &b, STATS_95), 1.97190 * sqrt(2 * variance / 101), 1e-5);
    assert_near(stats_interval(&a, STATS_95), 1.98397 * sqrt(variance / 101), 1e-5);
}

static void tells_what_it_cannot_tell(void **state)
{
    (void)state;
    const double values[] = {1, 1, 1};
    struct stats one = of(values, 1), three = of(values, 3), none = {0};
    assert_true(isinf(stats_welch(&one, &three, STATS_95)));
    assert_true(isinf(stats_welch(&three, &none, STATS_95)));
    assert_true(stats_welch(&three, &three, STATS_95) == 0);
    assert_true(stats_deviation(&one) == 0);
    assert_true(stats_deviation(&none) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_and_deviation),
        cmocka_unit_test(welch_interval),
        cmocka_unit_test(welch_interval_of_long_series),
        cmocka_unit_test(tells_what_it_cannot_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
