/* What the files of /proc/PID say. Pure functions: they take any text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/util.h"

enum { PROC_COMM_SIZE = 64 }; /* kernel threads have longer names than processes */

/* Tells one process from another that has its PID later, and a program from its successor. */
struct proc_identity {
    unsigned long long start_ticks; /* since boot */
    pid_t parent;
    pid_t group; /* the process group */
    char state;  /* 'R', 'S', 'Z' and so on: of its first thread */
    unsigned threads;
    unsigned long long memory; /* virtual bytes; 0: it has none any more, or is the kernel's */
    unsigned long long stack;  /* where it begins, which exec() changes; 0: not to be seen */
    char comm[PROC_COMM_SIZE]; /* as the process has it: it may hold anything but NUL */
};

/* From "stat". Returns 0 or -EINVAL. */
MUST_CHECK int proc_parse_stat(const char *stat, struct proc_identity *ret);

/* A zombie, or dead: it only waits for its parent. The first thread may have ended before others.
 */
static inline bool proc_has_ended(const struct proc_identity *identity)
{
    return (identity->state == 'Z' || identity->state == 'X') && identity->threads <= 1;
}

/* The effective user, from "status". Returns 0 or -EINVAL. */
MUST_CHECK int proc_parse_user(const char *status, uid_t *ret);

/* Seconds since 1970, from /proc/stat. Returns 0 or -EINVAL. */
MUST_CHECK int proc_parse_boot_time(const char *stat, double *ret);

/* Makes "cmdline", of `length` bytes and a NUL behind them, one line of UTF-8 in `ret`: its NULs
 * become spaces. */
void proc_join_command(char *cmdline, size_t length, char *ret, size_t size);

/* From "cgroup": the path that tells most, and the container or batch job in it or "". */
void proc_parse_cgroup(const char *cgroup, char *ret_path, size_t path_size, char *ret_container,
                       size_t container_size);

/* The container or batch job of a cgroup's path: "docker:ID", "kubernetes:ID", "podman:ID",
 * "containerd:ID", "lxc:NAME", "nspawn:NAME", "machine:NAME",
 * "slurm:JOB", "htcondor:SLOT". False where there is
 * none. */
bool proc_find_container(const char *path, char *ret, size_t size);
