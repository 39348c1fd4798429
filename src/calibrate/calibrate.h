/* Measures a GPU's ceilings with kernels of known work. */
#pragma once

#include <stdbool.h>

#include "calibrate/gpu.h"
#include "store/ceiling.h"

/* What runs, for who watches it meanwhile. */
struct calibration_work {
    enum ceiling ceiling;
    bool old_tensor_path; /* mma.sync on Hopper or newer keeps the pipe busy at 2/3 of its rate */
    const char *how;
};

struct calibration_hooks {
    void *context;
    /* Instead of sleeping, `seconds` at most; a negative result ends the calibration with it. */
    int (*idle)(void *context, double seconds);
    /* The next ceiling's turn has come. */
    void (*next)(void *context, enum ceiling ceiling);
    /* The repeats begin, in a steady state; and have ended. `mean` is the rate over all of them.
     * `value` has value and spread: the rest is who watches to fill in. */
    void (*begin)(void *context, const struct calibration_work *work);
    void (*end)(void *context, const struct calibration_work *work, double mean,
                struct ceiling_value *value);
};

enum { CALIBRATION_REASON_SIZE = 160 };

struct calibration {
    struct ceilings ceilings;
    char missing[CEILING_COUNT][CALIBRATION_REASON_SIZE]; /* why there is none, or "" */
    char library[256];                                    /* cuBLASLt, or "" */
};

struct calibration_config {
    const char *uuid;
    const char *peer; /* UUID of another GPU to send to, or NULL */
    uint32_t wanted;  /* bit i: ceiling i */
    double patience;  /* seconds until a repeat counts as hung; 0: 20 */
    struct calibration_hooks hooks;
};

/* Takes about 1.5 s for each ceiling, 4 s for tensor cores, and memory as gpu_open() says; frees
 * all, unless the GPU hangs. Returns 0, or −errno with `why` filled: what a hook returned, -ENODEV,
 * -EBUSY, -ENOMEM, -EIO, -ETIMEDOUT, -ENOENT (no driver). What was measured until then is in `ret`
 * all the same. */
MUST_CHECK int calibrate(const struct calibration_config *config, struct calibration *ret,
                         char *why, size_t why_size);

/* Median of the repeats, and largest − smallest as a part of it. */
void calibration_summary(double *rates, size_t count, double *ret_median, double *ret_spread);
