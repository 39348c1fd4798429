#include "counter/nvml.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { FILL = 0xA5 };

/* A program's name in /proc holds 15 characters: this is nvidia-cuda-mps-server's. Its control
 * daemon, which shares them, holds no GPU. */
static const char MPS_SERVER_NAME[] = "nvidia-cuda-mps";

typedef nvml_return list_function(nvml_handle device, unsigned *count, void *processes);

/* The newest function that the library has, and the layout that its name promises. */
struct list_call {
    list_function *function;
    size_t stride;
};

static struct list_call choose(list_function *v3, list_function *v2, list_function *v1)
{
    if (v3)
        return (struct list_call){v3, sizeof(struct nvml_process_v2)};
    if (v2)
        return (struct list_call){v2, sizeof(struct nvml_process_v2)};
    return (struct list_call){v1, sizeof(struct nvml_process_v1)};
}

/* The layout that was filled in truth, from where the filling ends. */
static size_t measure_stride(const unsigned char *buffer, size_t size, size_t count,
                             size_t promised)
{
    size_t end = size;
    while (end > 0 && buffer[end - 1] == FILL)
        end--;
    static const size_t strides[] = {sizeof(struct nvml_process_v1), sizeof(struct nvml_process_v2),
                                     sizeof(struct nvml_process_v3)};
    for (size_t i = 0; i < ARRAY_SIZE(strides); i++)
        if (end == count * strides[i])
            return strides[i];
    return promised;
}

static struct process *find_or_add(struct process_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->process[i].pid == pid)
            return &list->process[i];
    if (list->count == PROCESS_LIST_CAPACITY) {
        list->truncated = true;
        return NULL;
    }
    list->process[list->count] = (struct process){.pid = pid};
    return &list->process[list->count++];
}

static void merge(struct process_list *list, const struct nvml_process_v1 *found, unsigned kind,
                  double memory_total)
{
    if (found->pid == 0 || found->pid > INT32_MAX)
        return;
    struct process *process = find_or_add(list, (pid_t)found->pid);
    if (!process)
        return;
    process->kinds |= kind;
    if (found->memory == NVML_UNAVAILABLE ||
        (memory_total > 0 && (double)found->memory > memory_total))
        return;
    process->memory_known = true;
    if (found->memory > process->memory_bytes)
        process->memory_bytes = found->memory;
}

static nvml_return add_list(struct nvml_device *slot, struct list_call call, unsigned kind,
                            double memory_total, struct process_list *list)
{
    if (!call.function)
        return NVML_FUNCTION_NOT_FOUND;
    unsigned char *buffer = slot->process_buffer;
    size_t size = sizeof(slot->process_buffer);
    memset(buffer, FILL, size);
    unsigned count = NVML_PROCESS_LIMIT;
    nvml_return result = call.function(slot->handle, &count, buffer);
    if (result == NVML_INSUFFICIENT_SIZE) {
        list->truncated = true;
        return NVML_SUCCESS;
    }
    if (result != NVML_SUCCESS)
        return result;
    if (count > NVML_PROCESS_LIMIT)
        count = NVML_PROCESS_LIMIT;
    size_t stride = measure_stride(buffer, size, count, call.stride);
    for (size_t i = 0; i < count; i++) {
        struct nvml_process_v1 found; /* what all layouts begin with */
        memcpy(&found, buffer + i * stride, sizeof(found));
        merge(list, &found, kind, memory_total);
    }
    return NVML_SUCCESS;
}

static bool is_server(const struct nvml *nvml, pid_t pid)
{
    char path[192];
    char name[32] = "";
    snprintf(path, sizeof(path), "%s/proc/%d/comm", nvml->root, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, name, sizeof(name) - 1);
    close(fd);
    return length > 0 && strncmp(name, MPS_SERVER_NAME, sizeof(MPS_SERVER_NAME) - 1) == 0;
}

/* A process is looked up once, when it comes. */
static bool is_known_server(const struct nvml *nvml, const struct nvml_device *slot, pid_t pid)
{
    for (size_t i = 0; i < slot->known_count; i++)
        if (slot->known_pids[i] == pid)
            return slot->known_servers[i];
    return is_server(nvml, pid);
}

static void mark_servers(const struct nvml *nvml, struct nvml_device *slot,
                         struct process_list *list)
{
    bool servers[PROCESS_LIST_CAPACITY];
    for (size_t i = 0; i < list->count; i++) {
        servers[i] = is_known_server(nvml, slot, list->process[i].pid);
        if (servers[i])
            list->process[i].kinds =
                (list->process[i].kinds & ~(unsigned)PROCESS_MPS_CLIENT) | PROCESS_MPS_SERVER;
    }
    for (size_t i = 0; i < list->count; i++) {
        slot->known_pids[i] = list->process[i].pid;
        slot->known_servers[i] = servers[i];
    }
    slot->known_count = list->count;
}

nvml_return nvml_list_processes(struct nvml *nvml, struct nvml_device *slot,
                                struct process_list *processes)
{
    const struct nvml_functions *call = &nvml->library.call;
    const struct device *device = &nvml->counter.devices[slot - nvml->devices];
    double memory_total = device_number(device, DEVICE_MEMORY_TOTAL, 0);
    processes->count = 0;
    processes->truncated = false;

    nvml_return compute = add_list(slot,
                                   choose(call->nvmlDeviceGetComputeRunningProcesses_v3,
                                          call->nvmlDeviceGetComputeRunningProcesses_v2,
                                          call->nvmlDeviceGetComputeRunningProcesses),
                                   PROCESS_COMPUTE, memory_total, processes);
    nvml_return graphics = add_list(slot,
                                    choose(call->nvmlDeviceGetGraphicsRunningProcesses_v3,
                                           call->nvmlDeviceGetGraphicsRunningProcesses_v2,
                                           call->nvmlDeviceGetGraphicsRunningProcesses),
                                    PROCESS_GRAPHICS, memory_total, processes);
    /* Many drivers have no list of MPS clients; they are compute processes too. */
    add_list(slot,
             choose(call->nvmlDeviceGetMPSComputeRunningProcesses_v3,
                    call->nvmlDeviceGetMPSComputeRunningProcesses_v2,
                    call->nvmlDeviceGetMPSComputeRunningProcesses),
             PROCESS_MPS_CLIENT, memory_total, processes);

    processes->known = compute == NVML_SUCCESS || graphics == NVML_SUCCESS;
    if (!processes->known)
        processes->count = 0;
    mark_servers(nvml, slot, processes);
    return processes->known ? NVML_SUCCESS : compute;
}

static struct nvml_sm_share *find_or_add_share(struct nvml_device *slot, pid_t pid)
{
    for (size_t i = 0; i < slot->share_count; i++)
        if (slot->shares[i].pid == pid)
            return &slot->shares[i];
    if (slot->share_count == PROCESS_LIST_CAPACITY)
        return NULL;
    slot->shares[slot->share_count] = (struct nvml_sm_share){.pid = pid};
    return &slot->shares[slot->share_count++];
}

/* Under MPS the driver tells of the server alone, and an instance has no such samples. */
void nvml_read_sm_shares(struct nvml *nvml, struct nvml_device *slot, double period,
                         const struct process_list *processes)
{
    const struct nvml_functions *call = &nvml->library.call;
    slot->share_count = 0;
    if (!call->nvmlDeviceGetProcessUtilization || slot->is_mig || processes->count == 0)
        return;
    struct nvml_process_utilization samples[NVML_PROCESS_LIMIT];
    unsigned count = NVML_PROCESS_LIMIT;
    unsigned long long since = (unsigned long long)((clock_realtime() - period) * 1e6);
    if (call->nvmlDeviceGetProcessUtilization(slot->handle, samples, &count, since) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < count && i < NVML_PROCESS_LIMIT; i++) {
        bool plausible = samples[i].pid > 0 && samples[i].pid <= INT32_MAX && samples[i].sm <= 100;
        struct nvml_sm_share *share =
            plausible ? find_or_add_share(slot, (pid_t)samples[i].pid) : NULL;
        if (!share)
            continue;
        share->sum += samples[i].sm / 100.0;
        share->samples++;
    }
}

void nvml_fill_sm_shares(const struct nvml_device *slot, struct process_list *processes)
{
    for (size_t i = 0; i < processes->count; i++)
        for (size_t j = 0; j < slot->share_count; j++)
            if (slot->shares[j].pid == processes->process[i].pid) {
                processes->process[i].sm_known = true;
                processes->process[i].sm_ratio = slot->shares[j].sum / slot->shares[j].samples;
            }
}
