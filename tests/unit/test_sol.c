#include "sol/sol.h"

#include <string.h>

#include "cmocka_test.h"

/* Means of each phase of the traces taken on an H200 and on two of them: percent, and MiB/s for the
 * links. What bounds each is known from the workload, not from these counters. */
static const struct row {
    const char *name;
    enum label bound;
    double nvml, graphics, sm, tensor, dfma, imma, fp32, integer, dram;
    double pcie_rx, pcie_tx, nvlink_rx, nvlink_tx;
} rows[] = {
    /* clang-format off */
    {"idle", LABEL_BOUND_IDLE, 0, 0, 0, 0, 0, 0, 0, 0, 0.0004, 1.755, 2.157, 0, 0},
    {"gemm-tf32-256", LABEL_BOUND_LATENCY, 99, 99.33, 10.14, 2.187, 0, 0, 0.04556, 1.538, 0.0004, 1.47, 1.633, 0, 0},
    {"gemm-tf32-1024", LABEL_BOUND_COMPUTE, 99.77, 99.57, 85.47, 34.68, 0, 0, 0.3091, 12.67, 0.0004091, 1.321, 1.651, 0, 0},
    {"gemm-tf32-4096", LABEL_BOUND_COMPUTE, 99, 99.35, 95.18, 88.06, 0, 0, 0.1735, 9.794, 18.6, 11.87, 5.965, 0, 0},
    {"gemm-bf16-256", LABEL_BOUND_LATENCY, 98.84, 98.92, 59.74, 1.267, 0, 0, 0, 4.159, 0.0004023, 1.669, 1.667, 0, 0},
    {"gemm-bf16-1024", LABEL_BOUND_COMPUTE, 99.09, 99.35, 75.73, 41.8, 0, 0, 0, 3.546, 0.0004023, 1.455, 1.667, 0, 0},
    {"gemm-bf16-4096", LABEL_BOUND_COMPUTE, 98.14, 98.15, 92.81, 88.64, 0, 0, 0, 1.738, 18.13, 12.09, 5.894, 0, 0},
    {"gemm-bf16-8192", LABEL_BOUND_COMPUTE, 99.73, 99.68, 96.21, 93.39, 0, 0, 0, 1.356, 17.53, 11.19, 5.46, 0, 0},
    {"gemm-fp16-4096", LABEL_BOUND_COMPUTE, 99, 98.91, 93.62, 89.43, 0, 0, 0, 1.753, 17.42, 12.04, 5.836, 0, 0},
    {"gemm-fp8-8192", LABEL_BOUND_COMPUTE, 99.14, 99.32, 97.36, 91.46, 0, 0, 23.24, 3.839, 16.93, 10.84, 5.302, 0, 0},
    {"gemm-int8-8192", LABEL_BOUND_COMPUTE, 99.73, 99.62, 96.18, 74.32, 0, 74.32, 0, 7.972, 17.19, 1.361, 1.784, 0, 0},
    {"gemm-fp32-4096", LABEL_BOUND_COMPUTE, 99.86, 99.63, 96.43, 0.0003, 0, 0, 76.65, 5.852, 3.165, 1.29, 1.691, 0, 0},
    {"gemm-fp64-4096", LABEL_BOUND_COMPUTE, 99.98, 99.76, 96.69, 94.64, 94.64, 0, 0, 6.419, 12.67, 1.329, 1.768, 0, 0},
    {"stream-copy", LABEL_BOUND_MEMORY, 99.84, 99.69, 99.57, 0, 0, 0, 0, 22.76, 57.46, 1.491, 1.878, 0, 0},
    {"stream-triad", LABEL_BOUND_MEMORY, 100, 99.74, 99.51, 0, 0, 0, 1.085, 4.067, 90.29, 1.986, 2.371, 0, 0},
    {"elementwise-sin", LABEL_BOUND_MEMORY, 99.82, 99.63, 99.33, 0, 0, 0, 20.06, 19.14, 87.68, 2.172, 2.586, 0, 0},
    {"gemv-bf16-16384", LABEL_BOUND_MEMORY, 99, 96.96, 86.06, 3.358, 0, 0, 0, 1.27, 85.4, 1.918, 2.231, 0, 0},
    {"train-mlp-small", LABEL_BOUND_LATENCY, 18.43, 18.34, 5.435, 0.001757, 0, 0, 1.324, 0.7959, 0.0004841, 67.72, 8.084, 0, 0},
    {"llama8b-prefill-b1-t8192", LABEL_BOUND_COMPUTE, 100, 99.82, 96.71, 77.01, 0, 0, 3.653, 10.2, 19.22, 15.96, 5.988, 0, 0},
    {"llama8b-prefill-b4-t2048", LABEL_BOUND_COMPUTE, 100, 99.8, 97.3, 78.07, 0, 0, 1.926, 11.11, 21.73, 17.65, 6.529, 0, 0},
    {"llama8b-decode-b1-ctx1024", LABEL_BOUND_MEMORY, 99.82, 99.57, 64.8, 2.51, 0, 0, 0.03962, 1.53, 63.99, 16.63, 7.696, 0, 0},
    {"llama8b-decode-b2-ctx1024", LABEL_BOUND_MEMORY, 99, 99.16, 66.02, 2.494, 0, 0, 0.0766, 1.799, 62.55, 16.77, 7.718, 0, 0},
    {"llama8b-decode-eager-b2-ctx1024", LABEL_BOUND_MEMORY, 70.73, 70.6, 43.01, 1.625, 0, 0, 0.04991, 1.172, 41.37, 143.9, 17.9, 0, 0},
    {"llama8b-decode-b32-ctx1024", LABEL_BOUND_MEMORY, 99.86, 99.61, 73.58, 9.749, 0, 0, 0.7888, 4.305, 67.29, 2.089, 2.403, 0, 0},
    {"llama8b-decode-b32-ctx4096", LABEL_BOUND_MEMORY, 99.55, 99.49, 79.82, 10.16, 0, 0, 1.795, 6.399, 75.65, 2.173, 2.522, 0, 0},
    {"llama8b-decode-b256-ctx1024", LABEL_BOUND_MEMORY, 99, 99.28, 90.11, 36.06, 0, 0, 2.872, 12.98, 67.5, 20.07, 8.999, 0, 0},
    {"llama8b-lora-b1-t128", LABEL_BOUND_LATENCY, 26.65, 26.1, 12.58, 3.313, 0, 0, 0.2891, 1.635, 6.658, 96.88, 11.73, 0, 0},
    {"llama8b-lora-b1-t512", LABEL_BOUND_LATENCY, 40.62, 40.06, 25.84, 12.17, 0, 0, 0.8677, 4.888, 9.558, 86.5, 11.25, 0, 0},
    {"llama8b-lora-b4-t2048", LABEL_BOUND_COMPUTE, 99.76, 99.61, 95.03, 50.37, 0, 0, 2.827, 19.22, 34.32, 33.33, 9.316, 0, 0},
    {"idle", LABEL_BOUND_IDLE, 0, 0.006207, 0, 0, 0, 0, 0, 0, 0.0004714, 1.2, 1.597, 0, 0},
    {"allreduce-1GiB (0)", LABEL_BOUND_LINK, 98.95, 99.1, 17.25, 0.002, 0, 0, 0.1228, 0.5838, 27.32, 13.82, 7.341, 3.207e+05, 3.207e+05},
    {"allreduce-1GiB (1)", LABEL_BOUND_LINK, 99, 99.16, 17.26, 0.002002, 0, 0, 0.1228, 0.5839, 27.33, 13.74, 6.808, 3.207e+05, 3.207e+05},
    {"send-0-to-1-1GiB (0)", LABEL_BOUND_LINK, 98.91, 98.86, 23.68, 0.0002, 0, 0, 0, 0.3055, 7.654, 8.289, 5.328, 11.09, 3.577e+05},
    {"send-0-to-1-1GiB (1)", LABEL_BOUND_LINK, 98.82, 98.84, 23.67, 0.0001, 0, 0, 0, 0.4033, 18, 12, 6.1, 3.577e+05, 11.09},
    {"tensor-parallel-gemm-allreduce (0)", LABEL_BOUND_COMPUTE, 97.73, 97.64, 71.12, 64.75, 0, 0, 0, 1.372, 18.93, 19.87, 8.285, 6.428e+04, 6.428e+04},
    {"tensor-parallel-gemm-allreduce (1)", LABEL_BOUND_COMPUTE, 98.09, 98.03, 71.7, 65.47, 0, 0, 0, 1.386, 19.17, 18.85, 7.328, 6.428e+04, 6.428e+04},
    {"gpu0-busy-gpu1-idle (0)", LABEL_BOUND_COMPUTE, 98.64, 98.58, 94.5, 91.74, 0, 0, 0, 1.332, 16.03, 14.87, 7.451, 0.0009091, 0.0009091},
    {"gpu0-busy-gpu1-idle (1)", LABEL_BOUND_LATENCY, 34.27, 33.78, 0.2557, 0, 0, 0, 0, 0.002661, 0.0005, 2.389, 2.718, 0.0009091, 0.0009091},
    {"host-to-device-1GiB (0)", LABEL_BOUND_LINK, 99.91, 0.06043, 0, 0, 0, 0, 0, 0, 1.084, 5.334e+04, 3188, 0.0001111, 0.0001111},
    {"host-to-device-1GiB (1)", LABEL_BOUND_LINK, 99.91, 0.1011, 0.0003111, 0, 0, 0, 0, 2.222e-06, 1.084, 5.334e+04, 3187, 0.0001111, 0.0001111},
    {"device-to-host-1GiB (0)", LABEL_BOUND_LINK, 99.96, 0.05908, 0, 0, 0, 0, 0, 0, 1.115, 2.316, 5.566e+04, 0.0001111, 0.0001111},
    {"device-to-host-1GiB (1)", LABEL_BOUND_LINK, 100, 0.06917, 8.043e-05, 0, 0, 0, 0, 0, 1.115, 1.865, 5.565e+04, 0.0001087, 0.0001087},
    /* clang-format on */
};

static struct device h200(void)
{
    struct device device = {0};
    device_set_text(&device, DEVICE_NAME, "NVIDIA H200");
    device_set_number(&device, DEVICE_COMPUTE_CAPABILITY, 9);
    device_set_number(&device, DEVICE_SM_COUNT, 132);
    device_set_number(&device, DEVICE_CORES, 16896);
    device_set_number(&device, DEVICE_MEMORY_BUS_BITS, 6016);
    device_set_number(&device, DEVICE_MAX_SM_CLOCK, 1980e6);
    device_set_number(&device, DEVICE_MAX_MEMORY_CLOCK, 3201e6);
    device_set_number(&device, DEVICE_PCIE_MAX_GENERATION, 5);
    device_set_number(&device, DEVICE_PCIE_MAX_WIDTH, 16);
    device_set_number(&device, DEVICE_NVLINK_COUNT, 18);
    device_set_number(&device, DEVICE_NVLINK_BANDWIDTH, 18 * 26.6e9);
    return device;
}

/* What the nvml source with GPM gives. */
static struct sample sample_of(const struct row *row)
{
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_PROVIDED);
    sample_set(&sample, METRIC_NVML_UTILIZATION, row->nvml / 100);
    sample_set(&sample, METRIC_GRAPHICS_ACTIVE, row->graphics / 100);
    sample_set(&sample, METRIC_SM_ACTIVE, row->sm / 100);
    sample_set(&sample, METRIC_TENSOR_ACTIVE, row->tensor / 100);
    sample_set(&sample, METRIC_TENSOR_DFMA_ACTIVE, row->dfma / 100);
    sample_set(&sample, METRIC_TENSOR_IMMA_ACTIVE, row->imma / 100);
    sample_set(&sample, METRIC_TENSOR_HMMA_ACTIVE, (row->tensor - row->dfma - row->imma) / 100);
    sample_set(&sample, METRIC_FP64_ACTIVE, 0);
    sample_set(&sample, METRIC_FP32_ACTIVE, row->fp32 / 100);
    sample_set(&sample, METRIC_FP16_ACTIVE, 0);
    sample_set(&sample, METRIC_INT_ACTIVE, row->integer / 100);
    sample_set(&sample, METRIC_DRAM_ACTIVE, row->dram / 100);
    sample_set(&sample, METRIC_PCIE_RX, row->pcie_rx * 0x1p20);
    sample_set(&sample, METRIC_PCIE_TX, row->pcie_tx * 0x1p20);
    sample_set(&sample, METRIC_NVLINK_RX, row->nvlink_rx * 0x1p20);
    sample_set(&sample, METRIC_NVLINK_TX, row->nvlink_tx * 0x1p20);
    sample_set(&sample, METRIC_SM_CLOCK, 1980e6);
    sample_miss(&sample, METRIC_EFFECTIVE_CLOCK, ABSENT_NEEDS_CUPTI);
    return sample;
}

static struct sample derived(const struct device *device, const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (strcmp(rows[i].name, name) == 0) {
            struct sample sample = sample_of(&rows[i]);
            sol_derive(device, NULL, &sample);
            return sample;
        }
    fail_msg("no row is called %s", name);
    return (struct sample){0};
}

static double value(const struct sample *sample, enum metric metric)
{
    if (!sample_has(sample, metric))
        fail_msg("%s is missing: %s", metric_info(metric)->name,
                 absence_info((enum absence)sample->absent[metric])->word);
    return sample->value[metric];
}

static void assert_verdict(const struct device *device, const struct sample *sample,
                           const char *expected)
{
    struct strbuf verdict = {0};
    sol_verdict(device, sample, &verdict);
    assert_string_equal(strbuf_text(&verdict), expected);
    strbuf_free(&verdict);
}

static void names_the_bound_of_every_known_workload(void **state)
{
    (void)state;
    struct device device = h200();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct sample sample = sample_of(&rows[i]);
        sol_derive(&device, NULL, &sample);
        enum label bound = (enum label)value(&sample, METRIC_BOUND);
        if (bound != rows[i].bound)
            fail_msg("%s: %s", rows[i].name, label_word(METRIC_BOUND, bound));
    }
}

static void names_the_pipe_and_the_level(void **state)
{
    (void)state;
    struct device device = h200();
    struct sample sample = derived(&device, "gemm-fp32-4096");
    assert_near(value(&sample, METRIC_COMPUTE_SOL), 0.7665, 1e-9);
    assert_int_equal(value(&sample, METRIC_COMPUTE_SOL_PIPE), LABEL_PIPE_FP32);
    sample = derived(&device, "stream-copy");
    assert_int_equal(value(&sample, METRIC_COMPUTE_SOL_PIPE), LABEL_PIPE_INT);
    assert_int_equal(value(&sample, METRIC_MEMORY_SOL_LEVEL), LABEL_LEVEL_DRAM);
    struct strbuf words = {0};
    sol_level_words(&device, &sample, &words);
    assert_string_equal(strbuf_text(&words), "HBM only");
    strbuf_clear(&words);
    sample_set(&sample, METRIC_L2_ACTIVE, 0.7);
    sol_derive(&device, NULL, &sample);
    sol_level_words(&device, &sample, &words);
    assert_string_equal(strbuf_text(&words), "L2");
    strbuf_free(&words);
}

/* Issue slots are not arithmetic: an FP32 product uses 87 % of them and 77 % of its pipe. */
static void leaves_issue_slots_out(void **state)
{
    (void)state;
    struct device device = h200();
    struct sample sample = derived(&device, "gemm-fp32-4096");
    sample_set(&sample, METRIC_ISSUE_ACTIVE, 0.867);
    sol_derive(&device, NULL, &sample);
    assert_near(value(&sample, METRIC_COMPUTE_SOL), 0.7665, 1e-9);
}

static void measures_links_against_their_peaks(void **state)
{
    (void)state;
    assert_near(sol_peak_pcie(5, 16), 63.015e9, 1e6);
    assert_near(sol_peak_pcie(4, 16), 31.508e9, 1e6);
    assert_near(sol_peak_pcie(3, 16), 15.754e9, 1e6);
    assert_near(sol_peak_pcie(1, 16), 4e9, 1);
    assert_near(sol_peak_pcie(0, 16), 0, 0);
    assert_near(sol_peak_pcie(7, 16), 0, 0);
    struct device device = h200();
    struct sample sample = derived(&device, "host-to-device-1GiB (0)");
    assert_near(value(&sample, METRIC_LINK_SOL), 53340 * 0x1p20 / 63.015e9, 1e-4);
    assert_int_equal(value(&sample, METRIC_LINK_SOL_NAME), LABEL_LINK_PCIE_RX);
    sample = derived(&device, "send-0-to-1-1GiB (0)");
    assert_near(value(&sample, METRIC_LINK_SOL), 357700 * 0x1p20 / 478.8e9, 1e-4);
    assert_int_equal(value(&sample, METRIC_LINK_SOL_NAME), LABEL_LINK_NVLINK_TX);
}

static void does_not_judge_by_links_that_it_cannot_see(void **state)
{
    (void)state;
    struct device device = h200();
    struct sample sample = derived(&device, "train-mlp-small");
    sample_miss(&sample, METRIC_NVLINK_RX, ABSENT_NO_FUNCTION);
    sol_derive(&device, NULL, &sample);
    assert_int_equal(sample.absent[METRIC_LINK_SOL], ABSENT_NO_FUNCTION);
    assert_int_equal(sample.absent[METRIC_BOUND], ABSENT_NO_FUNCTION);
    assert_verdict(&device, &sample,
                   "neither compute nor memory is near its limit; links are not seen; "
                   "nvidia-smi says 18 %");

    sample = derived(&device, "host-to-device-1GiB (0)"); /* near its peak in any case */
    sample_miss(&sample, METRIC_NVLINK_RX, ABSENT_NO_FUNCTION);
    sol_derive(&device, NULL, &sample);
    assert_int_equal(value(&sample, METRIC_BOUND), LABEL_BOUND_LINK);

    sample = derived(&device, "allreduce-1GiB (0)"); /* traffic, but no peak to set it against */
    device.known &= ~(UINT32_C(1) << DEVICE_NVLINK_BANDWIDTH);
    sol_derive(&device, NULL, &sample);
    assert_int_equal(sample.absent[METRIC_LINK_SOL], ABSENT_INPUT_MISSING);
    assert_int_equal(sample.absent[METRIC_BOUND], ABSENT_INPUT_MISSING);
}

static void warns_of_the_older_tensor_path(void **state)
{
    (void)state;
    struct device device = h200();
    struct sample sample = derived(&device, "gemm-int8-8192");
    static const char *const if_old =
        "compute-bound: tensor pipe at 74 % (in FLOPs about 49 %, if by mma.sync); "
        "nvidia-smi says 100 %";
    assert_verdict(&device, &sample, if_old); /* integers, without the counter */
    sample_set(&sample, METRIC_TENSOR_SHARED_LOADS, 0.46);
    assert_verdict(&device, &sample, if_old);
    sample_set(&sample, METRIC_TENSOR_SHARED_LOADS, 0.15);
    assert_verdict(&device, &sample, "compute-bound: tensor pipe at 74 %; nvidia-smi says 100 %");

    sample = derived(&device, "gemm-bf16-4096");
    sample_set(&sample, METRIC_TENSOR_SHARED_LOADS, 0.46);
    assert_verdict(&device, &sample,
                   "compute-bound: tensor pipe at 89 % (in FLOPs about 59 %, if by mma.sync); "
                   "nvidia-smi says 98 %");

    sample = derived(&device, "gemm-fp64-4096"); /* mma.sync at its full rate */
    sample_set(&sample, METRIC_TENSOR_SHARED_LOADS, 2);
    assert_verdict(&device, &sample, "compute-bound: tensor pipe at 95 %; nvidia-smi says 100 %");
    sample = derived(&device, "gemm-fp32-4096"); /* loads that have nothing to do with it */
    sample_set(&sample, METRIC_TENSOR_SHARED_LOADS, 1e5);
    assert_verdict(&device, &sample, "compute-bound: FP32 pipe at 77 %; nvidia-smi says 100 %");

    sample = derived(&device, "gemm-int8-8192");
    device_set_number(&device, DEVICE_COMPUTE_CAPABILITY, 8.0); /* whose only path it is */
    sample_set(&sample, METRIC_TENSOR_SHARED_LOADS, 2);
    assert_verdict(&device, &sample, "compute-bound: tensor pipe at 74 %; nvidia-smi says 100 %");
}

static void says_a_plain_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *verdict;
    } cases[] = {
        {"idle", "idle"},
        {"llama8b-decode-b1-ctx1024", "memory-bound: HBM at 64 %; nvidia-smi says 100 %"},
        {"llama8b-decode-eager-b2-ctx1024",
         "memory-bound: HBM at 41 %, busy 71 % of the time; nvidia-smi says 71 %"},
        {"gemm-bf16-8192", "compute-bound: tensor pipe at 93 %; nvidia-smi says 100 %"},
        {"gemm-int8-8192", "compute-bound: tensor pipe at 74 % (in FLOPs about 49 %, if by "
                           "mma.sync); nvidia-smi says 100 %"},
        {"gemm-fp32-4096", "compute-bound: FP32 pipe at 77 %; nvidia-smi says 100 %"},
        {"host-to-device-1GiB (0)", "link-bound: PCIe host-to-device at 89 % of its peak while the "
                                    "SMs sleep; nvidia-smi says 100 %"},
        {"send-0-to-1-1GiB (1)", "link-bound: NVLink incoming at 78 % of its peak; SMs have work "
                                 "24 % of the time; nvidia-smi says 99 %"},
        {"train-mlp-small", "latency-bound: SMs have work 5 % of the time: launches and gaps; "
                            "nvidia-smi says 18 %"},
        {"gemm-tf32-256", "latency-bound: SMs have work 10 % of the time: kernels too small for "
                          "this GPU; nvidia-smi says 99 %"},
        {"gemm-bf16-256", "latency-bound: SMs have work 60 % of the time but mostly wait: small or "
                          "dependent steps; nvidia-smi says 99 %"},
        {"gpu0-busy-gpu1-idle (1)", "latency-bound: SMs have work under 1 % of the time: launches "
                                    "and gaps; nvidia-smi says 34 %"},
    };
    struct device device = h200();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct sample sample = derived(&device, cases[i].name);
        assert_verdict(&device, &sample, cases[i].verdict);
    }
    struct sample sample = derived(&device, "host-to-device-1GiB (0)");
    sample_set(&sample, METRIC_PCIE_RX, 0.2 * 63.015e9); /* copies that something else holds up */
    sol_derive(&device, NULL, &sample);
    assert_verdict(&device, &sample,
                   "latency-bound: only copies run, PCIe host-to-device at 20 % of its peak; "
                   "nvidia-smi says 100 %");
    sample = derived(&device, "allreduce-1GiB (0)");
    assert_verdict(&device, &sample,
                   "link-bound: NVLink both ways at 70 % of its peak; SMs have work 17 % of the "
                   "time; nvidia-smi says 99 %");
    sample = derived(&device, "stream-triad");
    device_set_text(&device, DEVICE_NAME, "NVIDIA L40S");
    device_set_number(&device, DEVICE_SM_COUNT, 142);
    assert_verdict(&device, &sample, "memory-bound: DRAM at 90 %; nvidia-smi says 100 %");
}

/* Pre-Hopper with NVML alone: what nvidia-smi shows, and PCIe. */
static void gives_reasons_where_only_nvml_is_seen(void **state)
{
    (void)state;
    struct device device = h200();
    struct sample sample;
    sample_reset(&sample, ABSENT_NEEDS_HOPPER);
    sample_set(&sample, METRIC_NVML_UTILIZATION, 0.98);
    sample_set(&sample, METRIC_PCIE_RX, 2e6);
    sample_set(&sample, METRIC_PCIE_TX, 2e6);
    sample_set(&sample, METRIC_SM_CLOCK, 1980e6);
    device.known &= ~(UINT32_C(1) << DEVICE_NVLINK_COUNT);
    sol_derive(&device, NULL, &sample);
    static const enum metric missing[] = {
        METRIC_COMPUTE_SOL,
        METRIC_COMPUTE_SOL_PIPE,
        METRIC_MEMORY_SOL,
        METRIC_MEMORY_SOL_LEVEL,
        METRIC_BOUND,
        METRIC_WATERFALL_BUSY,
        METRIC_WATERFALL_COVERAGE,
        METRIC_WATERFALL_PIPE,
        METRIC_ACHIEVED_FLOPS,
        METRIC_PEAK_FLOPS,
        METRIC_ASSUMED_TYPE,
        METRIC_ACHIEVED_DRAM,
    };
    for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
        assert_int_equal(sample.absent[missing[i]], ABSENT_NEEDS_HOPPER);
    assert_true(sample_has(&sample, METRIC_LINK_SOL));
    assert_verdict(&device, &sample,
                   "bound not known, for want of Compute SOL: GPM counters exist on Hopper and "
                   "newer only; nvidia-smi says 98 %");
    sample_set(&sample, METRIC_NVML_UTILIZATION, 0);
    sol_derive(&device, NULL, &sample);
    assert_int_equal(value(&sample, METRIC_BOUND), LABEL_BOUND_IDLE);
}

static void needs_the_pipes_that_may_be_the_busiest(void **state)
{
    (void)state;
    struct device device = h200();
    struct sample sample = derived(&device, "gemm-fp32-4096");
    sample_miss(&sample, METRIC_FP32_ACTIVE, ABSENT_DRIVER_ERROR);
    sol_derive(&device, NULL, &sample);
    assert_int_equal(sample.absent[METRIC_COMPUTE_SOL], ABSENT_DRIVER_ERROR);
    assert_int_equal(sample.absent[METRIC_BOUND], ABSENT_DRIVER_ERROR);
    sample = derived(&device, "gemm-fp32-4096"); /* a chip without tensor cores loses nothing */
    for (int m = METRIC_TENSOR_ACTIVE; m <= METRIC_TENSOR_DFMA_ACTIVE; m++)
        sample_miss(&sample, (enum metric)m, ABSENT_NOT_SUPPORTED);
    sol_derive(&device, NULL, &sample);
    assert_near(value(&sample, METRIC_COMPUTE_SOL), 0.7665, 1e-9);
}

static double product(const struct sample *sample)
{
    return value(sample, METRIC_WATERFALL_CLOCK) * value(sample, METRIC_WATERFALL_BUSY) *
           value(sample, METRIC_WATERFALL_COVERAGE) * value(sample, METRIC_WATERFALL_PIPE);
}

static void multiplies_the_waterfall_to_achieved_over_peak(void **state)
{
    (void)state;
    struct device device = h200();
    struct sample sample = derived(&device, "gemm-bf16-8192");
    assert_int_equal(sample.absent[METRIC_WATERFALL_CLOCK], ABSENT_NEEDS_CUPTI);
    assert_near(value(&sample, METRIC_WATERFALL_BUSY), 0.9968, 1e-9);
    assert_near(value(&sample, METRIC_WATERFALL_COVERAGE), 0.9621 / 0.9968, 1e-9);
    assert_near(value(&sample, METRIC_WATERFALL_PIPE), 0.9339 / 0.9621, 1e-9);
    sample_set(&sample, METRIC_EFFECTIVE_CLOCK, 1326e6);
    sol_derive(&device, NULL, &sample);
    assert_near(product(&sample),
                value(&sample, METRIC_ACHIEVED_FLOPS) / value(&sample, METRIC_PEAK_FLOPS), 1e-12);

    /* Jitter: an SM that is busier than its engine. The product stays. */
    sample_set(&sample, METRIC_GRAPHICS_ACTIVE, 0.95);
    sol_derive(&device, NULL, &sample);
    assert_near(value(&sample, METRIC_WATERFALL_COVERAGE), 1, 0);
    assert_near(product(&sample), 1326.0 / 1980 * 0.9339, 1e-9);
    sample_set(&sample, METRIC_GRAPHICS_ACTIVE, 0.5);
    sol_derive(&device, NULL, &sample);
    assert_int_equal(sample.absent[METRIC_WATERFALL_COVERAGE], ABSENT_NOT_PLAUSIBLE);
}

static void divides_nothing_by_nothing(void **state)
{
    (void)state;
    struct device device = h200();
    struct sample sample = derived(&device, "idle");
    assert_near(value(&sample, METRIC_COMPUTE_SOL), 0, 0);
    assert_near(value(&sample, METRIC_ACHIEVED_FLOPS), 0, 0);
    assert_int_equal(sample.absent[METRIC_COMPUTE_SOL_PIPE], ABSENT_NOTHING_RAN);
    assert_int_equal(sample.absent[METRIC_PEAK_FLOPS], ABSENT_NOTHING_RAN);
    assert_int_equal(sample.absent[METRIC_WATERFALL_COVERAGE], ABSENT_NOTHING_RAN);
    assert_int_equal(sample.absent[METRIC_WATERFALL_PIPE], ABSENT_NOTHING_RAN);
    sample = derived(&device, "host-to-device-1GiB (0)");
    assert_near(value(&sample, METRIC_WATERFALL_COVERAGE), 0, 0);
    assert_int_equal(sample.absent[METRIC_WATERFALL_PIPE], ABSENT_NOTHING_RAN);
}

/* Against the arithmetic of the workloads: TFLOP/s and the effective clock that went with them. */
static void reckons_what_was_achieved(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double clock, flops, tolerance;
        enum label type;
    } cases[] = {
        {"gemm-bf16-8192", 1326e6, 670.7e12, 0.005, LABEL_TYPE_BF16},
        {"gemm-bf16-1024", 1749e6, 395.2e12, 0.005, LABEL_TYPE_BF16},
        {"gemm-fp32-4096", 1979e6, 51.16e12, 0.005, LABEL_TYPE_FP32},
        {"gemm-fp64-4096", 1646e6, 52.67e12, 0.005, LABEL_TYPE_FP64}, /* NVML's clock */
    };
    struct device device = h200();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct sample sample = derived(&device, cases[i].name);
        sample_set(&sample, METRIC_EFFECTIVE_CLOCK, cases[i].clock);
        sol_derive(&device, NULL, &sample);
        assert_int_equal(value(&sample, METRIC_ASSUMED_TYPE), cases[i].type);
        assert_near(value(&sample, METRIC_ACHIEVED_FLOPS) / cases[i].flops, 1, cases[i].tolerance);
    }
    struct sample sample = derived(&device, "stream-triad");
    assert_near(value(&sample, METRIC_PEAK_DRAM), 4.8e12, 0);
    assert_near(value(&sample, METRIC_ACHIEVED_DRAM), 4351e9, 0.005 * 4351e9);
    sample_set(&sample, METRIC_DRAM_READ, 3e12);
    sample_set(&sample, METRIC_DRAM_WRITE, 1e12);
    sol_derive(&device, NULL, &sample);
    assert_near(value(&sample, METRIC_ACHIEVED_DRAM), 4e12, 0);
    /* What a burst counted some time ago is behind a ratio that is of now. */
    sample_set(&sample, METRIC_COUNTERS_AGE, 2);
    sol_derive(&device, NULL, &sample);
    assert_near(value(&sample, METRIC_ACHIEVED_DRAM), 4351e9, 0.005 * 4351e9);
    sample_miss(&sample, METRIC_DRAM_ACTIVE, ABSENT_NEEDS_HOPPER);
    sol_derive(&device, NULL, &sample);
    assert_near(value(&sample, METRIC_MEMORY_SOL), 4 / 4.8, 1e-9);
}

static void knows_no_peak_of_a_chip_that_it_does_not_know(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double sm_count;
    } strangers[] = {{"NVIDIA H20", 78},    {"NVIDIA H200 NVL", 132}, {"NVIDIA H200", 78},
                     {"NVIDIA H2000", 132}, {"NVIDIA A100", 108},     {"", 132}};
    for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
        struct device device = h200();
        device_set_text(&device, DEVICE_NAME, strangers[i].name);
        device_set_number(&device, DEVICE_SM_COUNT, strangers[i].sm_count);
        struct sample sample = derived(&device, "gemm-bf16-8192");
        assert_int_equal(sample.absent[METRIC_PEAK_FLOPS], ABSENT_UNKNOWN_CHIP);
        assert_int_equal(sample.absent[METRIC_ACHIEVED_FLOPS], ABSENT_UNKNOWN_CHIP);
        assert_int_equal(sample.absent[METRIC_PEAK_DRAM], ABSENT_UNKNOWN_CHIP);
        assert_int_equal(value(&sample, METRIC_BOUND), LABEL_BOUND_COMPUTE);
        sample = derived(&device, "gemm-fp32-4096"); /* lanes that the driver counts */
        assert_near(value(&sample, METRIC_PEAK_FLOPS), 16896 * 2 * 1980e6, 1);
    }
    struct device device = h200(); /* the H200 has no such type on that pipe */
    struct sol_peak peak;
    enum absence why = ABSENT_NO;
    assert_false(sol_peak(&device, LABEL_PIPE_FP64, LABEL_TYPE_BF16, &peak, &why));
    assert_int_equal(why, ABSENT_UNKNOWN_CHIP);
    device.known &= ~(UINT32_C(1) << DEVICE_MAX_SM_CLOCK);
    assert_false(sol_peak(&device, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, &peak, &why));
    assert_int_equal(why, ABSENT_INPUT_MISSING);
}

static void scales_and_withholds_for_mig(void **state)
{
    (void)state;
    struct device device = h200();
    device_set_text(&device, DEVICE_NAME, "NVIDIA H200 MIG 3g.71gb");
    device_set_number(&device, DEVICE_PARENT, 0);
    device_set_number(&device, DEVICE_SM_COUNT, 60);
    struct sample sample = derived(&device, "gemm-bf16-8192");
    assert_near(value(&sample, METRIC_PEAK_FLOPS), 60 * 4096 * 1980e6, 1);
    assert_int_equal(sample.absent[METRIC_PEAK_DRAM], ABSENT_SHARED_MIG);
    assert_int_equal(sample.absent[METRIC_ACHIEVED_DRAM], ABSENT_SHARED_MIG);
    assert_int_equal(value(&sample, METRIC_BOUND), LABEL_BOUND_COMPUTE);
}

static uint64_t random_state = 42;

static double random_unit(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(random_state >> 11) * 0x1p-53;
}

static double random_value(void)
{
    static const double odd[] = {0,      1,   -1,       2,         1.03, -0.01,      1e300, -1e300,
                                 1e-300, NAN, INFINITY, -INFINITY, 999,  0x1p32 - 1, 0x1p64};
    if (random_unit() < 0.2)
        return odd[(size_t)(random_unit() * ARRAY_SIZE(odd))];
    return random_unit() < 0.8 ? random_unit() : random_unit() * 1e12;
}

static void randomize(struct device *device, struct sample *sample)
{
    *device = h200();
    for (size_t i = 0; i < DEVICE_NUMBER_COUNT; i++) {
        if (random_unit() < 0.3)
            device->known &= ~(UINT32_C(1) << i);
        if (random_unit() < 0.1)
            device_set_number(device, (enum device_number)i, random_value());
    }
    sample_reset(sample, ABSENT_NOT_PROVIDED);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (random_unit() < 0.8)
            sample_set(sample, (enum metric)i, random_value());
        else
            sample_miss(sample, (enum metric)i,
                        (enum absence)(1 + random_unit() * (ABSENCE_COUNT - 1)));
}

static void check_derived(const struct sample *sample)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct metric_info *info = metric_info((enum metric)i);
        assert_true(sample->absent[i] < ABSENCE_COUNT);
        if (info->origin != ORIGIN_DERIVED || !sample_has(sample, (enum metric)i))
            continue;
        double v = sample->value[i];
        bool fine = isfinite(v);
        if (info->unit == UNIT_RATIO)
            fine = v >= 0 && v <= 1;
        if (info->unit == UNIT_LABEL)
            fine = label_word((enum metric)i, v) != NULL;
        if (!fine)
            fail_msg("%s is %g", info->name, v);
    }
}

static void never_gives_a_value_that_cannot_be(void **state)
{
    (void)state;
    for (size_t round = 0; round < 100000; round++) {
        struct device device;
        struct sample sample;
        randomize(&device, &sample);
        sol_derive(&device, NULL, &sample);
        check_derived(&sample);
        struct strbuf verdict = {0};
        sol_verdict(&device, &sample, &verdict);
        assert_true(verdict.length > 0);
        assert_null(strstr(strbuf_text(&verdict), "nan"));
        strbuf_free(&verdict);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_bound_of_every_known_workload),
        cmocka_unit_test(names_the_pipe_and_the_level),
        cmocka_unit_test(leaves_issue_slots_out),
        cmocka_unit_test(measures_links_against_their_peaks),
        cmocka_unit_test(does_not_judge_by_links_that_it_cannot_see),
        cmocka_unit_test(warns_of_the_older_tensor_path),
        cmocka_unit_test(says_a_plain_sentence),
        cmocka_unit_test(gives_reasons_where_only_nvml_is_seen),
        cmocka_unit_test(needs_the_pipes_that_may_be_the_busiest),
        cmocka_unit_test(multiplies_the_waterfall_to_achieved_over_peak),
        cmocka_unit_test(divides_nothing_by_nothing),
        cmocka_unit_test(reckons_what_was_achieved),
        cmocka_unit_test(knows_no_peak_of_a_chip_that_it_does_not_know),
        cmocka_unit_test(scales_and_withholds_for_mig),
        cmocka_unit_test(never_gives_a_value_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
