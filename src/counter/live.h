/* Frames from a live source: one thread per device, with a deadline. Part of the sampler. */
#pragma once

#include "counter/sampler.h"

struct live;

MUST_CHECK int live_start(struct live **ret, struct counter *counter,
                          const struct sampler_config *config);
bool live_stop(struct live *live);
void live_set_interval(struct live *live, double interval);
int live_fd(const struct live *live);
MUST_CHECK int live_next(struct live *live, struct frame *frame);
