/* What every command and the library look through: a source with its sampler, the devices that were
 * asked for, derived metrics, and who the processes are. */
#pragma once

#include "counter/sampler.h"
#include "metric/process.h"

struct monitor;

struct monitor_config {
    const char
        *source;       /* "auto", "nvml", "replay:FILE[@SPEED]", …; NULL: $ROOFTOP_SOURCE or auto */
    const char *gpus;  /* comma-separated: index, UUID or a unique start of it, PCI address; of MIG
                          "0/1" or UUID; NULL for all */
    const char *clock; /* when CUPTI's counters run: "burst", "continuous" or "off"; NULL: as the
                          source likes */
    bool follow_processes; /* the processes of each frame are of its moment, not of the last second;
                              it costs three calls of the driver a frame */
    double interval;       /* seconds, 1 ms to 24 h; 0: the recording's own, or 0.1 */
};

/* Returns 0, or −errno with `failure` filled; -EINVAL for a malformed source, GPU or interval. */
MUST_CHECK int monitor_open(struct monitor **ret, const struct monitor_config *config,
                            struct counter_failure *failure);
void monitor_close(struct monitor *monitor);

/* Readable when a frame may be ready. It stays the same descriptor when devices change. */
int monitor_fd(const struct monitor *monitor);

/* Takes the next frame, with derived metrics. Never blocks.
 * Returns 1, 0 (none is due), -ENODATA (end of the recording), or another −errno.
 * Where devices have come or gone it opens the source anew, with back-off where that fails. */
MUST_CHECK int monitor_next(struct monitor *monitor);
/* The same, but waits for it, `timeout` seconds at most (negative: for ever). 0: timed out;
 * -EINTR: a signal came. */
MUST_CHECK int monitor_wait(struct monitor *monitor, double timeout);

/* Grows each time the list of devices changes: indices below then mean other devices. */
unsigned monitor_generation(const struct monitor *monitor);
/* NULL, or why the source that went away does not open again: there are no devices meanwhile. */
const struct counter_failure *monitor_failure(const struct monitor *monitor);

/* The devices that were asked for, i < monitor_count(). */
size_t monitor_count(const struct monitor *monitor);
const struct device *monitor_device(const struct monitor *monitor, size_t i);
/* Of the last frame. */
const struct reading *monitor_reading(const struct monitor *monitor, size_t i);
double monitor_time(const struct monitor *monitor);
double monitor_interval(const struct monitor *monitor);

/* Between two frames, as it was asked for or chosen. */
double monitor_sampling_interval(const struct monitor *monitor);

/* Live sources only, -ENOTSUP for recordings. */
int monitor_set_interval(struct monitor *monitor, double interval);

const struct counter *monitor_counter(const struct monitor *monitor);
const char *monitor_cuda_version(const struct monitor *monitor);
/* What a library said when it failed to give the counters of the ith device, or "". */
void monitor_tell_failure(const struct monitor *monitor, size_t i, char *ret, size_t size);
/* Never NULL; for a process that cannot be seen, `outside` is set. Valid until the next call. */
const struct process_description *monitor_describe(struct monitor *monitor, pid_t pid);

/* Recordings only: -ENOTSUP for live sources. */
int monitor_seek(struct monitor *monitor, double time);
int monitor_set_speed(struct monitor *monitor, double speed);
/* Recorded seconds per second; 0: as fast as possible. */
double monitor_speed(const struct monitor *monitor);
