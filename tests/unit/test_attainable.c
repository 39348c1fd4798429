#include "sol/sol.h"

#include <string.h>

#include "cmocka_test.h"

/* Values that are easy to reckon with by hand. */
static const struct sol_ceilings ceilings = {
    .of = {
        [RESOURCE_TENSOR_FLOAT] = {0.9, LABEL_CEILING_OF_ITS_KIND},
        [RESOURCE_TENSOR_INT] = {0.75, LABEL_CEILING_OF_ITS_KIND},
        [RESOURCE_TENSOR_FP64] = {0.95, LABEL_CEILING_OF_ITS_KIND},
        [RESOURCE_FP32] = {0.98, LABEL_CEILING_OF_ITS_KIND},
        [RESOURCE_DRAM] = {0.92, LABEL_CEILING_OF_THIS_GPU},
        [RESOURCE_PCIE_RX] = {0.84, LABEL_CEILING_OF_THIS_GPU},
    }};

static struct device h200(void)
{
    struct device device = {0};
    device_set_text(&device, DEVICE_NAME, "NVIDIA H200");
    device_set_number(&device, DEVICE_SM_COUNT, 132);
    device_set_number(&device, DEVICE_MAX_SM_CLOCK, 1980e6);
    device_set_number(&device, DEVICE_PCIE_MAX_GENERATION, 5);
    device_set_number(&device, DEVICE_PCIE_MAX_WIDTH, 16);
    return device;
}

struct use {
    double tensor, fp32, dram, sm, busy;
};

static struct sample derived(const struct use *use)
{
    struct device device = h200();
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_PROVIDED);
    sample_set(&sample, METRIC_TENSOR_ACTIVE, use->tensor);
    sample_set(&sample, METRIC_FP32_ACTIVE, use->fp32);
    sample_set(&sample, METRIC_DRAM_ACTIVE, use->dram);
    sample_set(&sample, METRIC_SM_ACTIVE, use->sm);
    sample_set(&sample, METRIC_GRAPHICS_ACTIVE, use->busy);
    sample_set(&sample, METRIC_PCIE_RX, 0);
    sample_set(&sample, METRIC_PCIE_TX, 0);
    sample_set(&sample, METRIC_NVML_UTILIZATION, 0.99);
    sol_derive(&device, &ceilings, &sample);
    return sample;
}

static void rederive(struct sample *sample)
{
    struct device device = h200();
    sol_derive(&device, &ceilings, sample);
}

static double value(const struct sample *sample, enum metric metric)
{
    if (!sample_has(sample, metric))
        fail_msg("%s is missing: %s", metric_info(metric)->name,
                 absence_info((enum absence)sample->absent[metric])->word);
    return sample->value[metric];
}

static void assert_word(const struct sample *sample, enum metric metric, const char *word)
{
    assert_string_equal(label_word(metric, value(sample, metric)), word);
}

static void assert_verdict(const struct sample *sample, const char *expected)
{
    struct device device = h200();
    struct strbuf verdict = {0};
    sol_judgement(&device, sample, &verdict);
    assert_string_equal(strbuf_text(&verdict), expected);
    strbuf_free(&verdict);
}

static void scales_until_the_first_resource_meets_its_ceiling(void **state)
{
    (void)state;
    /* HBM goes 0.92 ÷ 0.46 = 2 times into its ceiling, tensor pipe 0.9 ÷ 0.3 = 3 times. */
    struct sample sample =
        derived(&(struct use){.tensor = 0.3, .dram = 0.46, .sm = 0.95, .busy = 1});
    assert_near(value(&sample, METRIC_ATTAINABLE_COMPUTE), 0.6, 1e-9);
    assert_near(value(&sample, METRIC_ATTAINABLE_MEMORY), 0.92, 1e-9);
    assert_near(value(&sample, METRIC_ATTAINABLE), 0.92, 1e-9);
    assert_near(value(&sample, METRIC_ATTAINABLE_BUDGET), 0.46, 1e-9);
    assert_near(value(&sample, METRIC_ATTAINABLE_OUTSIDE), 0.92 * 0.05, 1e-9);
    assert_near(value(&sample, METRIC_ATTAINABLE_CEILING), 0.9, 1e-9);
    assert_word(&sample, METRIC_ATTAINABLE_LIMIT, "dram");
    assert_word(&sample, METRIC_ATTAINABLE_SOURCE, "measured");
    assert_verdict(&sample,
                   "memory-bound: HBM at 46 %; attainable 92 %, HBM stops it; 46 points of budget");

    /* A work that computes more than it moves can still meet HBM first. */
    sample = derived(&(struct use){.tensor = 0.31, .dram = 0.62 * 0.5, .sm = 0.95, .busy = 1});
    assert_word(&sample, METRIC_ATTAINABLE_LIMIT, "tensor");
    sample_set(&sample, METRIC_TENSOR_ACTIVE, 0.60);
    sample_set(&sample, METRIC_DRAM_ACTIVE, 0.80 * 0.92);
    rederive(&sample);
    assert_word(&sample, METRIC_ATTAINABLE_LIMIT, "dram");
    assert_near(value(&sample, METRIC_ATTAINABLE_COMPUTE), 0.75, 1e-9);
}

static void knows_each_number_types_ceiling(void **state)
{
    (void)state;
    struct sample sample = derived(&(struct use){.tensor = 0.45, .dram = 0.1, .sm = 1, .busy = 1});
    assert_near(value(&sample, METRIC_ATTAINABLE), 0.9, 1e-9);
    assert_word(&sample, METRIC_ATTAINABLE_SOURCE, "shipped");
    sample_set(&sample, METRIC_TENSOR_IMMA_ACTIVE, 0.45);
    rederive(&sample);
    assert_near(value(&sample, METRIC_ATTAINABLE), 0.75, 1e-9);
    sample_set(&sample, METRIC_TENSOR_IMMA_ACTIVE, 0);
    sample_set(&sample, METRIC_TENSOR_DFMA_ACTIVE, 0.45);
    rederive(&sample);
    assert_near(value(&sample, METRIC_ATTAINABLE), 0.95, 1e-9);
    assert_near(value(&sample, METRIC_ATTAINABLE_CEILING), 0.95, 1e-9);
}

static void takes_issue_slots_and_caches_for_resources(void **state)
{
    (void)state;
    struct sample sample = derived(&(struct use){.fp32 = 0.6, .dram = 0.1, .sm = 1, .busy = 1});
    assert_word(&sample, METRIC_ATTAINABLE_LIMIT, "fp32");
    sample_set(&sample, METRIC_ISSUE_ACTIVE, 0.75);
    rederive(&sample);
    assert_word(&sample, METRIC_ATTAINABLE_LIMIT, "issue");
    assert_word(&sample, METRIC_ATTAINABLE_SOURCE, "peak");
    assert_near(value(&sample, METRIC_ATTAINABLE_COMPUTE), 0.8, 1e-9);
    sample_set(&sample, METRIC_L2_ACTIVE, 0.8);
    rederive(&sample);
    assert_word(&sample, METRIC_ATTAINABLE_LIMIT, "l2");
    assert_near(value(&sample, METRIC_ATTAINABLE_COMPUTE), 0.75, 1e-9);
}

static void lets_a_link_stop_it(void **state)
{
    (void)state;
    struct sample sample = derived(&(struct use){.tensor = 0.3, .dram = 0.1, .sm = 0.5, .busy = 1});
    sample_set(&sample, METRIC_PCIE_RX, 0.42 * sol_peak_pcie(5, 16));
    rederive(&sample);
    assert_word(&sample, METRIC_ATTAINABLE_LIMIT, "pcie");
    assert_near(value(&sample, METRIC_ATTAINABLE_COMPUTE), 0.6, 1e-9);
    assert_verdict(&sample, "compute-bound: tensor pipe at 30 %, SMs busy 50 %; "
                            "attainable 60 %, PCIe stops it; 30 points of budget");
    sample_set(&sample, METRIC_PCIE_RX, 0.80 * sol_peak_pcie(5, 16));
    rederive(&sample);
    assert_verdict(&sample,
                   "link-bound: PCIe host-to-device at 80 % of its peak; SMs have work 50 % "
                   "of the time");
}

static void says_first_what_is_lost_outside_the_kernels(void **state)
{
    (void)state;
    struct sample sample =
        derived(&(struct use){.tensor = 0.03, .dram = 0.64, .sm = 0.65, .busy = 1});
    assert_near(value(&sample, METRIC_ATTAINABLE_OUTSIDE), 0.28, 1e-9);
    assert_verdict(&sample, "memory-bound: HBM at 64 %, SMs busy 65 %; attainable "
                            "92 %, HBM stops it; 28 points of budget");
    sample = derived(&(struct use){.tensor = 0.02, .dram = 0.46, .sm = 0.5, .busy = 0.7});
    assert_verdict(&sample,
                   "memory-bound: HBM at 46 %, busy 70 % of the time; attainable 92 %, HBM "
                   "stops it; 46 points of budget");
    sample = derived(&(struct use){.tensor = 0.03, .dram = 0.07, .sm = 0.12, .busy = 0.26});
    assert_verdict(&sample, "latency-bound: SMs have work 12 % of the time: launches and gaps; "
                            "attainable Memory SOL 92 %, HBM stops it; 85 points of budget");
}

static void says_that_a_ceiling_is_reached(void **state)
{
    (void)state;
    struct sample sample = derived(&(struct use){.tensor = 0.91, .dram = 0.2, .sm = 1, .busy = 1});
    assert_near(value(&sample, METRIC_ATTAINABLE), 0.9, 1e-9);
    assert_near(value(&sample, METRIC_ATTAINABLE_BUDGET), 0, 0);
    assert_verdict(&sample, "compute-bound: tensor pipe at 91 %; attainable 90 %: tensor pipe is "
                            "at its ceiling");
    sample = derived(&(struct use){.tensor = 0.89, .dram = 0.2, .sm = 1, .busy = 1});
    assert_verdict(&sample, "compute-bound: tensor pipe at 89 %; attainable 90 %, tensor pipe "
                            "stops it; 1 point of budget");
}

static void has_a_reason_where_it_cannot_tell(void **state)
{
    (void)state;
    struct sample sample = derived(&(struct use){.sm = 0.001});
    assert_word(&sample, METRIC_BOUND, "idle");
    assert_int_equal(sample.absent[METRIC_ATTAINABLE], ABSENT_NOTHING_RAN);
    assert_int_equal(sample.absent[METRIC_ATTAINABLE_LIMIT], ABSENT_NOTHING_RAN);
    sample = derived(&(struct use){.tensor = 0.3, .dram = 0.46, .sm = 0.95, .busy = 1});
    sample_miss(&sample, METRIC_DRAM_ACTIVE, ABSENT_NEEDS_HOPPER);
    rederive(&sample);
    assert_int_equal(sample.absent[METRIC_ATTAINABLE_COMPUTE], ABSENT_NEEDS_HOPPER);
    sample = derived(&(struct use){.tensor = 0.3, .dram = 0.46, .sm = 0.95, .busy = 1});
    sample_miss(&sample, METRIC_SM_ACTIVE, ABSENT_NEEDS_HOPPER);
    rederive(&sample);
    assert_near(value(&sample, METRIC_ATTAINABLE), 0.92, 1e-9);
    assert_int_equal(sample.absent[METRIC_ATTAINABLE_OUTSIDE], ABSENT_NEEDS_HOPPER);
}

static void lets_the_peak_stand_for_unknown_ceilings(void **state)
{
    (void)state;
    struct sample sample =
        derived(&(struct use){.tensor = 0.25, .dram = 0.5, .sm = 0.95, .busy = 1});
    struct device device = h200();
    sol_derive(&device, NULL, &sample);
    assert_near(value(&sample, METRIC_ATTAINABLE), 1, 1e-9);
    assert_near(value(&sample, METRIC_ATTAINABLE_COMPUTE), 0.5, 1e-9);
    assert_word(&sample, METRIC_ATTAINABLE_SOURCE, "peak");
    assert_verdict(&sample, "memory-bound: HBM at 50 %");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_until_the_first_resource_meets_its_ceiling),
        cmocka_unit_test(knows_each_number_types_ceiling),
        cmocka_unit_test(takes_issue_slots_and_caches_for_resources),
        cmocka_unit_test(lets_a_link_stop_it),
        cmocka_unit_test(says_first_what_is_lost_outside_the_kernels),
        cmocka_unit_test(says_that_a_ceiling_is_reached),
        cmocka_unit_test(has_a_reason_where_it_cannot_tell),
        cmocka_unit_test(lets_the_peak_stand_for_unknown_ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
