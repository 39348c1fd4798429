#include "base/ini.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "cmocka_test.h"

static int note_section(void *context, const struct ini_place *place, const char *section,
                        struct ini_error *error)
{
    (void)error;
    strbuf_printf(context, "%u[%s]\n", place->line, section);
    return 0;
}

static int note_value(void *context, const struct ini_place *place, const char *section,
                      const char *key, const char *value, struct ini_error *error)
{
    if (strcmp(key, "refused") == 0)
        return ini_fail(error, place, "%s is not wanted", key);
    strbuf_printf(context, "%u%s.%s=<%s>\n", place->line, section, key, value);
    return 0;
}

static int read_text(const char *text, size_t length, struct strbuf *out, struct ini_error *error)
{
    struct ini_handler handler = {note_section, note_value, out};
    return ini_read_text("jobs.ini", text, length, &handler, error);
}

static void gives_sections_keys_and_values(void **state)
{
    (void)state;
    static const char text[] = "# first\n"
                               "[job]\n"
                               "  command = python a.py --x=1 # not a comment \r\n"
                               "\n"
                               "; more\n"
                               "empty =\n"
                               "[ other-1.b ]\n"
                               "command=\"b\"";
    struct strbuf out = {0};
    struct ini_error error;
    assert_int_equal(read_text(text, strlen(text), &out, &error), 0);
    assert_string_equal(strbuf_text(&out), "2[job]\n"
                                           "3job.command=<python a.py --x=1 # not a comment>\n"
                                           "6job.empty=<>\n"
                                           "7[other-1.b]\n"
                                           "8other-1.b.command=<\"b\">\n");
    strbuf_free(&out);
}

static void names_file_and_line_of_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"a = 1\n", "jobs.ini:1: a key before the first [section]"},
        {"[a]\n\nword\n", "jobs.ini:3: a line is 'key = value' or '[section]'"},
        {"[a\n", "jobs.ini:1: a section is written [name]"},
        {"[]\n", "jobs.ini:1: '' is no section: use letters, digits, '_', '-' and '.'"},
        {"[a]\nb c = 1\n", "jobs.ini:2: 'b c' is no key: use letters, digits, '_', '-' and '.'"},
        {"[a]\nb = 1\nb = 2\n", "jobs.ini:3: b is set twice in [a]"},
        {"[a]\nrefused = 1\n", "jobs.ini:2: refused is not wanted"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct strbuf out = {0};
        struct ini_error error;
        assert_int_equal(read_text(cases[i].text, strlen(cases[i].text), &out, &error), -EINVAL);
        assert_string_equal(error.text, cases[i].message);
        strbuf_free(&out);
    }
}

static void bounds_lines_names_and_bytes(void **state)
{
    (void)state;
    struct strbuf out = {0};
    struct ini_error error;
    char text[INI_LINE_SIZE + 16] = "[a]\nb = ";
    memset(text + 8, 'x', INI_LINE_SIZE);
    assert_int_equal(read_text(text, INI_LINE_SIZE + 8, &out, &error), -EINVAL);
    assert_int_equal(error.line, 2);
    assert_int_equal(read_text("[a]\nb = \0c\n", 11, &out, &error), -EINVAL);
    assert_string_equal(error.text, "jobs.ini:2: a NUL byte");
    char name[INI_NAME_SIZE + 8] = "[";
    memset(name + 1, 'n', INI_NAME_SIZE);
    name[INI_NAME_SIZE + 1] = ']';
    assert_int_equal(read_text(name, INI_NAME_SIZE + 2, &out, &error), -EINVAL);
    strbuf_free(&out);
}

static void a_missing_file_is_no_entry(void **state)
{
    (void)state;
    struct ini_handler handler = {note_section, note_value, NULL};
    struct ini_error error;
    assert_int_equal(ini_read_file("/nonexistent/a.ini", &handler, &error), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_sections_keys_and_values),
        cmocka_unit_test(names_file_and_line_of_an_error),
        cmocka_unit_test(bounds_lines_names_and_bytes),
        cmocka_unit_test(a_missing_file_is_no_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
