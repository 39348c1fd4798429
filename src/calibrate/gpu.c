#include "calibrate/gpu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "calibrate/ptx.h"

static const size_t MOST_BYTES = (size_t)4 << 30;
static const size_t LEAST_BYTES = (size_t)256 << 20;
static const size_t HOST_BYTES = (size_t)128 << 20;
static const double POLL_SECONDS = 0.001;

int cuda_driver_load(struct cuda_driver *ret, char *why, size_t why_size)
{
    static const struct dso_symbol symbols[] = {
#define CUDA_FUNCTION(member, symbol, need, parameters) need(struct cuda_driver, member, symbol),
#include "calibrate/cuda_functions.def"
#undef CUDA_FUNCTION
    };
    static const char *const candidates[] = {"libcuda.so.1", NULL};
    struct cuda_driver driver = {0};
    int r = dso_open(&driver.dso, "ROOFTOP_CUDA", candidates, symbols, ARRAY_SIZE(symbols), &driver,
                     why, why_size);
    if (r == 0)
        *ret = driver;
    return r;
}

void cuda_driver_unload(struct cuda_driver *driver)
{
    dso_close(&driver->dso);
}

static int error_of(cuda_result result)
{
    switch (result) {
    case CUDA_OUT_OF_MEMORY:
        return -ENOMEM;
    case CUDA_NO_DEVICE:
        return -ENODEV;
    case CUDA_DEVICE_UNAVAILABLE:
        return -EBUSY;
    default:
        return -EIO;
    }
}

int gpu_check(const struct cuda_driver *driver, cuda_result result, const char *what, char *why,
              size_t why_size)
{
    if (result == CUDA_OK)
        return 0;
    const char *name = NULL;
    if (driver->error_name && driver->error_name(result, &name) == CUDA_OK && name)
        snprintf(why, why_size, "%s: %s", what, name);
    else
        snprintf(why, why_size, "%s: CUDA error %d", what, result);
    return error_of(result);
}

static bool has_uuid(const struct cuda_driver *driver, cuda_device device, const char *uuid)
{
    unsigned char u[CUDA_UUID_BYTES];
    char text[48];
    if (driver->device_uuid(u, device) != CUDA_OK)
        return false;
    size_t used = (size_t)snprintf(text, sizeof(text), "GPU-");
    for (size_t i = 0; i < sizeof(u); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
    return strcmp(text, uuid) == 0;
}

static int find_device(const struct cuda_driver *driver, const char *uuid, cuda_device *ret,
                       char *why, size_t why_size)
{
    int count = 0;
    int r = gpu_check(driver, driver->init(0), "cuInit", why, why_size);
    if (r == 0)
        r = gpu_check(driver, driver->device_count(&count), "cuDeviceGetCount", why, why_size);
    for (int i = 0; r == 0 && i < count; i++) {
        cuda_device device;
        if (driver->device_get(&device, i) == CUDA_OK && has_uuid(driver, device, uuid)) {
            *ret = device;
            return 0;
        }
    }
    if (r == 0) {
        snprintf(why, why_size, "CUDA does not see %s: check CUDA_VISIBLE_DEVICES", uuid);
        r = -ENODEV;
    }
    return r;
}

static int read_attributes(struct gpu *gpu, char *why, size_t why_size)
{
    int sm_count = 0, l2 = 0, major = 0, minor = 0;
    const struct {
        int attribute, *value;
    } wanted[] = {
        {CUDA_ATTRIBUTE_SM_COUNT, &sm_count},
        {CUDA_ATTRIBUTE_L2_BYTES, &l2},
        {CUDA_ATTRIBUTE_CAPABILITY_MAJOR, &major},
        {CUDA_ATTRIBUTE_CAPABILITY_MINOR, &minor},
    };
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        int r = gpu_check(
            gpu->driver,
            gpu->driver->device_attribute(wanted[i].value, wanted[i].attribute, gpu->device),
            "cuDeviceGetAttribute", why, why_size);
        if (r < 0)
            return r;
    }
    if (sm_count <= 0 || sm_count > 4096) {
        snprintf(why, why_size, "CUDA says that the GPU has %d SMs", sm_count);
        return -EIO;
    }
    gpu->sm_count = (unsigned)sm_count;
    gpu->l2_bytes = l2 > 0 ? (size_t)l2 : 0;
    gpu->capability = major * 10 + minor;
    if (major < 8) {
        snprintf(why, why_size, "the kernels need an Ampere GPU or a newer one");
        return -ENOTSUP;
    }
    return 0;
}

static int take_memory(struct gpu *gpu, char *why, size_t why_size)
{
    size_t free_bytes = 0, total = 0;
    int r = gpu_check(gpu->driver, gpu->driver->memory_info(&free_bytes, &total), "cuMemGetInfo",
                      why, why_size);
    if (r < 0)
        return r;
    size_t bytes = util_min(free_bytes / 4, MOST_BYTES) & ~((size_t)(1 << 20) - 1);
    if (bytes < LEAST_BYTES) {
        snprintf(why, why_size,
                 "%zu MiB of device memory are free; the calibration takes a quarter of what is "
                 "free, and needs %zu MiB",
                 free_bytes >> 20, LEAST_BYTES >> 20);
        return -ENOMEM;
    }
    r = gpu_check(gpu->driver, gpu->driver->allocate(&gpu->memory, bytes), "cuMemAlloc", why,
                  why_size);
    if (r < 0)
        return r;
    gpu->memory_bytes = bytes;
    r = gpu_check(gpu->driver, gpu->driver->host_allocate(&gpu->host, HOST_BYTES, 0),
                  "cuMemHostAlloc", why, why_size);
    if (r == 0)
        gpu->host_bytes = HOST_BYTES;
    return r;
}

static int load_kernels(struct gpu *gpu, char *why, size_t why_size)
{
    static const char *const names[] = {
#define KERNEL(id, name) name,
#include "calibrate/kernels.def"
#undef KERNEL
    };
    const struct cuda_driver *driver = gpu->driver;
    int r = gpu_check(driver, driver->module_load(&gpu->module, calibrate_ptx),
                      "loading the kernels", why, why_size);
    for (size_t i = 0; r == 0 && i < KERNEL_COUNT; i++)
        r = gpu_check(driver, driver->module_function(&gpu->kernel[i], gpu->module, names[i]),
                      names[i], why, why_size);
    return r;
}

static int make_context(struct gpu *gpu, char *why, size_t why_size)
{
    const struct cuda_driver *driver = gpu->driver;
    int r = gpu_check(driver, driver->context_retain(&gpu->context, gpu->device),
                      "making a CUDA context", why, why_size);
    if (r == 0)
        r = gpu_check(driver, driver->context_set(gpu->context), "cuCtxSetCurrent", why, why_size);
    if (r == 0)
        r = gpu_check(driver, driver->stream_create(&gpu->stream, CUDA_STREAM_NON_BLOCKING),
                      "cuStreamCreate", why, why_size);
    for (size_t i = 0; r == 0 && i < GPU_EVENTS; i++)
        r = gpu_check(driver, driver->event_create(&gpu->events[i], CUDA_EVENT_DEFAULT),
                      "cuEventCreate", why, why_size);
    return r;
}

int gpu_open(struct gpu *gpu, const struct cuda_driver *driver, const char *uuid,
             const struct gpu_patience *patience, char *why, size_t why_size)
{
    *gpu = (struct gpu){.driver = driver, .patience = *patience};
    int r = find_device(driver, uuid, &gpu->device, why, why_size);
    if (r == 0)
        r = read_attributes(gpu, why, why_size);
    if (r == 0)
        r = make_context(gpu, why, why_size);
    if (r == 0)
        r = load_kernels(gpu, why, why_size);
    if (r == 0)
        r = take_memory(gpu, why, why_size);
    if (r < 0)
        gpu_close(gpu);
    return r;
}

static int take_peer_memory(struct gpu *gpu, char *why, size_t why_size)
{
    const struct cuda_driver *driver = gpu->driver;
    size_t free_bytes = 0, total = 0;
    int r = gpu_check(driver, driver->context_retain(&gpu->peer_context, gpu->peer_device),
                      "making a CUDA context on the peer", why, why_size);
    if (r < 0)
        return r;
    driver->context_set(gpu->peer_context);
    r = gpu_check(driver, driver->memory_info(&free_bytes, &total), "cuMemGetInfo", why, why_size);
    size_t bytes = util_min(free_bytes / 4, LEAST_BYTES);
    if (r == 0)
        r = gpu_check(driver, driver->allocate(&gpu->peer_memory, bytes), "cuMemAlloc on the peer",
                      why, why_size);
    driver->context_set(gpu->context);
    if (r == 0) {
        gpu->peer_bytes = bytes;
        cuda_result enabled = driver->peer_enable(gpu->peer_context, 0);
        if (enabled != CUDA_PEER_ACCESS_ALREADY_ENABLED)
            r = gpu_check(driver, enabled, "cuCtxEnablePeerAccess", why, why_size);
    }
    return r;
}

int gpu_open_peer(struct gpu *gpu, const char *uuid, char *why, size_t why_size)
{
    const struct cuda_driver *driver = gpu->driver;
    int possible = 0;
    int r = find_device(driver, uuid, &gpu->peer_device, why, why_size);
    if (r < 0)
        return r;
    if (!driver->peer_possible || !driver->peer_enable || !driver->peer_copy ||
        driver->peer_possible(&possible, gpu->device, gpu->peer_device) != CUDA_OK || !possible) {
        snprintf(why, why_size, "no direct way to %s", uuid);
        return -ENOTSUP;
    }
    return take_peer_memory(gpu, why, why_size);
}

static void close_peer(struct gpu *gpu)
{
    const struct cuda_driver *driver = gpu->driver;
    if (!gpu->peer_context)
        return;
    driver->context_set(gpu->peer_context);
    if (gpu->peer_memory)
        driver->release(gpu->peer_memory);
    driver->context_set(gpu->context);
    driver->context_release(gpu->peer_device);
}

void gpu_close(struct gpu *gpu)
{
    const struct cuda_driver *driver = gpu->driver;
    if (!gpu->context || gpu->hung)
        return;
    driver->context_set(gpu->context);
    close_peer(gpu);
    if (gpu->memory)
        driver->release(gpu->memory);
    if (gpu->host)
        driver->host_release(gpu->host);
    for (size_t i = 0; i < GPU_EVENTS; i++)
        if (gpu->events[i])
            driver->event_destroy(gpu->events[i]);
    if (gpu->stream)
        driver->stream_destroy(gpu->stream);
    if (gpu->module)
        driver->module_unload(gpu->module);
    driver->context_set(NULL);
    driver->context_release(gpu->device);
    gpu->context = NULL;
}

int gpu_launch(struct gpu *gpu, enum gpu_kernel kernel, unsigned blocks, unsigned threads,
               void **parameters, char *why, size_t why_size)
{
    cuda_result result = gpu->driver->launch(gpu->kernel[kernel], blocks, 1, 1, threads, 1, 1, 0,
                                             gpu->stream, parameters, NULL);
    return gpu_check(gpu->driver, result, "launching a kernel", why, why_size);
}

static int wait_for(struct gpu *gpu, void *event, char *why, size_t why_size)
{
    double start = clock_monotonic();
    for (;;) {
        cuda_result result = gpu->driver->event_query(event);
        if (result != CUDA_NOT_READY)
            return gpu_check(gpu->driver, result, "running a kernel", why, why_size);
        int r = gpu->patience.idle(gpu->patience.context, POLL_SECONDS);
        if (r == 0 && clock_monotonic() - start > gpu->patience.longest)
            r = -ETIMEDOUT;
        gpu->hung = r == -ETIMEDOUT;
        if (r < 0) {
            snprintf(why, why_size, "%s",
                     r == -ETIMEDOUT ? "the GPU does not finish a kernel" : strerror(-r));
            return r;
        }
    }
}

int gpu_look_around(struct gpu *gpu, char *why, size_t why_size)
{
    int r = gpu->patience.idle(gpu->patience.context, 0);
    if (r < 0)
        snprintf(why, why_size, "%s", strerror(-r));
    return r;
}

static int record(struct gpu *gpu, void *event, char *why, size_t why_size)
{
    return gpu_check(gpu->driver, gpu->driver->event_record(event, gpu->stream), "cuEventRecord",
                     why, why_size);
}

static int read_time(struct gpu *gpu, size_t i, double *ret_seconds, char *why, size_t why_size)
{
    float milliseconds = 0;
    int r = gpu_check(gpu->driver,
                      gpu->driver->event_elapsed(&milliseconds, gpu->events[i], gpu->events[i + 1]),
                      "cuEventElapsedTime", why, why_size);
    if (r == 0 && !(isfinite(milliseconds) && milliseconds > 0)) {
        snprintf(why, why_size, "CUDA says that a kernel took %g ms", (double)milliseconds);
        r = -EIO;
    }
    if (r == 0)
        *ret_seconds = (double)milliseconds * 1e-3;
    return r;
}

int gpu_time(struct gpu *gpu, int (*enqueue)(void *context, char *why, size_t why_size),
             void *context, size_t count, double *ret_seconds, char *why, size_t why_size)
{
    int r = gpu_look_around(gpu, why, why_size);
    if (r == 0)
        r = record(gpu, gpu->events[0], why, why_size);
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = enqueue(context, why, why_size);
        if (r == 0)
            r = record(gpu, gpu->events[i + 1], why, why_size);
    }
    if (r == 0)
        r = wait_for(gpu, gpu->events[count], why, why_size);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = read_time(gpu, i, &ret_seconds[i], why, why_size);
    return r;
}
