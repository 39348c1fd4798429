#include "jobs/host.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"
#include "jobs/describe.h"
#include "jobs/proc.h"

/* The build date that gVisor's kernel gives, whatever its release (pkg/sentry/syscalls/linux). */
static const char GVISOR_BUILD[] = "#1 SMP Sun Jan 10 15:06:54 PST 2016";

/* The file's text, "" where there is none. */
static const char *read_text(const char *root, const char *name, char *text, size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", root, name);
    if (file_read(path, text, size) < 0)
        text[0] = '\0';
    return text;
}

static bool exists(const char *root, const char *name, int mode)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", root, name);
    return access(path, mode) == 0;
}

/* Its first line alone. */
static void read_line(const char *root, const char *name, char *ret, size_t size)
{
    char text[512];
    read_text(root, name, text, sizeof(text));
    text[strcspn(text, "\n")] = '\0';
    utf8_clean(ret, size, text);
}

static void read_kernel(const char *root, struct host *ret)
{
    char version[512];
    read_line(root, "/proc/sys/kernel/osrelease", ret->kernel, sizeof(ret->kernel));
    read_text(root, "/proc/version", version, sizeof(version));
    ret->gvisor = strstr(version, GVISOR_BUILD) || strcasestr(ret->kernel, "gvisor");
    ret->wsl = strcasestr(ret->kernel, "microsoft") || exists(root, "/dev/dxg", F_OK);
}

static void read_container(const char *root, struct host *ret)
{
    char cgroup[8192];
    char path[256];
    read_text(root, "/proc/self/cgroup", cgroup, sizeof(cgroup));
    proc_parse_cgroup(cgroup, path, sizeof(path), ret->container, sizeof(ret->container));
    if (ret->container[0])
        return;
    read_line(root, "/run/systemd/container", ret->container, sizeof(ret->container));
    if (ret->container[0])
        return;
    const char *engine = exists(root, "/.dockerenv", F_OK)          ? "docker"
                         : exists(root, "/run/.containerenv", F_OK) ? "podman"
                                                                    : "";
    snprintf(ret->container, sizeof(ret->container), "%s", engine);
}

static bool is_nvidia_gpu(const char *root, const char *address)
{
    char name[NAME_MAX + 64];
    char text[32];
    snprintf(name, sizeof(name), "/sys/bus/pci/devices/%s/vendor", address);
    if (strncmp(read_text(root, name, text, sizeof(text)), "0x10de", 6) != 0)
        return false;
    /* Display controllers; the others are the bridges and the sound of the same card. */
    snprintf(name, sizeof(name), "/sys/bus/pci/devices/%s/class", address);
    return strncmp(read_text(root, name, text, sizeof(text)), "0x03", 4) == 0;
}

static unsigned count_gpus(const char *root)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices", root);
    DIR *folder = opendir(path);
    if (!folder)
        return 0;
    unsigned count = 0;
    struct dirent *entry;
    while ((entry = readdir(folder)))
        count += entry->d_name[0] != '.' && is_nvidia_gpu(root, entry->d_name);
    closedir(folder);
    return count;
}

static bool is_administrator(const char *root)
{
    enum { CAP_SYS_ADMIN_BIT = 21 };
    char status[4096];
    const char *line =
        strstr(read_text(root, "/proc/self/status", status, sizeof(status)), "CapEff:");
    return line && strtoull(line + strlen("CapEff:"), NULL, 16) >> CAP_SYS_ADMIN_BIT & 1;
}

void host_read(const char *root, struct host *ret)
{
    *ret = (struct host){0};
    read_kernel(root, ret);
    read_container(root, ret);
    ret->sees_all_pids = jobs_sees_all_pids(root);
    ret->pci_gpus = count_gpus(root);
    read_line(root, "/sys/module/nvidia/version", ret->module_version, sizeof(ret->module_version));
    ret->device_file = exists(root, "/dev/nvidiactl", F_OK);
    ret->device_file_open = exists(root, "/dev/nvidiactl", R_OK | W_OK);
    char parameters[4096];
    ret->counters_for_root =
        strstr(read_text(root, "/proc/driver/nvidia/params", parameters, sizeof(parameters)),
               "RmProfilingAdminOnly: 1");
    ret->administrator = is_administrator(root);
}

static const char *who_gets_counters(const struct host *host)
{
    if (host->administrator)
        return "run as the host's root; where the GPU is virtual, its host must allow profiling";
    return host->container[0]
               ? "start the container with --cap-add=SYS_ADMIN, and run as root in it"
               : "run as root";
}

void host_advise_permission(const struct host *host, char *ret, size_t size)
{
    if (host->wsl)
        snprintf(ret, size,
                 "in Windows: NVIDIA Control Panel, Developer, Manage GPU Performance "
                 "Counters, allow access to all users");
    else
        snprintf(ret, size, "%s%s", who_gets_counters(host),
                 host->counters_for_root
                     ? ", or open the counters to all: write 'options nvidia "
                       "NVreg_RestrictProfilingToAdminUsers=0' into a file of the host's "
                       "/etc/modprobe.d and load the driver anew"
                     : "");
}

static bool is_profiler(const char *comm)
{
    /* At most 15 bytes, as the kernel keeps them. */
    static const char *const names[] = {"nv-hostengine", "dcgm-exporter", "nsys",           "ncu",
                                        "nsight-sys",    "utlz",          "rooftop-counter"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], comm) == 0)
            return true;
    return false;
}

/* CUPTI loads this library when it profiles; it itself is in every program of PyTorch. */
static bool maps_profiling(const char *root, int pid)
{
    char path[PATH_MAX];
    char line[PATH_MAX + 128];
    snprintf(path, sizeof(path), "%s/proc/%d/maps", root, pid);
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof(line), file))
        found = strstr(line, "/libnvperf_target.so") != NULL;
    if (file)
        fclose(file);
    return found;
}

static bool is_own_helper(const char *root, const char *pid)
{
    char name[NAME_MAX + 16];
    char stat[512];
    int parent = 0;
    snprintf(name, sizeof(name), "/proc/%s/stat", pid);
    const char *rest = strrchr(read_text(root, name, stat, sizeof(stat)), ')');
    return rest && sscanf(rest, ") %*c %d", &parent) == 1 && parent == getpid();
}

void host_find_profilers(const char *root, char *ret, size_t size)
{
    ret[0] = '\0';
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc", root);
    DIR *folder = opendir(path);
    if (!folder)
        return;
    size_t used = 0;
    struct dirent *entry;
    while ((entry = readdir(folder)) && used < size) {
        char name[NAME_MAX + 16];
        char comm[32];
        int pid = atoi(entry->d_name);
        if (pid <= 0 || pid == getpid() || is_own_helper(root, entry->d_name))
            continue;
        snprintf(name, sizeof(name), "/proc/%s/comm", entry->d_name);
        read_line(root, name, comm, sizeof(comm));
        if (is_profiler(comm) || maps_profiling(root, pid))
            used += (size_t)snprintf(ret + used, size - used, "%s%s (PID %d)",
                                     used > 0 ? ", " : "it may be ", comm, pid);
    }
    closedir(folder);
}
