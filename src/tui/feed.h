/* From a monitor into the model: frames, changes of the list of devices, and jumps in time. */
#pragma once

#include "monitor/monitor.h"
#include "tui/model.h"
#include "tui/processes.h"

struct feed {
    struct monitor *monitor;
    struct model *model;
    unsigned generation;
};

/* Returns 0 or −errno. */
MUST_CHECK int feed_start(struct feed *feed, struct monitor *monitor, struct model *model,
                          const char *source);
/* Takes the monitor's present frame, after monitor_next() has returned 1. */
MUST_CHECK int feed_take(struct feed *feed);
/* Takes the frames that are due, for a few milliseconds at most. Returns their number, or −errno.
 * The model says whether the recording has ended with them. */
MUST_CHECK int feed_take_all(struct feed *feed);
/* Recordings: fills the model with the `span` seconds before `time`, and stops there. */
MUST_CHECK int feed_seek(struct feed *feed, double time, double span);

/* How processes are looked up. */
struct process_lookup feed_lookup(struct feed *feed);
