/* Profiles of jobs, in an SQLite file of the user's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "metric/metric.h"

enum {
    PROFILE_KEY_SIZE = 64,
    PROFILE_PHASES = 64,
    PROFILE_SCALING = 4,
};

/* How a metric was spread over time. */
struct profile_spread {
    uint64_t count; /* of samples; 0: not known */
    double mean, p5, p25, p50, p75, p95, max;
};

/* A stretch of time with one bound. */
struct profile_phase {
    double begin, length; /* seconds from the job's begin */
    enum label bound;
    double compute_sol, memory_sol; /* means */
};

/* The same job with a part of the SMs. */
struct profile_scaling {
    double sm_percent;
    double wall_seconds;
    double span_seconds; /* from the first work on the GPU to the last; 0: not known */
};

struct profile {
    char key[PROFILE_KEY_SIZE]; /* the name given, or the command's hash */
    char command[512];
    char gpu_name[96];
    char gpu_uuid[96];
    double created; /* seconds since 1970 */
    double wall_seconds;
    double measured_seconds;
    double span_seconds; /* as of a scaling */
    int exit_code;
    double memory_peak_bytes; /* 0: not seen */
    double energy_joules;
    double idle_ratio; /* samples in which the GPU did nothing: gaps between launches, waiting */
    struct profile_spread metrics[METRIC_COUNT];
    size_t phase_count;
    struct profile_phase phases[PROFILE_PHASES];
    size_t scaling_count;
    struct profile_scaling scaling[PROFILE_SCALING];
};

struct profiles;

/* Opens the file: $ROOFTOP_PROFILES, else profiles.db where store_path() says. Where it does not
 * exist, the one makes it, and to the other there are no profiles.
 * Returns 0, or −errno with `why` filled. */
MUST_CHECK int profiles_open_to_add(struct profiles **ret, char *why, size_t why_size);
MUST_CHECK int profiles_open(struct profiles **ret, char *why, size_t why_size);
void profiles_close(struct profiles *profiles);

/* Puts it in place of the one with its key. Returns 0 or −errno. */
MUST_CHECK int profiles_put(struct profiles *profiles, const struct profile *profile);
/* Returns 0, -ENOENT or another −errno. */
MUST_CHECK int profiles_get(struct profiles *profiles, const char *key, struct profile *ret);
MUST_CHECK int profiles_remove(struct profiles *profiles, const char *key);
/* Calls back with each key, in their order. Returns 0 or −errno. */
MUST_CHECK int profiles_each(struct profiles *profiles,
                             void (*each)(void *context, const char *key), void *context);
