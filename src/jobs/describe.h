/* From a process to the person, the program and the container behind it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/util.h"
#include "metric/process.h"

struct proc_identity;

/* Reads /proc below `root` ("" for the real one). False where no such process can be seen: it has
 * ended, or its PID is of another namespace. What this user may not read stays empty. */
bool jobs_read_process(const char *root, pid_t pid, struct process_description *ret);

/* What tells the process from a later one with its PID. Returns 0 or −errno. */
MUST_CHECK int jobs_read_identity(const char *root, pid_t pid, struct proc_identity *ret);

/* This program is in the host's own PID namespace, as far as that can be told. */
bool jobs_sees_all_pids(const char *root);

/* Remembers descriptions, a bounded number of them, and forgets those of processes that have ended
 * or become another program. */
struct jobs_cache;

MUST_CHECK int jobs_cache_new(struct jobs_cache **ret, const char *root);
void jobs_cache_free(struct jobs_cache *cache);
/* Never NULL; for an unseen process a description with `outside` set. Valid until the next call. */
const struct process_description *jobs_cache_describe(struct jobs_cache *cache, pid_t pid);
/* The same at a time on the monotonic clock: what was seen within the last second is believed. */
const struct process_description *jobs_cache_describe_at(struct jobs_cache *cache, pid_t pid,
                                                         double now);
