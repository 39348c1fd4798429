/* The most that each resource of a GPU does, as reckoning needs it. */
#pragma once

#include "metric/metric.h"

/* What work can run out of. The tensor pipe has a ceiling for each kind of number, since they reach
 * different parts of their peak. */
enum sol_resource {
    RESOURCE_TENSOR_FLOAT, /* FP8 to TF32 */
    RESOURCE_TENSOR_INT,
    RESOURCE_TENSOR_FP64,
    RESOURCE_FP64,
    RESOURCE_FP32,
    RESOURCE_FP16,
    RESOURCE_INT,
    RESOURCE_ISSUE,
    RESOURCE_DRAM,
    RESOURCE_L2,
    RESOURCE_L1,
    RESOURCE_PCIE_RX,
    RESOURCE_PCIE_TX,
    RESOURCE_NVLINK,
    RESOURCE_COUNT
};

struct sol_ceiling {
    double ratio;      /* of the peak, as the counters show it: above 0, at most 1 */
    enum label source; /* LABEL_CEILING_…; 0 where it is not known: the peak stands for it */
};

struct sol_ceilings {
    struct sol_ceiling of[RESOURCE_COUNT];
};
