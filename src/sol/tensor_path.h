/* Which way work takes to the tensor cores of Hopper. */
#pragma once

#include <stdbool.h>

#include "metric/device.h"
#include "metric/sample.h"

/* mma.sync keeps the pipe busy at this part of its rate. */
#define TENSOR_OLD_RATE 0.66

/* Whether in a derived sample the tensor pipe is the busiest, and looks like mma.sync. */
bool sol_may_be_old_tensor_path(const struct device *device, const struct sample *sample);
