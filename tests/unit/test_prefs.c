#include "tui/prefs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_test.h"

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    char folder[] = "/tmp/prefs-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[128];
    snprintf(path, sizeof(path), "%s/a/b/top.ini", folder);

    struct prefs written = prefs_default;
    written.theme = THEME_LIGHT;
    written.span = SPAN_COUNT - 1;
    written.column[COLUMN_SM] = 0;
    assert_int_equal(prefs_write(&written, path), 0);
    struct prefs read = prefs_default;
    struct ini_error error;
    assert_int_equal(prefs_read(&read, path, &error), 0);
    assert_memory_equal(&read, &written, sizeof(read));

    unlink(path);
    assert_int_equal(prefs_read(&read, path, &error), 0); /* never needed */
    snprintf(path, sizeof(path), "%s/a/b", folder);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/a", folder);
    rmdir(path);
    rmdir(folder);
    assert_int_equal(prefs_write(&written, "/proc/rooftop/top.ini"), -ENOENT);
}

static void what_lies_beside_it_is_not_followed(void **state)
{
    (void)state;
    char folder[] = "/tmp/prefs-XXXXXX", path[64], beside[64], other[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/top.ini", folder);
    snprintf(beside, sizeof(beside), "%s/top.ini.new", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    assert_int_equal(symlink(other, beside), 0);
    assert_int_equal(prefs_write(&prefs_default, path), 0);
    struct stat status;
    assert_int_equal(stat(other, &status), -1);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    unlink(beside);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static void nobody_else_can_write_in_its_folder(void **state)
{
    (void)state;
    char folder[] = "/tmp/prefs-XXXXXX", made[64], path[80];
    assert_non_null(mkdtemp(folder));
    snprintf(made, sizeof(made), "%s/rooftop", folder);
    snprintf(path, sizeof(path), "%s/top.ini", made);
    mode_t before = umask(0);
    assert_int_equal(prefs_write(&prefs_default, path), 0);
    umask(before);
    struct stat status;
    assert_int_equal(stat(made, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0755);
    unlink(path);
    rmdir(made);
    assert_int_equal(rmdir(folder), 0);
}

static void a_mistake_is_told_and_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"[screen]\ntheme = purple\n",
         "top.ini:2: theme is one of auto, dark, light, mono, not 'purple'"},
        {"[screen]\nmouse = off\ncolour = red\n",
         "top.ini:3: there is no setting colour in [screen]"},
        {"[nothing]\nx = 1\n", "top.ini:2: there is no setting x in [nothing]"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct prefs prefs = prefs_default;
        struct ini_error error;
        assert_int_equal(
            prefs_read_text(&prefs, "top.ini", cases[i].text, strlen(cases[i].text), &error),
            -EINVAL);
        assert_string_equal(error.text, cases[i].message);
        assert_memory_equal(&prefs, &prefs_default, sizeof(prefs));
    }
}

static void the_path_is_where_the_specification_says(void **state)
{
    (void)state;
    struct strbuf path = {0};
    setenv("HOME", "/home/a", 1);
    setenv("XDG_CONFIG_HOME", "/config", 1);
    assert_int_equal(prefs_path(&path), 0);
    assert_string_equal(path.text, "/config/rooftop/top.ini");
    strbuf_clear(&path);
    setenv("XDG_CONFIG_HOME", "relative", 1);
    assert_int_equal(prefs_path(&path), 0);
    assert_string_equal(path.text, "/home/a/.config/rooftop/top.ini");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("HOME");
    strbuf_clear(&path);
    assert_int_equal(prefs_path(&path), -ENOENT);
    strbuf_free(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(what_lies_beside_it_is_not_followed),
        cmocka_unit_test(nobody_else_can_write_in_its_folder),
        cmocka_unit_test(a_mistake_is_told_and_changes_nothing),
        cmocka_unit_test(the_path_is_where_the_specification_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
