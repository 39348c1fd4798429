/* Writes a recording. What is written reaches the file with record_writer_commit(): call it once
 * a second, and a program that is killed loses the last second at most.
 *
 * After a failure the writer keeps what the file holds already and refuses the rest with the same
 * error. Nothing here may be called from a sampling thread: SQLite allocates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"
#include "metric/device.h"
#include "metric/process.h"
#include "metric/sample.h"

struct record_writer;

struct record_writer_options {
    bool replace;    /* an existing file */
    bool redact;     /* nothing of processes but their numbers */
    double interval; /* between samples, as asked for */
};

/* Makes the file. Returns 0; -EEXIST where there is a file and it may not be replaced; or another
 * −errno; with `why` filled. */
MUST_CHECK int record_writer_open(struct record_writer **ret, const char *path,
                                  const struct record_writer_options *options, char *why,
                                  size_t why_size);
/* Commits and closes. Returns 0 or −errno; the writer is gone in any case. */
int record_writer_close(struct record_writer *writer);

/* A fact of the whole recording. */
int record_writer_meta(struct record_writer *writer, const char *key, const char *value);
/* Gives the device its number in this recording: the same for the same UUID. */
int record_writer_device(struct record_writer *writer, const struct device *device,
                         unsigned *ret_gpu);
/* A sample whose time is that of the device's last one is left out. */
int record_writer_sample(struct record_writer *writer, unsigned gpu, const struct sample *sample);
/* From `time` until its next sample the device was in `state` ("stale", "lost", "failed"). */
int record_writer_outage(struct record_writer *writer, unsigned gpu, double time, const char *state,
                         int error);
/* Written where processes come or go, and else once a second at most, with their memory.
 * Returns 1 where processes have come or gone: describe them then. */
int record_writer_processes(struct record_writer *writer, unsigned gpu, double time,
                            const struct process_list *processes);
/* Written once for each process. */
int record_writer_process_info(struct record_writer *writer, pid_t pid,
                               const struct process_description *description);
int record_writer_mark(struct record_writer *writer, double time, double end, const char *name);

/* Returns 0, or −errno; -EBUSY where a reader holds the file: nothing is lost, try again later. */
int record_writer_commit(struct record_writer *writer);

/* Samples taken so far. */
size_t record_writer_samples(const struct record_writer *writer);
