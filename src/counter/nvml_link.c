#include "counter/nvml.h"

#include <math.h>

/* A rate older than this is of a thread that hangs. */
static const double STALE_AGE = 5;
static const double KIBIBYTE = 1024;

static const enum metric pcie_metrics[] = {
    [NVML_PCIE_TX] = METRIC_PCIE_TX,
    [NVML_PCIE_RX] = METRIC_PCIE_RX,
};
static const enum metric nvlink_metrics[] = {
    [NVML_PCIE_TX] = METRIC_NVLINK_TX,
    [NVML_PCIE_RX] = METRIC_NVLINK_RX,
};

static void poll_gpu(struct nvml *nvml, struct nvml_device *slot)
{
    nvml_handle handle = nvml_handle_of(nvml, slot);
    for (uint32_t direction = NVML_PCIE_TX; direction <= NVML_PCIE_RX; direction++) {
        unsigned kilobytes = 0;
        nvml_return result =
            NVML_CALL(nvml, nvmlDeviceGetPcieThroughput, handle, direction, &kilobytes);
        enum absence absence = nvml_absence(result);
        if (absence == ABSENT_NO && kilobytes == NVML_UNAVAILABLE_32)
            absence = ABSENT_NOT_PLAUSIBLE;
        pthread_mutex_lock(&nvml->lock);
        slot->pcie.absence[direction] = absence;
        slot->pcie.rate[direction] = kilobytes * 1e3;
        slot->pcie.time = nvml->now();
        pthread_mutex_unlock(&nvml->lock);
    }
}

void nvml_poll_pcie(void *context)
{
    struct nvml *nvml = context;
    for (size_t i = 0; i < nvml->counter.device_count; i++) {
        struct nvml_device *slot = &nvml->devices[i];
        if (!slot->is_mig && !slot->gpm && slot->described && atomic_load(&slot->is_read) &&
            !nvml_is_suspended(slot->power_state))
            poll_gpu(nvml, slot);
    }
}

void nvml_fill_pcie(struct nvml *nvml, const struct nvml_device *slot, double now,
                    struct sample *sample)
{
    if (slot->is_mig) {
        sample_miss(sample, METRIC_PCIE_TX, ABSENT_SHARED_MIG);
        sample_miss(sample, METRIC_PCIE_RX, ABSENT_SHARED_MIG);
        return;
    }
    pthread_mutex_lock(&nvml->lock);
    struct nvml_pcie pcie = slot->pcie;
    pthread_mutex_unlock(&nvml->lock);
    for (size_t i = 0; i < ARRAY_SIZE(pcie_metrics); i++) {
        if (pcie.absence[i] != ABSENT_NO)
            sample_miss(sample, pcie_metrics[i], pcie.absence[i]);
        else if (now - pcie.time > STALE_AGE)
            sample_miss(sample, pcie_metrics[i], ABSENT_STALE);
        else
            sample_set(sample, pcie_metrics[i], pcie.rate[i]);
    }
}

static void count_pcie(struct nvml *nvml, struct nvml_device *slot)
{
    struct nvml_field_value values[] = {
        {.field = NVML_FIELD_PCIE_TX_BYTES},
        {.field = NVML_FIELD_PCIE_RX_BYTES},
    };
    uint32_t count = 0;
    if (NVML_CALL(nvml, nvmlDeviceGetFieldValues, slot->handle, ARRAY_SIZE(values), values) !=
        NVML_SUCCESS)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        if (values[i].result != NVML_SUCCESS)
            return;
        count += values[i].value.u32;
    }
    slot->pcie_moves |= slot->pcie_counted && count != slot->pcie_count;
    slot->pcie_counted = true;
    slot->pcie_count = count;
}

void nvml_check_pcie(struct nvml *nvml, struct nvml_device *slot, bool due, struct sample *sample)
{
    bool withdrawn = slot->pcie_moves && !sample_has(sample, METRIC_PCIE_RX);
    bool zero =
        sample_get(sample, METRIC_PCIE_RX, 1) == 0 && sample_get(sample, METRIC_PCIE_TX, 1) == 0;
    if (!zero && !withdrawn) {
        slot->pcie_counted = false;
        slot->pcie_moves = false;
        return;
    }
    if (due)
        count_pcie(nvml, slot);
    for (size_t i = 0; i < ARRAY_SIZE(pcie_metrics) && slot->pcie_moves; i++)
        sample_miss(sample, pcie_metrics[i], ABSENT_NOT_PLAUSIBLE);
}

double nvml_field_number(const struct nvml_field_value *value)
{
    switch (value->type) {
    case NVML_TYPE_DOUBLE:
        return value->value.real;
    case NVML_TYPE_UNSIGNED:
        return value->value.u32;
    case NVML_TYPE_UNSIGNED_LONG:
    case NVML_TYPE_UNSIGNED_LONG_LONG:
        return (double)value->value.u64;
    case NVML_TYPE_SIGNED_LONG_LONG:
        return (double)value->value.s64;
    case NVML_TYPE_SIGNED:
        return value->value.s32;
    default:
        return NAN;
    }
}

static void set_rate(struct nvml_rate *rate, const struct nvml_field_value *value, double now,
                     struct sample *sample, enum metric metric)
{
    if (value->result != NVML_SUCCESS) {
        sample_miss(sample, metric, nvml_absence(value->result));
        rate->has_base = false;
        return;
    }
    uint64_t count = value->value.u64;
    double elapsed = now - rate->base_time;
    if (!rate->has_base || elapsed <= 0)
        sample_miss(sample, metric, ABSENT_FIRST_SAMPLE);
    else if (count < rate->base || count == NVML_UNAVAILABLE)
        sample_miss(sample, metric, ABSENT_NOT_PLAUSIBLE);
    else
        sample_set(sample, metric, (double)(count - rate->base) * KIBIBYTE / elapsed);
    *rate = (struct nvml_rate){.has_base = true, .base = count, .base_time = now};
}

void nvml_read_nvlink(struct nvml *nvml, struct nvml_device *slot, double now,
                      struct sample *sample)
{
    if (slot->is_mig) {
        sample_miss(sample, METRIC_NVLINK_TX, ABSENT_SHARED_MIG);
        sample_miss(sample, METRIC_NVLINK_RX, ABSENT_SHARED_MIG);
        return;
    }
    struct nvml_field_value values[] = {
        [NVML_PCIE_TX] = {.field = NVML_FIELD_NVLINK_DATA_TX, .scope = NVML_ALL_LINKS},
        [NVML_PCIE_RX] = {.field = NVML_FIELD_NVLINK_DATA_RX, .scope = NVML_ALL_LINKS},
    };
    nvml_return result =
        NVML_CALL(nvml, nvmlDeviceGetFieldValues, slot->handle, ARRAY_SIZE(values), values);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        if (result != NVML_SUCCESS)
            values[i].result = result;
        set_rate(&slot->nvlink[i], &values[i], now, sample, nvlink_metrics[i]);
    }
}

/* Links that are up, from the function for it; false where it is not supported. */
static bool count_links(struct nvml *nvml, nvml_handle handle, unsigned *ret)
{
    *ret = 0;
    for (unsigned link = 0; link < NVML_MAX_LINKS; link++) {
        uint32_t active = 0;
        if (NVML_CALL(nvml, nvmlDeviceGetNvLinkState, handle, link, &active) != NVML_SUCCESS)
            return link > 0;
        *ret += active == 1;
    }
    return true;
}

/* The same from the fields, in one call: each may take a fraction of a millisecond. */
static bool count_links_by_field(struct nvml *nvml, nvml_handle handle, unsigned *ret)
{
    struct nvml_field_value states[NVML_MAX_LINKS];
    for (uint32_t link = 0; link < NVML_MAX_LINKS; link++)
        states[link] = (struct nvml_field_value){
            .field = NVML_FIELD_NVLINK_STATE,
            .scope = link,
            .result = NVML_NOT_SUPPORTED,
        };
    if (NVML_CALL(nvml, nvmlDeviceGetFieldValues, handle, NVML_MAX_LINKS, states) != NVML_SUCCESS)
        return false;
    *ret = 0;
    bool known = false;
    for (size_t link = 0; link < NVML_MAX_LINKS; link++) {
        if (states[link].result != NVML_SUCCESS)
            continue;
        known = true;
        *ret += nvml_field_number(&states[link]) == 1;
    }
    return known;
}

/* Bytes per second and direction of a link that is up, or 0. */
static double link_speed(struct nvml *nvml, nvml_handle handle)
{
    static const enum nvml_field fields[] = {NVML_FIELD_NVLINK_COMMON_SPEED,
                                             NVML_FIELD_NVLINK_SPEED};
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        struct nvml_field_value speed = {.field = fields[i], .result = NVML_NOT_SUPPORTED};
        if (NVML_CALL(nvml, nvmlDeviceGetFieldValues, handle, 1, &speed) != NVML_SUCCESS ||
            speed.result != NVML_SUCCESS)
            continue;
        double megabytes = nvml_field_number(&speed);
        if (megabytes > 0 && megabytes < 1e6)
            return megabytes * 1e6;
    }
    return 0;
}

void nvml_describe_nvlink(struct nvml *nvml, nvml_handle handle, struct device *device)
{
    unsigned count = 0;
    if (!count_links(nvml, handle, &count) && !count_links_by_field(nvml, handle, &count))
        return;
    device_set_number(device, DEVICE_NVLINK_COUNT, count);
    double speed = count > 0 ? link_speed(nvml, handle) : 0;
    if (speed > 0)
        device_set_number(device, DEVICE_NVLINK_BANDWIDTH, count * speed);
}
