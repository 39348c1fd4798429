/* The GPUs of this host, as jobs can have them. */
#pragma once

#include "base/util.h"
#include "monitor/monitor.h"
#include "share/slot.h"

/* What slots leave free on a device, for MPS' server, for what the driver takes by the way, and for
 * the guard. */
#define GPUS_FREE_BYTES (1ULL << 30)

/* Opens the monitor and waits for its first frame. `clock` says when CUPTI's counters run, NULL:
 * not at all. Returns 0, or −errno with `failure` filled. */
MUST_CHECK int gpus_open(struct monitor **ret, const char *source, const char *gpus,
                         const char *clock, struct counter_failure *failure);

/* Whether CUDA_VISIBLE_DEVICES, places and beginnings of UUIDs with commas between, leaves the
 * device; all where `visible` is NULL. */
bool gpus_is_visible(const struct device *device, const char *visible);

/* Fills `failure` for a CUDA_VISIBLE_DEVICES that leaves none. Returns -E2BIG. */
int gpus_none_visible(const char *visible, struct counter_failure *failure);

/* Fills the list from the last frame: what leases can have of each, and who uses it without one.
 * `run` is the folder of place_open(); `visible` a CUDA_VISIBLE_DEVICES that leaves others out, or
 * NULL. Returns how many, SLOT_GPUS at most. */
size_t gpus_list(struct monitor *monitor, struct slot_table *slots, const char *run,
                 const char *visible, struct slot_gpu ret[SLOT_GPUS]);
