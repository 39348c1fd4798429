#include "base/parse.h"

#include <errno.h>

#include "cmocka_test.h"

static void takes_durations(void **state)
{
    (void)state;
    double seconds;
    assert_int_equal(parse_duration("250ms", &seconds), 0);
    assert_float_equal(seconds, 0.25, 1e-12);
    assert_int_equal(parse_duration("2m", &seconds), 0);
    assert_float_equal(seconds, 120, 1e-12);
    assert_int_equal(parse_duration("0.1", &seconds), 0);
    assert_float_equal(seconds, 0.1, 1e-12);
}

static void takes_sizes(void **state)
{
    (void)state;
    uint64_t bytes;
    assert_int_equal(parse_bytes("8G", &bytes), 0);
    assert_int_equal(bytes, UINT64_C(8) << 30);
    assert_int_equal(parse_bytes("8GB", &bytes), 0);
    assert_int_equal(bytes, UINT64_C(8000000000));
}

static void refuses_what_is_no_number(void **state)
{
    (void)state;
    double value = 7;
    const char *const wrong[] = {"", " 1", "1 ", "0x10", "inf", "nan", "1e", "--1", "1,5"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(parse_double(wrong[i], &value), -EINVAL);
    assert_int_equal(parse_double("1e999", &value), -ERANGE);
    assert_int_equal(parse_duration("5 s", &value), -EINVAL);
    assert_int_equal(parse_duration("-5s", &value), -ERANGE);
    uint64_t count = 7;
    assert_int_equal(parse_unsigned("-1", &count), -EINVAL);
    assert_int_equal(parse_unsigned("99999999999999999999", &count), -ERANGE);
    assert_int_equal(parse_bytes("99999999T", &count), -ERANGE);
    assert_int_equal(count, 7);
    assert_float_equal(value, 7, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_durations),
        cmocka_unit_test(takes_sizes),
        cmocka_unit_test(refuses_what_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
