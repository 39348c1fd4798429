#include "share/gpus.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "counter/counter.h"
#include "share/mps.h"
#include "share/place.h"

static const double FIRST_READ_PATIENCE = 3, ONLY_READ_PATIENCE = 7;
static const double ENDING_PATIENCE = 10;

/* The servers of this user's own daemon for the GPU. */
static void look_at_own_servers(const char *run, const char *uuid, struct mps_view *view)
{
    struct mps mps;
    struct counter_failure ignored;
    *view = (struct mps_view){0};
    if (mps_open(&mps, run, uuid, &ignored) < 0)
        return;
    mps_look(&mps, view);
    mps_close(&mps);
}

static bool is_own_server(const struct mps_view *view, pid_t pid)
{
    for (size_t i = 0; i < view->server_count; i++)
        if (view->servers[i].pid == pid)
            return true;
    return false;
}

/* Names a program that uses the device without a lease. */
static void find_occupant(struct monitor *monitor, const struct reading *reading, const char *run,
                          const struct slot_lease *leases, size_t count, struct slot_gpu *gpu)
{
    struct mps_view view = {0};
    bool looked = false;
    for (size_t i = 0; i < reading->processes.count && !gpu->occupant[0]; i++) {
        const struct process *process = &reading->processes.process[i];
        if (process->kinds == PROCESS_GRAPHICS || slot_has(leases, count, gpu->uuid, process->pid))
            continue;
        if (!looked)
            look_at_own_servers(run, gpu->uuid, &view);
        looked = true;
        if (is_own_server(&view, process->pid) || mps_has_client(&view, process->pid))
            continue;
        const struct process_description *who = monitor_describe(monitor, process->pid);
        snprintf(gpu->occupant, sizeof(gpu->occupant), "%s%.60s of %.24s (PID %d)",
                 process->kinds & PROCESS_MPS_SERVER ? "another MPS server, " : "",
                 who->outside ? "a program" : who->command,
                 who->outside ? "another place" : who->user, (int)process->pid);
    }
}

/* CUDA counts devices in an order of its own, unless it is told to go by their addresses. */
static bool has_place(const struct device *device, long place)
{
    const char *order = secure_getenv("CUDA_DEVICE_ORDER");
    double index = order && strcmp(order, "PCI_BUS_ID") == 0
                       ? (double)device->index
                       : device_number(device, DEVICE_CUDA_INDEX, -1);
    return !device_is_mig(device) && index == (double)place;
}

bool gpus_is_visible(const struct device *device, const char *visible)
{
    while (visible && *visible) {
        size_t length = strcspn(visible, ",");
        char *end;
        long place = strtol(visible, &end, 10);
        if (end == visible + length && length > 0 && has_place(device, place))
            return true;
        if ((strncmp(visible, "GPU-", 4) == 0 || strncmp(visible, "MIG-", 4) == 0) &&
            strncmp(device->text[DEVICE_UUID], visible, length) == 0)
            return true;
        visible += length + (visible[length] == ',');
    }
    return !visible;
}

size_t gpus_list(struct monitor *monitor, struct slot_table *slots, const char *run,
                 const char *visible, struct slot_gpu ret[SLOT_GPUS])
{
    struct slot_lease *leases = NULL;
    size_t lease_count = 0, count = 0;
    if (slot_list(slots, &leases, &lease_count) < 0)
        lease_count = 0;
    for (size_t i = 0; i < monitor_count(monitor) && count < SLOT_GPUS; i++) {
        const struct device *device = monitor_device(monitor, i);
        const struct reading *reading = monitor_reading(monitor, i);
        /* Work goes to the instances of a GPU that has some. */
        if (device_number(device, DEVICE_MIG_ENABLED, 0) > 0 && !device_is_mig(device))
            continue;
        if (!gpus_is_visible(device, visible))
            continue;
        struct slot_gpu *gpu = &ret[count++];
        *gpu = (struct slot_gpu){0};
        memcpy(gpu->uuid, device->text[DEVICE_UUID], sizeof(gpu->uuid));
        double bytes = device_number(device, DEVICE_MEMORY_TOTAL, 0) -
                       sample_get(&reading->sample, METRIC_MEMORY_RESERVED, 0) -
                       (double)GPUS_FREE_BYTES;
        gpu->memory_bytes = bytes > 0 ? (uint64_t)bytes : 0;
        gpu->compute_mode =
            (enum compute_mode)device_number(device, DEVICE_COMPUTE_MODE, COMPUTE_SHARED);
        gpu->silent = reading->state != READING_OK;
        find_occupant(monitor, reading, run, leases, lease_count, gpu);
    }
    free(leases);
    return count;
}

int gpus_none_visible(const char *visible, struct counter_failure *failure)
{
    return share_fail(failure, -E2BIG,
                      "Name a GPU with --gpu, or unset the variable. Its numbers are CUDA's: "
                      "`rooftop list` shows them where they are certain.",
                      "CUDA_VISIBLE_DEVICES is '%s', which is none of the GPUs here", visible);
}

static bool is_silent(const struct monitor *monitor, size_t i)
{
    enum reading_state state = monitor_reading(monitor, i)->state;
    return state == READING_NONE || state == READING_STALE;
}

static bool has_silent_device(struct monitor *monitor)
{
    for (size_t i = 0; i < monitor_count(monitor); i++)
        if (is_silent(monitor, i))
            return true;
    return false;
}

static bool has_only_silent_devices(struct monitor *monitor)
{
    for (size_t i = 0; i < monitor_count(monitor); i++)
        if (!is_silent(monitor, i))
            return false;
    return true;
}

/* Killed a moment ago, such as the last job that had the GPU. */
static bool has_ending_process(struct monitor *monitor)
{
    for (size_t i = 0; i < monitor_count(monitor); i++) {
        const struct process_list *list = &monitor_reading(monitor, i)->processes;
        for (size_t k = 0; k < list->count; k++)
            if (monitor_describe(monitor, list->process[k].pid)->ending)
                return true;
    }
    return false;
}

static int await_frames(struct monitor *monitor, bool (*is_unsettled)(struct monitor *monitor),
                        double patience)
{
    double until = clock_monotonic() + patience;
    int r;
    do {
        r = monitor_wait(monitor, fmax(until - clock_monotonic(), 0));
    } while (r == -EINTR || (r == 1 && is_unsettled(monitor)));
    return r;
}

/* What uses a device is not known before it has been read: on a busy host a frame may come without
 * it. */
static int await_devices(struct monitor *monitor)
{
    int r = await_frames(monitor, has_silent_device, FIRST_READ_PATIENCE);
    if (r >= 0 && has_only_silent_devices(monitor))
        r = await_frames(monitor, has_only_silent_devices, ONLY_READ_PATIENCE);
    return r == 1 && has_ending_process(monitor)
               ? await_frames(monitor, has_ending_process, ENDING_PATIENCE)
               : r;
}

int gpus_open(struct monitor **ret, const char *source, const char *gpus, const char *clock,
              struct counter_failure *failure)
{
    source = counter_usual_source(source);
    const struct monitor_config config = {
        .source = source,
        .gpus = gpus,
        .follow_processes = true,
        .clock = clock || strcmp(source, "auto") != 0 ? clock : "off",
    };
    struct monitor *monitor;
    int r = monitor_open(&monitor, &config, failure);
    if (r < 0)
        return r;
    r = await_devices(monitor);
    if (r >= 0 && monitor_count(monitor) > 0) {
        *ret = monitor;
        return 0;
    }
    r = r < 0 ? share_fail(failure, r, "", "the GPUs do not answer: %s", strerror(-r))
              : share_fail(failure, -ENODEV, "", "there is no GPU here");
    monitor_close(monitor);
    return r;
}
