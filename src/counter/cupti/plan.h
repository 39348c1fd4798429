/* Which counters to sample together. The hardware counts one set at a time ("a single pass"), and
 * not every two counters fit into one: what does not fit the first set goes into further ones,
 * which then take turns. Pure: the chip's knowledge comes through a function. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/util.h"
#include "metric/metric.h"

struct cupti_counter {
    enum metric metric;
    double scale; /* value = scale × counter, */
    const char *name;
    const char *divisor; /* divided by another, where this is not NULL */
};

extern const struct cupti_counter cupti_catalog[];
extern const size_t cupti_catalog_size;

enum { PLAN_MAX_SETS = 4, PLAN_MAX_COUNTERS = 24 };

struct plan_set {
    size_t count;
    const char *name[PLAN_MAX_COUNTERS]; /* the counters' names, as the library takes them */
    const struct cupti_counter
        *counter[PLAN_MAX_COUNTERS]; /* NULL: the divisor of the one before */
};

struct plan {
    size_t set_count;
    struct plan_set set[PLAN_MAX_SETS];
    uint64_t planned; /* bit m: metric m is in a set */
    uint64_t refused; /* bit m: it was wanted, but the chip lacks it or cannot sample it */
};

/* Sets of metrics are 64 bits; those that counters give stand first in the table. */
_Static_assert(METRIC_EFFECTIVE_CLOCK < 64, "a metric of the catalogue has no bit");
#define METRIC_BIT(metric) (UINT64_C(1) << (metric))

/* Counters of L1 and of the kind that shares its records: some of them in one set take a third of a
 * core and spoil what stands beside them (docs/COUNTERS.md). Bursts count these in a set of their
 * own, so that the effective clock and all that enters a sum stay as they are. */
#define PLAN_APART (METRIC_BIT(METRIC_XU_ACTIVE) | METRIC_BIT(METRIC_TENSOR_SHARED_LOADS))

/* The passes that a set takes; negative where the chip lacks one of the counters. */
typedef int plan_passes(void *chip, const char *const *names, size_t count);

/* At most `max_sets` sets for the wanted metrics, the most valuable first. */
void plan_make(struct plan *ret, uint64_t wanted, size_t max_sets, plan_passes *passes, void *chip);
/* Further sets, up to `max_sets` in all, for metrics that shall not be counted with those of the
 * plan. */
void plan_add_apart(struct plan *plan, uint64_t wanted, size_t max_sets, plan_passes *passes,
                    void *chip);
