/* A GPU as the calibration uses it: CUDA's driver by dlopen, one context with a stream, one piece
 * of device memory, one of pinned host memory, and the kernels. */
#pragma once

#include <stdbool.h>

#include "base/dso.h"
#include "calibrate/cuda_abi.h"

enum gpu_kernel {
#define KERNEL(id, name) KERNEL_##id,
#include "calibrate/kernels.def"
#undef KERNEL
    KERNEL_COUNT
};

enum { GPU_EVENTS = 8 };

struct cuda_driver {
    struct dso dso;
#define CUDA_FUNCTION(member, symbol, need, parameters) cuda_result(*member) parameters;
#include "calibrate/cuda_functions.def"
#undef CUDA_FUNCTION
};

struct gpu_patience {
    /* Called while the GPU works, instead of sleeping: waits `seconds` at most. A negative result
     * ends the calibration with it. */
    int (*idle)(void *context, double seconds);
    void *context;
    double longest; /* seconds, for what one gpu_time() takes */
};

struct gpu {
    const struct cuda_driver *driver;
    struct gpu_patience patience;
    bool hung; /* what is in the stream may never end, and calls that wait for it neither */
    cuda_device device;
    void *context;
    void *stream;
    void *events[GPU_EVENTS];
    void *module;
    void *kernel[KERNEL_COUNT];

    cuda_pointer memory;
    size_t memory_bytes;
    void *host;
    size_t host_bytes;

    unsigned sm_count;
    size_t l2_bytes;
    int capability; /* 90 on Hopper */

    /* Of another GPU, or 0. */
    cuda_device peer_device;
    void *peer_context;
    cuda_pointer peer_memory;
    size_t peer_bytes;
};

/* Loads libcuda (ROOFTOP_CUDA overrides); nothing is initialised and no GPU woken. Returns 0 or
 * −errno with `why` filled, as all functions here do. */
MUST_CHECK int cuda_driver_load(struct cuda_driver *ret, char *why, size_t why_size);
void cuda_driver_unload(struct cuda_driver *driver);

/* Initialises CUDA and opens the GPU of that UUID ("GPU-…"), with at most a quarter of the memory
 * that is free, and at most 4 GiB of it. -ENODEV: CUDA does not see it; -EBUSY: it is not to be
 * had; -ENOMEM; -EIO others. */
MUST_CHECK int gpu_open(struct gpu *gpu, const struct cuda_driver *driver, const char *uuid,
                        const struct gpu_patience *patience, char *why, size_t why_size);
/* Memory on another GPU that this one reaches directly. -ENOTSUP: it does not. */
MUST_CHECK int gpu_open_peer(struct gpu *gpu, const char *uuid, char *why, size_t why_size);
/* Frees all that was taken, also after a failure. A GPU that hangs is left to the end of the
 * process. */
void gpu_close(struct gpu *gpu);

/* Puts a kernel into the stream. */
MUST_CHECK int gpu_launch(struct gpu *gpu, enum gpu_kernel kernel, unsigned blocks,
                          unsigned threads, void **parameters, char *why, size_t why_size);

/* Seconds, by the GPU's own clock, that the work takes which `enqueue` puts into the stream,
 * `count` times in a row without a gap, at most GPU_EVENTS − 1. Waits for all. -ETIMEDOUT where it
 * does not end. */
MUST_CHECK int gpu_time(struct gpu *gpu, int (*enqueue)(void *context, char *why, size_t why_size),
                        void *context, size_t count, double *ret_seconds, char *why,
                        size_t why_size);

/* Lets who watches work, without waiting. Negative: the calibration shall end with that. */
MUST_CHECK int gpu_look_around(struct gpu *gpu, char *why, size_t why_size);

/* 0, or −errno for a result of CUDA, with `why` filled: what was tried, and CUDA's word. */
int gpu_check(const struct cuda_driver *driver, cuda_result result, const char *what, char *why,
              size_t why_size);
