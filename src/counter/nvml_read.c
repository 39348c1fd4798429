#include "counter/nvml.h"

#include <errno.h>
#include <string.h>

/* What costs more, or hardly changes, is read this often; the values hold in between. On an H200
 * the energy alone takes 4.8 ms of a core, the fan and the PCIe link 0.5 ms, all the rest of a
 * second 0.1 ms (tests/device/nvml_cost.c). */
static const double SLOW_PERIOD = 1;
static const double SLOWEST_PERIOD = 5;
/* Ticks come a little early or late. */
static const double SLOW_TOLERANCE = 0.01;

static const double HOTTEST = 200;        /* °C: more is no temperature */
static const double LARGEST_POWER = 1e5;  /* W */
static const double LARGEST_CLOCK = 1e11; /* Hz */
static const double LARGEST_MEMORY = 1e15;
static const double LARGEST_COUNT = 1e15;

/* One read of one device. */
struct read {
    struct nvml *nvml;
    struct nvml_device *slot;
    struct sample *sample;
    double now;
    bool slow;     /* what is read each second is due */
    bool slowest;  /* what is read each five seconds is due */
    bool answered; /* some call succeeded */
    bool failed;   /* some call failed in a way that no healthy GPU does */
    bool lost;
};

#define ASK(read, name, ...) NVML_CALL((read)->nvml, name, (read)->slot->handle, __VA_ARGS__)

static void note(struct read *read, nvml_return result)
{
    enum absence absence = nvml_absence(result);
    if (absence == ABSENT_NO)
        read->answered = true;
    else if (absence == ABSENT_LOST)
        read->lost = true;
    else if (absence == ABSENT_DRIVER_ERROR)
        read->failed = true;
}

static void set(struct read *read, enum metric metric, nvml_return result, double value,
                bool plausible)
{
    note(read, result);
    if (result != NVML_SUCCESS)
        sample_miss(read->sample, metric, nvml_absence(result));
    else if (!plausible)
        sample_miss(read->sample, metric, ABSENT_NOT_PLAUSIBLE);
    else
        sample_set(read->sample, metric, value);
}

static void set_percent(struct read *read, enum metric metric, nvml_return result, unsigned percent)
{
    set(read, metric, result, percent / 100.0, percent <= 100);
}

static void read_utilization(struct read *read)
{
    struct nvml_utilization utilization = {0};
    nvml_return result = ASK(read, nvmlDeviceGetUtilizationRates, &utilization);
    set_percent(read, METRIC_NVML_UTILIZATION, result, utilization.gpu);
    set_percent(read, METRIC_NVML_MEMORY_UTILIZATION, result, utilization.memory);
}

/* Whether `used` contains what is reserved has changed between drivers; what is left over of the
 * total does not. */
static void set_memory(struct read *read, nvml_return result, const struct nvml_memory_v2 *memory)
{
    bool plausible = memory->total > 0 && (double)memory->total < LARGEST_MEMORY &&
                     memory->free <= memory->total && memory->used <= memory->total &&
                     memory->reserved <= memory->total - memory->free;
    uint64_t rest = memory->total - memory->free - memory->reserved;
    uint64_t used = memory->used < rest ? memory->used : rest;
    set(read, METRIC_MEMORY_TOTAL, result, (double)memory->total, plausible);
    set(read, METRIC_MEMORY_FREE, result, (double)memory->free, plausible);
    set(read, METRIC_MEMORY_USED, result, (double)used, plausible);
    set(read, METRIC_MEMORY_RESERVED, result, (double)memory->reserved, plausible);
}

/* The driver does not tell the memory of a GPU that shares the host's. */
static void read_unified_memory(struct read *read)
{
    struct nvml_memory_v2 memory;
    if (!nvml_host_memory(read->nvml, &memory))
        return;
    set_memory(read, NVML_SUCCESS, &memory);
    sample_miss(read->sample, METRIC_MEMORY_RESERVED, ABSENT_NOT_SUPPORTED);
}

static void read_memory(struct read *read)
{
    struct nvml_memory_v2 memory = {.version = NVML_VERSION(struct nvml_memory_v2, 2)};
    nvml_return result = ASK(read, nvmlDeviceGetMemoryInfo_v2, &memory);
    if (nvml_absence(result) != ABSENT_NO_FUNCTION && result != NVML_VERSION_MISMATCH) {
        set_memory(read, result, &memory);
        return;
    }
    struct nvml_memory old = {0};
    result = ASK(read, nvmlDeviceGetMemoryInfo, &old);
    memory = (struct nvml_memory_v2){.total = old.total, .free = old.free, .used = old.used};
    set_memory(read, result, &memory);
    if (result == NVML_SUCCESS)
        sample_miss(read->sample, METRIC_MEMORY_RESERVED, ABSENT_NO_FUNCTION);
}

static void read_memory_or_hosts(struct read *read)
{
    read_memory(read);
    if (read->slot->unified && !sample_has(read->sample, METRIC_MEMORY_TOTAL))
        read_unified_memory(read);
}

static nvml_return ask_field(struct read *read, enum nvml_field field, double *ret)
{
    struct nvml_field_value value = {.field = field, .result = NVML_NOT_SUPPORTED};
    nvml_return result = ASK(read, nvmlDeviceGetFieldValues, 1, &value);
    if (result == NVML_SUCCESS)
        result = value.result;
    *ret = result == NVML_SUCCESS ? nvml_field_number(&value) : 0;
    return result;
}

/* Watts: the driver's field where it has one, else what nvmlDeviceGetPowerUsage is on this chip. */
static void read_power(struct read *read)
{
    bool averaged = read->slot->power_is_averaged;
    double milliwatts = 0;
    unsigned usage = 0;
    nvml_return result = ASK(read, nvmlDeviceGetPowerUsage, &usage);
    nvml_return instant = ask_field(read, NVML_FIELD_POWER_INSTANT, &milliwatts);
    if (instant != NVML_SUCCESS && !averaged) {
        instant = result;
        milliwatts = usage;
    }
    double watts = milliwatts * 1e-3;
    set(read, METRIC_POWER, instant, watts, watts > 0 && watts < LARGEST_POWER);
    if (!averaged) {
        sample_miss(read->sample, METRIC_POWER_AVERAGE, ABSENT_NOT_SUPPORTED);
        return;
    }
    watts = usage * 1e-3;
    set(read, METRIC_POWER_AVERAGE, result, watts, watts > 0 && watts < LARGEST_POWER);
}

static void read_clock(struct read *read, enum nvml_clock clock, enum metric metric)
{
    unsigned megahertz = 0;
    nvml_return result = ASK(read, nvmlDeviceGetClockInfo, clock, &megahertz);
    double hertz = megahertz * 1e6;
    set(read, metric, result, hertz, hertz < LARGEST_CLOCK);
}

static void read_clocks(struct read *read)
{
    read_clock(read, NVML_CLOCK_SM, METRIC_SM_CLOCK);
    read_clock(read, NVML_CLOCK_MEMORY, METRIC_MEMORY_CLOCK);
}

static void read_temperature(struct read *read)
{
    unsigned celsius = 0;
    nvml_return result = ASK(read, nvmlDeviceGetTemperature, NVML_SENSOR_GPU, &celsius);
    double value = celsius;
    if (result == NVML_FUNCTION_NOT_FOUND || result == NVML_DEPRECATED) {
        struct nvml_temperature temperature = {
            .version = NVML_VERSION(struct nvml_temperature, 1),
            .sensor = NVML_SENSOR_GPU,
        };
        result = ASK(read, nvmlDeviceGetTemperatureV, &temperature);
        value = temperature.celsius;
    }
    set(read, METRIC_TEMPERATURE, result, value, value > 0 && value < HOTTEST);
}

static void read_throttle_reasons(struct read *read)
{
    unsigned long long reasons = 0;
    nvml_return result = ASK(read, nvmlDeviceGetCurrentClocksEventReasons, &reasons);
    if (result == NVML_FUNCTION_NOT_FOUND)
        result = ASK(read, nvmlDeviceGetCurrentClocksThrottleReasons, &reasons);
    set(read, METRIC_THROTTLE_REASONS, result, (double)reasons, reasons <= UINT32_MAX);
}

static void read_performance_state(struct read *read)
{
    uint32_t state = 0;
    nvml_return result = ASK(read, nvmlDeviceGetPerformanceState, &state);
    set(read, METRIC_PERFORMANCE_STATE, result, state, state < 16);
}

static void read_energy(struct read *read)
{
    unsigned long long millijoules = 0;
    nvml_return result = ASK(read, nvmlDeviceGetTotalEnergyConsumption, &millijoules);
    double joules = (double)millijoules * 1e-3;
    set(read, METRIC_ENERGY, result, joules, joules < LARGEST_COUNT);
}

static void read_video(struct read *read)
{
    unsigned percent = 0;
    unsigned period = 0;
    nvml_return result = ASK(read, nvmlDeviceGetEncoderUtilization, &percent, &period);
    set_percent(read, METRIC_ENCODER_UTILIZATION, result, percent);
    result = ASK(read, nvmlDeviceGetDecoderUtilization, &percent, &period);
    set_percent(read, METRIC_DECODER_UTILIZATION, result, percent);
}

static void read_memory_temperature(struct read *read)
{
    double celsius = 0;
    nvml_return result = ask_field(read, NVML_FIELD_MEMORY_TEMPERATURE, &celsius);
    set(read, METRIC_MEMORY_TEMPERATURE, result, celsius, celsius > 0 && celsius < HOTTEST);
}

/* A fan may run a little above its nominal speed. */
static void read_fan(struct read *read)
{
    unsigned percent = 0;
    nvml_return result = ASK(read, nvmlDeviceGetFanSpeed, &percent);
    set(read, METRIC_FAN_SPEED, result, percent < 100 ? percent / 100.0 : 1, percent <= 150);
}

static void read_power_limit(struct read *read)
{
    unsigned milliwatts = 0;
    nvml_return result = ASK(read, nvmlDeviceGetEnforcedPowerLimit, &milliwatts);
    double watts = milliwatts * 1e-3;
    set(read, METRIC_POWER_LIMIT, result, watts, watts > 0 && watts < LARGEST_POWER);
}

static void read_pcie_link(struct read *read)
{
    unsigned generation = 0;
    unsigned width = 0;
    nvml_return result = ASK(read, nvmlDeviceGetCurrPcieLinkGeneration, &generation);
    set(read, METRIC_PCIE_GENERATION, result, generation, generation > 0 && generation < 20);
    result = ASK(read, nvmlDeviceGetCurrPcieLinkWidth, &width);
    set(read, METRIC_PCIE_WIDTH, result, width, width > 0 && width <= 32);
}

static void read_ecc(struct read *read)
{
    static const struct {
        enum nvml_ecc_error error;
        enum metric metric;
    } kinds[] = {
        {NVML_ECC_CORRECTED, METRIC_ECC_CORRECTED},
        {NVML_ECC_UNCORRECTED, METRIC_ECC_UNCORRECTED},
    };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        unsigned long long count = 0;
        nvml_return result =
            ASK(read, nvmlDeviceGetTotalEccErrors, kinds[i].error, NVML_ECC_VOLATILE, &count);
        set(read, kinds[i].metric, result, (double)count, (double)count < LARGEST_COUNT);
    }
}

typedef void reader(struct read *read);

static reader *const each_tick[] = {
    read_utilization,      read_memory_or_hosts,   read_power, read_clocks, read_temperature,
    read_throttle_reasons, read_performance_state,
};

static reader *const each_second[] = {
    read_video,
    read_memory_temperature,
    read_power_limit,
    read_ecc,
};

static reader *const each_five_seconds[] = {read_energy, read_fan, read_pcie_link};

/* What a MIG instance has of its own; the rest is of the whole GPU. */
static reader *const instance_each_tick[] = {read_memory};
static reader *const instance_each_second[] = {read_ecc};

static const enum metric of_whole_gpu[] = {
    METRIC_NVML_UTILIZATION,
    METRIC_NVML_MEMORY_UTILIZATION,
    METRIC_ENCODER_UTILIZATION,
    METRIC_DECODER_UTILIZATION,
    METRIC_POWER,
    METRIC_POWER_AVERAGE,
    METRIC_POWER_LIMIT,
    METRIC_ENERGY,
    METRIC_SM_CLOCK,
    METRIC_MEMORY_CLOCK,
    METRIC_TEMPERATURE,
    METRIC_MEMORY_TEMPERATURE,
    METRIC_FAN_SPEED,
    METRIC_THROTTLE_REASONS,
    METRIC_PERFORMANCE_STATE,
    METRIC_PCIE_GENERATION,
    METRIC_PCIE_WIDTH,
};

static const enum metric of_cupti[] = {
    METRIC_ISSUE_ACTIVE,   METRIC_DRAM_READ,           METRIC_DRAM_WRITE,
    METRIC_L2_ACTIVE,      METRIC_L1_ACTIVE,           METRIC_EFFECTIVE_CLOCK,
    METRIC_XU_ACTIVE,      METRIC_TENSOR_SHARED_LOADS, METRIC_COUNTERS_AGE,
    METRIC_COUNTERS_SHARE, METRIC_COUNTERS_OVERFLOWS,  METRIC_COUNTERS_SESSIONS,
    METRIC_COUNTERS_CPU,
};

static void miss_all(struct sample *sample, const enum metric *metrics, size_t count,
                     enum absence reason)
{
    for (size_t i = 0; i < count; i++)
        sample_miss(sample, metrics[i], reason);
}

/* A GPU that is lost is not asked further: each call may take its time. */
static void run_readers(struct read *read, reader *const *readers, size_t count)
{
    for (size_t i = 0; i < count && !read->lost; i++)
        readers[i](read);
}

static void read_nvml(struct read *read)
{
    if (read->slot->is_mig) {
        miss_all(read->sample, of_whole_gpu, ARRAY_SIZE(of_whole_gpu), ABSENT_SHARED_MIG);
        run_readers(read, instance_each_tick, ARRAY_SIZE(instance_each_tick));
        if (read->slow)
            run_readers(read, instance_each_second, ARRAY_SIZE(instance_each_second));
        return;
    }
    run_readers(read, each_tick, ARRAY_SIZE(each_tick));
    if (read->slow)
        run_readers(read, each_second, ARRAY_SIZE(each_second));
    if (read->slowest)
        run_readers(read, each_five_seconds, ARRAY_SIZE(each_five_seconds));
}

static void read_counters(struct read *read)
{
    struct nvml_device *slot = read->slot;
    miss_all(read->sample, of_cupti, ARRAY_SIZE(of_cupti), ABSENT_NEEDS_CUPTI);
    if (slot->gpm) {
        note(read, gpm_read(slot->gpm, read->now, read->sample));
        if (!slot->is_mig)
            nvml_check_pcie(read->nvml, slot, read->slow, read->sample);
        return;
    }
    read->sample->interval = slot->read_at > NVML_LONG_AGO ? read->now - slot->read_at : 0;
    if (read->slow) {
        gpm_miss(read->sample, slot->gpm_absence);
        nvml_read_nvlink(read->nvml, slot, read->now, read->sample);
    }
    nvml_fill_pcie(read->nvml, slot, read->now, read->sample);
}

static void read_processes(struct read *read, struct process_list *processes)
{
    nvml_return result = nvml_list_processes(read->nvml, read->slot, processes);
    if (nvml_absence(result) == ABSENT_LOST)
        read->lost = true;
    else if (read->slowest)
        nvml_read_sm_shares(read->nvml, read->slot, SLOWEST_PERIOD, processes);
    nvml_fill_sm_shares(read->slot, processes);
}

static bool is_due(const struct read *read, double last, double period)
{
    return read->now - last >= period - SLOW_TOLERANCE;
}

static int outcome(const struct read *read)
{
    if (read->lost)
        return -ENODEV;
    return read->failed && !read->answered ? -EIO : 0;
}

static void leave_asleep(struct nvml_device *slot, struct sample *sample,
                         struct process_list *processes)
{
    sample_reset(sample, ABSENT_SUSPENDED);
    processes->known = false;
    processes->count = 0;
    slot->slow_at = NVML_LONG_AGO;
    slot->slowest_at = NVML_LONG_AGO;
    slot->read_at = NVML_LONG_AGO;
    gpm_restart(slot->gpm, slot->gpu);
}

int nvml_read_device(struct nvml *nvml, size_t index, struct sample *sample,
                     struct process_list *processes)
{
    struct nvml_device *slot = &nvml->devices[index];
    struct read read = {.nvml = nvml, .slot = slot, .sample = sample, .now = nvml->now()};
    atomic_store(&slot->is_read, true);
    if (!slot->handle)
        return -ENODEV;
    if (nvml_is_suspended(slot->power_state)) {
        leave_asleep(slot, sample, processes);
        return 0;
    }

    read.slow = is_due(&read, slot->slow_at, SLOW_PERIOD);
    read.slowest = is_due(&read, slot->slowest_at, SLOWEST_PERIOD);
    read_nvml(&read);
    if (!read.lost)
        read_counters(&read);
    if ((read.slow || nvml->follows_processes) && !read.lost)
        read_processes(&read, processes);
    nvml_fill_xid(nvml, slot, sample);

    int r = outcome(&read);
    if (read.slow)
        slot->slow_at = r == 0 ? read.now : NVML_LONG_AGO;
    if (read.slowest)
        slot->slowest_at = r == 0 ? read.now : NVML_LONG_AGO;
    slot->read_at = read.now;
    return r;
}
