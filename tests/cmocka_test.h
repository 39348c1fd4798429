/* cmocka with the headers that it wants before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

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
