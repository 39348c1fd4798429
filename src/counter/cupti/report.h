/* What the helper process says to its parent: records of one size over a pipe, each written at
 * once. */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "metric/metric.h"

enum cupti_state {
    CUPTI_STARTING,      /* nothing measured yet */
    CUPTI_SAMPLING,      /* values come */
    CUPTI_NO_LIBRARY,    /* no libcupti */
    CUPTI_TOO_OLD,       /* a libcupti from before 12.6 */
    CUPTI_NO_CUDA,       /* no libcuda */
    CUPTI_CUDA_OLD,      /* the driver is older than libcupti */
    CUPTI_NO_DRIVER,     /* CUDA does not start */
    CUPTI_NO_PERMISSION, /* the driver keeps counters for administrators */
    CUPTI_HELD,          /* another program holds them */
    CUPTI_RELEASED,      /* `rooftop release` asked for them */
    CUPTI_UNSUPPORTED,   /* this GPU has none */
    CUPTI_NOT_HERE,      /* its mode (MIG, vGPU, WSL) has none */
    CUPTI_HUNG,          /* the last try hung in the driver */
    CUPTI_FAILED,        /* another error */
};

enum { CUPTI_STATE_COUNT = CUPTI_FAILED + 1 };

struct cupti_report {
    uint16_t device; /* in the order of the helper's arguments; ALL_DEVICES: of the whole */
    uint16_t state;
    int32_t result;     /* CUPTI's, where the state comes from one */
    uint32_t overflows; /* of the record buffer, since the helper started */
    float share;        /* part of the time that the values saw since the report before */
    uint32_t sessions;  /* bursts, or turns of counters, since the helper started, */
    double cpu;         /* and what all calls for this device have taken of a core, in seconds */
    uint64_t planned;   /* bit m: metric m is counted at times */
    uint64_t metrics;   /* bit m: value[m] is one; in a bare change of state none */
    double begin;       /* monotonic: when sampling began, */
    double time;        /* and the end of what was seen */
    double value[64];   /* NaN: nothing ran that could have had one */
    char text[192];     /* for people, where the state is a failure */
};

enum { CUPTI_ALL_DEVICES = UINT16_MAX };

_Static_assert(sizeof(struct cupti_report) <= PIPE_BUF, "a report goes through the pipe whole");
