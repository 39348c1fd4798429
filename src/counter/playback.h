/* Frames from a source that has its own time. Part of the sampler. */
#pragma once

#include "counter/counter.h"

struct playback;

MUST_CHECK int playback_start(struct playback **ret, struct counter *counter, double interval,
                              double speed);
void playback_stop(struct playback *playback);
int playback_fd(const struct playback *playback);
MUST_CHECK int playback_next(struct playback *playback, struct frame *frame);
int playback_seek(struct playback *playback, double time);
int playback_set_speed(struct playback *playback, double speed);
