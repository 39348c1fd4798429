/* Which way work takes to the tensor cores of Hopper. */
#pragma once

#include "metric/device.h"
#include "metric/sample.h"

enum tensor_path {
    TENSOR_PATH_UNKNOWN,
    TENSOR_PATH_NEW, /* wgmma, or a chip that has one path only */
    TENSOR_PATH_OLD, /* a good part is mma.sync, */
};

/* which keeps the pipe busy at this part of its rate. */
#define TENSOR_OLD_RATE 0.66

/* Of a derived sample in which the tensor pipe is the busiest. */
enum tensor_path sol_tensor_path(const struct device *device, const struct sample *sample);
