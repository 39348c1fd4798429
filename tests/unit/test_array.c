#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "cmocka_test.h"

/* AddressSanitizer would end the program that asks for too much. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void keeps_what_it_holds(void **state)
{
    (void)state;
    int *numbers = NULL;
    size_t room = 0;
    for (size_t count = 0; count < 1000; count++) {
        assert_int_equal(array_grow(&numbers, count, &room, sizeof(*numbers)), 0);
        assert_true(room > count);
        numbers[count] = (int)count;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(numbers[i], i);
    assert_true(room < 2000 + 16);
    free(numbers);
}

static void stays_where_there_is_no_memory(void **state)
{
    (void)state;
    char *bytes = NULL;
    size_t room = 0;
    assert_int_equal(array_grow(&bytes, 0, &room, 1), 0);
    char *before = bytes;
    const size_t full = room;
    assert_int_equal(array_grow(&bytes, full, &room, SIZE_MAX / full), -ENOMEM);
    assert_ptr_equal(bytes, before);
    assert_int_equal(room, full);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_it_holds),
        cmocka_unit_test(stays_where_there_is_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
