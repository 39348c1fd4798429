/* From a job's readings to its profile. */
#pragma once

#include "counter/frame.h"
#include "share/account.h"
#include "store/profiles.h"

struct profiler;

/* Returns 0 or -ENOMEM. */
MUST_CHECK int profiler_new(struct profiler **ret);
void profiler_free(struct profiler *profiler);

/* One reading of the job's GPU, `interval` seconds long; as struct run_options wants it. */
void profiler_observe(void *profiler, const struct reading *reading, double interval);

/* Fills all of the profile but its scaling; -ENODATA: nothing was measured, -ENOMEM: not all was
 * kept. */
MUST_CHECK int profiler_finish(struct profiler *profiler, const struct account *account,
                               const char *name, struct profile *ret);

/* The key under which the profile of a command is stored; `name` may be NULL. */
void profile_key(const char *const *command, const char *name, char ret[PROFILE_KEY_SIZE]);
