/* The nvml source when GPUs fail, are lost or hang; MIG instances, Xid errors and processes. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"

#include "cmocka_test.h"
#include "nvml_scene.h"

static void names_what_it_may_not_read(void **state)
{
    (void)state;
    const char *script = "gpu h200\nnvmlDeviceGetTotalEnergyConsumption -> 4\n"
                         "nvmlGpmSampleGet -> 4\nnvmlDeviceGetEccMode -> 4\n";
    open_script("fake_nvml", script);
    read_at(0, 0);
    expect_missing(METRIC_ENERGY, ABSENT_NO_PERMISSION);
    expect_missing(METRIC_SM_ACTIVE, ABSENT_NO_PERMISSION);
    expect(METRIC_POWER, 601.75);
}

static void loses_one_gpu_and_goes_on(void **state)
{
    (void)state;
    const char *script = "gpu h200\ngpu h200\ngpu h200\n"
                         "at 1\ndevice 1\n* -> 15\n"
                         "at 2\n* -> 0\n";
    open_script("fake_nvml", script);
    for (size_t i = 0; i < 3; i++)
        read_at(0, i);
    stage_set_time(&stage, 1);
    assert_int_equal(stage_read(&stage, 0), 0);
    assert_int_equal(stage_read(&stage, 1), -ENODEV);
    assert_int_equal(stage_read(&stage, 2), 0);
    /* One call is enough to know. */
    assert_int_equal(stage_count_calls(&stage, "nvmlDeviceGetClockInfo 1"), 2);
    assert_int_equal(nvml_counter.reopen(stage.counter, 1), -ENODEV);

    stage_set_time(&stage, 2);
    assert_int_equal(nvml_counter.reopen(stage.counter, 1), 0);
    assert_int_equal(stage_read(&stage, 1), 0);
    expect(METRIC_POWER, 601.75);
    expect_missing(METRIC_SM_ACTIVE, ABSENT_FIRST_SAMPLE);
    read_at(2.1, 1);
    expect(METRIC_SM_ACTIVE, 0.9625);
}

static void tells_one_unknown_error_from_a_broken_gpu(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\nnvmlDeviceGetClockInfo -> 999\nat 1\n* -> 999\n");
    read_at(0, 0);
    expect_missing(METRIC_SM_CLOCK, ABSENT_DRIVER_ERROR);
    expect(METRIC_POWER, 601.75);
    stage_set_time(&stage, 1);
    assert_int_equal(stage_read(&stage, 0), -EIO);
}

/* After an Xid 31 the counters have been seen to stay at 0 (DCGM#303). */
static void distrusts_counters_that_stand_still(void **state)
{
    (void)state;
    open_script("fake_nvml", "gpu h200\nat 1\nnvmlGpmMetricsGet -> 0 0\n"
                             "at 30\nnvmlGpmMetricsGet 2 -> 0 50\n");
    for (int tick = 0; tick <= 38; tick++)
        read_at(tick * 0.1, 0);
    expect(METRIC_SM_ACTIVE, 0); /* nvidia-smi's number may be of a second ago */
    assert_int_equal(stage_count_calls(&stage, "nvmlGpmSampleAlloc"), 2);
    for (int tick = 39; tick <= 250; tick++)
        read_at(tick * 0.1, 0);
    expect_missing(METRIC_SM_ACTIVE, ABSENT_COUNTERS_STUCK);
    expect_missing(METRIC_PCIE_RX, ABSENT_COUNTERS_STUCK);
    expect(METRIC_NVML_UTILIZATION, 0.99);
    /* opened anew at once, and 10 s later */
    assert_int_equal(stage_count_calls(&stage, "nvmlGpmSampleAlloc"), 6);
    assert_int_equal(stage_count_calls(&stage, "nvmlGpmSampleFree"), 4);
    read_at(30.1, 0);
    expect(METRIC_SM_ACTIVE, 0.5);
}

static void believes_counters_that_stand_still_on_an_idle_gpu(void **state)
{
    (void)state;
    open_script("fake_nvml",
                "gpu h200\nnvmlGpmMetricsGet -> 0 0\n"
                "nvmlDeviceGetUtilizationRates -> 0 0 0\n"
                "gpu h200\nnvmlGpmMetricsGet -> 0 0\nnvmlGpmMetricsGet 21 -> 0 53342\n");
    for (size_t device = 0; device < 2; device++)
        for (int tick = 0; tick <= 100; tick++)
            read_at((double)device * 20 + tick * 0.1, device);
    expect(METRIC_SM_ACTIVE, 0); /* it copies */
    read_at(40, 0);
    read_at(40.1, 0);
    expect(METRIC_SM_ACTIVE, 0);
}

static void *read_second(void *argument)
{
    static struct sample sample;
    static struct process_list processes;
    *(atomic_int *)argument = nvml_counter.read(stage.counter, 1, &sample, &processes);
    return NULL;
}

static void reads_others_while_one_hangs(void **state)
{
    (void)state;
    char script[256];
    stage_set_time(&stage, 0);
    snprintf(script, sizeof(script), "gpu h200\ngpu h200\nnvmlDeviceGetPowerUsage -> hang %s/go\n",
             stage.folder);
    open_script("fake_nvml", script);
    atomic_int result = 1;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_second, &result), 0);
    while (stage_count_calls(&stage, "nvmlDeviceGetPowerUsage 1") == 0)
        sched_yield();
    for (int tick = 0; tick < 3; tick++)
        read_at(tick * 0.1, 0);
    expect(METRIC_SM_ACTIVE, 0.9625);
    assert_int_equal(result, 1);
    stage_put_file(&stage, "/go", "");
    pthread_join(thread, NULL);
    assert_int_equal(result, 0);
}

static void reads_instances(void **state)
{
    (void)state;
    const char *script = "gpu h200\nnvmlDeviceGetMigMode -> 0 1 1\n"
                         "nvmlDeviceGetUtilizationRates -> 3\nnvmlGpmSampleGet -> 3\n"
                         "mig 2\nnvmlDeviceGetGpuInstanceId -> 0 3\n"
                         "nvmlDeviceGetProcessUtilization -> 0 55 0\n"
                         "processes compute 55:1000:3:0\n";
    open_script("fake_nvml", script);
    read_at(0, 0);
    expect_missing(METRIC_NVML_UTILIZATION, ABSENT_NOT_SUPPORTED);
    expect_missing(METRIC_SM_ACTIVE, ABSENT_NOT_SUPPORTED);
    expect(METRIC_POWER, 601.75);
    sample_reset(&stage.sample, ABSENT_FIRST_SAMPLE);
    read_at(0, 1);
    read_at(0.1, 1);
    expect(METRIC_SM_ACTIVE, 0.4);
    expect(METRIC_DRAM_ACTIVE, 0.055);
    expect(METRIC_MEMORY_USED, 1000000000);
    expect_missing(METRIC_POWER, ABSENT_SHARED_MIG);
    expect_missing(METRIC_SM_CLOCK, ABSENT_SHARED_MIG);
    assert_int_equal(stage.processes.count, 1);
    assert_int_equal(stage.processes.process[0].pid, 55);
    assert_false(stage.processes.process[0].sm_known); /* which is not 0 % */
}

static void counts_xid_errors(void **state)
{
    (void)state;
    const char *script = "gpu h200\nnvmlDeviceGetMigMode -> 0 1 1\n"
                         "mig 0\nnvmlDeviceGetGpuInstanceId -> 0 1\n"
                         "mig 1\nnvmlDeviceGetGpuInstanceId -> 0 2\n"
                         "gpu h200\n"
                         "at 1\ndevice 0\nxid 31\nat 2\nxid 79 2 0\n";
    open_script("fake_nvml", script);
    read_at(0, 0);
    expect(METRIC_XID_ERRORS, 0);
    expect_missing(METRIC_XID_LAST_TIME, ABSENT_NONE_SEEN);

    stage_set_time(&stage, 2);
    nvml_poll_events(stage.counter);
    const double counts[] = {2, 1, 2, 0}; /* the GPU, its instances, the other GPU */
    const double codes[] = {79, 31, 79, 0};
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        read_at(2, i);
        expect(METRIC_XID_ERRORS, counts[i]);
        if (counts[i] == 0)
            continue;
        expect(METRIC_XID_LAST_CODE, codes[i]);
        assert_true(stage.sample.value[METRIC_XID_LAST_TIME] > 1e9);
    }
    nvml_poll_events(stage.counter);
    read_at(2.1, 0);
    expect(METRIC_XID_ERRORS, 2);
}

static void counts_xid_errors_of_the_kernel_log(void **state)
{
    (void)state;
    const char *old = "6,1,2,-;NVRM: Xid (PCI:0000:01:00): 13, old\n";
    const char *script = "gpu h200\nnvmlDeviceRegisterEvents -> 3\n"
                         "gpu h200\nat 1\ndevice 1\nxid 79\nxid 31\n";
    stage_set_time(&stage, 0);
    stage_put_file(&stage, "/dev/kmsg", old);
    open_script("fake_nvml", script);
    read_at(0, 0);
    expect(METRIC_XID_ERRORS, 0);

    stage_add_to_file(&stage, "/dev/kmsg",
                      "6,2,3,-;NVRM: Xid (PCI:0000:01:00): 119, pid=1, name=a, Timeout\n"
                      " SUBSYSTEM=pci\n"
                      "6,3,4,-;NVRM: Xid (PCI:0000:77:00): 13, another machine's\n"
                      "6,4,5,-;NVRM: Xid (PCI:zz\n"
                      "6,5,6,-;NVRM: Xid (PCI:0000:01:00\n"
                      "6,6,7,-;NVRM: Xid (0000:02:00): 79, GPU has fallen off the bus\n");
    stage_set_time(&stage, 1);
    nvml_poll_events(stage.counter);
    read_at(1, 0);
    expect(METRIC_XID_ERRORS, 1);
    expect(METRIC_XID_LAST_CODE, 119);
    read_at(1, 1);
    expect(METRIC_XID_ERRORS, 2); /* 79 was told of twice */

    stage_add_to_file(&stage, "/dev/kmsg", "6,7,8,-;NVRM: Xid (PCI:0000:02:00): 79, once more\n");
    nvml_poll_events(stage.counter);
    read_at(1.1, 1);
    expect(METRIC_XID_ERRORS, 3);
    expect(METRIC_XID_LAST_CODE, 79);
}

static const struct process *process(pid_t pid)
{
    for (size_t i = 0; i < stage.processes.count; i++)
        if (stage.processes.process[i].pid == pid)
            return &stage.processes.process[i];
    fail_msg("process %d is not listed", (int)pid);
    return NULL;
}

static void lists_processes_of_each_kind_once(void **state)
{
    (void)state;
    const char *script = "gpu h200\n"
                         "processes compute 10:5000 20:? 30:7000 40:66\n"
                         "processes graphics 10:6000 50:0xFFFFFFFFFFFFFFFF\n"
                         "processes mps 30:7000 0:9 4294967295:9\n"
                         "at 1\n"
                         "processes compute 20:1\nprocesses graphics\nprocesses mps\n";
    stage_set_time(&stage, 0);
    stage_put_file(&stage, "/proc/40/comm", "nvidia-cuda-mps\n");
    stage_put_file(&stage, "/proc/30/comm", "\xff\xfe\x80\n");
    open_script("fake_nvml", script);
    read_at(0, 0);
    assert_true(stage.processes.known);
    assert_false(stage.processes.truncated);
    assert_int_equal(stage.processes.count, 5);
    assert_int_equal(process(10)->kinds, PROCESS_COMPUTE | PROCESS_GRAPHICS);
    assert_int_equal(process(10)->memory_bytes, 6000);
    assert_false(process(20)->memory_known);
    assert_int_equal(process(30)->kinds, PROCESS_COMPUTE | PROCESS_MPS_CLIENT);
    assert_int_equal(process(40)->kinds, PROCESS_COMPUTE | PROCESS_MPS_SERVER);
    assert_int_equal(process(40)->memory_bytes, 66);
    assert_false(process(50)->memory_known);

    read_at(1, 0);
    assert_int_equal(stage.processes.count, 1);
    assert_int_equal(process(20)->memory_bytes, 1);
}

static void measures_the_layout_of_processes(void **state)
{
    (void)state;
    open_script("fake_nvml", "layout 32\ngpu h200\nprocesses compute 10:1000 20:2000 30:3000\n");
    read_at(0, 0);
    assert_int_equal(stage.processes.count, 3);
    assert_int_equal(process(20)->memory_bytes, 2000);
    assert_int_equal(process(30)->memory_bytes, 3000);
}

static void add_processes(struct strbuf *script, int count)
{
    strbuf_puts(script, "processes compute");
    for (int pid = 1; pid <= count; pid++)
        strbuf_printf(script, " %d:1", pid);
    strbuf_puts(script, "\n");
}

static void bounds_the_list_of_processes(void **state)
{
    (void)state;
    struct strbuf script = {0};
    strbuf_puts(&script, "gpu h200\n");
    add_processes(&script, PROCESS_LIST_CAPACITY + 1);
    strbuf_puts(&script, "at 1\n");
    add_processes(&script, NVML_PROCESS_LIMIT + 1);
    open_script("fake_nvml", strbuf_text(&script));
    strbuf_free(&script);
    read_at(0, 0);
    assert_int_equal(stage.processes.count, PROCESS_LIST_CAPACITY);
    assert_true(stage.processes.truncated);
    read_at(1, 0);
    assert_int_equal(stage.processes.count, 0);
    assert_true(stage.processes.truncated);
}

static void says_that_processes_cannot_be_listed(void **state)
{
    (void)state;
    const char *script = "gpu h200\nnvmlDeviceGetComputeRunningProcesses_v3 -> 4\n"
                         "nvmlDeviceGetGraphicsRunningProcesses_v3 -> 3\n";
    open_script("fake_nvml", script);
    read_at(0, 0);
    assert_false(stage.processes.known);
    assert_int_equal(stage.processes.count, 0);
    expect(METRIC_POWER, 601.75);
}

static void follows_a_script_that_changes(void **state)
{
    (void)state;
    open_script("fake_nvml", "follow\ngpu h200\nprocesses compute 10:1\n");
    read_at(0, 0);
    assert_int_equal(process(10)->memory_bytes, 1);
    char script[256];
    snprintf(script, sizeof(script),
             "clock %s/clock\nfollow\ngpu h200\nprocesses compute 11:2\n"
             "nvmlDeviceGetFieldValues 186 -> 0 type 1 value 1000+500\n",
             stage.folder);
    stage_put_file(&stage, "/script", script);
    read_at(4, 0);
    assert_int_equal(stage.processes.count, 1);
    assert_int_equal(process(11)->memory_bytes, 2);
    expect(METRIC_POWER, 3);
}

#define CASE(function) cmocka_unit_test_teardown(function, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(names_what_it_may_not_read),
        CASE(loses_one_gpu_and_goes_on),
        CASE(tells_one_unknown_error_from_a_broken_gpu),
        CASE(distrusts_counters_that_stand_still),
        CASE(believes_counters_that_stand_still_on_an_idle_gpu),
        CASE(reads_others_while_one_hangs),
        CASE(reads_instances),
        CASE(counts_xid_errors),
        CASE(counts_xid_errors_of_the_kernel_log),
        CASE(lists_processes_of_each_kind_once),
        CASE(measures_the_layout_of_processes),
        CASE(bounds_the_list_of_processes),
        CASE(says_that_processes_cannot_be_listed),
        CASE(follows_a_script_that_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
