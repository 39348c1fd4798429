/* libnvidia-ml.so.1: loading it, starting it, and what its return codes mean. */
#pragma once

#include "base/dso.h"
#include "counter/counter.h"
#include "counter/nvml_abi.h"
#include "metric/metric.h"

/* A function that the library lacks is NULL. */
struct nvml_functions {
#define NVML_FUNCTION(name, parameters) nvml_return(*name) parameters;
#include "counter/nvml_functions.def"
#undef NVML_FUNCTION
    const char *(*nvmlErrorString)(nvml_return result);
};

struct nvml_library {
    struct dso dso;
    struct nvml_functions call;
};

/* Returns 0, or −errno with `failure` filled: -ENODEV no library or no driver, -EACCES no
 * permission, -EIO others. */
MUST_CHECK int nvml_library_open(struct nvml_library *ret, struct counter_failure *failure);
void nvml_library_close(struct nvml_library *library);

/* Why a metric is missing where the call for it gave `result`. */
enum absence nvml_absence(nvml_return result);

/* The library's own words for a code, or ours where it has none. */
const char *nvml_words(const struct nvml_library *library, nvml_return result);
