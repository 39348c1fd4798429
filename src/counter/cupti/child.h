/* The helper process as its parent sees it. */
#pragma once

#include <sys/types.h>

#include "counter/cupti/helper.h"

struct cupti_child {
    pid_t pid;   /* 0: none runs */
    int wishes;  /* write end: takes wishes */
    int reports; /* read end, not blocking */
};

/* Starts `program` (NULL: this program where it is rooftop, else the installed one). Returns 0 or
 * −errno. */
MUST_CHECK int cupti_child_start(struct cupti_child *ret, const char *program,
                                 const struct cupti_helper_config *config);

/* Takes one report. Returns 1, 0 (none now), -EPIPE (the helper has ended) or -EBADMSG (it writes
 * something else: it is none). */
MUST_CHECK int cupti_child_read(struct cupti_child *child, struct cupti_report *ret);

/* Asks it to end, gives it `patience` seconds for powering the counters down, then kills it.
 * Returns its wait status, or -1 where even that did not end it. */
int cupti_child_stop(struct cupti_child *child, double patience);
