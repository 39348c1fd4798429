/* CUPTI's host half for one chip: which counters there are, how many passes a set takes, and from
 * raw counters to values. It needs no GPU. */
#pragma once

#include <stdbool.h>

#include "counter/cupti/library.h"

struct cupti_host {
    const struct cupti *cupti;
    char chip[32];
    const uint8_t *availability; /* of the device, or NULL where there is none */
};

/* What the device half is configured with. */
struct cupti_config {
    void *host; /* evaluates what was decoded with this configuration */
    uint8_t *image;
    size_t size;
    size_t passes;
};

/* Builds the configuration for a set of counters. Returns 0; -ENOENT: the chip lacks one of them;
 * -EIO: the library refuses; -ENOMEM. */
MUST_CHECK int cupti_config_build(struct cupti_config *ret, const struct cupti_host *host,
                                  const char *const *names, size_t count);
void cupti_config_free(struct cupti_config *config, const struct cupti *cupti);

/* The passes that a set takes, or −errno as above. */
MUST_CHECK int cupti_count_passes(const struct cupti_host *host, const char *const *names,
                                  size_t count);
