#include "counter/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

static const double EVENT_PERIOD = 0.25;
static const double LINK_PERIOD = 1;

/* ROOFTOP_HOST_ROOT is put before /sys, /proc and /dev/kmsg, for tests and for containers that see
 * the host's elsewhere. */
static void find_root(struct nvml *nvml)
{
    const char *root = secure_getenv("ROOFTOP_HOST_ROOT");
    snprintf(nvml->root, sizeof(nvml->root), "%s", root ? root : "");
}

static void read_versions(struct nvml *nvml)
{
    struct counter *counter = &nvml->counter;
    snprintf(counter->library, sizeof(counter->library), "%s", nvml->library.dso.path);
    if (NVML_CALL(nvml, nvmlSystemGetDriverVersion, counter->driver_version,
                  sizeof(counter->driver_version)) != NVML_SUCCESS)
        counter->driver_version[0] = '\0';
    if (NVML_CALL(nvml, nvmlSystemGetNVMLVersion, counter->library_version,
                  sizeof(counter->library_version)) != NVML_SUCCESS)
        counter->library_version[0] = '\0';
}

static void nvml_read_cuda_version(struct counter *counter)
{
    struct nvml *nvml = nvml_of(counter);
    int cuda = 0;
    if (NVML_CALL(nvml, nvmlSystemGetCudaDriverVersion_v2, &cuda) == NVML_SUCCESS ||
        NVML_CALL(nvml, nvmlSystemGetCudaDriverVersion, &cuda) == NVML_SUCCESS)
        snprintf(counter->cuda_version, sizeof(counter->cuda_version), "%d.%d", cuda / 1000,
                 cuda % 1000 / 10);
}

static int fail_without_gpu(struct counter_failure *failure)
{
    snprintf(failure->reason, sizeof(failure->reason), "the NVIDIA driver sees no GPU");
    snprintf(failure->advice, sizeof(failure->advice),
             "in a container, pass one in (--gpus all); else see lspci and the kernel log");
    return -ENODEV;
}

static bool lacks_gpm(const struct nvml *nvml)
{
    for (size_t i = 0; i < nvml->counter.device_count; i++)
        if (!nvml->devices[i].is_mig && !nvml->devices[i].gpm)
            return true;
    return false;
}

static int start_threads(struct nvml *nvml)
{
    int r = ticker_start(&nvml->event_ticker, EVENT_PERIOD, nvml_poll_events, nvml);
    if (r == 0 && lacks_gpm(nvml))
        r = ticker_start(&nvml->link_ticker, LINK_PERIOD, nvml_poll_pcie, nvml);
    return r;
}

/* Where a thread hangs in the driver, the library and what it works on stay in memory. */
static void nvml_close(struct counter *counter)
{
    struct nvml *nvml = nvml_of(counter);
    bool ended = ticker_stop(&nvml->event_ticker);
    if (!ticker_stop(&nvml->link_ticker) || !ended)
        return;
    if (nvml->events)
        NVML_CALL(nvml, nvmlEventSetFree, nvml->events);
    if (nvml->kernel_log >= 0)
        close(nvml->kernel_log);
    nvml_free_list(nvml);
    nvml_library_close(&nvml->library);
    pthread_mutex_destroy(&nvml->lock);
    free(nvml);
}

static int nvml_open(struct counter **ret, const char *argument, struct counter_failure *failure)
{
    struct nvml *nvml = calloc(1, sizeof(*nvml));
    if (!nvml)
        return -ENOMEM;
    nvml->counter.ops = &nvml_counter;
    nvml->now = clock_monotonic;
    nvml->kernel_log = -1;
    pthread_mutex_init(&nvml->lock, NULL);
    find_root(nvml);

    int r = nvml_library_open(&nvml->library, failure);
    if (r == 0) {
        read_versions(nvml);
        r = nvml_list(nvml);
        if (r == -ENODEV)
            fail_without_gpu(failure);
    }
    if (r == 0)
        r = start_threads(nvml);
    if (r < 0) {
        nvml_close(&nvml->counter);
        return r;
    }
    *ret = &nvml->counter;
    return 0;
}

static int nvml_read(struct counter *counter, size_t device, struct sample *sample,
                     struct process_list *processes)
{
    return nvml_read_device(nvml_of(counter), device, sample, processes);
}

static int nvml_reopen(struct counter *counter, size_t device)
{
    return nvml_find_again(nvml_of(counter), device);
}

static bool nvml_changed(struct counter *counter)
{
    return nvml_list_changed(nvml_of(counter));
}

static void nvml_follow_processes(struct counter *counter)
{
    nvml_of(counter)->follows_processes = true;
}

const struct counter_ops nvml_counter = {
    .name = "nvml",
    .help = "the NVIDIA driver: NVML, and GPM's hardware counters on Hopper and newer",
    .live = true,
    .automatic = true,
    .open = nvml_open,
    .close = nvml_close,
    .read = nvml_read,
    .reopen = nvml_reopen,
    .changed = nvml_changed,
    .follow_processes = nvml_follow_processes,
    .read_cuda_version = nvml_read_cuda_version,
};
