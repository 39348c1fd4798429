/* Writes what a monitor shows into a recording. */
#pragma once

#include <stdbool.h>

#include "metric/mark.h"
#include "monitor/monitor.h"

struct recording;

struct recording_options {
    bool replace; /* an existing file */
    bool redact;  /* no users, no command lines, no containers, no host name */
    /* Called for each mark that `rooftop mark` sends; may be NULL. */
    void (*on_mark)(void *context, const struct mark *mark);
    void *context;
};

/* Makes the file. The monitor must outlive the recording. Marks come from recording_mark() and from
 * `rooftop mark`. Returns 0 or −errno with `failure` filled; -EEXIST where there is a file. */
MUST_CHECK int recording_start(struct recording **ret, struct monitor *monitor, const char *path,
                               const struct recording_options *options,
                               struct counter_failure *failure);
/* Writes the marks that are still to come: the last from outside, and those of a recording that was
 * replayed. Nothing is to be added afterwards. Returns 0 or −errno. */
int recording_finish(struct recording *recording);
/* Ends it, finished or not: what is written is whole. Returns 0 or −errno; the recording is gone in
 * any case. */
int recording_stop(struct recording *recording);
/* What an error of one that was started means to its user. */
const char *recording_strerror(int error);

/* Writes the monitor's present frame, and the marks that have come; to the disk once a second.
 * Returns 0 or −errno, from then on always the same: end it then; the file keeps what it has. */
MUST_CHECK int recording_add(struct recording *recording);
/* A moment, where end is not above time, or a span. */
int recording_mark(struct recording *recording, double time, double end, const char *name);

/* For what else is to be written into it. */
struct record_writer *recording_writer(struct recording *recording);
size_t recording_mark_count(const struct recording *recording);
/* Seconds from the first frame's begin to the last frame. */
double recording_length(const struct recording *recording);
