/* The driver's own interfaces together with CUPTI's counters: what "auto" opens, and the source
 * "cupti". */
#pragma once

#include "counter/counter.h"

/* Takes over an open live source and adds CUPTI's counters to its samples; its device list must not
 * change. Returns 0, or −errno with `inner` left as it was. */
MUST_CHECK int combined_wrap(struct counter **ret, struct counter *inner);

extern const struct counter_ops cupti_counter;
