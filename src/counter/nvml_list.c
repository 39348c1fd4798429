#include "counter/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than any machine has; a count above it is the driver's mistake. */
enum { GPU_LIMIT = 1024, INSTANCE_LIMIT = 64 };

static nvml_return count_gpus(const struct nvml *nvml, unsigned *ret)
{
    const struct nvml_functions *call = &nvml->library.call;
    *ret = 0;
    nvml_return result = call->nvmlDeviceGetCount_v2 ? call->nvmlDeviceGetCount_v2(ret)
                                                     : call->nvmlDeviceGetCount(ret);
    if (result == NVML_SUCCESS && *ret > GPU_LIMIT)
        *ret = GPU_LIMIT;
    return result;
}

static nvml_return get_handle(const struct nvml *nvml, unsigned index, nvml_handle *ret)
{
    const struct nvml_functions *call = &nvml->library.call;
    return call->nvmlDeviceGetHandleByIndex_v2 ? call->nvmlDeviceGetHandleByIndex_v2(index, ret)
                                               : call->nvmlDeviceGetHandleByIndex(index, ret);
}

/* A GPU or a MIG instance, as the driver lists it at the moment. */
struct entry {
    unsigned gpu;
    nvml_return result; /* why `handle` is NULL */
    nvml_handle handle;
    nvml_handle gpu_handle;
    struct nvml_pci pci;
    bool suspended;
    bool is_mig;
    unsigned place; /* of an instance below its GPU: places have holes */
};

struct entry_list {
    struct entry *entries;
    size_t count;
};

static struct entry *add_entry(struct entry_list *list)
{
    struct entry *grown = reallocarray(list->entries, list->count + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    list->entries = grown;
    grown[list->count] = (struct entry){0};
    return &grown[list->count++];
}

static int add_instances(const struct nvml *nvml, const struct entry *gpu, struct entry_list *list)
{
    unsigned current = 0;
    unsigned pending = 0;
    unsigned places = 0;
    nvml_handle gpu_handle = gpu->handle;
    unsigned gpu_index = gpu->gpu;
    if (NVML_CALL(nvml, nvmlDeviceGetMigMode, gpu_handle, &current, &pending) != NVML_SUCCESS ||
        current != 1 ||
        NVML_CALL(nvml, nvmlDeviceGetMaxMigDeviceCount, gpu_handle, &places) != NVML_SUCCESS)
        return 0;
    for (unsigned place = 0; place < places && place < INSTANCE_LIMIT; place++) {
        nvml_handle handle = NULL;
        if (NVML_CALL(nvml, nvmlDeviceGetMigDeviceHandleByIndex, gpu_handle, place, &handle) !=
            NVML_SUCCESS)
            continue;
        struct entry *entry = add_entry(list);
        if (!entry)
            return -ENOMEM;
        entry->gpu = gpu_index;
        entry->handle = handle;
        entry->gpu_handle = gpu_handle;
        entry->is_mig = true;
        entry->place = place;
    }
    return 0;
}

static void look_at_gpu(const struct nvml *nvml, struct entry *entry)
{
    entry->result = get_handle(nvml, entry->gpu, &entry->handle);
    if (entry->result != NVML_SUCCESS) {
        entry->handle = NULL;
        return;
    }
    entry->gpu_handle = entry->handle;
    if (NVML_CALL(nvml, nvmlDeviceGetPciInfo_v3, entry->handle, &entry->pci) != NVML_SUCCESS)
        entry->pci = (struct nvml_pci){0};
    entry->pci.bus_id[sizeof(entry->pci.bus_id) - 1] = '\0';
    int status = nvml_open_power_state(nvml, &entry->pci);
    entry->suspended = nvml_is_suspended(status);
    if (status >= 0)
        close(status);
}

static int enumerate(const struct nvml *nvml, struct entry_list *list, unsigned *ret_gpus)
{
    if (count_gpus(nvml, ret_gpus) != NVML_SUCCESS)
        return -EIO;
    for (unsigned i = 0; i < *ret_gpus; i++) {
        struct entry *entry = add_entry(list);
        if (!entry)
            return -ENOMEM;
        entry->gpu = i;
        look_at_gpu(nvml, entry);
        struct entry gpu = *entry;
        if (gpu.handle && !gpu.suspended && add_instances(nvml, &gpu, list) < 0)
            return -ENOMEM;
    }
    return 0;
}

static void init_slot(struct nvml_device *slot)
{
    slot->power_state = -1;
    slot->gpm_absence = ABSENT_NOT_SUPPORTED;
    slot->xid.absence = ABSENT_FIRST_SAMPLE;
    slot->pcie.absence[NVML_PCIE_TX] = ABSENT_FIRST_SAMPLE;
    slot->pcie.absence[NVML_PCIE_RX] = ABSENT_FIRST_SAMPLE;
    slot->slow_at = NVML_LONG_AGO;
    slot->slowest_at = NVML_LONG_AGO;
    slot->read_at = NVML_LONG_AGO;
}

/* GPM that is not there: on older chips because of the chip. */
static enum absence explain_gpm(enum absence reason, const struct device *device)
{
    double capability = device_number(device, DEVICE_COMPUTE_CAPABILITY, 0);
    bool old_chip = capability > 0 && capability < 9;
    return old_chip ? ABSENT_NEEDS_HOPPER : reason;
}

static void open_gpm(struct nvml *nvml, struct nvml_device *slot, const struct device *device)
{
    struct gpm_target target = {
        .gpu = slot->gpu,
        .is_mig = slot->is_mig,
        .gpu_instance = slot->gpu_instance,
    };
    slot->gpm_absence = explain_gpm(gpm_open(&slot->gpm, &nvml->library.call, &target), device);
}

static void name_unanswering(const struct nvml *nvml, nvml_return result, struct device *device)
{
    char name[DEVICE_TEXT_SIZE];
    snprintf(name, sizeof(name), "GPU that does not answer (%.60s)",
             nvml_words(&nvml->library, result));
    device_set_text(device, DEVICE_NAME, name);
}

static void fill_gpu(struct nvml *nvml, const struct entry *entry, struct nvml_device *slot,
                     struct device *device)
{
    device->index = entry->gpu;
    if (!entry->handle) {
        name_unanswering(nvml, entry->result, device);
        return;
    }
    slot->pci = entry->pci;
    slot->power_state = nvml_open_power_state(nvml, &entry->pci);
    device_set_text(device, DEVICE_PCI_ADDRESS, entry->pci.bus_id);
    nvml_identify_gpu(nvml, slot->handle, device);
    if (entry->suspended)
        return;
    nvml_describe_gpu(nvml, slot, device);
    open_gpm(nvml, slot, device);
    slot->described = true;
}

static void fill_instance(struct nvml *nvml, const struct entry *entry, const struct device *gpu,
                          struct nvml_device *slot, struct device *device)
{
    device->index = entry->place;
    slot->is_mig = true;
    nvml_describe_instance(nvml, slot, gpu, device);
    open_gpm(nvml, slot, device);
    slot->described = true;
}

static int adopt(struct nvml *nvml, const struct entry_list *list)
{
    struct counter *counter = &nvml->counter;
    nvml->devices = calloc(list->count, sizeof(*nvml->devices));
    counter->devices = calloc(list->count, sizeof(*counter->devices));
    if (!nvml->devices || !counter->devices)
        return -ENOMEM;
    counter->device_count = list->count;
    size_t gpu = 0;
    for (size_t i = 0; i < list->count; i++)
        init_slot(&nvml->devices[i]);
    for (size_t i = 0; i < list->count; i++) {
        const struct entry *entry = &list->entries[i];
        struct nvml_device *slot = &nvml->devices[i];
        slot->handle = entry->handle;
        slot->gpu = entry->gpu_handle;
        slot->gpu_index = entry->gpu;
        if (entry->is_mig) {
            fill_instance(nvml, entry, &counter->devices[gpu], slot, &counter->devices[i]);
            continue;
        }
        gpu = i;
        fill_gpu(nvml, entry, slot, &counter->devices[i]);
    }
    return 0;
}

int nvml_list(struct nvml *nvml)
{
    struct entry_list list = {0};
    int r = enumerate(nvml, &list, &nvml->gpu_count);
    if (r == 0 && nvml->gpu_count == 0)
        r = -ENODEV;
    if (r == 0)
        r = adopt(nvml, &list);
    free(list.entries);
    if (r == 0)
        nvml_number_for_cuda(nvml->counter.devices, nvml->counter.device_count);
    return r;
}

void nvml_free_list(struct nvml *nvml)
{
    for (size_t i = 0; i < nvml->counter.device_count; i++) {
        gpm_free(nvml->devices[i].gpm);
        if (nvml->devices[i].power_state >= 0)
            close(nvml->devices[i].power_state);
    }
    free(nvml->devices);
    free(nvml->counter.devices);
}

/* A GPU that has stopped answering is lost, not gone: its place stays. One that answers for the
 * first time has yet to be described. */
static bool differs(const struct nvml *nvml, const struct entry *entry, size_t index)
{
    const struct nvml_device *slot = &nvml->devices[index];
    const struct device *device = &nvml->counter.devices[index];
    if (entry->gpu != slot->gpu_index || entry->is_mig != slot->is_mig)
        return true;
    if (!entry->is_mig)
        return !slot->described && entry->handle && !entry->suspended;
    char uuid[NVML_TEXT_SIZE] = "";
    return entry->place != device->index ||
           (NVML_CALL(nvml, nvmlDeviceGetUUID, entry->handle, uuid, sizeof(uuid)) == NVML_SUCCESS &&
            strcmp(uuid, device->text[DEVICE_UUID]) != 0);
}

bool nvml_list_changed(struct nvml *nvml)
{
    struct entry_list list = {0};
    unsigned gpus = 0;
    bool changed = false;
    if (enumerate(nvml, &list, &gpus) == 0 && gpus > 0) {
        changed = list.count != nvml->counter.device_count;
        for (size_t i = 0; i < list.count && !changed; i++)
            changed = differs(nvml, &list.entries[i], i);
    }
    free(list.entries);
    return changed;
}

nvml_handle nvml_handle_of(struct nvml *nvml, const struct nvml_device *slot)
{
    pthread_mutex_lock(&nvml->lock);
    nvml_handle handle = slot->handle;
    pthread_mutex_unlock(&nvml->lock);
    return handle;
}

int nvml_find_again(struct nvml *nvml, size_t index)
{
    struct nvml_device *slot = &nvml->devices[index];
    const char *uuid = nvml->counter.devices[index].text[DEVICE_UUID];
    nvml_handle handle = NULL;
    nvml_return result = uuid[0] ? NVML_CALL(nvml, nvmlDeviceGetHandleByUUID, uuid, &handle)
                                 : get_handle(nvml, slot->gpu_index, &handle);
    if (result == NVML_FUNCTION_NOT_FOUND)
        return 0;
    if (result != NVML_SUCCESS)
        return -ENODEV;
    pthread_mutex_lock(&nvml->lock);
    slot->handle = handle;
    pthread_mutex_unlock(&nvml->lock);
    if (!slot->is_mig)
        slot->gpu = handle;
    slot->slow_at = NVML_LONG_AGO;
    slot->slowest_at = NVML_LONG_AGO;
    gpm_restart(slot->gpm, slot->gpu);
    return 0;
}
