#include "base/search.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
    bool (*visit)(void *context, const char *path);
    void *context;
    bool go_on;
    bool checked; /* as root */
};

static bool one_is_roots_alone(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_uid == 0 &&
           !(status.st_mode & (S_IWGRP | S_IWOTH));
}

bool library_is_roots_alone(const char *path, char ret_real[PATH_MAX])
{
    char part[PATH_MAX];
    if (!realpath(path, ret_real) || !one_is_roots_alone(ret_real))
        return false;
    snprintf(part, sizeof(part), "%s", ret_real);
    for (char *slash = strrchr(part, '/'); slash && slash != part; slash = strrchr(part, '/')) {
        *slash = '\0';
        if (!one_is_roots_alone(part))
            return false;
    }
    return one_is_roots_alone("/");
}

static void visit_pattern(struct search *search, const char *pattern)
{
    if (!search->go_on)
        return;
    glob_t found;
    if (glob(pattern, GLOB_BRACE, NULL, &found) != 0)
        return;
    for (size_t i = found.gl_pathc; i > 0 && search->go_on; i--) {
        const char *path = found.gl_pathv[i - 1];
        char real[PATH_MAX];
        if (!search->checked)
            search->go_on = search->visit(search->context, path);
        else if (library_is_roots_alone(path, real))
            search->go_on = search->visit(search->context, real);
    }
    globfree(&found);
}

static void visit_environment(struct search *search, const struct library_places *places,
                              const char *folder, const char *below)
{
    char pattern[2 * PATH_MAX];
    if (!folder || folder[0] != '/' || strpbrk(folder, "*?[{~\\"))
        return;
    snprintf(pattern, sizeof(pattern), "%s%s%s", folder, below, places->environment);
    visit_pattern(search, pattern);
}

void library_search(const struct library_places *places,
                    bool (*visit)(void *context, const char *path), void *context)
{
    struct search search = {visit, context, true, geteuid() == 0};
    for (const char *const *name = places->names; *name && search.go_on; name++)
        search.go_on = visit(context, *name);
    for (const char *const *pattern = places->patterns; *pattern; pattern++)
        visit_pattern(&search, *pattern);
    if (search.checked)
        return;
    const char *home = secure_getenv("HOME");
    visit_environment(&search, places, secure_getenv("VIRTUAL_ENV"), "");
    visit_environment(&search, places, secure_getenv("CONDA_PREFIX"), "");
    visit_environment(&search, places, home, "/.venv");
    visit_environment(&search, places, home, "/venv");
    visit_environment(&search, places, home, "/.local");
}
