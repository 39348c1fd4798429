#include "sol/tensor_path.h"

#include <math.h>

/* mma.sync takes its operands from registers, into which they are loaded from shared memory;
 * wgmma reads them there itself. Wavefronts of such loads for each busy cycle of the tensor pipe,
 * measured on an H200 (docs/COUNTERS.md):
 *
 *     mma.sync  tf32 256   1.4        wgmma  bf16 1024  0.007
 *               int8 8192  0.4–0.5
 */
static const double MANY_SHARED_LOADS = 0.2;

static bool has_both(const struct device *device)
{
    return floor(device_number(device, DEVICE_COMPUTE_CAPABILITY, 0)) == 9;
}

enum tensor_path sol_tensor_path(const struct device *device, const struct sample *sample)
{
    /* FP64 has mma.sync alone, at its full rate. */
    if (!has_both(device) || sample_get(sample, METRIC_ASSUMED_TYPE, -1) == LABEL_TYPE_FP64)
        return TENSOR_PATH_NEW;
    if (!sample_has(sample, METRIC_TENSOR_SHARED_LOADS))
        return TENSOR_PATH_UNKNOWN;
    return sample->value[METRIC_TENSOR_SHARED_LOADS] > MANY_SHARED_LOADS ? TENSOR_PATH_OLD
                                                                         : TENSOR_PATH_NEW;
}
