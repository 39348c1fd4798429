/* The guard of a shared device. Slots leave a part of its memory free; where that is used up too,
 * by jobs that together hold more than their slots or by a program without one, a job has to end
 * before the device is full: then allocations of all jobs fail. Every `rooftop run` looks at the
 * same facts and comes to the same choice; each stops none but its own job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/frame.h"
#include "share/slot.h"

/* Kept free on a shared device. Slots leave GPUS_FREE_BYTES, so no job within its slot meets it. */
#define GUARD_RESERVE_BYTES (512ULL << 20)

struct guard_job {
    uint64_t id;
    uint64_t slot_bytes;
    uint64_t held_bytes;
};

/* The one that is furthest above its slot; where none is, the last to come. `count` is above 0. */
const struct guard_job *guard_choose(const struct guard_job *jobs, size_t count);

struct guard {
    uint64_t reserve_bytes;
    unsigned strikes;
    unsigned patience;
    size_t job_count;   /* on the GPU at the last look, 0: none yet */
    uint64_t newest_id; /* of those */
};

/* One look at the GPU and at the leases of this moment, which may be of other GPUs too. True where
 * the job of the lease `id` has to end; `why` says so to its user. */
bool guard_look(struct guard *guard, const struct reading *reading, const struct slot_lease *leases,
                size_t count, const char *uuid, uint64_t id, char *why, size_t why_size);
