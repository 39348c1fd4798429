/* The fake's events and GPM. */
#include <math.h>
#include <stdlib.h>

#include "nvml_call.h"

static const double GPM_STEP = 0.1;

struct nvml_event_set {
    bool registered[FAKE_DEVICES];
    unsigned given[FAKE_DEVICES]; /* entries of the device that have been looked at */
};

struct nvml_gpm_sample {
    const struct fake_device *device;
    double moment;
};

/* A call that works wherever no line says otherwise. */
static nvml_return granted(struct call *call)
{
    if (call->result == NVML_NOT_SUPPORTED && !call->entry)
        call->result = NVML_SUCCESS;
    return call->result;
}

nvml_return nvmlEventSetCreate(nvml_event_set *set)
{
    struct call call = BEGIN(&script.system, nvmlEventSetCreate, NONE, NONE);
    if (granted(&call) == NVML_SUCCESS)
        *set = calloc(1, sizeof(**set));
    return end(&call);
}

nvml_return nvmlEventSetFree(nvml_event_set set)
{
    free(set);
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceRegisterEvents(nvml_handle device, unsigned long long types,
                                     nvml_event_set set)
{
    struct call call = BEGIN(device, nvmlDeviceRegisterEvents, (uint32_t)types, NONE);
    if (call.result == NVML_SUCCESS)
        set->registered[number_of(call.device)] = true;
    return end(&call);
}

/* The next Xid of a device that the set has not given yet. */
static bool take_event(nvml_event_set set, unsigned number, double now, struct nvml_event *event,
                       bool with_instances)
{
    struct fake_device *device = &script.devices[number];
    for (unsigned *at = &set->given[number]; *at < device->entry_count;) {
        const struct fake_entry *entry = &device->entries[*at];
        if (entry->at > now)
            return false;
        ++*at;
        if (entry->function != FAKE_XID)
            continue;
        event->device = (nvml_handle)device;
        event->type = NVML_EVENT_XID;
        event->data = entry->number[0].whole;
        if (with_instances) {
            event->gpu_instance = entry->argument[0];
            event->compute_instance = entry->argument[1];
        }
        return true;
    }
    return false;
}

static nvml_return wait_for_event(struct call call, nvml_event_set set, struct nvml_event *event,
                                  bool with_instances)
{
    if (granted(&call) != NVML_SUCCESS)
        return end(&call);
    call.result = NVML_TIMEOUT;
    for (unsigned i = 0; i < script.device_count && call.result == NVML_TIMEOUT; i++)
        if (set->registered[i] && take_event(set, i, call.now, event, with_instances))
            call.result = NVML_SUCCESS;
    return end(&call);
}

nvml_return nvmlEventSetWait_v2(nvml_event_set set, struct nvml_event *event, unsigned milliseconds)
{
    struct call call = BEGIN(&script.system, nvmlEventSetWait_v2, milliseconds, NONE);
    return wait_for_event(call, set, event, true);
}

nvml_return nvmlEventSetWait(nvml_event_set set, struct nvml_event *event, unsigned milliseconds)
{
    struct call call = BEGIN(&script.system, nvmlEventSetWait, milliseconds, NONE);
    return wait_for_event(call, set, event, false);
}

nvml_return nvmlGpmQueryDeviceSupport(nvml_handle device, struct nvml_gpm_support *support)
{
    struct call call = BEGIN(device, nvmlGpmQueryDeviceSupport, NONE, NONE);
    if (call.result == NVML_SUCCESS && support->version != NVML_GPM_VERSION)
        call.result = NVML_VERSION_MISMATCH;
    if (call.result == NVML_SUCCESS)
        support->supported = (uint32_t)whole(&call, 0);
    return end(&call);
}

nvml_return nvmlGpmSampleAlloc(nvml_gpm_sample *sample)
{
    fake_log("nvmlGpmSampleAlloc");
    *sample = calloc(1, sizeof(**sample));
    return *sample ? NVML_SUCCESS : NVML_UNKNOWN;
}

nvml_return nvmlGpmSampleFree(nvml_gpm_sample sample)
{
    fake_log("nvmlGpmSampleFree");
    free(sample);
    return NVML_SUCCESS;
}

static nvml_return fill_sample(struct call call, struct fake_device *of, nvml_gpm_sample sample)
{
    if (call.result == NVML_SUCCESS)
        *sample = (struct nvml_gpm_sample){.device = of, .moment = call.now};
    return end(&call);
}

nvml_return nvmlGpmSampleGet(nvml_handle device, nvml_gpm_sample sample)
{
    struct call call = BEGIN(device, nvmlGpmSampleGet, NONE, NONE);
    return fill_sample(call, call.device, sample);
}

/* The instance that has this GPU instance, for its own figures where its lines give any. */
static struct fake_device *find_instance(struct fake_device *gpu, unsigned id, double now)
{
    for (unsigned i = 0; i < script.device_count; i++) {
        struct fake_device *device = &script.devices[i];
        if (!device->is_mig || &script.devices[device->gpu] != gpu)
            continue;
        const struct fake_entry *entry =
            fake_find(device, FAKE_nvmlDeviceGetGpuInstanceId, now, NONE, NONE);
        if (entry && entry->number_count > 0 && entry->number[0].whole == id)
            return device;
    }
    return NULL;
}

nvml_return nvmlGpmMigSampleGet(nvml_handle device, unsigned gpu_instance, nvml_gpm_sample sample)
{
    struct call call = BEGIN(device, nvmlGpmMigSampleGet, gpu_instance, NONE);
    struct fake_device *instance =
        call.result == NVML_SUCCESS ? find_instance(call.device, gpu_instance, call.now) : NULL;
    if (call.result == NVML_SUCCESS && !instance)
        call.result = NVML_NOT_FOUND;
    return fill_sample(call, instance, sample);
}

static long step_of(double now)
{
    return (long)floor(now / GPM_STEP + 1e-6);
}

/* Of a metric that it does not have, the real library writes no more than the result. */
static void give_metric(const struct nvml_gpm_metrics *metrics, bool empty,
                        struct nvml_gpm_metric_value *metric)
{
    struct nvml_gpm_sample *newer = metrics->newer;
    struct fake_device *device = (struct fake_device *)newer->device;
    struct call call = BEGIN(device, nvmlGpmMetricsGet, metric->id, NONE);
    metric->result = call.entry ? call.result : NVML_INVALID_ARGUMENT;
    if (metric->result == NVML_SUCCESS) {
        metric->value = real(&call, 0);
        metric->short_name = metric->long_name = metric->unit = "";
        if (empty)
            metric->value = metric->id == NVML_GPM_DRAM ? NAN : 0;
    }
    end(&call);
}

nvml_return nvmlGpmMetricsGet(struct nvml_gpm_metrics *metrics)
{
    if (metrics->version != NVML_GPM_VERSION)
        return NVML_VERSION_MISMATCH;
    if (!metrics->older || !metrics->newer || !metrics->newer->device ||
        metrics->older->device != metrics->newer->device)
        return NVML_INVALID_ARGUMENT;
    bool empty = step_of(metrics->older->moment) == step_of(metrics->newer->moment);
    for (uint32_t i = 0; i < metrics->count; i++)
        give_metric(metrics, empty, &metrics->metric[i]);
    return NVML_SUCCESS;
}
