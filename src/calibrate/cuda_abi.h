/* The part of the CUDA driver's binary interface that the calibration uses, as its reference manual
 * states it. Pointers of the device are 64-bit numbers, handles are opaque. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int cuda_result;
typedef int cuda_device;
typedef uint64_t cuda_pointer;

enum {
    CUDA_OK = 0,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NO_DEVICE = 100,
    CUDA_DEVICE_UNAVAILABLE = 46,
    CUDA_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_NOT_READY = 600,
};

enum {
    CUDA_ATTRIBUTE_SM_COUNT = 16,
    CUDA_ATTRIBUTE_L2_BYTES = 38,
    CUDA_ATTRIBUTE_CAPABILITY_MAJOR = 75,
    CUDA_ATTRIBUTE_CAPABILITY_MINOR = 76,
};

enum { CUDA_CAPTURE_OF_THIS_THREAD = 1 };
enum { CUDA_STREAM_NON_BLOCKING = 1, CUDA_EVENT_DEFAULT = 0, CUDA_UUID_BYTES = 16 };

_Static_assert(sizeof(void *) == 8, "handles and pointers of the device have one size");
