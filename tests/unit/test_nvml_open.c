/* What the nvml source says when it cannot start, and which devices it finds. */
#include <errno.h>
#include <string.h>

#include "cmocka_test.h"
#include "nvml_scene.h"

static void expect_failure(const char *library, const char *script, int error, const char *reason,
                           const char *advice)
{
    assert_int_equal(stage_open(&stage, library, script), error);
    assert_null(stage.counter);
    assert_non_null(strstr(stage.failure.reason, reason));
    assert_non_null(strstr(stage.failure.advice, advice));
    stage_close(&stage);
}

static void says_why_it_does_not_start(void **state)
{
    (void)state;
    expect_failure("/nonexistent/libnvidia-ml.so.1", "", -ENODEV,
                   "ROOFTOP_NVML: /nonexistent/libnvidia-ml.so.1: ", "unset ROOFTOP_NVML");
    expect_failure("/etc/passwd", "", -ENODEV, "ROOFTOP_NVML: /etc/passwd: ", "unset ROOFTOP_NVML");
    expect_failure("/lib/x86_64-linux-gnu/libc.so.6", "", -ENODEV,
                   "ROOFTOP_NVML: /lib/x86_64-linux-gnu/libc.so.6: it lacks", "replay:");
    expect_failure("fake_nvml", "init 9\n", -ENODEV, "not loaded", "modprobe");
    expect_failure("fake_nvml", "init 18\n", -ENODEV, "different versions", "reboot");
    expect_failure("fake_nvml", "init 4\n", -EACCES, "refuses this user", "/dev/nvidiactl");
    expect_failure("fake_nvml", "init 15\n", -ENODEV, "fallen off the bus", "Xid 79");
    expect_failure("fake_nvml", "init 999\n", -EIO, "unknown error", "kernel log");
    expect_failure("fake_nvml", "init 17\n", -EIO, "(17)", "nvidia-smi");
    expect_failure("fake_nvml", "", -ENODEV, "sees no GPU", "--gpus all");
}

static const struct device *device(size_t i)
{
    assert_true(i < stage.counter->device_count);
    return &stage.counter->devices[i];
}

static void expect_number(size_t i, enum device_number number, double value)
{
    if (!device_knows(device(i), number))
        fail_msg("%s of device %zu is not known", device_number_field(number)->name, i);
    assert_float_equal(device(i)->number[number], value, value * 1e-12);
}

static void describes_an_h200(void **state)
{
    (void)state;
    assert_int_equal(stage_open(&stage, "fake_nvml", "gpu h200\n"), 0);
    assert_int_equal(stage.counter->device_count, 1);
    assert_string_equal(stage.counter->driver_version, "580.159.04");
    assert_string_equal(stage.counter->library_version, "13.580.159.04");
    assert_string_equal(counter_cuda_version(stage.counter), "13.0");
    assert_string_equal(device(0)->text[DEVICE_NAME], "NVIDIA H200");
    assert_string_equal(device(0)->text[DEVICE_UUID], "GPU-00000000-0000-4000-8000-000000000001");
    assert_string_equal(device(0)->text[DEVICE_PCI_ADDRESS], "00000000:01:00.0");
    assert_string_equal(device(0)->text[DEVICE_ARCHITECTURE], "hopper");
    expect_number(0, DEVICE_CUDA_INDEX, 0);
    expect_number(0, DEVICE_COMPUTE_CAPABILITY, 9.0);
    expect_number(0, DEVICE_SM_COUNT, 132);
    expect_number(0, DEVICE_CORES, 16896);
    expect_number(0, DEVICE_MEMORY_TOTAL, 150754820096);
    expect_number(0, DEVICE_MEMORY_BUS_BITS, 6016);
    expect_number(0, DEVICE_MAX_SM_CLOCK, 1980e6);
    expect_number(0, DEVICE_MAX_MEMORY_CLOCK, 3201e6);
    expect_number(0, DEVICE_POWER_LIMIT, 700);
    expect_number(0, DEVICE_PCIE_MAX_GENERATION, 5);
    expect_number(0, DEVICE_PCIE_MAX_WIDTH, 16);
    expect_number(0, DEVICE_NVLINK_COUNT, 18);
    expect_number(0, DEVICE_NVLINK_BANDWIDTH, 18 * 26562e6);
    expect_number(0, DEVICE_MIG_ENABLED, 0);
    expect_number(0, DEVICE_PERSISTENCE, 1);
    expect_number(0, DEVICE_ECC_ENABLED, 1);
    expect_number(0, DEVICE_UNIFIED_MEMORY, 0);
    assert_false(device_is_mig(device(0)));
}

static void describes_an_a100(void **state)
{
    (void)state;
    assert_int_equal(stage_open(&stage, "fake_nvml", "gpu a100\n"), 0);
    assert_string_equal(device(0)->text[DEVICE_ARCHITECTURE], "ampere");
    expect_number(0, DEVICE_SM_COUNT, 108);
    expect_number(0, DEVICE_NVLINK_COUNT, 12);
    expect_number(0, DEVICE_NVLINK_BANDWIDTH, 12 * 25781e6);
}

static void counts_links_that_are_up(void **state)
{
    (void)state;
    const char *script = "gpu h200\n"
                         "nvmlDeviceGetFieldValues 165 3 -> 0 type 1 value 0\n"
                         "nvmlDeviceGetFieldValues 165 4 -> 3\n"
                         "nvmlDeviceGetFieldValues 90 -> 3\n"
                         "gpu h200\n"
                         "nvmlDeviceGetFieldValues 165 -> 0 type 1 value 0\n"
                         "gpu h200\n"
                         "nvmlDeviceGetFieldValues 165 -> 3\n";
    assert_int_equal(stage_open(&stage, "fake_nvml", script), 0);
    expect_number(0, DEVICE_NVLINK_COUNT, 16);
    expect_number(0, DEVICE_NVLINK_BANDWIDTH, 16 * 26562e6);
    expect_number(1, DEVICE_NVLINK_COUNT, 0);
    assert_false(device_knows(device(1), DEVICE_NVLINK_BANDWIDTH));
    assert_false(device_knows(device(2), DEVICE_NVLINK_COUNT));
}

static void leaves_unknown_what_a_gpu_does_not_say(void **state)
{
    (void)state;
    const char *script = "gpu bare\n"
                         "nvmlDeviceGetName -> 0 \"NVIDIA \\xff\\xfe\"\n"
                         "nvmlDeviceGetMaxClockInfo -> 0 4294967295\n"
                         "nvmlDeviceGetMemoryBusWidth -> 0 4294967295\n"
                         "nvmlDeviceGetEnforcedPowerLimit -> 0 0\n"
                         "nvmlDeviceGetMemoryInfo -> 0 -1 -1 -1\n";
    assert_int_equal(stage_open(&stage, "fake_nvml", script), 0);
    assert_string_equal(device(0)->text[DEVICE_NAME], "NVIDIA \xef\xbf\xbd\xef\xbf\xbd");
    assert_int_equal(device(0)->known, 0);
}

static void opens_an_old_library(void **state)
{
    (void)state;
    assert_int_equal(stage_open(&stage, "fake_nvml_470", "gpu a100\n"), 0);
    expect_number(0, DEVICE_MEMORY_TOTAL, 85899345920);
    assert_false(device_knows(device(0), DEVICE_SM_COUNT));
    stage_close(&stage);

    assert_int_equal(stage_open(&stage, "fake_nvml_minimal", "gpu h200\ngpu h200\n"), 0);
    assert_int_equal(stage.counter->device_count, 2);
    assert_int_equal(device(1)->index, 1);
    assert_string_equal(device(1)->text[DEVICE_NAME], "");
    assert_false(nvml_counter.changed(stage.counter));
}

static void lists_many(void **state)
{
    (void)state;
    char script[1024] = "";
    for (int i = 0; i < 64; i++)
        strcat(script, "gpu h200\n");
    assert_int_equal(stage_open(&stage, "fake_nvml", script), 0);
    assert_int_equal(stage.counter->device_count, 64);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(device(i)->index, i);
        expect_number(i, DEVICE_CUDA_INDEX, (double)i);
        assert_int_equal(stage_read(&stage, i), 0);
        assert_float_equal(stage.sample.value[METRIC_POWER], 601.75, 1e-9);
    }
    assert_string_equal(device(63)->text[DEVICE_UUID], "GPU-00000000-0000-4000-8000-000000000064");
    assert_false(nvml_counter.changed(stage.counter));
}

static void numbers_mixed_gpus_fastest_first(void **state)
{
    (void)state;
    assert_int_equal(stage_open(&stage, "fake_nvml", "gpu a100\ngpu h200\ngpu a100\n"), 0);
    expect_number(0, DEVICE_CUDA_INDEX, 1);
    expect_number(1, DEVICE_CUDA_INDEX, 0);
    expect_number(2, DEVICE_CUDA_INDEX, 2);
}

/* Two instances, at places 1 and 4, on the second of three GPUs. */
static const char mig_script[] =
    "gpu h200\n"
    "gpu h200\n"
    "nvmlDeviceGetMigMode -> 0 1 1\n"
    "mig 1\n"
    "nvmlDeviceGetGpuInstanceId -> 0 5\n"
    "mig 4\n"
    "nvmlDeviceGetGpuInstanceId -> 0 9\n"
    "nvmlDeviceGetComputeInstanceId -> 0 1\n"
    "nvmlDeviceGetAttributes_v2 -> 0 60 71680\n"
    "gpu h200\n"
    "at 1\n"
    "device 1.4\n"
    "gone\n"
    "at 2\n"
    "here\n"
    "at 3\n"
    "nvmlDeviceGetUUID -> 0 \"MIG-another\"\n"
    "at 4\n"
    "nvmlDeviceGetUUID -> 0 \"MIG-00000000-0000-4000-8000-000000000004\"\n"
    "device 1\n"
    "nvmlDeviceGetMigMode -> 0 0 0\n";

static void finds_instances_between_holes(void **state)
{
    (void)state;
    assert_int_equal(stage_open(&stage, "fake_nvml", mig_script), 0);
    assert_int_equal(stage.counter->device_count, 5);
    expect_number(1, DEVICE_MIG_ENABLED, 1);
    assert_false(device_is_mig(device(1)));
    assert_int_equal(device(2)->index, 1);
    assert_int_equal(device(3)->index, 4);
    expect_number(2, DEVICE_PARENT, 1);
    expect_number(3, DEVICE_PARENT, 1);
    expect_number(2, DEVICE_GPU_INSTANCE, 5);
    expect_number(3, DEVICE_GPU_INSTANCE, 9);
    expect_number(3, DEVICE_COMPUTE_INSTANCE, 1);
    expect_number(2, DEVICE_SM_COUNT, 16);
    expect_number(3, DEVICE_SM_COUNT, 60);
    expect_number(3, DEVICE_CORES, 60 * 128);
    expect_number(3, DEVICE_MEMORY_TOTAL, 17179869184);
    expect_number(3, DEVICE_MAX_SM_CLOCK, 1980e6);
    assert_string_equal(device(3)->text[DEVICE_ARCHITECTURE], "hopper");
    assert_int_equal(device(4)->index, 2);
    assert_false(device_is_mig(device(4)));
    assert_false(device_knows(device(0), DEVICE_CUDA_INDEX));
}

static void notices_that_instances_change(void **state)
{
    (void)state;
    assert_int_equal(stage_open(&stage, "fake_nvml", mig_script), 0);
    const bool changed[] = {false, true, false, true, true};
    for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
        stage_set_time(&stage, (double)i);
        assert_int_equal(nvml_counter.changed(stage.counter), changed[i]);
    }
}

static void notices_that_gpus_come_and_go(void **state)
{
    (void)state;
    const char *script = "gpu h200\ngpu h200\nat 1\ngone\nat 2\nhere\n* -> 15\n";
    assert_int_equal(stage_open(&stage, "fake_nvml", script), 0);
    assert_false(nvml_counter.changed(stage.counter));
    stage_set_time(&stage, 1);
    assert_true(nvml_counter.changed(stage.counter));
    stage_set_time(&stage, 2); /* lost, which is not gone */
    assert_false(nvml_counter.changed(stage.counter));
}

static void keeps_the_place_of_a_gpu_that_does_not_answer(void **state)
{
    (void)state;
    const char *script = "gpu h200\n* -> 15\ngpu h200\nat 1\ndevice 0\n* -> 0\n";
    assert_int_equal(stage_open(&stage, "fake_nvml", script), 0);
    assert_int_equal(stage.counter->device_count, 2);
    assert_string_equal(device(0)->text[DEVICE_NAME], "GPU that does not answer (GPU is lost)");
    assert_string_equal(device(1)->text[DEVICE_NAME], "NVIDIA H200");
    assert_int_equal(stage_read(&stage, 0), -ENODEV);
    assert_int_equal(nvml_counter.reopen(stage.counter, 0), -ENODEV);
    assert_int_equal(stage_read(&stage, 1), 0);
    assert_false(nvml_counter.changed(stage.counter));
    stage_set_time(&stage, 1);
    assert_true(nvml_counter.changed(stage.counter));
}

static void lets_a_suspended_gpu_sleep(void **state)
{
    (void)state;
    stage_set_time(&stage, 0);
    stage_put_file(&stage, "/sys/bus/pci/devices/0000:01:00.0/power/runtime_status", "suspended\n");
    assert_int_equal(stage_open(&stage, "fake_nvml", "gpu h200\n"), 0);
    assert_int_equal(stage_read(&stage, 0), 0);
    assert_int_equal(stage.sample.absent[METRIC_POWER], ABSENT_SUSPENDED);
    assert_false(stage.processes.known);
    assert_false(nvml_counter.changed(stage.counter));
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetMigMode"), 0);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetMaxClockInfo"), 0);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetPowerUsage"), 0);
    assert_int_equal(stage_count_calls(&stage, "nvmlGpm"), 0);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceRegisterEvents"), 0);

    stage_put_file(&stage, "/sys/bus/pci/devices/0000:01:00.0/power/runtime_status", "active\n");
    assert_true(nvml_counter.changed(stage.counter));
}

static void does_not_wake_a_gpu_that_falls_asleep(void **state)
{
    (void)state;
    stage_set_time(&stage, 0);
    stage_put_file(&stage, "/sys/bus/pci/devices/0000:01:00.0/power/runtime_status", "active\n");
    assert_int_equal(stage_open(&stage, "fake_nvml", "gpu h200\n"), 0);
    assert_int_equal(stage_read(&stage, 0), 0);
    assert_float_equal(stage.sample.value[METRIC_POWER], 601.75, 1e-9);

    stage_put_file(&stage, "/sys/bus/pci/devices/0000:01:00.0/power/runtime_status", "suspended\n");
    assert_int_equal(stage_read(&stage, 0), 0);
    assert_int_equal(stage.sample.absent[METRIC_POWER], ABSENT_SUSPENDED);
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetPowerUsage 0"), 1);
    assert_false(nvml_counter.changed(stage.counter));

    stage_put_file(&stage, "/sys/bus/pci/devices/0000:01:00.0/power/runtime_status", "active\n");
    assert_int_equal(stage_read(&stage, 0), 0);
    assert_float_equal(stage.sample.value[METRIC_POWER], 601.75, 1e-9);
    assert_float_equal(stage.sample.value[METRIC_ENERGY], 123456.789, 1e-6);
}

#define CASE(function) cmocka_unit_test_teardown(function, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(says_why_it_does_not_start),
        CASE(describes_an_h200),
        CASE(describes_an_a100),
        CASE(counts_links_that_are_up),
        CASE(leaves_unknown_what_a_gpu_does_not_say),
        CASE(opens_an_old_library),
        CASE(lists_many),
        CASE(numbers_mixed_gpus_fastest_first),
        CASE(finds_instances_between_holes),
        CASE(notices_that_instances_change),
        CASE(notices_that_gpus_come_and_go),
        CASE(keeps_the_place_of_a_gpu_that_does_not_answer),
        CASE(lets_a_suspended_gpu_sleep),
        CASE(does_not_wake_a_gpu_that_falls_asleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
