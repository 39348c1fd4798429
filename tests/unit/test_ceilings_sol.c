#include "monitor/ceilings.h"

#include <string.h>

#include "cmocka_test.h"
#include "sol/sol.h"

static struct device h200(void)
{
    struct device device = {0};
    device_set_text(&device, DEVICE_NAME, "NVIDIA H200");
    device_set_number(&device, DEVICE_SM_COUNT, 132);
    device_set_number(&device, DEVICE_MAX_SM_CLOCK, 1980e6);
    device_set_number(&device, DEVICE_PCIE_MAX_GENERATION, 5);
    device_set_number(&device, DEVICE_PCIE_MAX_WIDTH, 16);
    device_set_number(&device, DEVICE_NVLINK_BANDWIDTH, 18 * 26.6e9);
    return device;
}

static struct ceilings none(void)
{
    struct ceilings ceilings = {0};
    for (size_t i = 0; i < CEILING_COUNT; i++)
        ceilings.of[i] =
            (struct ceiling_value){.origin = CEILING_UNKNOWN, .ratio = NAN, .clock = NAN};
    return ceilings;
}

static void set(struct ceilings *ceilings, enum ceiling ceiling, enum ceiling_origin origin,
                double value, double ratio, double clock)
{
    ceilings->of[ceiling] =
        (struct ceiling_value){.origin = origin, .value = value, .ratio = ratio, .clock = clock};
}

static void takes_the_counters_word_before_its_own(void **state)
{
    (void)state;
    struct device device = h200();
    struct ceilings ceilings = none();
    set(&ceilings, CEILING_TENSOR_BF16, CEILING_MEASURED, 671e12, 0.935, 1326e6);
    set(&ceilings, CEILING_L2_READ, CEILING_MEASURED, 8e12, 0.7, NAN);
    struct sol_ceilings sol;
    ceilings_to_sol(&device, &ceilings, &sol);
    assert_near(sol.of[RESOURCE_TENSOR_FLOAT].ratio, 0.935, 0);
    assert_int_equal(sol.of[RESOURCE_TENSOR_FLOAT].source, LABEL_CEILING_OF_THIS_GPU);
    assert_near(sol.of[RESOURCE_L2].ratio, 0.7, 0);
    assert_int_equal(sol.of[RESOURCE_DRAM].source, 0);
}

static void reckons_with_the_clock_that_there_was(void **state)
{
    (void)state;
    struct device device = h200();
    struct ceilings ceilings = none();
    /* 4096 operations a cycle and SM, 132 SMs, 1326 MHz: 716.9 TFLOP/s at most. */
    set(&ceilings, CEILING_TENSOR_BF16, CEILING_MEASURED, 670.7e12, NAN, 1326e6);
    set(&ceilings, CEILING_FP32, CEILING_MEASURED, 51.2e12, NAN, NAN); /* at no known clock */
    set(&ceilings, CEILING_HBM_READ, CEILING_MEASURED, 4.4e12, NAN, NAN);
    set(&ceilings, CEILING_PCIE_H2D, CEILING_MEASURED, 52.3e9, NAN, NAN);
    set(&ceilings, CEILING_NVLINK_SEND, CEILING_MEASURED, 366.4e9, NAN, NAN);
    struct sol_ceilings sol;
    ceilings_to_sol(&device, &ceilings, &sol);
    assert_near(sol.of[RESOURCE_TENSOR_FLOAT].ratio, 670.7 / 716.9, 1e-4);
    assert_int_equal(sol.of[RESOURCE_FP32].source, 0);
    assert_near(sol.of[RESOURCE_DRAM].ratio, 4.4 / 4.8, 1e-9);
    /* What the counters showed in that very copy and send: 0.888 and 0.783. */
    assert_near(sol.of[RESOURCE_PCIE_RX].ratio, 53342 * 0x1p20 / 63.015e9, 0.015);
    assert_near(sol.of[RESOURCE_NVLINK].ratio, 357720 * 0x1p20 / 478.8e9, 0.005);
}

static void prefers_the_highest_of_what_was_measured_here(void **state)
{
    (void)state;
    struct device device = h200();
    struct ceilings ceilings = none();
    set(&ceilings, CEILING_HBM_READ, CEILING_SHIPPED, 4.6e12, 0.95, NAN);
    set(&ceilings, CEILING_HBM_COPY, CEILING_MEASURED, 4e12, 0.83, NAN);
    set(&ceilings, CEILING_HBM_TRIAD, CEILING_MEASURED, 4.2e12, 0.88, NAN);
    set(&ceilings, CEILING_HBM_WRITE, CEILING_MEASURED, 4.1e12, 0.85, NAN);
    struct sol_ceilings sol;
    ceilings_to_sol(&device, &ceilings, &sol);
    assert_near(sol.of[RESOURCE_DRAM].ratio, 0.88, 0);
    assert_int_equal(sol.of[RESOURCE_DRAM].source, LABEL_CEILING_OF_THIS_GPU);
}

static void ships_ceilings_for_the_h200(void **state)
{
    (void)state;
    struct device device = h200();
    struct ceilings ceilings;
    struct sol_ceilings sol;
    ceilings_shipped(&device, &ceilings);
    ceilings_to_sol(&device, &ceilings, &sol);
    static const enum sol_resource known[] = {
        RESOURCE_TENSOR_FLOAT, RESOURCE_TENSOR_FP64, RESOURCE_FP32,  RESOURCE_DRAM,
        RESOURCE_PCIE_RX,      RESOURCE_PCIE_TX,     RESOURCE_NVLINK};
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        assert_int_equal(sol.of[known[i]].source, LABEL_CEILING_OF_ITS_KIND);
        assert_true(sol.of[known[i]].ratio > 0.7 && sol.of[known[i]].ratio <= 1);
    }
    device_set_text(&device, DEVICE_NAME, "NVIDIA Something Else");
    ceilings_shipped(&device, &ceilings);
    ceilings_to_sol(&device, &ceilings, &sol);
    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        assert_int_equal(sol.of[i].source, 0);
}

/* A ratio of 1 of Compute SOL stands for what the pipe does at the clock of the calibration, with a
 * counter's word for it or without. */
static void rates_of_serving_are_at_the_clock_that_there_was(void **state)
{
    (void)state;
    struct device device = h200();
    struct ceilings ceilings = none();
    struct served_rates rates;
    enum label source;
    set(&ceilings, CEILING_HBM_READ, CEILING_MEASURED, 4.4e12, NAN, NAN);
    set(&ceilings, CEILING_TENSOR_BF16, CEILING_MEASURED, 670.7e12, 0.9364, 1326e6);
    assert_true(ceilings_rates(&device, &ceilings, LABEL_TYPE_BF16, &rates, &source));
    assert_near(rates.peak_flops / 1e12, 716.3, 0.1);
    assert_int_equal(source, LABEL_CEILING_OF_THIS_GPU);
    set(&ceilings, CEILING_TENSOR_BF16, CEILING_MEASURED, 670.7e12, NAN, 1326e6);
    assert_true(ceilings_rates(&device, &ceilings, LABEL_TYPE_BF16, &rates, &source));
    assert_near(rates.peak_flops / 1e12, 716.9, 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_counters_word_before_its_own),
        cmocka_unit_test(reckons_with_the_clock_that_there_was),
        cmocka_unit_test(prefers_the_highest_of_what_was_measured_here),
        cmocka_unit_test(rates_of_serving_are_at_the_clock_that_there_was),
        cmocka_unit_test(ships_ceilings_for_the_h200),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
