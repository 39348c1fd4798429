/* What the nvml source reads: values to the digit, and the right reason for each that is missing.
 */
#include <string.h>

#include "allocations.h"
#include "cmocka_test.h"
#include "nvml_scene.h"

static void reads_every_metric_of_nvml(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\nnvmlDeviceGetFanSpeed -> 0 30\n");
    read_at(0, 0);
    expect(METRIC_NVML_UTILIZATION, 0.99);
    expect(METRIC_NVML_MEMORY_UTILIZATION, 0.41);
    expect(METRIC_ENCODER_UTILIZATION, 0);
    expect(METRIC_DECODER_UTILIZATION, 0.03);
    expect(METRIC_MEMORY_TOTAL, 150754820096);
    expect(METRIC_MEMORY_FREE, 130754820096);
    expect(METRIC_MEMORY_RESERVED, 754820096);
    expect(METRIC_MEMORY_USED, 19245179904);
    expect(METRIC_POWER, 601.75);
    expect(METRIC_POWER_AVERAGE, 593.25);
    expect(METRIC_POWER_LIMIT, 700);
    expect(METRIC_ENERGY, 123456.789);
    expect(METRIC_SM_CLOCK, 1485e6);
    expect(METRIC_MEMORY_CLOCK, 3201e6);
    expect(METRIC_TEMPERATURE, 61);
    expect(METRIC_MEMORY_TEMPERATURE, 67);
    expect(METRIC_FAN_SPEED, 0.3);
    expect(METRIC_THROTTLE_REASONS, 4);
    expect(METRIC_PERFORMANCE_STATE, 0);
    expect(METRIC_PCIE_GENERATION, 5);
    expect(METRIC_PCIE_WIDTH, 16);
    expect(METRIC_ECC_CORRECTED, 7);
    expect(METRIC_ECC_UNCORRECTED, 0);
    expect(METRIC_XID_ERRORS, 0);
    expect_missing(METRIC_XID_LAST_CODE, ABSENT_NONE_SEEN);
    expect_missing(METRIC_EFFECTIVE_CLOCK, ABSENT_NEEDS_CUPTI);
    expect_missing(METRIC_L2_ACTIVE, ABSENT_NEEDS_CUPTI);
    expect_missing(METRIC_SM_ACTIVE, ABSENT_FIRST_SAMPLE);
}

static void reads_every_metric_of_gpm(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\n");
    read_at(0, 0);
    read_at(0.1, 0);
    assert_float_equal(stage.sample.interval, 0.1, 1e-9);
    expect(METRIC_GRAPHICS_ACTIVE, 0.995);
    expect(METRIC_SM_ACTIVE, 0.9625);
    expect(METRIC_SM_OCCUPANCY, 0.1425);
    expect(METRIC_TENSOR_ACTIVE, 0.935);
    expect(METRIC_TENSOR_HMMA_ACTIVE, 0.935);
    expect(METRIC_TENSOR_IMMA_ACTIVE, 0);
    expect(METRIC_TENSOR_DFMA_ACTIVE, 0);
    expect(METRIC_FP64_ACTIVE, 0);
    expect(METRIC_FP32_ACTIVE, 0.0025);
    expect(METRIC_FP16_ACTIVE, 0);
    expect(METRIC_INT_ACTIVE, 0.015);
    expect(METRIC_DRAM_ACTIVE, 0.175);
    expect(METRIC_PCIE_RX, 53342.0 * 1048576);
    expect(METRIC_PCIE_TX, 3188.0 * 1048576);
    expect(METRIC_NVLINK_RX, 320724.0 * 1048576);
    expect(METRIC_NVLINK_TX, 11.0 * 1048576);
}

static void expect_only_process(pid_t pid)
{
    assert_int_equal(stage.processes.count, 1);
    assert_int_equal(stage.processes.process[0].pid, pid);
}

static const char one_process_follows_another[] =
    "gpu h200\nprocesses compute 11:1\nat 0.1\nprocesses compute 12:1\n";

static void lists_processes_each_second(void **state)
{
    (void)state;
    open_script("fake_nvml", one_process_follows_another);
    read_at(0, 0);
    read_at(0.1, 0);
    expect_only_process(11);
    read_at(1, 0);
    expect_only_process(12);
}

static void lists_processes_at_each_read_where_they_are_followed(void **state)
{
    (void)state;
    open_script("fake_nvml", one_process_follows_another);
    stage.counter->ops->follow_processes(stage.counter);
    read_at(0, 0);
    expect_only_process(11);
    read_at(0.1, 0);
    expect_only_process(12);
}

static void has_a_lasting_reason_for_what_it_never_reads(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\ngpu a100\ngpu bare\n");
    for (size_t device = 0; device < 3; device++) {
        sample_reset(&stage.sample, ABSENT_FIRST_SAMPLE);
        read_at((double)device * 10, device);
        nvml_poll_pcie(stage.counter);
        read_at((double)device * 10 + 1, device);
        for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
            if (metric_info(metric)->origin == ORIGIN_MEASURED &&
                stage.sample.absent[metric] == ABSENT_FIRST_SAMPLE)
                fail_msg("%s of device %zu", metric_info(metric)->name, device);
    }
}

static void holds_gpm_between_its_steps(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\nat 0.15\nnvmlGpmMetricsGet 5 -> 0 10\n");
    read_at(0, 0);
    read_at(0.1, 0);
    expect(METRIC_TENSOR_ACTIVE, 0.935);
    read_at(0.15, 0); /* too early to ask */
    expect(METRIC_TENSOR_ACTIVE, 0.935);
    assert_float_equal(stage.sample.interval, 0.1, 1e-9);
    assert_int_equal(stage_count_calls(&stage, "nvmlGpmSampleGet"), 2);
    read_at(0.2, 0);
    expect(METRIC_TENSOR_ACTIVE, 0.1);
    assert_float_equal(stage.sample.interval, 0.1, 1e-9);
}

static void spans_an_empty_interval(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\n");
    read_at(0.001, 0);
    read_at(0.099, 0); /* the counters have not advanced */
    expect_missing(METRIC_TENSOR_ACTIVE, ABSENT_NO_NEW_SAMPLE);
    expect_missing(METRIC_DRAM_ACTIVE, ABSENT_NO_NEW_SAMPLE);
    expect_missing(METRIC_NVLINK_RX, ABSENT_NO_NEW_SAMPLE);
    expect(METRIC_POWER, 601.75);
    read_at(0.201, 0);
    expect(METRIC_TENSOR_ACTIVE, 0.935);
    assert_float_equal(stage.sample.interval, 0.2, 1e-9);
}

static void takes_an_idle_gpu_for_idle(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\nnvmlGpmMetricsGet -> 0 0\n");
    read_at(0, 0);
    read_at(0.1, 0);
    expect(METRIC_SM_ACTIVE, 0);
    expect(METRIC_DRAM_ACTIVE, 0);
}

static void asks_seldom_for_what_the_chip_lacks(void **state)
{
    (void)state;
    const char *script = "gpu h200\nnvmlGpmMetricsGet 13 -> 2\nnvmlGpmMetricsGet 11 -> 3\n"
                         "at 30\nnvmlGpmMetricsGet 13 -> 0 50\n";
    open_script("fake_nvml", script);
    read_at(0, 0);
    for (int tick = 1; tick <= 5; tick++)
        read_at(tick * 0.1, 0);
    expect_missing(METRIC_FP16_ACTIVE, ABSENT_NOT_SUPPORTED);
    expect_missing(METRIC_FP64_ACTIVE, ABSENT_NOT_SUPPORTED);
    expect(METRIC_SM_ACTIVE, 0.9625);
    assert_int_equal(stage_count_calls(&stage, "nvmlGpmMetricsGet 0 13"), 1);
    assert_int_equal(stage_count_calls(&stage, "nvmlGpmMetricsGet 0 2 "), 5);
    read_at(61, 0);
    expect(METRIC_FP16_ACTIVE, 0.5);
}

static void refuses_impossible_ratios(void **state)
{
    (void)state;
    const char *script = "gpu h200\nnvmlGpmMetricsGet 2 -> 0 100.5\nnvmlGpmMetricsGet 3 -> 0 140\n"
                         "nvmlGpmMetricsGet 10 -> 0 nan\nnvmlGpmMetricsGet 20 -> 0 -5\n";
    open_script("fake_nvml", script);
    read_at(0, 0);
    read_at(0.1, 0);
    expect(METRIC_SM_ACTIVE, 1);
    expect_missing(METRIC_SM_OCCUPANCY, ABSENT_NOT_PLAUSIBLE);
    expect_missing(METRIC_DRAM_ACTIVE, ABSENT_NOT_PLAUSIBLE);
    expect_missing(METRIC_PCIE_TX, ABSENT_NOT_PLAUSIBLE);
}

static void reads_links_without_gpm(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu a100\n");
    nvml_poll_pcie(stage.counter); /* nobody looks yet */
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetPcieThroughput"), 0);
    read_at(0, 0);
    expect_missing(METRIC_PCIE_RX, ABSENT_FIRST_SAMPLE);
    expect_missing(METRIC_NVLINK_RX, ABSENT_FIRST_SAMPLE);
    expect_missing(METRIC_SM_ACTIVE, ABSENT_NEEDS_HOPPER);
    nvml_poll_pcie(stage.counter);
    read_at(2, 0);
    expect(METRIC_PCIE_TX, 1500e3);
    expect(METRIC_PCIE_RX, 250000e3);
    expect(METRIC_NVLINK_TX, 1000000.0 * 1024);
    expect(METRIC_NVLINK_RX, 3000000.0 * 1024);
    assert_float_equal(stage.sample.interval, 2, 1e-9);
    read_at(6, 0); /* the thread has not been back */
    expect_missing(METRIC_PCIE_RX, ABSENT_STALE);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetPcieThroughput"), 2);
}

static void never_makes_the_slow_pcie_call_where_there_is_gpm(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\n");
    read_at(0, 0);
    nvml_poll_pcie(stage.counter);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetPcieThroughput"), 0);
}

/* dcgm-exporter#721: PCIe always 0. */
static void distrusts_pcie_rates_of_0_where_bytes_are_counted(void **state)
{
    (void)state;
    const char *script = "gpu h200\nnvmlGpmMetricsGet 20 -> 0 0\nnvmlGpmMetricsGet 21 -> 0 0\n"
                         "nvmlDeviceGetFieldValues 197 -> 0 type 1 value 7\n"
                         "nvmlDeviceGetFieldValues 198 -> 0 type 1 value 9\n"
                         "at 3\nnvmlDeviceGetFieldValues 198 -> 0 type 1 value 900\n"
                         "at 6\nnvmlGpmMetricsGet 21 -> 0 5\n";
    open_script("fake_nvml", script);
    for (int tick = 0; tick < 30; tick++)
        read_at(tick * 0.1, 0);
    expect(METRIC_PCIE_RX, 0);
    for (int tick = 30; tick < 60; tick++)
        read_at(tick * 0.1, 0);
    expect_missing(METRIC_PCIE_RX, ABSENT_NOT_PLAUSIBLE);
    expect_missing(METRIC_PCIE_TX, ABSENT_NOT_PLAUSIBLE);
    expect(METRIC_SM_ACTIVE, 0.9625);
    read_at(6, 0);
    expect(METRIC_PCIE_RX, 5.0 * 1048576);
    expect(METRIC_PCIE_TX, 0);
}

static void labels_power_by_what_it_is(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu a100\ngpu h200\nnvmlDeviceGetFieldValues 186 -> 3\n");
    read_at(0, 0);
    expect(METRIC_POWER, 251.5); /* GA100's is of the moment */
    expect_missing(METRIC_POWER_AVERAGE, ABSENT_NOT_SUPPORTED);
    read_at(0, 1);
    expect_missing(METRIC_POWER, ABSENT_NOT_SUPPORTED);
    expect(METRIC_POWER_AVERAGE, 593.25);
}

static void reads_slow_values_rarely(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\nnvmlDeviceGetTotalEnergyConsumption -> 0 1000+500000\n");
    for (int tick = 0; tick < 62; tick++)
        read_at(tick * 0.1, 0);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetTotalEnergyConsumption"), 2);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetFanSpeed"), 2);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetTotalEccErrors"), 14);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetComputeRunningProcesses"), 7);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetUtilizationRates"), 62);
    expect(METRIC_ENERGY, 2501);
}

static void gives_nothing_where_nothing_is_supported(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu bare\n");
    for (int second = 0; second < 3; second++)
        read_at(second, 0);
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
        assert_false(sample_has(&stage.sample, metric));
    expect_missing(METRIC_POWER, ABSENT_NOT_SUPPORTED);
    expect_missing(METRIC_XID_ERRORS, ABSENT_NOT_SUPPORTED);
    assert_false(stage.processes.known);
}

static void refuses_sentinels(void **state)
{
    (void)state;
    const char *script = "gpu h200\n"
                         "nvmlDeviceGetUtilizationRates -> 0 999 4294967295\n"
                         "nvmlDeviceGetMemoryInfo_v2 2 -> 0 -1 -1 -1 -1\n"
                         "nvmlDeviceGetPowerUsage -> 0 4294967295\n"
                         "nvmlDeviceGetFieldValues 186 -> 0 type 1 value 4294967295\n"
                         "nvmlDeviceGetFieldValues 82 -> 0 type 1 value 0\n"
                         "nvmlDeviceGetEnforcedPowerLimit -> 0 0\n"
                         "nvmlDeviceGetTotalEnergyConsumption -> 0 -1\n"
                         "nvmlDeviceGetClockInfo -> 0 4294967295\n"
                         "nvmlDeviceGetTemperature -> 0 4294967295\n"
                         "nvmlDeviceGetFanSpeed -> 0 999\n"
                         "nvmlDeviceGetCurrentClocksEventReasons -> 0 -1\n"
                         "nvmlDeviceGetPerformanceState -> 0 32\n"
                         "nvmlDeviceGetCurrPcieLinkGeneration -> 0 4294967295\n"
                         "nvmlDeviceGetCurrPcieLinkWidth -> 0 0\n"
                         "nvmlDeviceGetEncoderUtilization -> 0 255 0\n"
                         "nvmlDeviceGetDecoderUtilization -> 0 101 0\n"
                         "nvmlDeviceGetTotalEccErrors -> 0 -1\n";
    open_script("fake_nvml", script);
    read_at(0, 0);
    const enum metric refused[] = {
        METRIC_NVML_UTILIZATION,
        METRIC_NVML_MEMORY_UTILIZATION,
        METRIC_MEMORY_TOTAL,
        METRIC_MEMORY_USED,
        METRIC_MEMORY_FREE,
        METRIC_MEMORY_RESERVED,
        METRIC_POWER,
        METRIC_POWER_AVERAGE,
        METRIC_MEMORY_TEMPERATURE,
        METRIC_POWER_LIMIT,
        METRIC_ENERGY,
        METRIC_SM_CLOCK,
        METRIC_MEMORY_CLOCK,
        METRIC_TEMPERATURE,
        METRIC_FAN_SPEED,
        METRIC_THROTTLE_REASONS,
        METRIC_PERFORMANCE_STATE,
        METRIC_PCIE_GENERATION,
        METRIC_PCIE_WIDTH,
        METRIC_ENCODER_UTILIZATION,
        METRIC_DECODER_UTILIZATION,
        METRIC_ECC_CORRECTED,
        METRIC_ECC_UNCORRECTED,
    };
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        expect_missing(refused[i], ABSENT_NOT_PLAUSIBLE);
}

static void tells_reserved_memory_from_used(void **state)
{
    (void)state;
    const char *script = "gpu h200\n"
                         "nvmlDeviceGetMemoryInfo_v2 2 -> 0 1000 100 600 400\n"
                         "gpu h200\n"
                         "nvmlDeviceGetMemoryInfo_v2 2 -> 0 1000 100 600 300\n"
                         "gpu h200\n"
                         "nvmlDeviceGetMemoryInfo_v2 2 -> 0 1000 500 600 300\n";
    open_script("fake_nvml", script);
    for (size_t i = 0; i < 2; i++) { /* with what is reserved, and without */
        read_at(0, i);
        expect(METRIC_MEMORY_USED, 300);
        expect(METRIC_MEMORY_RESERVED, 100);
    }
    read_at(0, 2);
    expect_missing(METRIC_MEMORY_USED, ABSENT_NOT_PLAUSIBLE);
}

static void knows_the_sm_shares_that_the_driver_tells(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\n"
                             "processes compute 11:1000000 12:2000000\n"
                             "nvmlDeviceGetProcessUtilization -> 0 11 20 11 40 13 5 12 101\n"
                             "at 4\n"
                             "nvmlDeviceGetProcessUtilization -> 6\n");
    read_at(0, 0);
    const struct process *process = stage.processes.process;
    assert_int_equal(stage.processes.count, 2);
    assert_true(process[0].sm_known);
    assert_float_equal(process[0].sm_ratio, 0.3, 1e-9);
    assert_false(process[1].sm_known); /* more than there is cannot be */
    read_at(2, 0);
    assert_true(process[0].sm_known); /* asked each five seconds, held in between */
    read_at(6, 0);
    assert_false(process[0].sm_known);
}

/* A GB10 answers NOT_SUPPORTED, since its memory is the host's (nvtop#426). */
static void reads_the_hosts_memory_where_it_is_shared(void **state)
{
    (void)state;
    stage_set_time(&stage, 0); /* makes the folder */
    stage_put_file(&stage, "/proc/meminfo",
                   "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    600 kB\n");
    const char *script = "gpu bare\nnvmlDeviceGetCudaComputeCapability -> 0 12 1\n"
                         "gpu bare\nnvmlDeviceGetCudaComputeCapability -> 0 12 0\n";
    open_script("fake_nvml", script);
    assert_float_equal(stage.counter->devices[0].number[DEVICE_MEMORY_TOTAL], 1024000, 0);
    read_at(0, 0);
    expect(METRIC_MEMORY_TOTAL, 1024000);
    expect(METRIC_MEMORY_FREE, 614400);
    expect(METRIC_MEMORY_USED, 409600);
    expect_missing(METRIC_MEMORY_RESERVED, ABSENT_NOT_SUPPORTED);
    read_at(0, 1);
    expect_missing(METRIC_MEMORY_TOTAL, ABSENT_NOT_SUPPORTED);
    stage_put_file(&stage, "/proc/meminfo", "MemTotal: much\n");
    sample_reset(&stage.sample, ABSENT_FIRST_SAMPLE);
    read_at(1, 0);
    expect_missing(METRIC_MEMORY_TOTAL, ABSENT_NOT_SUPPORTED);
}

static void reads_an_old_library(void **state)
{
    (void)state;
    const char *script =
        "gpu a100\nprocesses compute 11:1000000:4294967295:4294967295 12:2000000\n";
    open_script("fake_nvml_470", script);
    read_at(0, 0);
    expect(METRIC_NVML_UTILIZATION, 0.55);
    expect(METRIC_MEMORY_USED, 5368709120);
    expect_missing(METRIC_MEMORY_RESERVED, ABSENT_NO_FUNCTION);
    expect(METRIC_THROTTLE_REASONS, 0);
    expect_missing(METRIC_SM_ACTIVE, ABSENT_NEEDS_HOPPER);
    assert_int_equal(stage.processes.count, 2);
    assert_int_equal(stage.processes.process[1].pid, 12);
    assert_int_equal(stage.processes.process[1].memory_bytes, 2000000);
}

static void misses_the_function_that_a_library_lacks(void **state)
{
    (void)state;
    open_script("fake_nvml_minimal", "gpu h200\n");
    read_at(0, 0);
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
        assert_false(sample_has(&stage.sample, metric));
    expect_missing(METRIC_POWER, ABSENT_NO_FUNCTION);
    expect_missing(METRIC_SM_ACTIVE, ABSENT_NO_FUNCTION);
    expect_missing(METRIC_NVML_UTILIZATION, ABSENT_NO_FUNCTION);
    expect_missing(METRIC_XID_ERRORS, ABSENT_NO_FUNCTION);
    expect_missing(METRIC_ENERGY, ABSENT_NO_FUNCTION);
    assert_false(stage.processes.known);
    assert_int_equal(nvml_counter.reopen(stage.counter, 0), 0);
}

static void takes_the_newer_call_where_the_older_is_gone(void **state)
{
    (void)state;
    const char *script = "gpu h200\nnvmlDeviceGetTemperature -> 26\n"
                         "nvmlDeviceGetTemperatureV -> 0 -5\n"
                         "gpu h200\nnvmlDeviceGetTemperature -> missing\n"
                         "nvmlDeviceGetMemoryInfo_v2 2 -> 25\n";
    open_script("fake_nvml", script);
    read_at(0, 0);
    expect_missing(METRIC_TEMPERATURE, ABSENT_NOT_PLAUSIBLE);
    read_at(0, 1);
    expect(METRIC_TEMPERATURE, 61);
    expect(METRIC_MEMORY_USED, 20000000000);
    expect_missing(METRIC_MEMORY_RESERVED, ABSENT_NO_FUNCTION);
}

static void reads_without_allocating(void **state)
{
    (void)state;
    if (!allocations_are_counted())
        return;
    stage.fake_is_plain = true;
    open_script("fake_nvml", "gpu h200\ngpu a100\nprocesses compute 10:1 20:2\n");
    unsigned long allocations = 0;
    for (int tick = 0; tick < 25; tick++)
        for (size_t device = 0; device < 2; device++) {
            stage_set_time(&stage, tick * 0.1);
            unsigned long before = allocations_so_far();
            assert_int_equal(stage_read(&stage, device), 0);
            allocations += allocations_so_far() - before;
        }
    assert_int_equal(allocations, 0);
    expect(METRIC_POWER, 251.5);
}

#define CASE(function) cmocka_unit_test_teardown(function, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(reads_every_metric_of_nvml),
        CASE(reads_every_metric_of_gpm),
        CASE(lists_processes_each_second),
        CASE(lists_processes_at_each_read_where_they_are_followed),
        CASE(has_a_lasting_reason_for_what_it_never_reads),
        CASE(holds_gpm_between_its_steps),
        CASE(spans_an_empty_interval),
        CASE(takes_an_idle_gpu_for_idle),
        CASE(asks_seldom_for_what_the_chip_lacks),
        CASE(refuses_impossible_ratios),
        CASE(reads_links_without_gpm),
        CASE(never_makes_the_slow_pcie_call_where_there_is_gpm),
        CASE(distrusts_pcie_rates_of_0_where_bytes_are_counted),
        CASE(labels_power_by_what_it_is),
        CASE(reads_slow_values_rarely),
        CASE(gives_nothing_where_nothing_is_supported),
        CASE(refuses_sentinels),
        CASE(tells_reserved_memory_from_used),
        CASE(knows_the_sm_shares_that_the_driver_tells),
        CASE(reads_the_hosts_memory_where_it_is_shared),
        CASE(reads_an_old_library),
        CASE(misses_the_function_that_a_library_lacks),
        CASE(takes_the_newer_call_where_the_older_is_gone),
        CASE(reads_without_allocating),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
