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
    double change_period; /* of a live source: how often to ask whether devices have come or gone,
                             in seconds; 0: every 5 */
};

/* Shortest and longest interval, in seconds, and the limits of a speed that is not 0. */
#define SAMPLER_SHORTEST_INTERVAL 0.001
#define SAMPLER_LONGEST_INTERVAL  86400.0
#define SAMPLER_LOWEST_SPEED      0.001
#define SAMPLER_HIGHEST_SPEED     1e6

/* The counter stays the caller's and must outlive the sampler. Returns 0 or −errno; -EINVAL for an
 * interval or speed outside the limits. */
MUST_CHECK int sampler_start(struct sampler **ret, struct counter *counter,
                             const struct sampler_config *config);

/* True where every thread has ended. False: one hangs in the driver; the counter must then not be
 * closed, and is left to the end of the process. */
bool sampler_stop(struct sampler *sampler);

/* Becomes readable when a frame may be ready; for poll and epoll only. */
int sampler_fd(const struct sampler *sampler);

/* Fills `frame`, made by frame_init() for the source's device count. Never blocks.
 * Returns 1 (a frame), 0 (none is due yet), -ENODATA (the recording has ended) or -ESTALE (devices
 * have come or gone: open the source anew). */
MUST_CHECK int sampler_next(struct sampler *sampler, struct frame *frame);

/* Live sources only, -ENOTSUP for recorded ones; -EINVAL outside the limits. */
int sampler_set_interval(struct sampler *sampler, double interval);

/* Recorded sources only, -ENOTSUP for live ones: what follows comes from `time`, which is brought
 * into the recording's span, at `speed` (0: as fast as possible; -EINVAL outside the limits). */
int sampler_seek(struct sampler *sampler, double time);
int sampler_set_speed(struct sampler *sampler, double speed);
