#include "counter/cupti/search.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/search.h"
#include "base/util.h"
#include "cmocka_test.h"

static char root[] = "/tmp/rooftop-search-XXXXXX";
static char library[PATH_MAX];

struct visits {
    bool loaders_first; /* names without a slash came before any path */
    bool saw_path;
    bool saw_library;
    size_t count;
    size_t stop_after; /* 0: never */
};

static bool note(void *context, const char *path)
{
    struct visits *visits = context;
    bool is_path = strchr(path, '/') != NULL;
    visits->loaders_first = visits->loaders_first && (is_path || !visits->saw_path);
    visits->saw_path |= is_path;
    visits->saw_library |= strcmp(path, library) == 0;
    visits->count++;
    return visits->count != visits->stop_after;
}

static void asks_the_loader_first(void **state)
{
    (void)state;
    struct visits visits = {.loaders_first = true};
    cupti_search(note, &visits);
    assert_true(visits.loaders_first);
    assert_true(visits.count >= 3);
    struct visits one = {.stop_after = 2};
    cupti_search(note, &one);
    assert_int_equal(one.count, 2);
}

/* As root the file lies below /tmp, where others can write. */
static void looks_into_a_persons_environment_but_not_as_root(void **state)
{
    (void)state;
    struct visits visits = {0};
    setenv("VIRTUAL_ENV", root, 1);
    cupti_search(note, &visits);
    assert_int_equal(visits.saw_library, geteuid() != 0);
    unsetenv("VIRTUAL_ENV");
    struct visits none = {0};
    cupti_search(note, &none);
    assert_false(none.saw_library);
}

static void a_folder_with_wildcards_is_no_environment(void **state)
{
    (void)state;
    struct visits visits = {0};
    setenv("VIRTUAL_ENV", "/tmp/rooftop-search-*", 1);
    cupti_search(note, &visits);
    assert_false(visits.saw_library);
    setenv("VIRTUAL_ENV", "relative", 1);
    cupti_search(note, &visits);
    assert_false(visits.saw_library);
    unsetenv("VIRTUAL_ENV");
}

static void trusts_only_what_root_alone_can_write(void **state)
{
    (void)state;
    char link[PATH_MAX], real[PATH_MAX];
    assert_true(library_is_roots_alone("/proc/version", real));
    assert_false(library_is_roots_alone(library, real));
    assert_false(library_is_roots_alone("/not/there", real));
    snprintf(link, sizeof(link), "%s/link", root);
    assert_int_equal(symlink("/proc/version", link), 0);
    assert_true(library_is_roots_alone(link, real)); /* what it leads to counts, and is opened */
    assert_string_equal(real, "/proc/version");
    unlink(link);
}

static void takes_the_override_as_it_is(void **state)
{
    (void)state;
    unsetenv("ROOFTOP_CUPTI");
    assert_null(cupti_search_override());
    setenv("ROOFTOP_CUPTI", "", 1);
    assert_null(cupti_search_override());
    setenv("ROOFTOP_CUPTI", "/some/where.so", 1);
    assert_string_equal(cupti_search_override(), "/some/where.so");
    unsetenv("ROOFTOP_CUPTI");
}

enum { SAW_OVERRIDE = 1, SAW_LIBRARY = 2, OTHER_USER = 65534 };

/* What this program sees when it runs as a copy: its exit code. */
static int tell_what_is_seen(const char *path)
{
    struct visits visits = {0};
    snprintf(library, sizeof(library), "%s", path);
    cupti_search(note, &visits);
    return (cupti_search_override() ? SAW_OVERRIDE : 0) | (visits.saw_library ? SAW_LIBRARY : 0);
}

/* Runs the program, as another user from the start, or by the copy's own mode. */
static int run_copy(const char *copy, bool as_other_user)
{
    pid_t child = fork();
    if (child == 0) {
        if (as_other_user && setresuid(OTHER_USER, OTHER_USER, OTHER_USER) < 0)
            _exit(99);
        setenv("ROOFTOP_CUPTI", "/some/where.so", 1);
        setenv("VIRTUAL_ENV", root, 1);
        execl(copy, copy, library, (char *)NULL);
        _exit(98);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void believes_no_environment_with_raised_privileges(void **state)
{
    (void)state;
    char copy[PATH_MAX], command[2 * PATH_MAX];
    snprintf(copy, sizeof(copy), "%s/copy", root);
    snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int)getpid(), copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(chown(copy, OTHER_USER, OTHER_USER), 0);
    assert_int_equal(chmod(copy, 0755), 0);
    assert_int_equal(run_copy(copy, true), SAW_OVERRIDE | SAW_LIBRARY);
    assert_int_equal(chmod(copy, 04755), 0);
    assert_int_equal(run_copy(copy, false), 0);
    unlink(copy);
}

static int make_environment(void **state)
{
    (void)state;
    static const char *const folders[] = {"lib",
                                          "lib/python3.11",
                                          "lib/python3.11/site-packages",
                                          "lib/python3.11/site-packages/nvidia",
                                          "lib/python3.11/site-packages/nvidia/cu13",
                                          "lib/python3.11/site-packages/nvidia/cu13/lib"};
    if (!mkdtemp(root))
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
        if (mkdir(path, 0755) < 0)
            return -1;
    }
    snprintf(library, sizeof(library), "%s/%s/libcupti.so.13", root,
             folders[ARRAY_SIZE(folders) - 1]);
    FILE *file = fopen(library, "w");
    return file ? fclose(file) : -1;
}

static int remove_environment(void **state)
{
    (void)state;
    unlink(library);
    for (char *slash = strrchr(library, '/'); slash && strlen(library) > strlen(root);
         slash = strrchr(library, '/')) {
        *slash = '\0';
        rmdir(library);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        _exit(tell_what_is_seen(argv[1])); /* a sanitizer's last look fails without privileges */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_the_loader_first),
        cmocka_unit_test(looks_into_a_persons_environment_but_not_as_root),
        cmocka_unit_test(a_folder_with_wildcards_is_no_environment),
        cmocka_unit_test(trusts_only_what_root_alone_can_write),
        cmocka_unit_test(takes_the_override_as_it_is),
        cmocka_unit_test(believes_no_environment_with_raised_privileges),
    };
    return run_group(tests, geteuid() == 0, make_environment, remove_environment);
}
