#include "counter/nvml.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const architectures[] = {
    [NVML_KEPLER] = "kepler", [NVML_MAXWELL] = "maxwell", [NVML_PASCAL] = "pascal",
    [NVML_VOLTA] = "volta",   [NVML_TURING] = "turing",   [NVML_AMPERE] = "ampere",
    [NVML_ADA] = "ada",       [NVML_HOPPER] = "hopper",   [NVML_BLACKWELL] = "blackwell",
};

/* By compute capability × 10: for drivers that do not name the architecture, and FP32 lanes of an
 * SM as the CUDA C++ Programming Guide's table of arithmetic throughput gives them. */
struct generation {
    int from;
    int to;
    const char *architecture;
    unsigned lanes;
    bool integrated; /* the GPU of a system on a chip: its memory is the host's */
};

static const struct generation generations[] = {
    {30, 37, "kepler", 192, false},      {50, 53, "maxwell", 128, false},
    {60, 60, "pascal", 64, false},       {61, 62, "pascal", 128, false},
    {70, 70, "volta", 64, false},        {72, 72, "volta", 64, true},
    {75, 75, "turing", 64, false},       {80, 80, "ampere", 64, false},
    {86, 86, "ampere", 128, false},      {87, 87, "ampere", 128, true},
    {89, 89, "ada", 128, false},         {90, 90, "hopper", 128, false},
    {100, 100, "blackwell", 128, false}, {101, 101, "blackwell", 128, true},
    {103, 103, "blackwell", 128, false}, {110, 110, "blackwell", 128, true},
    {120, 120, "blackwell", 128, false}, {121, 121, "blackwell", 128, true},
};

static const struct generation *generation_of(const struct device *device)
{
    int capability = (int)lround(device_number(device, DEVICE_COMPUTE_CAPABILITY, 0) * 10);
    for (size_t i = 0; i < ARRAY_SIZE(generations); i++)
        if (capability >= generations[i].from && capability <= generations[i].to)
            return &generations[i];
    return NULL;
}

typedef nvml_return text_function(nvml_handle device, char *text, unsigned size);
typedef nvml_return number_function(nvml_handle device, unsigned *value);

static void set_text(nvml_handle handle, text_function *function, struct device *device,
                     enum device_text id)
{
    char text[NVML_TEXT_SIZE] = "";
    if (!function || function(handle, text, sizeof(text)) != NVML_SUCCESS)
        return;
    text[sizeof(text) - 1] = '\0';
    device_set_text(device, id, text);
}

/* A number that is 0 or a sentinel is not known. */
static void set_number(nvml_handle handle, number_function *function, double factor,
                       struct device *device, enum device_number id)
{
    unsigned value = 0;
    if (!function || function(handle, &value) != NVML_SUCCESS || value == 0 ||
        value == NVML_UNAVAILABLE_32)
        return;
    device_set_number(device, id, value * factor);
}

static void set_max_clock(const struct nvml *nvml, nvml_handle handle, enum nvml_clock clock,
                          struct device *device, enum device_number id)
{
    unsigned megahertz = 0;
    if (NVML_CALL(nvml, nvmlDeviceGetMaxClockInfo, handle, clock, &megahertz) == NVML_SUCCESS &&
        megahertz > 0 && megahertz < 100000)
        device_set_number(device, id, megahertz * 1e6);
}

static void set_flag(struct device *device, enum device_number id, nvml_return result,
                     uint32_t value)
{
    if (result == NVML_SUCCESS && value <= 1)
        device_set_number(device, id, value);
}

static void describe_modes(const struct nvml *nvml, nvml_handle handle, struct device *device)
{
    uint32_t current = 0;
    uint32_t pending = 0;
    nvml_return result = NVML_CALL(nvml, nvmlDeviceGetPersistenceMode, handle, &current);
    set_flag(device, DEVICE_PERSISTENCE, result, current);
    result = NVML_CALL(nvml, nvmlDeviceGetComputeMode, handle, &current);
    if (result == NVML_SUCCESS && current <= COMPUTE_EXCLUSIVE_PROCESS)
        device_set_number(device, DEVICE_COMPUTE_MODE, current);
    result = NVML_CALL(nvml, nvmlDeviceGetEccMode, handle, &current, &pending);
    set_flag(device, DEVICE_ECC_ENABLED, result, current);
    result = NVML_CALL(nvml, nvmlDeviceGetMigMode, handle, &current, &pending);
    set_flag(device, DEVICE_MIG_ENABLED, result, current);
}

static void describe_chip(const struct nvml *nvml, nvml_handle handle, struct device *device)
{
    int major = 0;
    int minor = 0;
    if (NVML_CALL(nvml, nvmlDeviceGetCudaComputeCapability, handle, &major, &minor) ==
            NVML_SUCCESS &&
        major > 0)
        device_set_number(device, DEVICE_COMPUTE_CAPABILITY, major + minor / 10.0);

    const struct generation *generation = generation_of(device);
    uint32_t architecture = 0;
    if (NVML_CALL(nvml, nvmlDeviceGetArchitecture, handle, &architecture) == NVML_SUCCESS &&
        architecture < ARRAY_SIZE(architectures) && architectures[architecture])
        device_set_text(device, DEVICE_ARCHITECTURE, architectures[architecture]);
    else if (generation)
        device_set_text(device, DEVICE_ARCHITECTURE, generation->architecture);

    set_number(handle, nvml->library.call.nvmlDeviceGetNumGpuCores, 1, device, DEVICE_CORES);
    if (!generation)
        return;
    device_set_number(device, DEVICE_UNIFIED_MEMORY, generation->integrated);
    if (device_knows(device, DEVICE_CORES))
        device_set_number(device, DEVICE_SM_COUNT,
                          device->number[DEVICE_CORES] / generation->lanes);
}

static void describe_memory(const struct nvml *nvml, nvml_handle handle, struct device *device)
{
    struct nvml_memory memory = {0};
    struct nvml_memory_v2 host;
    if (NVML_CALL(nvml, nvmlDeviceGetMemoryInfo, handle, &memory) == NVML_SUCCESS &&
        memory.total > 0 && memory.total != NVML_UNAVAILABLE)
        device_set_number(device, DEVICE_MEMORY_TOTAL, (double)memory.total);
    else if (device_number(device, DEVICE_UNIFIED_MEMORY, 0) == 1 && nvml_host_memory(nvml, &host))
        device_set_number(device, DEVICE_MEMORY_TOTAL, (double)host.total);
}

int nvml_open_power_state(const struct nvml *nvml, const struct nvml_pci *pci)
{
    if (!pci->bus_id[0])
        return -1;
    char path[256];
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%04x:%02x:%02x.0/power/runtime_status",
             nvml->root, pci->domain, pci->bus, pci->device);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool nvml_is_suspended(int power_state)
{
    char state[16] = "";
    if (power_state < 0 || pread(power_state, state, sizeof(state) - 1, 0) <= 0)
        return false;
    return strncmp(state, "suspend", 7) == 0;
}

void nvml_identify_gpu(struct nvml *nvml, nvml_handle handle, struct device *device)
{
    set_text(handle, nvml->library.call.nvmlDeviceGetUUID, device, DEVICE_UUID);
    set_text(handle, nvml->library.call.nvmlDeviceGetName, device, DEVICE_NAME);
}

void nvml_describe_gpu(struct nvml *nvml, struct nvml_device *slot, struct device *device)
{
    const struct nvml_functions *call = &nvml->library.call;
    nvml_handle handle = slot->handle;
    describe_chip(nvml, handle, device);
    slot->unified = device_number(device, DEVICE_UNIFIED_MEMORY, 0) == 1;
    describe_memory(nvml, handle, device);
    describe_modes(nvml, handle, device);
    set_number(handle, call->nvmlDeviceGetMemoryBusWidth, 1, device, DEVICE_MEMORY_BUS_BITS);
    set_max_clock(nvml, handle, NVML_CLOCK_SM, device, DEVICE_MAX_SM_CLOCK);
    set_max_clock(nvml, handle, NVML_CLOCK_MEMORY, device, DEVICE_MAX_MEMORY_CLOCK);
    set_number(handle, call->nvmlDeviceGetEnforcedPowerLimit, 1e-3, device, DEVICE_POWER_LIMIT);
    set_number(handle, call->nvmlDeviceGetMaxPcieLinkGeneration, 1, device,
               DEVICE_PCIE_MAX_GENERATION);
    set_number(handle, call->nvmlDeviceGetMaxPcieLinkWidth, 1, device, DEVICE_PCIE_MAX_WIDTH);
    nvml_describe_nvlink(nvml, handle, device);

    /* nvmlDeviceGetPowerUsage is a mean over a second from Ampere on, but for GA100. */
    double capability = device_number(device, DEVICE_COMPUTE_CAPABILITY, 0);
    slot->power_is_averaged = capability > 8.05;
}

static void copy_number(const struct device *from, struct device *to, enum device_number id)
{
    if (device_knows(from, id))
        device_set_number(to, id, from->number[id]);
}

void nvml_describe_instance(struct nvml *nvml, struct nvml_device *slot, const struct device *gpu,
                            struct device *device)
{
    nvml_handle handle = slot->handle;
    nvml_identify_gpu(nvml, handle, device);
    device_set_text(device, DEVICE_ARCHITECTURE, gpu->text[DEVICE_ARCHITECTURE]);
    device_set_number(device, DEVICE_PARENT, gpu->index);

    static const enum device_number shared[] = {
        DEVICE_COMPUTE_CAPABILITY, DEVICE_MAX_SM_CLOCK, DEVICE_MAX_MEMORY_CLOCK,
        DEVICE_ECC_ENABLED,        DEVICE_PERSISTENCE,  DEVICE_UNIFIED_MEMORY,
        DEVICE_COMPUTE_MODE,
    };
    for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
        copy_number(gpu, device, shared[i]);

    if (NVML_CALL(nvml, nvmlDeviceGetGpuInstanceId, handle, &slot->gpu_instance) == NVML_SUCCESS)
        device_set_number(device, DEVICE_GPU_INSTANCE, slot->gpu_instance);
    if (NVML_CALL(nvml, nvmlDeviceGetComputeInstanceId, handle, &slot->compute_instance) ==
        NVML_SUCCESS)
        device_set_number(device, DEVICE_COMPUTE_INSTANCE, slot->compute_instance);

    struct nvml_attributes attributes = {0};
    if (NVML_CALL(nvml, nvmlDeviceGetAttributes_v2, handle, &attributes) == NVML_SUCCESS &&
        attributes.multiprocessors > 0 && attributes.multiprocessors < 10000) {
        const struct generation *generation = generation_of(device);
        device_set_number(device, DEVICE_SM_COUNT, attributes.multiprocessors);
        if (generation)
            device_set_number(device, DEVICE_CORES,
                              (double)attributes.multiprocessors * generation->lanes);
    }
    describe_memory(nvml, handle, device);
}

static double speed(const struct device *device)
{
    return device_number(device, DEVICE_CORES, 0) * device_number(device, DEVICE_MAX_SM_CLOCK, 0);
}

/* CUDA's default order is "fastest first" by a rule of its own, and by PCI address, which is NVML's
 * order, among equals. Lanes × clock stands for its rule; where that is not known, or MIG hides
 * GPUs from CUDA, the order is not certain. */
void nvml_number_for_cuda(struct device *devices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (device_number(&devices[i], DEVICE_MIG_ENABLED, 0) != 0 || speed(&devices[i]) <= 0)
            return;
    for (size_t i = 0; i < count; i++) {
        size_t place = 0;
        for (size_t k = 0; k < count; k++)
            if (speed(&devices[k]) > speed(&devices[i]) ||
                (k < i && speed(&devices[k]) == speed(&devices[i])))
                place++;
        device_set_number(&devices[i], DEVICE_CUDA_INDEX, (double)place);
    }
}
