#include "counter/sampler.h"

#include <errno.h>
#include <stdlib.h>

#include "counter/live.h"
#include "counter/playback.h"

/* Exactly one of the two is set. */
struct sampler {
    struct live *live;
    struct playback *playback;
};

static bool valid_interval(double interval)
{
    return interval >= SAMPLER_SHORTEST_INTERVAL && interval <= SAMPLER_LONGEST_INTERVAL;
}

static bool valid_speed(double speed)
{
    return speed == 0 || (speed >= SAMPLER_LOWEST_SPEED && speed <= SAMPLER_HIGHEST_SPEED);
}

int sampler_start(struct sampler **ret, struct counter *counter,
                  const struct sampler_config *config)
{
    if (!valid_interval(config->interval) || !valid_speed(config->speed))
        return -EINVAL;
    struct sampler *sampler = calloc(1, sizeof(*sampler));
    if (!sampler)
        return -ENOMEM;
    int r = counter->ops->live
                ? live_start(&sampler->live, counter, config)
                : playback_start(&sampler->playback, counter, config->interval, config->speed);
    if (r < 0) {
        free(sampler);
        return r;
    }
    *ret = sampler;
    return 0;
}

bool sampler_stop(struct sampler *sampler)
{
    if (!sampler)
        return true;
    bool ended = true;
    if (sampler->live)
        ended = live_stop(sampler->live);
    else
        playback_stop(sampler->playback);
    free(sampler);
    return ended;
}

int sampler_fd(const struct sampler *sampler)
{
    return sampler->live ? live_fd(sampler->live) : playback_fd(sampler->playback);
}

int sampler_next(struct sampler *sampler, struct frame *frame)
{
    return sampler->live ? live_next(sampler->live, frame)
                         : playback_next(sampler->playback, frame);
}

int sampler_set_interval(struct sampler *sampler, double interval)
{
    if (!sampler->live)
        return -ENOTSUP;
    if (!valid_interval(interval))
        return -EINVAL;
    live_set_interval(sampler->live, interval);
    return 0;
}

int sampler_seek(struct sampler *sampler, double time)
{
    return sampler->playback ? playback_seek(sampler->playback, time) : -ENOTSUP;
}

int sampler_set_speed(struct sampler *sampler, double speed)
{
    if (!sampler->playback)
        return -ENOTSUP;
    return valid_speed(speed) ? playback_set_speed(sampler->playback, speed) : -EINVAL;
}
