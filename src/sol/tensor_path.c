#include "sol/tensor_path.h"

#include <math.h>

/* mma.sync takes its operands from registers, into which they are loaded from shared memory;
 * wgmma reads them there itself. Wavefronts of such loads for each busy cycle of the tensor pipe,
 * on an H200 (docs/COUNTERS.md has all):
 *
 *     mma.sync  bf16 4095         0.46     wgmma  14 other loads  up to 0.06
 *               int8 8192         0.51            bf16 256        0.12
 *               flash attention   0.65            bf16 8192       0.15
 *               tf32 256          1.4             tf32 1024       0.69: the exception
 */
static const double MANY_SHARED_LOADS = 0.25;

static bool has_two_paths(const struct device *device)
{
    return floor(device_number(device, DEVICE_COMPUTE_CAPABILITY, 0)) == 9;
}

bool sol_may_be_old_tensor_path(const struct device *device, const struct sample *sample)
{
    double type = sample_get(sample, METRIC_ASSUMED_TYPE, -1);
    /* FP64 has mma.sync alone, at its full rate. */
    if (!has_two_paths(device) || type == LABEL_TYPE_FP64 ||
        sample_get(sample, METRIC_COMPUTE_SOL_PIPE, -1) != LABEL_PIPE_TENSOR)
        return false;
    /* Where this was not counted: libraries still use it for integers. */
    if (!sample_has(sample, METRIC_TENSOR_SHARED_LOADS))
        return type == LABEL_TYPE_INT8;
    return sample->value[METRIC_TENSOR_SHARED_LOADS] > MANY_SHARED_LOADS;
}
