/* From a process to the person, the program and the container behind it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/util.h"
#include "metric/process.h"

/* Reads /proc below `root` ("" for the real one). False where no such process can be seen: it has
 * ended, or its PID is of another namespace. */
bool jobs_read_process(const char *root, pid_t pid, struct process_description *ret);

/* Remembers descriptions, and forgets those of processes that have ended. */
struct jobs_cache;

MUST_CHECK int jobs_cache_new(struct jobs_cache **ret, const char *root);
void jobs_cache_free(struct jobs_cache *cache);
/* Never NULL; for an unseen process a description with `outside` set. Valid until the next call. */
const struct process_description *jobs_cache_describe(struct jobs_cache *cache, pid_t pid);
