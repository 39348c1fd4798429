/* cmocka with the headers that it wants before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

/* cmocka's assert_float_equal() compares as float, too coarse for times since 1970. */
static inline void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance)) {
        print_message("%.17g is not within %g of %.17g\n", actual, tolerance, expected);
        fail();
    }
}
