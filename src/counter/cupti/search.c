#include "counter/cupti/search.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

static const char *const loader_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

static const char *const system_patterns[] = {
    "/usr/local/cuda/{lib64,lib,extras/CUPTI/lib64}/libcupti.so*",
    "/usr/local/cuda-*/{lib64,lib,extras/CUPTI/lib64}/libcupti.so*",
    "/opt/cuda/{lib64,extras/CUPTI/lib64}/libcupti.so*",
    "/opt/nvidia/hpc_sdk/Linux_*/*/cuda/*/extras/CUPTI/lib64/libcupti.so*",
    "/usr/{local/,}lib/python3*/dist-packages/nvidia/{cuda_cupti,cu1?}/lib/libcupti.so*",
    "/usr/{local/,}lib{,64}/python3*/site-packages/nvidia/{cuda_cupti,cu1?}/lib/libcupti.so*",
};

/* Below the folder of a Python environment; %s is that folder. */
static const char environment_pattern[] =
    "%s/lib{,64}/python3*/site-packages/nvidia/{cuda_cupti,cu1?}/lib/libcupti.so*";

struct search {
    bool (*visit)(void *context, const char *path);
    void *context;
    bool go_on;
    bool checked; /* as root */
};

const char *cupti_search_override(void)
{
    const char *named = secure_getenv("ROOFTOP_CUPTI");
    return named && named[0] ? named : NULL;
}

static bool is_roots_alone(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_uid == 0 &&
           !(status.st_mode & (S_IWGRP | S_IWOTH));
}

bool cupti_search_is_safe(const char *path)
{
    char real[PATH_MAX];
    if (!realpath(path, real) || !is_roots_alone(real))
        return false;
    for (char *slash = strrchr(real, '/'); slash && slash != real; slash = strrchr(real, '/')) {
        *slash = '\0';
        if (!is_roots_alone(real))
            return false;
    }
    return is_roots_alone("/");
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
        if (!search->checked || cupti_search_is_safe(path))
            search->go_on = search->visit(search->context, path);
    }
    globfree(&found);
}

static void visit_environment(struct search *search, const char *folder, const char *below)
{
    char root[PATH_MAX];
    char pattern[PATH_MAX + sizeof(environment_pattern)];
    if (!folder || folder[0] != '/' || strpbrk(folder, "*?[{~\\"))
        return;
    snprintf(root, sizeof(root), "%s%s", folder, below);
    snprintf(pattern, sizeof(pattern), environment_pattern, root);
    visit_pattern(search, pattern);
}

static void visit_persons_environments(struct search *search)
{
    const char *home = secure_getenv("HOME");
    const char *conda = secure_getenv("CONDA_PREFIX");
    visit_environment(search, secure_getenv("VIRTUAL_ENV"), "");
    visit_environment(search, conda, "");
    visit_environment(search, home, "/.venv");
    visit_environment(search, home, "/venv");
    visit_environment(search, home, "/.local");
}

void cupti_search(bool (*visit)(void *context, const char *path), void *context)
{
    struct search search = {visit, context, true, geteuid() == 0};
    for (size_t i = 0; i < ARRAY_SIZE(loader_names) && search.go_on; i++)
        search.go_on = visit(context, loader_names[i]);
    for (size_t i = 0; i < ARRAY_SIZE(system_patterns); i++)
        visit_pattern(&search, system_patterns[i]);
    if (!search.checked)
        visit_persons_environments(&search);
}
