#include "tui/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_test.h"

static void name_device(struct device *device, unsigned index, const char *uuid, int parent)
{
    *device = (struct device){.index = index};
    device_set_text(device, DEVICE_UUID, uuid);
    if (parent >= 0)
        device_set_number(device, DEVICE_PARENT, parent);
}

static void set_devices(struct model *model, const struct device *devices, size_t count)
{
    const struct device *list[8];
    for (size_t i = 0; i < count; i++)
        list[i] = &devices[i];
    assert_int_equal(model_set_devices(model, list, count), 0);
}

static void add(struct model *model, size_t source, double time, enum absence absent, double value)
{
    struct reading reading = {.state = READING_OK};
    sample_reset(&reading.sample, ABSENT_NOT_PROVIDED);
    if (absent == ABSENT_NO)
        sample_set(&reading.sample, METRIC_COMPUTE_SOL, value);
    else
        sample_miss(&reading.sample, METRIC_COMPUTE_SOL, absent);
    model->time = time;
    model_add(model, source, &reading);
}

static void instances_stand_behind_their_gpu(void **state)
{
    (void)state;
    struct device devices[5];
    name_device(&devices[0], 0, "GPU-a", -1);
    name_device(&devices[1], 1, "GPU-b", -1);
    name_device(&devices[2], 0, "MIG-a1", 0);
    name_device(&devices[3], 1, "MIG-x", 7); /* its GPU is not shown */
    name_device(&devices[4], 1, "MIG-a2", 0);
    struct model model = {0};
    set_devices(&model, devices, 5);
    static const struct {
        const char *uuid;
        bool nested;
    } expected[] = {
        {"GPU-a", false}, {"MIG-a1", true}, {"MIG-a2", true}, {"GPU-b", false}, {"MIG-x", false}};
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_string_equal(model.devices[i].device.text[DEVICE_UUID], expected[i].uuid);
        assert_int_equal(model.nested[i], expected[i].nested);
    }
    add(&model, 4, 10, ABSENT_NO, 0.5);
    assert_float_equal(model.devices[2].reading.sample.value[METRIC_COMPUTE_SOL], 0.5, 0);
    model_free(&model);
}

static void who_stays_keeps_its_past(void **state)
{
    (void)state;
    struct device devices[2];
    name_device(&devices[0], 0, "GPU-a", -1);
    name_device(&devices[1], 1, "GPU-b", -1);
    struct model model = {0};
    set_devices(&model, devices, 2);
    add(&model, 1, 10, ABSENT_NO, 0.25);
    add(&model, 1, 11, ABSENT_NO, 0.5);
    set_devices(&model, &devices[1], 1);
    assert_int_equal(model.device_count, 1);
    struct sample sample;
    model_sample(&model, 0, 10, &sample);
    assert_float_equal(sample_get(&sample, METRIC_COMPUTE_SOL, -1), 0.25, 0);
    set_devices(&model, devices, 0);
    assert_int_equal(model.device_count, 0);
    assert_float_equal(model_begin(&model), 11, 0);
    model_free(&model);
}

/* On a busy machine the first frame comes before a device's second sample. */
static void a_first_screen_waits_for_counters(void **state)
{
    (void)state;
    struct device device;
    name_device(&device, 0, "GPU-a", -1);
    struct model model = {0};
    set_devices(&model, &device, 1);
    static const struct {
        enum absence absence;
        bool waits;
    } cases[] = {{ABSENT_FIRST_SAMPLE, true},
                 {ABSENT_NO_NEW_SAMPLE, true},
                 {ABSENT_NO, false},
                 {ABSENT_LOST, false}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        sample_miss(&model.devices[0].reading.sample, METRIC_SM_ACTIVE, cases[i].absence);
        assert_true(model_awaits_counters(&model) == cases[i].waits);
    }
    model_free(&model);
}

static void says_whether_a_device_is_late(void **state)
{
    (void)state;
    struct device devices[2];
    name_device(&devices[0], 0, "GPU-a", -1);
    name_device(&devices[1], 1, "GPU-b", -1);
    struct model model = {0};
    set_devices(&model, devices, 2);
    model.devices[0].reading.state = READING_OK;
    static const bool waits[] = {
        [READING_NONE] = true, [READING_STALE] = true, [READING_FAILED] = false};
    for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
        model.devices[1].reading.state = (enum reading_state)i;
        assert_true(model_awaits_devices(&model) == waits[i]);
    }
    model_free(&model);
}

static void an_empty_interval_keeps_the_last_value_for_a_moment(void **state)
{
    (void)state;
    struct device device;
    name_device(&device, 0, "GPU-a", -1);
    struct model model = {0};
    set_devices(&model, &device, 1);
    const struct sample *sample = &model.devices[0].reading.sample;
    add(&model, 0, 10, ABSENT_NO_NEW_SAMPLE, 0);
    assert_false(sample_has(sample, METRIC_COMPUTE_SOL));
    add(&model, 0, 10.1, ABSENT_NO, 0.5);
    add(&model, 0, 10.2, ABSENT_NO_NEW_SAMPLE, 0);
    assert_float_equal(sample_get(sample, METRIC_COMPUTE_SOL, -1), 0.5, 0);
    add(&model, 0, 10.55, ABSENT_NO_NEW_SAMPLE, 0);
    assert_float_equal(sample_get(sample, METRIC_COMPUTE_SOL, -1), 0.5, 0);
    add(&model, 0, 10.7, ABSENT_NO_NEW_SAMPLE, 0);
    assert_int_equal(sample->absent[METRIC_COMPUTE_SOL], ABSENT_NO_NEW_SAMPLE);
    /* any other reason counts at once */
    add(&model, 0, 10.8, ABSENT_NO, 0.5);
    add(&model, 0, 10.9, ABSENT_LOST, 0);
    assert_int_equal(sample->absent[METRIC_COMPUTE_SOL], ABSENT_LOST);
    model_free(&model);
}

static void marks_stand_in_order_of_time(void **state)
{
    (void)state;
    struct model model = {.interval = 0.1};
    static const double times[] = {5, 1, 3};
    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        struct mark mark = {.time = times[i], .end = times[i] == 3 ? 4 : times[i]};
        snprintf(mark.name, sizeof(mark.name), "at %g", times[i]);
        assert_int_equal(model_mark(&model, &mark), 0);
    }
    assert_null(model_mark_at(&model, 0.5));
    assert_string_equal(model_mark_at(&model, 2)->name, "at 1");
    assert_string_equal(model_mark_at(&model, 3.5)->name, "at 3");
    assert_null(model_mark_at(&model, 4.5)); /* its span is over */
    assert_string_equal(model_mark_at(&model, 9)->name, "at 5");
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_stand_behind_their_gpu),
        cmocka_unit_test(who_stays_keeps_its_past),
        cmocka_unit_test(a_first_screen_waits_for_counters),
        cmocka_unit_test(says_whether_a_device_is_late),
        cmocka_unit_test(an_empty_interval_keeps_the_last_value_for_a_moment),
        cmocka_unit_test(marks_stand_in_order_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
