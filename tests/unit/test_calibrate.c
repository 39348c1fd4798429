#include "calibrate/calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrate/witness.h"
#include "cmocka_test.h"

/* The script of the fake libcuda, and what it says in the end. */
static char folder[] = "/tmp/calibrate-XXXXXX";
static char script[64], left[64];

static int make_folder(void **state)
{
    (void)state;
    char library[512];
    if (!mkdtemp(folder))
        return -1;
    snprintf(script, sizeof(script), "%s/script", folder);
    snprintf(left, sizeof(left), "%s/left", folder);
    snprintf(library, sizeof(library), "%s/libfake_cuda.so", getenv("FAKE_ROOT"));
    setenv("ROOFTOP_CUDA", library, 1);
    setenv("ROOFTOP_CUBLASLT", library, 1);
    setenv("ROOFTOP_FAKE_CUDA", script, 1);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(script);
    unlink(left);
    return rmdir(folder);
}

struct watcher {
    unsigned begun, ended;
    unsigned stop_at; /* idle() says so at this call */
    unsigned calls;
};

static int idle(void *context, double seconds)
{
    struct watcher *watcher = context;
    (void)seconds;
    return ++watcher->calls == watcher->stop_at ? -EINTR : 0;
}

static void next(void *context, enum ceiling ceiling)
{
    (void)context;
    assert_true(ceiling < CEILING_COUNT);
}

static void begin(void *context, const struct calibration_work *work)
{
    (void)work;
    ((struct watcher *)context)->begun++;
}

static void end(void *context, const struct calibration_work *work, double mean,
                struct ceiling_value *value)
{
    (void)work;
    assert_true(value->value > 0 && fabs(mean / value->value - 1) < 0.1);
    ((struct watcher *)context)->ended++;
}

static int run(const char *text, uint32_t wanted, const char *peer, unsigned stop_at,
               struct calibration *ret, char *why, size_t why_size)
{
    FILE *file = fopen(script, "w");
    assert_non_null(file);
    fprintf(file, "%s\nlog %s\n", text, left);
    fclose(file);
    unlink(left);
    struct watcher watcher = {.stop_at = stop_at};
    const struct calibration_config config = {
        .uuid = "GPU-00000000-0000-4000-8000-000000000001",
        .peer = peer,
        .wanted = wanted,
        .patience = 0.05,
        .hooks = {&watcher, idle, next, begin, end},
    };
    int r = calibrate(&config, ret, why, why_size);
    if (r == 0)
        assert_int_equal(watcher.begun, watcher.ended);
    return r;
}

static void assert_all_freed(void)
{
    char line[256] = "";
    FILE *file = fopen(left, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    assert_non_null(strstr(
        line,
        "left: 0 contexts 0 memory 0 host 0 streams 0 events 0 modules 0 blas 0 graphs; most "));
}

static void a_failure_is_told_and_all_is_freed(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int result;
        const char *why;
    } cases[] = {
        {"fail cuInit 100", -ENODEV, "cuInit: "},
        {"devices 0", -ENODEV, "CUDA does not see GPU-"},
        {"capability 75", -ENOTSUP, "Ampere"},
        {"fail cuDevicePrimaryCtxRetain 46", -EBUSY, "making a CUDA context: "},
        {"fail cuModuleLoadData 218", -EIO, "loading the kernels: "},
        {"fail cuModuleGetFunction 500 5", -EIO, "rooftop_copy: "},
        {"free 900000000", -ENOMEM, "858 MiB of device memory are free"},
        {"fail cuMemAlloc 2", -ENOMEM, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"},
        {"fail cuMemHostAlloc 2", -ENOMEM, "cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY"},
        {"fail cuLaunchKernel 719", -EIO, "launching a kernel: CUDA_ERROR_LAUNCH_FAILED"},
        {"fail cuLaunchKernel 719 40", -EIO, "launching a kernel: CUDA_ERROR_LAUNCH_FAILED"},
        {"fail cuEventQuery 700 30", -EIO, "running a kernel: "},
        {"fail cuEventRecord 1 31", -EIO, "cuEventRecord: "},
        {"fail cuEventElapsedTime 1 20", -EIO, "cuEventElapsedTime: "},
        {"time rooftop_copy 0", -EIO, "CUDA says that a kernel took 0 ms"},
        {"fail cublasLtMatmul 14 30", -EIO, ""},
        {"fail cuMemcpyHtoDAsync 1 3", -EIO, "cuMemcpyHtoDAsync: "},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct calibration calibration;
        char why[256] = "";
        int r = run(cases[i].script, UINT32_MAX, NULL, 0, &calibration, why, sizeof(why));
        if (cases[i].why[0]) {
            if (r != cases[i].result)
                print_message("# %s: %d, %s\n", cases[i].script, r, why);
            assert_int_equal(r, cases[i].result);
            assert_non_null(strstr(why, cases[i].why));
        } else
            assert_true(r < 0);
        assert_all_freed();
    }
}

/* In a process of its own, since what the driver holds is left to the end of that. */
static void a_gpu_that_hangs_is_left_alone(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct calibration calibration;
        char why[256];
        int r = run("pace 1e9", 1U << CEILING_FP32, NULL, 0, &calibration, why, sizeof(why));
        bool right = r == -ETIMEDOUT && strcmp(why, "the GPU does not finish a kernel") == 0;
        /* The library says what was not given back when it is unloaded. */
        _exit(right && access(left, F_OK) < 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void it_can_be_stopped_at_any_moment(void **state)
{
    (void)state;
    for (unsigned stop = 1; stop < 110; stop += 9) {
        struct calibration calibration;
        char why[256];
        assert_int_equal(run("", UINT32_MAX, NULL, stop, &calibration, why, sizeof(why)), -EINTR);
        assert_all_freed();
    }
}

static void memory_is_bounded(void **state)
{
    (void)state;
    struct calibration calibration;
    char why[256], line[256] = "";
    assert_int_equal(
        run("free 4294967296", 1U << CEILING_TENSOR_FP64, NULL, 0, &calibration, why, sizeof(why)),
        0);
    FILE *file = fopen(left, "r");
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    assert_non_null(strstr(line, "most 1024 MiB"));
    /* The three matrices have to be of 4096 then: 2 × 4096³ in 1 ms. */
    double value = calibration.ceilings.of[CEILING_TENSOR_FP64].value;
    assert_true(fabs(value / (2.0 * 4096 * 4096 * 4096 / 0.001) - 1) < 1e-3);
}

static void a_peer_is_sent_to(void **state)
{
    (void)state;
    static const char peer[] = "GPU-00000000-0000-4000-8000-000000000002";
    struct calibration calibration;
    char why[256];
    const uint32_t wanted = 1U << CEILING_NVLINK_SEND;
    assert_int_equal(
        run("devices 2\nrate peer 366e9", wanted, peer, 0, &calibration, why, sizeof(why)), 0);
    assert_true(fabs(calibration.ceilings.of[CEILING_NVLINK_SEND].value / 366e9 - 1) < 1e-3);
    assert_all_freed();

    assert_int_equal(run("devices 1", wanted, peer, 0, &calibration, why, sizeof(why)), -ENODEV);
    assert_all_freed();
    assert_int_equal(run("devices 2\nfail cuCtxEnablePeerAccess 704", wanted, peer, 0, &calibration,
                         why, sizeof(why)),
                     0);
    assert_int_equal(run("devices 2\nfail cuCtxEnablePeerAccess 217", wanted, peer, 0, &calibration,
                         why, sizeof(why)),
                     -EIO);
    assert_all_freed();
}

static void spread_is_of_the_repeats(void **state)
{
    (void)state;
    struct calibration calibration;
    char why[256];
    /* Some of the repeats take a tenth longer. */
    assert_int_equal(
        run("slow 12 1.1", 1U << CEILING_FP32, NULL, 0, &calibration, why, sizeof(why)), 0);
    double spread = calibration.ceilings.of[CEILING_FP32].spread;
    assert_true(fabs(spread - 0.1) < 0.002 || fabs(spread - (1 - 1 / 1.1)) < 0.002);

    double rates[] = {3, 1, 2, 5};
    double median;
    calibration_summary(rates, 4, &median, &spread);
    assert_true(median == 2.5 && spread == 4 / 2.5);
}

static struct device h200(void)
{
    struct device device = {0};
    device_set_text(&device, DEVICE_NAME, "NVIDIA H200");
    device_set_number(&device, DEVICE_SM_COUNT, 132);
    device_set_number(&device, DEVICE_MAX_SM_CLOCK, 1980e6);
    return device;
}

static void see(struct witness *witness, double time, double tensor, double clock)
{
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_SUPPORTED);
    sample.time = time;
    sample.interval = 0.1;
    sample_set(&sample, METRIC_TENSOR_ACTIVE, tensor);
    sample_set(&sample, METRIC_COMPUTE_SOL, tensor);
    sample_set(&sample, METRIC_TENSOR_HMMA_ACTIVE, tensor);
    sample_set(&sample, METRIC_SM_CLOCK, 1485e6);
    sample_set(&sample, METRIC_POWER, 660);
    if (clock > 0)
        sample_set(&sample, METRIC_EFFECTIVE_CLOCK, clock);
    witness_add(witness, &sample);
}

/* The H200's bf16 product of 8192: 670.7 TFLOP/s at 1326 MHz are 93.55 %, while the counter said
 * 93.64 %. */
static void counters_are_held_against_the_work(void **state)
{
    (void)state;
    struct device device = h200();
    struct witness witness = {0};
    witness_begin(&witness, 100);
    see(&witness, 100.05, 0.1, 500e6); /* began before */
    see(&witness, 100.15, 0.93, 1326e6);
    see(&witness, 100.25, 0.9428, 1326e6);

    const struct calibration_work work = {CEILING_TENSOR_BF16, false, "cuBLASLt"};
    struct witness_row rows[WITNESS_ROWS];
    assert_int_equal(witness_compare(&witness, &device, &work, 670.7e12, rows), 3);
    assert_int_equal(rows[0].metric, METRIC_COMPUTE_SOL);
    assert_int_equal(rows[1].metric, METRIC_TENSOR_ACTIVE);
    assert_int_equal(rows[2].metric, METRIC_TENSOR_HMMA_ACTIVE);
    assert_int_equal(rows[0].samples, 2);
    assert_true(fabs(rows[0].known - 0.9355) < 0.0002);
    assert_true(fabs(rows[0].seen - 0.9364) < 1e-9);
    assert_false(rows[0].nvml_clock);

    struct ceiling_value value = {0};
    witness_tell(&witness, CEILING_TENSOR_BF16, &value);
    assert_true(value.clock == 1326e6 && value.power == 660 && isnan(value.temperature));
    assert_true(fabs(value.ratio - 0.9364) < 1e-9);
}

static void the_clock_of_a_burst_before_does_not_count(void **state)
{
    (void)state;
    struct witness witness = {0};
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_SUPPORTED);
    sample.time = 100.5;
    sample.interval = 0.1;
    sample_set(&sample, METRIC_SM_CLOCK, 1485e6);
    sample_set(&sample, METRIC_EFFECTIVE_CLOCK, 1900e6);
    sample_set(&sample, METRIC_COUNTERS_AGE, 0.6);
    witness_begin(&witness, 100);
    witness_add(&witness, &sample);
    struct ceiling_value value = {0};
    witness_tell(&witness, CEILING_TENSOR_BF16, &value);
    assert_true(value.clock == 1485e6);

    sample_set(&sample, METRIC_COUNTERS_AGE, 0.2);
    sample_set(&sample, METRIC_EFFECTIVE_CLOCK, 1326e6);
    witness_add(&witness, &sample);
    witness_tell(&witness, CEILING_TENSOR_BF16, &value);
    assert_true(value.clock == 1326e6);
}

/* Before Hopper, some counters take turns of a second: until its next turn FP64's still stands
 * where the work before has left it. */
static void what_a_counter_holds_from_its_last_turn_does_not_count(void **state)
{
    (void)state;
    static const double seen[] = {0.02, 0.02, 0.02, 0.91, 0.93, 0.93};
    struct witness witness = {0};
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_SUPPORTED);
    sample_set(&sample, METRIC_COUNTERS_AGE, 0);
    sample_set(&sample, METRIC_COUNTERS_SHARE, 0.5);
    sample_set(&sample, METRIC_SM_CLOCK, 1410e6);
    witness_begin(&witness, 100);
    for (size_t i = 0; i < ARRAY_SIZE(seen); i++) {
        sample.time = 99.95 + 0.1 * (double)i;
        sample_set(&sample, METRIC_FP64_ACTIVE, seen[i]);
        witness_add(&witness, &sample);
    }
    struct ceiling_value value = {0};
    witness_tell(&witness, CEILING_FP64, &value);
    assert_true(fabs(value.ratio - 0.92) < 1e-9);
    assert_true(value.clock == 1410e6); /* this one is measured all the time */
    witness_begin(&witness, 101);
    sample.time = 101.2;
    witness_add(&witness, &sample);
    witness_tell(&witness, CEILING_FP64, &value);
    assert_true(isnan(value.ratio)); /* unknown is not what was before */
}

static void without_the_effective_clock_it_says_so(void **state)
{
    (void)state;
    struct device device = h200();
    struct witness witness = {0};
    struct witness_row rows[WITNESS_ROWS];
    witness_begin(&witness, 100);
    see(&witness, 100.2, 0.9364, 0);
    const struct calibration_work work = {CEILING_TENSOR_BF16, false, "cuBLASLt"};
    assert_int_equal(witness_compare(&witness, &device, &work, 670.7e12, rows), 3);
    assert_true(rows[0].nvml_clock);
    assert_true(fabs(rows[0].known - 0.9355 * 1326 / 1485) < 0.0002);

    device_set_text(&device, DEVICE_NAME, "NVIDIA Unheard Of");
    assert_int_equal(witness_compare(&witness, &device, &work, 670.7e12, rows), 0);
}

static void memory_is_read_and_written(void **state)
{
    (void)state;
    struct device device = h200();
    struct witness witness = {0};
    struct witness_row rows[WITNESS_ROWS];
    witness_begin(&witness, INFINITY);
    see(&witness, 100.2, 0.5, 0);
    const struct calibration_work work = {CEILING_HBM_TRIAD, false, "own kernel"};
    assert_int_equal(witness_compare(&witness, &device, &work, 4.2e12, rows), 4);
    assert_true(fabs(rows[1].known - 4.2 / 4.8) < 1e-9 && isnan(rows[1].seen));
    assert_int_equal(rows[2].metric, METRIC_DRAM_READ);
    assert_true(fabs(rows[2].known - 2.8e12) < 1 && fabs(rows[3].known - 1.4e12) < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_told_and_all_is_freed),
        cmocka_unit_test(a_gpu_that_hangs_is_left_alone),
        cmocka_unit_test(it_can_be_stopped_at_any_moment),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(a_peer_is_sent_to),
        cmocka_unit_test(spread_is_of_the_repeats),
        cmocka_unit_test(counters_are_held_against_the_work),
        cmocka_unit_test(the_clock_of_a_burst_before_does_not_count),
        cmocka_unit_test(what_a_counter_holds_from_its_last_turn_does_not_count),
        cmocka_unit_test(without_the_effective_clock_it_says_so),
        cmocka_unit_test(memory_is_read_and_written),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
