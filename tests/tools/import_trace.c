/* Makes a recording of a trace that tests/device's forerunner took with Python on an H200: JSON
 * lines on standard input, and the spans of its known workloads as marks.
 *
 *     zcat TRACE.jsonl.gz | import_trace TRACE.phases.jsonl OUT.roof
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record/spans.h"
#include "record/writer.h"

enum { MAX_DEVICES = 2, SM_COUNT = 132, NVLINKS = 18 };
static const double MIB = 1048576;
static const double NVLINK_BYTES_PER_SECOND = 26.562e9;

struct ratio {
    const char *key;
    enum metric metric;
};

static const struct ratio gpm_ratios[] = {
    {"graphics_util", METRIC_GRAPHICS_ACTIVE},
    {"sm_util", METRIC_SM_ACTIVE},
    {"sm_occupancy", METRIC_SM_OCCUPANCY},
    {"integer_util", METRIC_INT_ACTIVE},
    {"any_tensor_util", METRIC_TENSOR_ACTIVE},
    {"dfma_tensor_util", METRIC_TENSOR_DFMA_ACTIVE},
    {"hmma_tensor_util", METRIC_TENSOR_HMMA_ACTIVE},
    {"imma_tensor_util", METRIC_TENSOR_IMMA_ACTIVE},
    {"dram_bw_util", METRIC_DRAM_ACTIVE},
    {"fp64_util", METRIC_FP64_ACTIVE},
    {"fp32_util", METRIC_FP32_ACTIVE},
    {"fp16_util", METRIC_FP16_ACTIVE},
};

static const struct ratio gpm_rates[] = {
    {"pcie_tx_per_sec", METRIC_PCIE_TX},
    {"pcie_rx_per_sec", METRIC_PCIE_RX},
    {"nvlink_total_rx_per_sec", METRIC_NVLINK_RX},
    {"nvlink_total_tx_per_sec", METRIC_NVLINK_TX},
};

struct state {
    struct record_writer *writer;
    struct device device[MAX_DEVICES];
    unsigned gpu[MAX_DEVICES];
    size_t device_count;
    double reserved[MAX_DEVICES]; /* what NVML counts as used before any process is there */
    double time[MAX_DEVICES];
    double energy[MAX_DEVICES];
};

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void adopt_device(struct state *state, const json_t *line)
{
    size_t i = state->device_count++;
    struct device *device = &state->device[i];
    device->index = (unsigned)i;
    device_set_text(device, DEVICE_UUID, json_string_value(json_object_get(line, "uuid")));
    device_set_text(device, DEVICE_NAME, json_string_value(json_object_get(line, "name")));
    device_set_text(device, DEVICE_ARCHITECTURE, number(line, "arch") == 9 ? "hopper" : "");
    device_set_number(device, DEVICE_CUDA_INDEX, (double)i);
    device_set_number(device, DEVICE_COMPUTE_CAPABILITY, 9.0);
    device_set_number(device, DEVICE_SM_COUNT, SM_COUNT);
    device_set_number(device, DEVICE_CORES, number(line, "cores"));
    device_set_number(device, DEVICE_MEMORY_TOTAL, number(line, "mem_total"));
    device_set_number(device, DEVICE_MEMORY_BUS_BITS, number(line, "bus_width"));
    device_set_number(device, DEVICE_MAX_SM_CLOCK, number(line, "max_sm_clock") * 1e6);
    device_set_number(device, DEVICE_MAX_MEMORY_CLOCK, number(line, "max_mem_clock") * 1e6);
    device_set_number(device, DEVICE_POWER_LIMIT, number(line, "power_limit_mw") / 1e3);
    device_set_number(device, DEVICE_PCIE_MAX_GENERATION, number(line, "pcie_gen"));
    device_set_number(device, DEVICE_PCIE_MAX_WIDTH, number(line, "pcie_width"));
    device_set_number(device, DEVICE_MIG_ENABLED, 0);
    record_writer_meta(state->writer, "driver_version",
                       json_string_value(json_object_get(line, "driver")));
    record_writer_meta(state->writer, "cuda_version", "13.0");
}

/* The trace of two GPUs was taken with their NVLinks up; that of one GPU does not tell. */
static int write_devices(struct state *state)
{
    for (size_t i = 0; i < state->device_count; i++) {
        if (state->device_count > 1) {
            device_set_number(&state->device[i], DEVICE_NVLINK_COUNT, NVLINKS);
            device_set_number(&state->device[i], DEVICE_NVLINK_BANDWIDTH,
                              NVLINKS * NVLINK_BYTES_PER_SECOND);
        }
        int r = record_writer_device(state->writer, &state->device[i], &state->gpu[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* NaN leaves the metric absent. */
static void set(struct sample *sample, enum metric metric, double value)
{
    if (isfinite(value))
        sample_set(sample, metric, value);
    else
        sample_miss(sample, metric, ABSENT_NO_NEW_SAMPLE);
}

static void fill_processes(const json_t *line, struct process_list *list)
{
    const json_t *all = json_object_get(line, "procs");
    list->known = json_is_array(all);
    size_t i;
    json_t *process;
    json_array_foreach(all, i, process)
    {
        list->process[list->count++] = (struct process){
            .pid = (pid_t)json_integer_value(json_array_get(process, 0)),
            .kinds = PROCESS_COMPUTE,
            .memory_known = true,
            .memory_bytes = (uint64_t)json_integer_value(json_array_get(process, 1)),
        };
    }
}

/* NVML's older call, which the trace used, counts the reserved memory as used. */
static void set_memory(const struct state *state, size_t i, double used, struct sample *sample)
{
    double total = state->device[i].number[DEVICE_MEMORY_TOTAL];
    set(sample, METRIC_MEMORY_TOTAL, total);
    set(sample, METRIC_MEMORY_FREE, total - used);
    set(sample, METRIC_MEMORY_RESERVED, state->reserved[i]);
    set(sample, METRIC_MEMORY_USED, used - state->reserved[i]);
}

/* power_mw is the driver's mean over a second; the present power is what the energy grew by. */
static void set_power(struct state *state, size_t i, const json_t *line, struct sample *sample)
{
    double energy = number(line, "energy_mj") / 1e3;
    set(sample, METRIC_POWER_AVERAGE, number(line, "power_mw") / 1e3);
    set(sample, METRIC_POWER_LIMIT, state->device[i].number[DEVICE_POWER_LIMIT]);
    set(sample, METRIC_ENERGY, energy);
    if (state->time[i] > 0)
        set(sample, METRIC_POWER, (energy - state->energy[i]) / (sample->time - state->time[i]));
    else
        sample_miss(sample, METRIC_POWER, ABSENT_FIRST_SAMPLE);
    state->energy[i] = energy;
}

static int adopt_sample(struct state *state, const json_t *line)
{
    size_t i = isfinite(number(line, "gpu")) ? (size_t)number(line, "gpu") : 0;
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_RECORDED);
    sample.time = number(line, "time");
    sample.interval = number(line, "dt");
    const json_t *gpm = json_object_get(line, "gpm");
    for (size_t k = 0; k < ARRAY_SIZE(gpm_ratios); k++)
        set(&sample, gpm_ratios[k].metric, number(gpm, gpm_ratios[k].key) / 100);
    for (size_t k = 0; k < ARRAY_SIZE(gpm_rates); k++)
        set(&sample, gpm_rates[k].metric, number(gpm, gpm_rates[k].key) * MIB);
    set(&sample, METRIC_NVML_UTILIZATION, number(line, "util_gpu") / 100);
    set(&sample, METRIC_NVML_MEMORY_UTILIZATION, number(line, "util_mem") / 100);
    set(&sample, METRIC_SM_CLOCK, number(line, "sm_clock") * 1e6);
    if (json_object_get(line, "mem_clock"))
        set(&sample, METRIC_MEMORY_CLOCK, number(line, "mem_clock") * 1e6);
    set(&sample, METRIC_TEMPERATURE, number(line, "temp"));
    set(&sample, METRIC_THROTTLE_REASONS, number(line, "throttle"));
    sample_miss(&sample, METRIC_EFFECTIVE_CLOCK, ABSENT_NEEDS_CUPTI);

    struct process_list processes = {0};
    fill_processes(line, &processes);
    double used = number(line, "mem_used");
    if (state->time[i] == 0)
        state->reserved[i] = used;
    set_memory(state, i, used, &sample);
    set_power(state, i, line, &sample);
    state->time[i] = sample.time;
    int r = record_writer_sample(state->writer, state->gpu[i], &sample);
    if (r == 0)
        r = record_writer_processes(state->writer, state->gpu[i], sample.time, &processes);
    return r < 0 ? r : 0;
}

static int import(struct state *state, FILE *in)
{
    json_error_t error;
    json_t *line;
    int r = 0;
    while (r == 0 && (line = json_loadf(in, JSON_DISABLE_EOF_CHECK, &error))) {
        const char *type = json_string_value(json_object_get(line, "type"));
        bool is_device = strcmp(type, "device") == 0;
        if (is_device)
            adopt_device(state, line);
        else {
            if (state->time[0] == 0)
                r = write_devices(state);
            if (r == 0)
                r = adopt_sample(state, line);
        }
        json_decref(line);
    }
    return r;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "Usage: zcat TRACE | import_trace PHASES OUT.roof\n");
        return 2;
    }
    struct state state = {0};
    const struct record_writer_options options = {.replace = true, .interval = 0.1};
    char why[256] = "";
    int r = record_writer_open(&state.writer, argv[2], &options, why, sizeof(why));
    if (r < 0) {
        fprintf(stderr, "import_trace: %s\n", why);
        return 1;
    }
    record_writer_meta(state.writer, "source", "imported from a trace of NVML and GPM");
    r = import(&state, stdin);
    struct record_spans *spans = NULL;
    if (r == 0)
        r = record_spans_open(&spans, argv[1]);
    if (r == 0)
        r = record_spans_write(spans, state.writer, true, why, sizeof(why));
    record_spans_close(spans);
    int closed = record_writer_close(state.writer);
    if (r == 0)
        r = closed;
    if (r < 0)
        fprintf(stderr, "import_trace: %s %s\n", strerror(-r), why);
    return r < 0;
}
