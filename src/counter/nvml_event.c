#include "counter/nvml.h"

#include "base/clock.h"

/* The wait only collects what is queued already. */
enum { WAIT_MILLISECONDS = 1, EVENTS_AT_ONCE = 64 };
static const double SAME_ERROR_PERIOD = 10;

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
        bool is_logged = nvml->kernel_log >= 0 && slot->pci.bus_id[0];
        set_absence(nvml, slot, is_logged ? ABSENT_NO : nvml_absence(result));
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

static struct nvml_device *find_gpu(struct nvml *nvml, nvml_handle handle)
{
    for (size_t i = 0; i < nvml->counter.device_count; i++)
        if (nvml_handle_of(nvml, &nvml->devices[i]) == handle)
            return &nvml->devices[i];
    return NULL;
}

static struct nvml_device *find_gpu_at(struct nvml *nvml, const struct nvml_kernel_xid *xid)
{
    for (size_t i = 0; i < nvml->counter.device_count; i++) {
        const struct nvml_pci *pci = &nvml->devices[i].pci;
        if (pci->bus_id[0] && pci->domain == xid->domain && pci->bus == xid->bus &&
            pci->device == xid->device)
            return &nvml->devices[i];
    }
    return NULL;
}

/* Whether the other origin has told of it already. */
static bool is_told(struct nvml_device *gpu, enum nvml_xid_origin origin, uint64_t code, double now)
{
    for (size_t i = 0; i < NVML_XID_MEMORY; i++) {
        struct nvml_told_xid *told = &gpu->told[i];
        if (told->origin != origin && told->code == code && now - told->time < SAME_ERROR_PERIOD) {
            told->time = 0;
            return true;
        }
    }
    gpu->told[gpu->told_count++ % NVML_XID_MEMORY] =
        (struct nvml_told_xid){.origin = origin, .code = code, .time = now};
    return false;
}

static void count_xid(struct nvml *nvml, struct nvml_device *gpu, enum nvml_xid_origin origin,
                      const struct nvml_event *event)
{
    double now = clock_realtime();
    if (is_told(gpu, origin, event->data, now))
        return;
    pthread_mutex_lock(&nvml->lock);
    for (size_t i = 0; i < nvml->counter.device_count; i++) {
        struct nvml_device *slot = &nvml->devices[i];
        if (!concerns(slot, gpu, event))
            continue;
        slot->xid.count++;
        slot->xid.last_code = event->data;
        slot->xid.last_time = now;
    }
    pthread_mutex_unlock(&nvml->lock);
}

static void count_event(struct nvml *nvml, const struct nvml_event *event)
{
    struct nvml_device *gpu = find_gpu(nvml, event->device);
    if (gpu && event->type & NVML_EVENT_XID)
        count_xid(nvml, gpu, NVML_XID_EVENT, event);
}

static void count_logged(struct nvml *nvml, const struct nvml_kernel_xid *xid)
{
    struct nvml_device *gpu = find_gpu_at(nvml, xid);
    struct nvml_event event = {
        .data = xid->code,
        .gpu_instance = xid->gpu_instance,
        .compute_instance = xid->compute_instance,
    };
    if (gpu)
        count_xid(nvml, gpu, NVML_XID_LOG, &event);
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
        nvml_open_kernel_log(nvml);
        register_gpus(nvml);
    }
    struct nvml_event event;
    for (int i = 0;
         i < EVENTS_AT_ONCE && nvml->events && wait_for_event(nvml, &event) == NVML_SUCCESS; i++)
        count_event(nvml, &event);
    nvml_read_kernel_log(nvml, count_logged);
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
