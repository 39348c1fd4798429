/* The fake NVML's values: of the system, of devices, and fields. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml_call.h"

/* A line of a transcript may say a result and not the text: the text is then an older line's. */
static const char *text_of(const struct call *call)
{
    const struct fake_entry *found = call->entry;
    if (found && found->text)
        return found->text;
    for (unsigned i = call->device->entry_count; i-- > 0;) {
        const struct fake_entry *entry = &call->device->entries[i];
        if (found && entry->function == found->function && entry->text)
            return entry->text;
    }
    return "";
}

static nvml_return give_text(struct call call, char *text, unsigned size)
{
    const char *value = text_of(&call);
    if (call.result == NVML_SUCCESS && strlen(value) >= size)
        call.result = NVML_INSUFFICIENT_SIZE;
    if (call.result == NVML_SUCCESS)
        strcpy(text, value);
    return end(&call);
}

static nvml_return give_number(struct call call, unsigned *value)
{
    if (call.result == NVML_SUCCESS)
        *value = (unsigned)whole(&call, 0);
    return end(&call);
}

static nvml_return give_long(struct call call, unsigned long long *value)
{
    if (call.result == NVML_SUCCESS)
        *value = whole(&call, 0);
    return end(&call);
}

static nvml_return give_two(struct call call, unsigned *first, unsigned *second)
{
    if (call.result == NVML_SUCCESS) {
        *first = (unsigned)whole(&call, 0);
        *second = (unsigned)whole(&call, 1);
    }
    return end(&call);
}

#define TEXT_CALL(name)                                                                            \
    nvml_return name(nvml_handle device, char *text, unsigned size)                                \
    {                                                                                              \
        return give_text(BEGIN(device, name, NONE, NONE), text, size);                             \
    }
#define SYSTEM_TEXT_CALL(name)                                                                     \
    nvml_return name(char *text, unsigned size)                                                    \
    {                                                                                              \
        return give_text(BEGIN(&script.system, name, NONE, NONE), text, size);                     \
    }
#define SYSTEM_NUMBER_CALL(name)                                                                   \
    nvml_return name(int *value)                                                                   \
    {                                                                                              \
        return give_number(BEGIN(&script.system, name, NONE, NONE), (unsigned *)value);            \
    }
#define NUMBER_CALL(name)                                                                          \
    nvml_return name(nvml_handle device, unsigned *value)                                          \
    {                                                                                              \
        return give_number(BEGIN(device, name, NONE, NONE), value);                                \
    }
#define NUMBER_OF_CALL(name)                                                                       \
    nvml_return name(nvml_handle device, unsigned which, unsigned *value)                          \
    {                                                                                              \
        return give_number(BEGIN(device, name, which, NONE), value);                               \
    }
#define LONG_CALL(name)                                                                            \
    nvml_return name(nvml_handle device, unsigned long long *value)                                \
    {                                                                                              \
        return give_long(BEGIN(device, name, NONE, NONE), value);                                  \
    }
#define TWO_CALL(name)                                                                             \
    nvml_return name(nvml_handle device, unsigned *first, unsigned *second)                        \
    {                                                                                              \
        return give_two(BEGIN(device, name, NONE, NONE), first, second);                           \
    }

SYSTEM_TEXT_CALL(nvmlSystemGetDriverVersion)
SYSTEM_TEXT_CALL(nvmlSystemGetNVMLVersion)
SYSTEM_NUMBER_CALL(nvmlSystemGetCudaDriverVersion_v2)
SYSTEM_NUMBER_CALL(nvmlSystemGetCudaDriverVersion)
TEXT_CALL(nvmlDeviceGetName)
TEXT_CALL(nvmlDeviceGetUUID)
NUMBER_CALL(nvmlDeviceGetArchitecture)
NUMBER_CALL(nvmlDeviceGetNumGpuCores)
NUMBER_CALL(nvmlDeviceGetMemoryBusWidth)
NUMBER_CALL(nvmlDeviceGetMaxPcieLinkGeneration)
NUMBER_CALL(nvmlDeviceGetMaxPcieLinkWidth)
NUMBER_CALL(nvmlDeviceGetPersistenceMode)
NUMBER_CALL(nvmlDeviceGetMaxMigDeviceCount)
NUMBER_CALL(nvmlDeviceGetGpuInstanceId)
NUMBER_CALL(nvmlDeviceGetComputeInstanceId)
NUMBER_CALL(nvmlDeviceGetPowerUsage)
NUMBER_CALL(nvmlDeviceGetEnforcedPowerLimit)
NUMBER_CALL(nvmlDeviceGetFanSpeed)
NUMBER_CALL(nvmlDeviceGetPerformanceState)
NUMBER_CALL(nvmlDeviceGetCurrPcieLinkGeneration)
NUMBER_CALL(nvmlDeviceGetCurrPcieLinkWidth)
NUMBER_OF_CALL(nvmlDeviceGetMaxClockInfo)
NUMBER_OF_CALL(nvmlDeviceGetClockInfo)
NUMBER_OF_CALL(nvmlDeviceGetTemperature)
NUMBER_OF_CALL(nvmlDeviceGetPcieThroughput)
NUMBER_OF_CALL(nvmlDeviceGetNvLinkState)
LONG_CALL(nvmlDeviceGetTotalEnergyConsumption)
LONG_CALL(nvmlDeviceGetCurrentClocksEventReasons)
LONG_CALL(nvmlDeviceGetCurrentClocksThrottleReasons)
TWO_CALL(nvmlDeviceGetEccMode)
TWO_CALL(nvmlDeviceGetMigMode)
TWO_CALL(nvmlDeviceGetEncoderUtilization)
TWO_CALL(nvmlDeviceGetDecoderUtilization)

/* What was set is kept in the folder FAKE_GPU, as a driver keeps it for all programs. */
static FILE *open_compute_mode(const struct fake_device *device, const char *how)
{
    const char *folder = getenv("FAKE_GPU");
    char path[512];
    snprintf(path, sizeof(path), "%s/compute_mode.%d", folder ? folder : "/nowhere",
             number_of(device));
    return fopen(path, how);
}

nvml_return nvmlDeviceGetComputeMode(nvml_handle device, uint32_t *mode)
{
    struct call call = BEGIN(device, nvmlDeviceGetComputeMode, NONE, NONE);
    FILE *file = call.result == NVML_SUCCESS ? open_compute_mode(call.device, "re") : NULL;
    if (call.result == NVML_SUCCESS && !(file && fscanf(file, "%u", mode) == 1))
        *mode = (uint32_t)whole(&call, 0);
    if (file)
        fclose(file);
    return end(&call);
}

nvml_return nvmlDeviceSetComputeMode(nvml_handle device, uint32_t mode)
{
    struct call call = BEGIN(device, nvmlDeviceSetComputeMode, mode, NONE);
    FILE *file = call.result == NVML_SUCCESS ? open_compute_mode(call.device, "we") : NULL;
    if (file) {
        fprintf(file, "%u", mode);
        fclose(file);
    }
    return end(&call);
}

nvml_return nvmlDeviceGetPciInfo_v3(nvml_handle device, struct nvml_pci *pci)
{
    struct call call = BEGIN(device, nvmlDeviceGetPciInfo_v3, NONE, NONE);
    if (call.result == NVML_SUCCESS) {
        pci->device_id = pci->subsystem_id = 0;
        snprintf(pci->bus_id, sizeof(pci->bus_id), "%s", text_of(&call));
        sscanf(pci->bus_id, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
        snprintf(pci->legacy_bus_id, sizeof(pci->legacy_bus_id), "%04X:%02X:%02X.0",
                 pci->domain & 0xFFFF, pci->bus & 0xFF, pci->device & 0xFF);
    }
    return end(&call);
}

nvml_return nvmlDeviceGetCudaComputeCapability(nvml_handle device, int *major, int *minor)
{
    return give_two(BEGIN(device, nvmlDeviceGetCudaComputeCapability, NONE, NONE),
                    (unsigned *)major, (unsigned *)minor);
}

nvml_return nvmlDeviceGetAttributes_v2(nvml_handle device, struct nvml_attributes *attributes)
{
    struct call call = BEGIN(device, nvmlDeviceGetAttributes_v2, NONE, NONE);
    if (call.result == NVML_SUCCESS)
        *attributes = (struct nvml_attributes){
            .multiprocessors = (uint32_t)whole(&call, 0),
            .memory_mebibytes = whole(&call, 1),
        };
    return end(&call);
}

nvml_return nvmlDeviceGetUtilizationRates(nvml_handle device, struct nvml_utilization *utilization)
{
    return give_two(BEGIN(device, nvmlDeviceGetUtilizationRates, NONE, NONE), &utilization->gpu,
                    &utilization->memory);
}

/* Pairs of PID and per cent of the SMs. */
nvml_return nvmlDeviceGetMemoryInfo(nvml_handle device, struct nvml_memory *memory)
{
    struct call call = BEGIN(device, nvmlDeviceGetMemoryInfo, NONE, NONE);
    if (call.result == NVML_SUCCESS)
        *memory = (struct nvml_memory){whole(&call, 0), whole(&call, 1), whole(&call, 2)};
    return end(&call);
}

nvml_return nvmlDeviceGetMemoryInfo_v2(nvml_handle device, struct nvml_memory_v2 *memory)
{
    uint32_t version = memory->version >> 24;
    struct call call = BEGIN(device, nvmlDeviceGetMemoryInfo_v2, version, NONE);
    if (call.result == NVML_SUCCESS && memory->version != NVML_VERSION(*memory, version))
        call.result = NVML_FUNCTION_NOT_FOUND;
    if (call.result == NVML_SUCCESS) {
        memory->total = whole(&call, 0);
        memory->reserved = whole(&call, 1);
        memory->free = whole(&call, 2);
        memory->used = whole(&call, 3);
    }
    return end(&call);
}

nvml_return nvmlDeviceGetTemperatureV(nvml_handle device, struct nvml_temperature *temperature)
{
    struct call call = BEGIN(device, nvmlDeviceGetTemperatureV, temperature->sensor, NONE);
    if (call.result == NVML_SUCCESS && temperature->version != NVML_VERSION(*temperature, 1))
        call.result = NVML_VERSION_MISMATCH;
    if (call.result == NVML_SUCCESS)
        temperature->celsius = (int32_t)whole(&call, 0);
    return end(&call);
}

nvml_return nvmlDeviceGetTotalEccErrors(nvml_handle device, uint32_t error, uint32_t counter,
                                        unsigned long long *count)
{
    return give_long(BEGIN(device, nvmlDeviceGetTotalEccErrors, error, counter), count);
}

static void give_field(struct fake_device *device, struct nvml_field_value *value)
{
    struct call call = BEGIN(device, nvmlDeviceGetFieldValues, value->field, value->scope);
    value->result = call.result;
    value->timestamp = (int64_t)(call.now * 1e6);
    value->latency = 0;
    value->type = (uint32_t)whole(&call, 0);
    value->value.u64 = 0;
    if (call.result == NVML_SUCCESS && value->type == NVML_TYPE_DOUBLE)
        value->value.real = real(&call, 1);
    else if (call.result == NVML_SUCCESS && value->type == NVML_TYPE_UNSIGNED)
        value->value.u32 = (uint32_t)whole(&call, 1);
    else if (call.result == NVML_SUCCESS)
        value->value.u64 = whole(&call, 1);
    end(&call);
}

nvml_return nvmlDeviceGetFieldValues(nvml_handle device, int count, struct nvml_field_value *values)
{
    struct call call = BEGIN(device, nvmlDeviceGetFieldValues, NONE, NONE);
    if (!call.entry && call.result == NVML_NOT_SUPPORTED)
        call.result = NVML_SUCCESS;
    nvml_return result = end(&call);
    for (int i = 0; i < count && result == NVML_SUCCESS; i++)
        give_field((struct fake_device *)device, &values[i]);
    return result;
}
