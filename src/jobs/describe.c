#include "jobs/describe.h"

#include <dirent.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"
#include "jobs/proc.h"

static const char FIRST_PID_NAMESPACE[] = "pid:[4026531836]"; /* include/linux/proc_ns.h */

/* Reads a file of /proc/PID; "" where that fails. */
static ssize_t read_proc(const char *root, pid_t pid, const char *name, char *ret, size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc/%d/%s", root, (int)pid, name);
    ssize_t length = file_read(path, ret, size);
    if (length < 0)
        ret[0] = '\0';
    return length;
}

int jobs_read_identity(const char *root, pid_t pid, struct proc_identity *ret)
{
    char stat[1024];
    ssize_t length = read_proc(root, pid, "stat", stat, sizeof(stat));
    return length < 0 ? (int)length : proc_parse_stat(stat, ret);
}

static double read_start_time(const char *root, const struct proc_identity *identity)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc/stat", root);
    /* One line per CPU comes before the boot time. */
    static const size_t size = 512 * 1024;
    CLEANUP_FREE char *text = malloc(size);
    double boot;
    if (!text || file_read(path, text, size) < 0 || proc_parse_boot_time(text, &boot) < 0)
        return 0;
    return boot + (double)identity->start_ticks / (double)sysconf(_SC_CLK_TCK);
}

static void name_user(uid_t user, char *ret, size_t size)
{
    char text[4096];
    struct passwd entry;
    struct passwd *found = NULL;
    if (getpwuid_r(user, &entry, text, sizeof(text), &found) == 0 && found)
        utf8_clean(ret, size, found->pw_name);
    else
        snprintf(ret, size, "%u", (unsigned)user);
}

static void read_user(const char *root, pid_t pid, uid_t owner, struct process_description *ret)
{
    char status[4096];
    uid_t user = owner;
    if (read_proc(root, pid, "status", status, sizeof(status)) < 0 ||
        proc_parse_user(status, &user) < 0)
        user = owner;
    name_user(user, ret->user, sizeof(ret->user));
}

/* A program without arguments, such as a kernel thread or a process that has ended and waits for
 * its parent, has its name in brackets, as ps shows it. */
static void read_command(const char *root, pid_t pid, const char *comm,
                         struct process_description *ret)
{
    char cmdline[4096];
    ssize_t length = read_proc(root, pid, "cmdline", cmdline, sizeof(cmdline));
    proc_join_command(cmdline, length > 0 ? (size_t)length : 0, ret->command, sizeof(ret->command));
    if (ret->command[0] || !comm[0])
        return;
    ret->ending = true;
    char name[PROC_COMM_SIZE + 2];
    snprintf(name, sizeof(name), "[%s]", comm);
    utf8_clean(ret->command, sizeof(ret->command), name);
}

static void read_cgroup(const char *root, pid_t pid, struct process_description *ret)
{
    char cgroup[8192];
    read_proc(root, pid, "cgroup", cgroup, sizeof(cgroup));
    proc_parse_cgroup(cgroup, ret->cgroup, sizeof(ret->cgroup), ret->container,
                      sizeof(ret->container));
}

bool jobs_sees_all_pids(const char *root)
{
    char path[PATH_MAX];
    char namespace[64] = "";
    snprintf(path, sizeof(path), "%s/proc/self/ns/pid", root);
    return readlink(path, namespace, sizeof(namespace) - 1) < 0 ||
           strcmp(namespace, FIRST_PID_NAMESPACE) == 0;
}

/* In a container the driver may give PIDs of the host, and one of them can be that of an innocent
 * process here. */
static bool pids_may_be_of_the_host(const char *root)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/dev/nvidiactl", root);
    return !jobs_sees_all_pids(root) && access(path, F_OK) == 0;
}

/* True too where that cannot be told. */
static bool holds_gpu(const char *root, pid_t pid)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc/%d/fd", root, (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        return true;
    bool found = false;
    struct dirent *entry;
    while (!found && (entry = readdir(folder))) {
        char target[64] = "";
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) > 0)
            found = strncmp(target, "/dev/nvidia", 11) == 0;
    }
    closedir(folder);
    return found;
}

bool jobs_read_process(const char *root, pid_t pid, struct process_description *ret)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc/%d", root, (int)pid);
    struct stat folder;
    if (pid <= 0 || stat(path, &folder) < 0)
        return false;
    if (pids_may_be_of_the_host(root) && !holds_gpu(root, pid))
        return false;

    *ret = (struct process_description){0};
    struct proc_identity identity = {0};
    if (jobs_read_identity(root, pid, &identity) == 0) {
        ret->start_time = read_start_time(root, &identity);
        ret->parent = identity.parent;
    }
    read_user(root, pid, folder.st_uid, ret);
    read_command(root, pid, identity.comm, ret);
    read_cgroup(root, pid, ret);
    return true;
}
