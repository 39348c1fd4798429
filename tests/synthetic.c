#include "synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sol/sol.h"

static const double START = 1700000000;

static void make_device(struct device *device, size_t i, long parent)
{
    *device = (struct device){.index = (unsigned)i};
    char text[DEVICE_TEXT_SIZE];
    snprintf(text, sizeof(text), "GPU-%08zu", i);
    device_set_text(device, DEVICE_UUID, text);
    device_set_text(device, DEVICE_NAME, parent >= 0 ? "NVIDIA H200 MIG 3g.71gb" : "NVIDIA H200");
    device_set_text(device, DEVICE_ARCHITECTURE, "hopper");
    device_set_number(device, DEVICE_COMPUTE_CAPABILITY, 9);
    device_set_number(device, DEVICE_SM_COUNT, 132);
    device_set_number(device, DEVICE_MAX_SM_CLOCK, 1980e6);
    device_set_number(device, DEVICE_MEMORY_TOTAL, 140e9);
    device_set_number(device, DEVICE_POWER_LIMIT, 700);
    device_set_number(device, DEVICE_PCIE_MAX_GENERATION, 5);
    device_set_number(device, DEVICE_PCIE_MAX_WIDTH, 16);
    device_set_number(device, DEVICE_NVLINK_BANDWIDTH, 478e9);
    if (parent >= 0)
        device_set_number(device, DEVICE_PARENT, (double)parent);
}

static double wave(double time, double phase)
{
    return 0.5 + 0.5 * sin(time + phase);
}

static void make_sample(struct sample *sample, const struct device *device, size_t i, double time)
{
    double level = wave(time, (double)i);
    sample_reset(sample, ABSENT_NOT_PROVIDED);
    sample->time = time;
    sample->interval = 0.1;
    sample_set(sample, METRIC_GRAPHICS_ACTIVE, 0.99);
    sample_set(sample, METRIC_SM_ACTIVE, 0.9);
    sample_set(sample, METRIC_TENSOR_ACTIVE, 0.85 * level);
    sample_set(sample, METRIC_TENSOR_HMMA_ACTIVE, 0.85 * level);
    sample_set(sample, METRIC_FP32_ACTIVE, 0.1);
    sample_set(sample, METRIC_DRAM_ACTIVE, 0.8 * wave(time / 3, (double)i));
    sample_set(sample, METRIC_NVML_UTILIZATION, 0.99);
    sample_set(sample, METRIC_MEMORY_USED, 60e9 * level);
    sample_set(sample, METRIC_MEMORY_TOTAL, 140e9);
    sample_set(sample, METRIC_PCIE_RX, 50e9 * level);
    sample_set(sample, METRIC_NVLINK_TX, 300e9 * level);
    sample_set(sample, METRIC_POWER, 650 * level);
    sample_set(sample, METRIC_SM_CLOCK, 1700e6);
    sample_set(sample, METRIC_TEMPERATURE, 60);
    sample_set(sample, METRIC_THROTTLE_REASONS, (double)(i % 64));
    sol_derive(device, NULL, sample);
    if (i % 3 == 2)
        sample_miss(sample, METRIC_MEMORY_USED, ABSENT_NOT_SUPPORTED);
}

static void make_processes(struct process_list *list, size_t i)
{
    *list = (struct process_list){.known = i % 11 != 10, .count = i % 4};
    for (size_t n = 0; n < list->count; n++)
        list->process[n] = (struct process){
            .pid = (pid_t)(1000 + 10 * i + n),
            .kinds = n == 0 ? PROCESS_COMPUTE : PROCESS_MPS_CLIENT,
            .memory_known = n != 2,
            .memory_bytes = (uint64_t)(n + 1) << 30,
        };
}

void synthetic_step(struct model *model)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    if (!reading)
        abort();
    model->time += 0.1;
    for (size_t i = 0; i < model->device_count; i++) {
        const struct model_device *device = &model->devices[i];
        make_sample(&reading->sample, &device->device, device->source, model->time);
        make_processes(&reading->processes, device->source);
        reading->state = READING_OK;
        if (device->source % 7 == 3) {
            reading->state = device->source % 2 ? READING_LOST : READING_STALE;
            reading->age = 12.3;
            reading_withdraw(reading);
        }
        model_add(model, device->source, reading);
    }
    free(reading);
}

void synthetic_model(struct model *ret, size_t count)
{
    struct device *devices = calloc(2 * count + 1, sizeof(*devices));
    const struct device **list = calloc(2 * count + 1, sizeof(*list));
    if (!devices || !list)
        abort();
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        size_t gpu = made;
        make_device(&devices[made], gpu, -1);
        made++;
        for (size_t n = 0; n < 2 && i % 5 == 4 && made < 2 * count; n++, made++)
            make_device(&devices[made], made, (long)gpu);
    }
    for (size_t i = 0; i < made; i++)
        list[i] = &devices[i];
    *ret = (struct model){.time = START, .interval = 0.1, .source = "synthetic"};
    if (model_set_devices(ret, list, made) < 0)
        abort();
    for (size_t i = 0; i < SYNTHETIC_SAMPLES; i++)
        synthetic_step(ret);
    free(list);
    free(devices);
}

static const struct process_description *describe(void *context, pid_t pid)
{
    static struct process_description description;
    (void)context;
    description = (struct process_description){
        .start_time = START - 4000,
        .parent = pid % 10 ? pid - 1 : 1,
        .outside = pid % 7 == 0,
        .user = "alice",
        .container = "docker:0123456789ab",
    };
    snprintf(description.command, sizeof(description.command),
             "/usr/bin/python3 train.py --rank %d --name \xe5\xad\xa6\xe7\xbf\x92", (int)pid);
    return &description;
}

struct process_lookup synthetic_lookup(void)
{
    return (struct process_lookup){describe, NULL};
}
