#include "counter/cupti/cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dso_symbol symbols[] = {
    DSO_REQUIRED(struct cuda, init, "cuInit"),
    DSO_REQUIRED(struct cuda, device_count, "cuDeviceGetCount"),
    DSO_REQUIRED(struct cuda, device_get, "cuDeviceGet"),
    DSO_REQUIRED(struct cuda, device_uuid, "cuDeviceGetUuid"),
    DSO_OPTIONAL(struct cuda, driver_version, "cuDriverGetVersion"),
};

/* What the user's shell says of devices and of MPS is meant for jobs: the counters are of whole
 * GPUs, and the helper must not become a client of somebody's MPS server. */
static void leave_the_jobs_environment(void)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
}

int cuda_load(struct cuda *ret, char *why, size_t why_size)
{
    static const char *const candidates[] = {"libcuda.so.1", NULL};
    struct cuda cuda = {0};
    leave_the_jobs_environment();
    int r = dso_open(&cuda.dso, "ROOFTOP_CUDA", candidates, symbols, ARRAY_SIZE(symbols), &cuda,
                     why, why_size);
    if (r < 0)
        return r;
    int result = cuda.init(0);
    if (result != 0) {
        snprintf(why, why_size, "cuInit: CUDA error %d", result);
        cuda_unload(&cuda);
        return -ENODEV;
    }
    *ret = cuda;
    return 0;
}

void cuda_unload(struct cuda *cuda)
{
    dso_close(&cuda->dso);
}

int cuda_version(const struct cuda *cuda)
{
    int version = 0;
    return cuda->driver_version && cuda->driver_version(&version) == 0 ? version : 0;
}

int cuda_device_uuid(const struct cuda *cuda, int index, char ret_uuid[CUDA_UUID_TEXT_SIZE])
{
    int device;
    unsigned char u[16];
    if (cuda->device_get(&device, index) != 0 || cuda->device_uuid(u, device) != 0)
        return -ENODEV;
    snprintf(ret_uuid, CUDA_UUID_TEXT_SIZE,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
             u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
             u[15]);
    return 0;
}

int cuda_find_device(const struct cuda *cuda, const char *uuid)
{
    int count = 0;
    if (cuda->device_count(&count) != 0)
        return -ENODEV;
    for (int i = 0; i < count; i++) {
        char text[CUDA_UUID_TEXT_SIZE];
        if (cuda_device_uuid(cuda, i, text) == 0 && strcmp(text, uuid) == 0)
            return i;
    }
    return -ENODEV;
}
