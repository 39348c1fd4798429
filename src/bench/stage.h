/* Where the jobs of a bench run: one GPU, held for it, with what each mode needs around it. */
#pragma once

#include "bench/plan.h"
#include "monitor/monitor.h"
#include "share/mps.h"
#include "share/slot.h"

struct stage {
    struct monitor *monitor; /* its first device is the GPU */
    uint64_t memory_bytes;   /* that jobs can have */
    char folder[200];        /* of this host's sharing */
    struct slot_table *slots;
    uint64_t lease;
    struct mps mps;
};

/* What a mode runs on. */
struct stage_place {
    const char *devices[BENCH_MOST_INSTANCES]; /* the UUID for each job */
    const struct mps *mps;                     /* NULL: without */
};

/* Opens the monitor and takes an exclusive lease on the first GPU of `gpu` (NULL: of all);
 * `clock` is as gpus_open() has it.
 * Returns 0, or −errno with `failure` filled: -EBUSY: others use the GPU; -EINVAL: the source or
 * the GPU does not fit. */
MUST_CHECK int stage_open(struct stage *ret, const char *source, const char *gpu, const char *clock,
                          bool beside, struct counter_failure *failure);
void stage_close(struct stage *stage);

/* Sets the scene for a trial: starts MPS, finds MIG instances. stage_clear() ends it, also where
 * this failed. Returns 0; -ENOTSUP: this machine does not have the mode; other −errno; with
 * `failure` filled. */
MUST_CHECK int stage_set(struct stage *stage, const struct bench_plan *plan, enum bench_mode mode,
                         struct stage_place *ret, struct counter_failure *failure);
void stage_clear(struct stage *stage, struct stage_place *place);
