/* The little of the CUDA driver that tells which of CUDA's devices is which GPU of NVML. */
#pragma once

#include <stddef.h>

#include "base/dso.h"

enum { CUDA_UUID_TEXT_SIZE = 41 }; /* "GPU-…" */

struct cuda {
    struct dso dso;
    int (*init)(unsigned flags);
    int (*device_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_uuid)(unsigned char uuid[16], int device);
    int (*driver_version)(int *version);
};

/* Loads libcuda (ROOFTOP_CUDA overrides) and initialises it without making a context. Returns 0;
 * -ENOENT: not found; -ENOSYS: too old; -ENODEV: it does not start; `why` is filled then. */
MUST_CHECK int cuda_load(struct cuda *ret, char *why, size_t why_size);
void cuda_unload(struct cuda *cuda);

/* The CUDA version that the driver serves, 13000 for 13.0; 0 where it does not say. */
int cuda_version(const struct cuda *cuda);
/* CUDA's index of the GPU with that UUID ("GPU-…"), or -ENODEV. */
MUST_CHECK int cuda_find_device(const struct cuda *cuda, const char *uuid);
/* The UUID of CUDA's device `index`. Returns 0 or -ENODEV. */
MUST_CHECK int cuda_device_uuid(const struct cuda *cuda, int index,
                                char ret_uuid[CUDA_UUID_TEXT_SIZE]);
