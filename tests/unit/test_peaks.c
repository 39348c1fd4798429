#include "sol/sol.h"

#include "cmocka_test.h"

/* Datasheets' figures in TFLOP/s (dense), and GB/s; each pipe and type as the datasheet has it. */
static const struct figure {
    const char *chip;
    double sm_count;
    enum label pipe, type;
    double teraflops, clock;
} figures[] = {
    /* clang-format off */
    {"NVIDIA H200", 132, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 989.4, 1830e6},
    {"NVIDIA H200", 132, LABEL_PIPE_TENSOR, LABEL_TYPE_TF32, 494.7, 1830e6},
    {"NVIDIA H200", 132, LABEL_PIPE_TENSOR, LABEL_TYPE_FP8, 1978.9, 1830e6},
    {"NVIDIA H200", 132, LABEL_PIPE_TENSOR, LABEL_TYPE_INT8, 1978.9, 1830e6},
    {"NVIDIA H200", 132, LABEL_PIPE_TENSOR, LABEL_TYPE_FP64, 66.9, 1980e6},
    {"NVIDIA H200", 132, LABEL_PIPE_FP64, LABEL_TYPE_FP64, 33.5, 1980e6},
    {"NVIDIA H200", 132, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 66.9, 1980e6},
    {"NVIDIA H200", 132, LABEL_PIPE_FP16, LABEL_TYPE_BF16, 133.8, 1980e6},
    {"NVIDIA H200", 132, LABEL_PIPE_INT, LABEL_TYPE_INT32, 33.5, 1980e6},
    {"NVIDIA H100 80GB HBM3", 132, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 989.4, 1830e6},
    {"NVIDIA H100 PCIe", 114, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 756, 1620e6},
    {"NVIDIA H100 PCIe", 114, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 51.2, 1755e6},
    {"NVIDIA H100 NVL", 132, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 835.5, 1545e6},
    {"NVIDIA GH200 480GB", 132, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 989.5, 1830e6},
    {"NVIDIA GH200 144G HBM3e", 132, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 989.5, 1830e6},
    {"NVIDIA A100-SXM4-80GB", 108, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 312, 1410e6},
    {"NVIDIA A100-SXM4-80GB", 108, LABEL_PIPE_TENSOR, LABEL_TYPE_TF32, 156, 1410e6},
    {"NVIDIA A100-SXM4-80GB", 108, LABEL_PIPE_TENSOR, LABEL_TYPE_INT8, 624, 1410e6},
    {"NVIDIA A100-SXM4-80GB", 108, LABEL_PIPE_TENSOR, LABEL_TYPE_FP64, 19.5, 1410e6},
    {"NVIDIA A100-SXM4-40GB", 108, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 19.5, 1410e6},
    {"NVIDIA A100 80GB PCIe", 108, LABEL_PIPE_FP64, LABEL_TYPE_FP64, 9.7, 1410e6},
    {"NVIDIA A30", 56, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 165, 1440e6},
    {"NVIDIA A30", 56, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 10.3, 1440e6},
    {"NVIDIA A10", 72, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 125, 1695e6},
    {"NVIDIA A10", 72, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 31.2, 1695e6},
    {"NVIDIA A40", 84, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 149.7, 1740e6},
    {"NVIDIA A40", 84, LABEL_PIPE_TENSOR, LABEL_TYPE_INT8, 299.3, 1740e6},
    {"NVIDIA RTX A6000", 84, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 154.8, 1800e6},
    {"NVIDIA GeForce RTX 3090", 82, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 35.6, 1695e6},
    {"NVIDIA GeForce RTX 3090", 82, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 71, 1695e6},
    {"NVIDIA L4", 58, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 121, 2040e6},
    {"NVIDIA L4", 58, LABEL_PIPE_TENSOR, LABEL_TYPE_FP8, 242.5, 2040e6},
    {"NVIDIA L40", 142, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 181.05, 2490e6},
    {"NVIDIA L40", 142, LABEL_PIPE_TENSOR, LABEL_TYPE_FP8, 362, 2490e6},
    {"NVIDIA L40", 142, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 90.5, 2490e6},
    {"NVIDIA L40S", 142, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 362.05, 2490e6},
    {"NVIDIA L40S", 142, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 91.6, 2520e6},
    {"NVIDIA GeForce RTX 4090", 128, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 165.2, 2520e6},
    {"NVIDIA GeForce RTX 4090", 128, LABEL_PIPE_TENSOR, LABEL_TYPE_TF32, 82.6, 2520e6},
    {"NVIDIA GeForce RTX 4090", 128, LABEL_PIPE_TENSOR, LABEL_TYPE_FP8, 330.3, 2520e6},
    {"NVIDIA GeForce RTX 4090", 128, LABEL_PIPE_TENSOR, LABEL_TYPE_INT8, 660.6, 2520e6},
    {"NVIDIA GeForce RTX 4090", 128, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 82.6, 2520e6},
    {"NVIDIA GeForce RTX 5090", 170, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 104.8, 2407e6},
    {"NVIDIA GeForce RTX 5090", 170, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 209.5, 2407e6},
    {"NVIDIA GeForce RTX 5090", 170, LABEL_PIPE_TENSOR, LABEL_TYPE_INT8, 838, 2407e6},
    {"NVIDIA B200", 148, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 2250, 1856e6},
    {"NVIDIA B200", 148, LABEL_PIPE_TENSOR, LABEL_TYPE_FP8, 4500, 1856e6},
    {"NVIDIA B200", 148, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 75, 1980e6},
    {"Tesla V100-SXM2-16GB", 80, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 125, 1530e6},
    {"Tesla V100-SXM2-16GB", 80, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 15.7, 1530e6},
    {"Tesla V100-PCIE-16GB", 80, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 112, 1380e6},
    {"Tesla T4", 40, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16, 65, 1590e6},
    {"Tesla T4", 40, LABEL_PIPE_TENSOR, LABEL_TYPE_INT8, 130, 1590e6},
    {"Tesla T4", 40, LABEL_PIPE_FP32, LABEL_TYPE_FP32, 8.1, 1590e6},
    /* clang-format on */
};

static void agrees_with_datasheets(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
        const struct figure *figure = &figures[i];
        struct device device = {0};
        device_set_text(&device, DEVICE_NAME, figure->chip);
        device_set_number(&device, DEVICE_SM_COUNT, figure->sm_count);
        device_set_number(&device, DEVICE_MAX_SM_CLOCK, 2 * figure->clock);
        struct sol_peak peak;
        enum absence why;
        if (!sol_peak(&device, figure->pipe, figure->type, &peak, &why))
            fail_msg("%s: no peak", figure->chip);
        assert_true(peak.datasheet_clock == figure->clock);
        if (fabs(peak.datasheet_flops / 1e12 / figure->teraflops - 1) > 0.01)
            fail_msg("%s, type %s: %.1f is not %.1f", figure->chip,
                     label_word(METRIC_ASSUMED_TYPE, figure->type), peak.datasheet_flops / 1e12,
                     figure->teraflops);
        assert_true(fabs(peak.flops / peak.datasheet_flops - 2) < 1e-9);
        assert_non_null(peak.source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_datasheets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
