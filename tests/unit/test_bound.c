#include "sol/bound.h"

#include "cmocka_test.h"

static enum label bound_of(double compute, double memory, double link)
{
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_PROVIDED);
    sample_set(&sample, METRIC_COMPUTE_SOL, compute);
    sample_set(&sample, METRIC_MEMORY_SOL, memory);
    sample_set(&sample, METRIC_LINK_SOL, link);
    bound_derive(&sample);
    assert_true(sample_has(&sample, METRIC_BOUND));
    return (enum label)sample.value[METRIC_BOUND];
}

static void the_busiest_resource_is_the_bound(void **state)
{
    (void)state;
    assert_int_equal(bound_of(.9, .5, .95), LABEL_BOUND_LINK);
    assert_int_equal(bound_of(.97, .5, .95), LABEL_BOUND_COMPUTE);
    assert_int_equal(bound_of(.5, .97, .95), LABEL_BOUND_MEMORY);
    assert_int_equal(bound_of(.9, .9, .9), LABEL_BOUND_COMPUTE);
}

/* Neither a counter nor nvidia-smi's number: nobody knows that it rests. */
static void does_not_take_the_unseen_for_rest(void **state)
{
    (void)state;
    struct sample sample;
    sample_reset(&sample, ABSENT_NEEDS_HOPPER);
    bound_derive(&sample);
    assert_false(sample_has(&sample, METRIC_BOUND));
    assert_int_equal(sample.absent[METRIC_BOUND], ABSENT_NEEDS_HOPPER);
    sample_set(&sample, METRIC_NVML_UTILIZATION, 0);
    bound_derive(&sample);
    assert_true(sample_has(&sample, METRIC_BOUND));
    assert_int_equal(sample.value[METRIC_BOUND], LABEL_BOUND_IDLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_busiest_resource_is_the_bound),
        cmocka_unit_test(does_not_take_the_unseen_for_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
