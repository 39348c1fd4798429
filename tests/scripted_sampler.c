#include "counter/sampler.h"

int __wrap_sampler_start(struct sampler **ret, struct counter *counter,
                         const struct sampler_config *config);
int __real_sampler_start(struct sampler **ret, struct counter *counter,
                         const struct sampler_config *config);

/* Asks each interval whether devices have come or gone. */
int __wrap_sampler_start(struct sampler **ret, struct counter *counter,
                         const struct sampler_config *config)
{
    struct sampler_config often = *config;
    often.change_period = config->interval;
    return __real_sampler_start(ret, counter, &often);
}
