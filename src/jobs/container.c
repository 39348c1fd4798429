#include "jobs/proc.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { ID_LENGTH = 64, COMPONENT_SIZE = 256 };

static bool is_id(const char *text, size_t length)
{
    if (length != ID_LENGTH)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isdigit((unsigned char)text[i]) && !(text[i] >= 'a' && text[i] <= 'f'))
            return false;
    return true;
}

static void put(char *ret, size_t size, const char *kind, const char *name, size_t length)
{
    char text[COMPONENT_SIZE + 16];
    snprintf(text, sizeof(text), "%s:%.*s", kind, (int)length, name);
    utf8_clean(ret, size, text);
}

/* What stands between a prefix and a suffix, as systemd and the engines name their scopes. */
static const struct pattern {
    const char *prefix;
    const char *suffix; /* "" : to the end */
    const char *kind;
    bool id; /* an engine's id of 64 hexadecimal digits, not a name */
} patterns[] = {
    {"docker-", ".scope", "docker", true},
    {"libpod-", ".scope", "podman", true},
    {"libpod-", "", "podman", true},
    {"cri-containerd-", ".scope", "kubernetes", true},
    {"crio-", ".scope", "kubernetes", true},
    {"crio-", "", "kubernetes", true},
    {"nerdctl-", ".scope", "containerd", true},
    {"lxc.payload.", "", "lxc", false},
    {"systemd-nspawn@", ".service", "nspawn", false},
    {"machine-", ".scope", "machine", false},
};

static bool matches(const struct pattern *pattern, const char *component, char *ret, size_t size)
{
    size_t length = strlen(component);
    size_t prefix = strlen(pattern->prefix);
    size_t suffix = strlen(pattern->suffix);
    if (length <= prefix + suffix || strncmp(component, pattern->prefix, prefix) != 0 ||
        strcmp(component + length - suffix, pattern->suffix) != 0)
        return false;
    const char *name = component + prefix;
    size_t name_length = length - prefix - suffix;
    if (pattern->id && !is_id(name, name_length))
        return false;
    put(ret, size, pattern->kind, name, name_length);
    return true;
}

/* HTCondor names the cgroup of a job after its execute folder and slot. */
static bool is_condor_slot(const char *component, char *ret, size_t size)
{
    const char *slot = strstr(component, "_slot");
    if (strncmp(component, "condor_", 7) != 0 || !slot)
        return false;
    put(ret, size, "htcondor", slot + 1, strlen(slot + 1));
    return true;
}

/* A component that its parents explain. `above` is the path before it. */
static bool is_explained(const char *above, const char *component, char *ret, size_t size)
{
    size_t length = strlen(component);
    const char *parent = strrchr(above, '/');
    parent = parent ? parent + 1 : above;
    if (is_id(component, length)) {
        const char *kind = strstr(above, "kubepods")       ? "kubernetes"
                           : strcmp(parent, "docker") == 0 ? "docker"
                                                           : "containerd";
        put(ret, size, kind, component, length);
        return true;
    }
    if (strncmp(component, "job_", 4) == 0 && component[4] && strstr(above, "slurm")) {
        put(ret, size, "slurm", component + 4, length - 4);
        return true;
    }
    if (strcmp(parent, "lxc") == 0 && length > 0) {
        put(ret, size, "lxc", component, length);
        return true;
    }
    return false;
}

static bool explain(const char *above, const char *component, char *ret, size_t size)
{
    if (is_condor_slot(component, ret, size))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
        if (matches(&patterns[i], component, ret, size))
            return true;
    return is_explained(above, component, ret, size);
}

bool proc_find_container(const char *path, char *ret, size_t size)
{
    /* The innermost says most: a container inside a batch job, a job inside a machine. */
    char above[1024];
    snprintf(above, sizeof(above), "%s", path);
    char *slash;
    while ((slash = strrchr(above, '/'))) {
        char component[COMPONENT_SIZE];
        snprintf(component, sizeof(component), "%s", slash + 1);
        *slash = '\0';
        if (explain(above, component, ret, size))
            return true;
    }
    return false;
}
