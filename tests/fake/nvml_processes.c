/* The fake NVML's processes. */
#include <string.h>

#include "fake_proc.h"
#include "nvml_call.h"

nvml_return nvmlDeviceGetProcessUtilization(nvml_handle device,
                                            struct nvml_process_utilization *samples,
                                            unsigned *count, unsigned long long since)
{
    struct call call = BEGIN(device, nvmlDeviceGetProcessUtilization, NONE, NONE);
    unsigned found = call.entry ? call.entry->number_count / 2 : 0;
    if (call.result == NVML_SUCCESS && found > *count)
        call.result = NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < found && call.result == NVML_SUCCESS; i++)
        samples[i] = (struct nvml_process_utilization){
            .pid = (uint32_t)whole(&call, 2 * i),
            .time = since + i,
            .sm = (uint32_t)whole(&call, 2 * i + 1),
        };
    *count = found;
    return end(&call);
}

static void put_process(const struct fake_process *from, size_t layout, unsigned char *to)
{
    struct nvml_process_v3 process = {
        .pid = from->pid,
        .memory = from->memory,
        .gpu_instance = from->gpu_instance,
        .compute_instance = from->compute_instance,
    };
    memcpy(to, &process, layout);
}

static bool is_listed(const struct fake_process *process)
{
    return !script.living || fake_proc_has((int)process->pid);
}

static nvml_return give_processes(struct call call, enum fake_list which, size_t layout,
                                  unsigned *count, void *processes)
{
    const struct fake_entry *list =
        call.device && number_of(call.device) >= 0
            ? fake_find(call.device, FAKE_PROCESSES, call.now, which, NONE)
            : NULL;
    if (call.result == NVML_NOT_SUPPORTED && !call.entry && list)
        call.result = NVML_SUCCESS;
    if (call.result != NVML_SUCCESS)
        return end(&call);
    unsigned found = 0;
    for (unsigned i = 0; list && i < list->process_count; i++)
        if (is_listed(&list->processes[i])) {
            if (found < *count)
                put_process(&list->processes[i], layout,
                            (unsigned char *)processes + found * layout);
            found++;
        }
    if (found > *count)
        call.result = NVML_INSUFFICIENT_SIZE;
    *count = found;
    return end(&call);
}

#define PROCESS_CALL(name, which, layout)                                                          \
    nvml_return name(nvml_handle device, unsigned *count, void *processes)                         \
    {                                                                                              \
        struct call call = BEGIN(device, name, NONE, NONE);                                        \
        return give_processes(call, which, layout, count, processes);                              \
    }
PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses_v3, FAKE_COMPUTE, script.process_layout)
PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses_v2, FAKE_COMPUTE, sizeof(struct nvml_process_v2))
PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses, FAKE_COMPUTE, sizeof(struct nvml_process_v1))
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses_v3, FAKE_GRAPHICS, script.process_layout)
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses_v2, FAKE_GRAPHICS,
             sizeof(struct nvml_process_v2))
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses, FAKE_GRAPHICS, sizeof(struct nvml_process_v1))
PROCESS_CALL(nvmlDeviceGetMPSComputeRunningProcesses_v3, FAKE_MPS, script.process_layout)
PROCESS_CALL(nvmlDeviceGetMPSComputeRunningProcesses_v2, FAKE_MPS, sizeof(struct nvml_process_v2))
PROCESS_CALL(nvmlDeviceGetMPSComputeRunningProcesses, FAKE_MPS, sizeof(struct nvml_process_v1))
