/* The pieces of known work, one for each ceiling. */
#pragma once

#include "calibrate/blas.h"
#include "calibrate/gpu.h"
#include "store/ceiling.h"

struct work {
    struct gpu *gpu;
    struct blas *blas; /* NULL where there is none */
    enum ceiling ceiling;

    double amount; /* bytes, operations or launches of one step, in the ceiling's unit */
    char how[96];
    bool old_tensor_path; /* mma.sync on Hopper or newer: about two thirds of the rate */

    int (*step)(struct work *work, char *why, size_t why_size);
    unsigned steps; /* of one enqueue */

    enum gpu_kernel kernel;
    unsigned blocks, threads, rounds;
    cuda_pointer array[3];
    uint64_t count;
    struct blas_product *product;
    void *graph; /* of launches */
};

/* Returns 0; -ENOTSUP with `why` filled: this GPU or this machine has no such thing; other −errno.
 */
MUST_CHECK int work_prepare(struct work *work, struct gpu *gpu, struct blas *blas,
                            enum ceiling ceiling, char *why, size_t why_size);
void work_free(struct work *work);

/* Puts `steps` steps into the stream. For gpu_time(); `context` is the work. */
MUST_CHECK int work_enqueue(void *context, char *why, size_t why_size);
