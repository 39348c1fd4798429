#include <string.h>

#include "base/util.h"
#include "cmocka_test.h"
#include "tui/input.h"

static uint32_t code_of(const char *bytes, size_t *ret_taken)
{
    struct input input;
    *ret_taken = input_parse(bytes, strlen(bytes), false, &input);
    return input.code;
}

static void keys_of_all_terminals(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint32_t code;
    } cases[] = {
        {"a", 'a'},
        {"\r", INPUT_ENTER},
        {"\x7f", INPUT_BACKSPACE},
        {"\x0c", 0x0C},
        {"\xc3\xa9", 0xE9},
        {"\xf0\x9f\x98\x80", 0x1F600},
        {"\x1b[A", INPUT_UP},
        {"\x1bOB", INPUT_DOWN},
        {"\x1b[1;2C", INPUT_SHIFT_RIGHT},
        {"\x1b[d", INPUT_SHIFT_LEFT},
        {"\x1b[7~", INPUT_HOME},
        {"\x1bOF", INPUT_END},
        {"\x1bOP", INPUT_F(1)},
        {"\x1b[[E", INPUT_F(5)},
        {"\x1b[21~", INPUT_F(10)},
        {"\x1b[1;9Z", INPUT_NONE}, /* unknown: taken as a whole */
        {"\x1b[200~", INPUT_NONE},
        {"\xff", INPUT_NONE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t taken;
        assert_int_equal(code_of(cases[i].bytes, &taken), cases[i].code);
        assert_int_equal(taken, strlen(cases[i].bytes));
    }
}

static void one_input_at_a_time(void **state)
{
    (void)state;
    size_t taken;
    assert_int_equal(code_of("\x1b[5~q", &taken), INPUT_PAGE_UP);
    assert_int_equal(taken, 4);
    assert_int_equal(code_of("\x1bq", &taken), INPUT_ESCAPE);
    assert_int_equal(taken, 1);
    assert_int_equal(code_of("\x1b\x1b[A", &taken), INPUT_ESCAPE);
    assert_int_equal(taken, 1);
}

static void what_has_only_begun_waits(void **state)
{
    (void)state;
    static const char *const begun[] = {
        "\x1b",     "\x1b[",  "\x1b[1;2",          "\x1bO", "\x1b[M ", "\x1b[<0;",
        "\xe2\x82", "\x1b]1", "\x1b]11;rgb:ffff/", "\x1b[["};
    for (size_t i = 0; i < ARRAY_SIZE(begun); i++) {
        struct input input;
        size_t length = strlen(begun[i]);
        assert_int_equal(input_parse(begun[i], length, false, &input), 0);
        assert_int_not_equal(input_parse(begun[i], length, true, &input), 0);
    }
    struct input input;
    assert_int_equal(input_parse("\x1b[", 2, true, &input), 1);
    assert_int_equal(input.code, INPUT_ESCAPE);
    /* An answer that is cut off is no row of keys. */
    assert_int_equal(input_parse("\x1b]11;rgb:ff", 11, true, &input), 11);
    assert_int_equal(input.code, INPUT_NONE);
}

static void the_mouse(void **state)
{
    (void)state;
    struct input input;
    assert_int_equal(input_parse("\x1b[<0;12;5M", 10, false, &input), 10);
    assert_int_equal(input.code, INPUT_CLICK);
    assert_int_equal(input.x, 11);
    assert_int_equal(input.y, 4);
    assert_int_equal(input_parse("\x1b[<0;12;5m", 10, false, &input), 10);
    assert_int_equal(input.code, INPUT_NONE);
    assert_int_equal(input_parse("\x1b[<69;1;1M", 10, false, &input), 10);
    assert_int_equal(input.code, INPUT_WHEEL_DOWN);
    assert_int_equal(input_parse("\x1b[M !q", 6, false, &input), 6);
    assert_int_equal(input.code, INPUT_CLICK);
    assert_int_equal(input.x, 0);
    assert_int_equal(input.y, 'q' - 33);
}

static void the_background(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint32_t code;
    } cases[] = {
        {"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", INPUT_LIGHT_BACKGROUND},
        {"\x1b]11;rgb:fd/f6/e3\x07", INPUT_LIGHT_BACKGROUND},
        {"\x1b]11;rgba:0000/0000/0000/ffff\x1b\\", INPUT_DARK_BACKGROUND},
        {"\x1b]11;rgb:0/2b/36\x07", INPUT_DARK_BACKGROUND},
        {"\x1b]11;rgb:0000/0000/ffff\x07", INPUT_DARK_BACKGROUND}, /* blue is dark */
        {"\x1b]11;?\x07", INPUT_NONE},
        {"\x1b]11;rgb:\x07", INPUT_NONE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t taken;
        assert_int_equal(code_of(cases[i].bytes, &taken), cases[i].code);
        assert_int_equal(taken, strlen(cases[i].bytes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_all_terminals),
        cmocka_unit_test(one_input_at_a_time),
        cmocka_unit_test(what_has_only_begun_waits),
        cmocka_unit_test(the_mouse),
        cmocka_unit_test(the_background),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
