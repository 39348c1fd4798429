/* Turns an open source into frames, one each interval.
 *
 * A live source gets one thread per device, so that a driver call that hangs makes that device
 * stale and holds up nothing else. A recorded source is read in its own time, at a speed. */
#pragma once

#include "counter/counter.h"

struct sampler;

struct sampler_config {
    double interval; /* seconds; in recorded time for a recording */
    double speed;    /* of a recording: recorded seconds per second, 0 for as fast as possible */
    const size_t *devices; /* of a live source: only these are read */
    size_t device_count;
};

/* The counter stays the caller's and must outlive the sampler. Returns 0 or −errno. */
MUST_CHECK int sampler_start(struct sampler **ret, struct counter *counter,
                             const struct sampler_config *config);

/* True where every thread has ended. False: one hangs in the driver; the counter must then not be
 * closed, and its memory is left to the end of the process. */
bool sampler_stop(struct sampler *sampler);

/* Becomes readable when a frame may be ready; for poll and epoll only. */
int sampler_fd(const struct sampler *sampler);

/* Fills `frame`, made by frame_init() for the source's device count. Never blocks.
 * Returns 1 (a frame), 0 (none is due yet), -ENODATA (the recording has ended) or -ESTALE (devices
 * have come or gone: open the source anew). */
MUST_CHECK int sampler_next(struct sampler *sampler, struct frame *frame);

/* Recorded sources only: what follows comes from `time`, at `speed` (0: as fast as possible). */
int sampler_seek(struct sampler *sampler, double time);
int sampler_set_speed(struct sampler *sampler, double speed);
