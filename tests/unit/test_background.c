#include "base/util.h"
#include "cmocka_test.h"
#include "tui/background.h"

static void colours_are_dark_or_light(void **state)
{
    (void)state;
    static const struct {
        const char *colour;
        enum background background;
    } cases[] = {
        {"rgb:ffff/ffff/ffff", BACKGROUND_LIGHT},
        {"rgb:fd/f6/e3", BACKGROUND_LIGHT},
        {"rgb:f/f/f", BACKGROUND_LIGHT},
        {"rgba:0000/0000/0000/ffff", BACKGROUND_DARK},
        {"rgb:0/2b/36", BACKGROUND_DARK},
        {"rgb:0000/0000/ffff", BACKGROUND_DARK}, /* blue is dark */
        {"rgb:ffff/ffff/ffff\x1b", BACKGROUND_LIGHT},
        {"rgb:ffff", BACKGROUND_DARK},
        {"?", BACKGROUND_UNKNOWN},
        {"rgb:", BACKGROUND_UNKNOWN},
        {"", BACKGROUND_UNKNOWN},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(background_of_colour(cases[i].colour), cases[i].background);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(colours_are_dark_or_light)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
