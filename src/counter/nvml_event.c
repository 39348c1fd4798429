#include "counter/nvml.h"

#include "base/clock.h"

/* The wait only collects what is queued already. */
enum { WAIT_MILLISECONDS = 1, EVENTS_AT_ONCE = 64 };

static void set_absence(struct nvml *nvml, const struct nvml_device *gpu, enum absence absence)
{
    pthread_mutex_lock(&nvml->lock);
    for (size_t i = 0; i < nvml->counter.device_count; i++)
        if (nvml->devices[i].gpu_index == gpu->gpu_index)
            nvml->devices[i].xid.absence = absence;
    pthread_mutex_unlock(&nvml->lock);
}

static void register_gpus(struct nvml *nvml)
{
    nvml_return created = NVML_CALL(nvml, nvmlEventSetCreate, &nvml->events);
    bool can_wait = nvml->library.call.nvmlEventSetWait_v2 || nvml->library.call.nvmlEventSetWait;
    for (size_t i = 0; i < nvml->counter.device_count; i++) {
        const struct nvml_device *slot = &nvml->devices[i];
        if (slot->is_mig || !nvml_handle_of(nvml, slot))
            continue;
        nvml_return result =
            created == NVML_SUCCESS && !can_wait ? NVML_FUNCTION_NOT_FOUND : created;
        if (!slot->described)
            result = NVML_NOT_SUPPORTED;
        if (result == NVML_SUCCESS)
            result = NVML_CALL(nvml, nvmlDeviceRegisterEvents, nvml_handle_of(nvml, slot),
                               NVML_EVENT_XID, nvml->events);
        set_absence(nvml, slot, nvml_absence(result));
    }
    if (created != NVML_SUCCESS)
        nvml->events = NULL;
}

/* An Xid of one instance is the whole GPU's too; one that names no instance is everyone's. */
static bool concerns(const struct nvml_device *slot, const struct nvml_device *gpu,
                     const struct nvml_event *event)
{
    if (slot->gpu_index != gpu->gpu_index)
        return false;
    if (!slot->is_mig || event->gpu_instance == NVML_UNAVAILABLE_32)
        return true;
    return slot->gpu_instance == event->gpu_instance &&
           (event->compute_instance == NVML_UNAVAILABLE_32 ||
            event->compute_instance == slot->compute_instance);
}

/* Under the lock. */
static const struct nvml_device *find_gpu(const struct nvml *nvml, nvml_handle handle)
{
    for (size_t i = 0; i < nvml->counter.device_count; i++)
        if (nvml->devices[i].handle == handle)
            return &nvml->devices[i];
    return NULL;
}

static void count_event(struct nvml *nvml, const struct nvml_event *event)
{
    double now = clock_realtime();
    pthread_mutex_lock(&nvml->lock);
    const struct nvml_device *gpu = find_gpu(nvml, event->device);
    for (size_t i = 0; i < nvml->counter.device_count && gpu; i++) {
        struct nvml_device *slot = &nvml->devices[i];
        if (!concerns(slot, gpu, event))
            continue;
        slot->xid.count++;
        slot->xid.last_code = event->data;
        slot->xid.last_time = now;
    }
    pthread_mutex_unlock(&nvml->lock);
}

static nvml_return wait_for_event(struct nvml *nvml, struct nvml_event *event)
{
    *event = (struct nvml_event){
        .gpu_instance = NVML_UNAVAILABLE_32,
        .compute_instance = NVML_UNAVAILABLE_32,
    };
    nvml_return result =
        NVML_CALL(nvml, nvmlEventSetWait_v2, nvml->events, event, WAIT_MILLISECONDS);
    return result == NVML_FUNCTION_NOT_FOUND
               ? NVML_CALL(nvml, nvmlEventSetWait, nvml->events, event, WAIT_MILLISECONDS)
               : result;
}

void nvml_poll_events(void *context)
{
    struct nvml *nvml = context;
    if (!nvml->events_tried) {
        nvml->events_tried = true;
        register_gpus(nvml);
    }
    if (!nvml->events)
        return;
    struct nvml_event event;
    for (int i = 0; i < EVENTS_AT_ONCE && wait_for_event(nvml, &event) == NVML_SUCCESS; i++)
        if (event.type & NVML_EVENT_XID)
            count_event(nvml, &event);
}

void nvml_fill_xid(struct nvml *nvml, const struct nvml_device *slot, struct sample *sample)
{
    pthread_mutex_lock(&nvml->lock);
    struct nvml_xid xid = slot->xid;
    pthread_mutex_unlock(&nvml->lock);

    enum absence absence = xid.absence;
    if (absence != ABSENT_NO) {
        sample_miss(sample, METRIC_XID_ERRORS, absence);
        sample_miss(sample, METRIC_XID_LAST_CODE, absence);
        sample_miss(sample, METRIC_XID_LAST_TIME, absence);
        return;
    }
    sample_set(sample, METRIC_XID_ERRORS, (double)xid.count);
    if (xid.count == 0) {
        sample_miss(sample, METRIC_XID_LAST_CODE, ABSENT_NONE_SEEN);
        sample_miss(sample, METRIC_XID_LAST_TIME, ABSENT_NONE_SEEN);
        return;
    }
    sample_set(sample, METRIC_XID_LAST_CODE, (double)xid.last_code);
    sample_set(sample, METRIC_XID_LAST_TIME, xid.last_time);
}
