/* What each NVML call costs the calling processor, at the pace at which Rooftop makes it: for each
 * call the mean CPU time and wall time over calls 0.1 s apart, after one that is not counted, and
 * how many requests to the kernel's driver (ioctl) it makes and what CPU time passes in them.
 *
 *     nvml_cost [CALLS]
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "counter/nvml_library.h"

static struct nvml_library library;
static nvml_handle gpu;
static nvml_gpm_sample older;
static nvml_gpm_sample newer;
static struct nvml_gpm_metrics metrics;

static double seconds_of(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct {
    unsigned count;
    double cpu;
} requests;

/* Stands before libc's, and so counts what the driver's library asks of the kernel. */
__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    double before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    int r = (int)syscall(SYS_ioctl, fd, request, argument);
    requests.cpu += seconds_of(CLOCK_THREAD_CPUTIME_ID) - before;
    requests.count++;
    return r;
}

static void utilization(void)
{
    struct nvml_utilization value;
    library.call.nvmlDeviceGetUtilizationRates(gpu, &value);
}

static void memory(void)
{
    struct nvml_memory_v2 value = {.version = NVML_VERSION(struct nvml_memory_v2, 2)};
    library.call.nvmlDeviceGetMemoryInfo_v2(gpu, &value);
}

static void power_usage(void)
{
    unsigned value;
    library.call.nvmlDeviceGetPowerUsage(gpu, &value);
}

static void field(enum nvml_field which)
{
    struct nvml_field_value value = {.field = which};
    library.call.nvmlDeviceGetFieldValues(gpu, 1, &value);
}

static void power_instant(void)
{
    field(NVML_FIELD_POWER_INSTANT);
}

static void memory_temperature(void)
{
    field(NVML_FIELD_MEMORY_TEMPERATURE);
}

static void sm_clock(void)
{
    unsigned value;
    library.call.nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_SM, &value);
}

static void both_clocks(void)
{
    unsigned value;
    sm_clock();
    library.call.nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_MEMORY, &value);
}

static void temperature(void)
{
    unsigned value;
    library.call.nvmlDeviceGetTemperature(gpu, NVML_SENSOR_GPU, &value);
}

static void throttle_reasons(void)
{
    unsigned long long value;
    library.call.nvmlDeviceGetCurrentClocksEventReasons(gpu, &value);
}

static void performance_state(void)
{
    unsigned value;
    library.call.nvmlDeviceGetPerformanceState(gpu, &value);
}

static void each_tick_together(void)
{
    utilization();
    memory();
    power_usage();
    power_instant();
    both_clocks();
    temperature();
    throttle_reasons();
    performance_state();
}

static void energy(void)
{
    unsigned long long value;
    library.call.nvmlDeviceGetTotalEnergyConsumption(gpu, &value);
}

static void energy_field(void)
{
    field((enum nvml_field)83);
}

static void video(void)
{
    unsigned percent;
    unsigned period;
    library.call.nvmlDeviceGetEncoderUtilization(gpu, &percent, &period);
    library.call.nvmlDeviceGetDecoderUtilization(gpu, &percent, &period);
}

static void fan(void)
{
    unsigned value;
    library.call.nvmlDeviceGetFanSpeed(gpu, &value);
}

static void power_limit(void)
{
    unsigned value;
    library.call.nvmlDeviceGetEnforcedPowerLimit(gpu, &value);
}

static void pcie_link(void)
{
    unsigned value;
    library.call.nvmlDeviceGetCurrPcieLinkGeneration(gpu, &value);
    library.call.nvmlDeviceGetCurrPcieLinkWidth(gpu, &value);
}

static void ecc(void)
{
    unsigned long long value;
    library.call.nvmlDeviceGetTotalEccErrors(gpu, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE, &value);
    library.call.nvmlDeviceGetTotalEccErrors(gpu, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &value);
}

static void mig_mode(void)
{
    unsigned now;
    unsigned pending;
    library.call.nvmlDeviceGetMigMode(gpu, &now, &pending);
}

static void device_count(void)
{
    unsigned value;
    library.call.nvmlDeviceGetCount_v2(&value);
}

static void gpm_sample(void)
{
    library.call.nvmlGpmSampleGet(gpu, newer);
}

static void gpm_metrics(unsigned count)
{
    static const unsigned ids[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 20, 21, 60, 61};
    metrics.version = NVML_GPM_VERSION;
    metrics.count = count;
    metrics.older = older;
    metrics.newer = newer;
    for (unsigned i = 0; i < count; i++)
        metrics.metric[i].id = ids[i];
    library.call.nvmlGpmMetricsGet(&metrics);
}

static void gpm_metrics_1(void)
{
    gpm_metrics(1);
}

static void gpm_metrics_8(void)
{
    gpm_metrics(8);
}

static void gpm_metrics_16(void)
{
    gpm_metrics(16);
}

static void nothing(void)
{
}

static const struct row {
    const char *name;
    void (*call)(void);
} rows[] = {
    {"nothing", nothing},
    {"utilization", utilization},
    {"memory", memory},
    {"power usage", power_usage},
    {"power instant", power_instant},
    {"SM clock", sm_clock},
    {"SM and memory clock", both_clocks},
    {"temperature", temperature},
    {"throttle reasons", throttle_reasons},
    {"performance state", performance_state},
    {"the above together", each_tick_together},
    {"energy", energy},
    {"energy by its field", energy_field},
    {"encoder and decoder", video},
    {"memory temperature", memory_temperature},
    {"fan", fan},
    {"power limit", power_limit},
    {"PCIe link", pcie_link},
    {"ECC", ecc},
    {"MIG mode", mig_mode},
    {"device count", device_count},
    {"GPM sample", gpm_sample},
    {"GPM 1 metric", gpm_metrics_1},
    {"GPM 8 metrics", gpm_metrics_8},
    {"GPM 16 metrics", gpm_metrics_16},
};

static void measure(const struct row *row, unsigned calls)
{
    double cpu = 0;
    double wall = 0;
    for (unsigned i = 0; i <= calls; i++) {
        if (i == 1)
            memset(&requests, 0, sizeof(requests));
        double cpu_before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        double wall_before = seconds_of(CLOCK_MONOTONIC);
        row->call();
        if (i > 0) {
            cpu += seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
            wall += seconds_of(CLOCK_MONOTONIC) - wall_before;
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    printf("%-22s %8.1f us CPU %8.1f us wall, %5.1f requests of %8.1f us CPU\n", row->name,
           cpu / calls * 1e6, wall / calls * 1e6, (double)requests.count / calls,
           requests.cpu / calls * 1e6);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    unsigned calls = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    struct counter_failure failure = {0};
    if (nvml_library_open(&library, &failure) < 0) {
        printf("skipped: no GPU: %s\n", failure.reason);
        return 0;
    }
    library.call.nvmlDeviceGetHandleByIndex_v2(0, &gpu);
    library.call.nvmlGpmSampleAlloc(&older);
    library.call.nvmlGpmSampleAlloc(&newer);
    library.call.nvmlGpmSampleGet(gpu, older);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        measure(&rows[i], calls ? calls : 1);
    nvml_library_close(&library);
    return 0;
}
