/* cmocka with the headers that it wants before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

/* As cmocka_run_group_tests(), without the last test where it cannot run here: cmocka 1.1.5 writes
 * "not ok" for a test that calls skip(). */
#define run_group(tests, with_last, set_up, tear_down)                                             \
    _cmocka_run_group_tests(#tests, tests, sizeof(tests) / sizeof((tests)[0]) - !(with_last),      \
                            set_up, tear_down)

static inline void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance)) {
        print_message("%.17g is not within %g of %.17g\n", actual, tolerance, expected);
        fail();
    }
}

/* cmocka's own compares as float, too coarse for times since 1970. */
#undef assert_float_equal
#define assert_float_equal assert_near
