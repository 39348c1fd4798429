/* CUPTI's device half for one GPU: PM sampling from Enable to Disable. */
#pragma once

#include "counter/cupti/host.h"

enum { CUPTI_MAX_NAMES = 32 };

struct cupti_session {
    const struct cupti *cupti;
    size_t device; /* CUDA's index */
    void *object;
    bool started;
    bool fresh; /* no sample since the start */

    const struct cupti_config *config;
    const char *const *names; /* at most CUPTI_MAX_NAMES */
    size_t name_count;
    uint8_t *image;
    size_t image_size;
};

struct cupti_sampling {
    double interval;    /* seconds between two samples of the hardware */
    size_t max_samples; /* that one decoding can give */
    size_t buffer_size; /* of the records that wait for it, in bytes */
    enum cupti_trigger trigger;
    double sysclk; /* hertz, for a trigger by the system clock */
};

/* What one decoding gave: means over the samples, in the order of the session's names. The first
 * sample after a start is left out: its rates are near 0 on the H200. */
struct cupti_values {
    size_t samples;
    uint64_t begin; /* nanoseconds on the GPU's clock */
    uint64_t end;
    bool overflow;                 /* the session must be restarted */
    double value[CUPTI_MAX_NAMES]; /* NaN where no sample had one */
};

/* Each returns 0 or a positive enum cupti_result, or -ENOMEM. Counters draw power from
 * configure() to close(). */
MUST_CHECK int cupti_session_open(struct cupti_session *ret, const struct cupti *cupti,
                                  size_t device);
MUST_CHECK int cupti_session_configure(struct cupti_session *session,
                                       const struct cupti_config *config, const char *const *names,
                                       size_t name_count, const struct cupti_sampling *sampling);
MUST_CHECK int cupti_session_start(struct cupti_session *session);
MUST_CHECK int cupti_session_collect(struct cupti_session *session, struct cupti_values *values);
int cupti_session_stop(struct cupti_session *session);
/* Powers the counters down. */
int cupti_session_close(struct cupti_session *session);

/* The device's image of available counters; freed by the caller. */
MUST_CHECK int cupti_availability(const struct cupti *cupti, size_t device, uint8_t **ret);
