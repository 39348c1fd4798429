/* Signals to processes: only to those that the person may signal, and never to another process that
 * got the same number later. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/util.h"

struct victim {
    int pidfd; /* −1 for none */
    pid_t pid;
};

/* `start_time` is that of the process as it was shown, 0 where not known. Returns 0; -EPERM: it is
 * somebody else's; -ESRCH: it has ended; -ECHILD: it is Rooftop itself; another −errno. */
MUST_CHECK int victim_open(struct victim *ret, pid_t pid, double start_time);
void victim_close(struct victim *victim);
MUST_CHECK int victim_signal(const struct victim *victim, int signal);
