/* After a bench that was killed nothing of its jobs stays on the GPU. Their first processes end
 * with it by themselves; what those have started is found by the environment that it inherited. */
#pragma once

#include <sys/types.h>

#include "base/util.h"

struct guard {
    pid_t pid; /* 0: none */
    int alive; /* closed when this process ends, however it does */
};

/* Starts a process that outlives this one, and then kills all processes in whose environment
 * ROOFTOP_GO names a file of the folder, and removes that. Returns 0 or −errno. */
MUST_CHECK int guard_start(struct guard *ret, const char *folder);
/* Nothing is left to be killed. */
void guard_end(struct guard *guard);
