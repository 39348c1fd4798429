#include "counter/counter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "counter/sim_script.h"

#define DEVICE                                                                                     \
    "device name=\"GPU A\" sm_count=132 memory_total_bytes=8G max_sm_clock_hertz=1980MHz\n"

static struct counter *open_text(const char *text)
{
    char path[] = "/tmp/test_sim.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    char source[64];
    snprintf(source, sizeof(source), "sim:%s", path);
    struct counter *counter = NULL;
    struct counter_failure failure;
    int r = counter_open(&counter, source, &failure);
    unlink(path);
    if (r < 0)
        fail_msg("%s", failure.reason);
    return counter;
}

static struct frame collect(struct counter *counter, double at)
{
    struct frame frame;
    assert_int_equal(frame_init(&frame, counter->device_count), 0);
    assert_int_equal(counter->ops->collect(counter, counter->begin + at, &frame), 0);
    return frame;
}

static double value(const struct frame *frame, size_t device, enum metric metric)
{
    assert_int_equal(frame->readings[device].sample.absent[metric], ABSENT_NO);
    return frame->readings[device].sample.value[metric];
}

static void lists_devices_with_their_fields(void **state)
{
    (void)state;
    struct counter *counter = open_text("driver 580.1 13.0\n" DEVICE "device name=B uuid=GPU-b\n"
                                        "device name=C uuid=MIG-c parent_index=0\n"
                                        "device name=D uuid=MIG-d parent_index=0\n"
                                        "at 0\nmark \"a # mark\" 0.5\nat 1\nmark b\nend 2\n");
    assert_int_equal(counter->device_count, 4);
    const struct device *a = &counter->devices[0];
    assert_string_equal(a->text[DEVICE_NAME], "GPU A");
    assert_string_equal(a->text[DEVICE_UUID], "GPU-00000000-0000-4000-8000-000000000000");
    assert_float_equal(device_number(a, DEVICE_SM_COUNT, 0), 132, 0);
    assert_float_equal(device_number(a, DEVICE_MEMORY_TOTAL, 0), 0x1p33, 0);
    assert_float_equal(device_number(a, DEVICE_MAX_SM_CLOCK, 0), 1.98e9, 1);
    assert_false(device_knows(a, DEVICE_CORES));
    assert_int_equal(counter->devices[1].index, 1);
    assert_int_equal(counter->devices[2].index, 0);
    assert_int_equal(counter->devices[3].index, 1);
    assert_string_equal(counter->driver_version, "580.1");
    assert_int_equal(counter->mark_count, 2);
    assert_string_equal(counter->marks[0].name, "a # mark");
    assert_float_equal((counter->marks[0].end - counter->begin), 0.5, 1e-6);
    assert_float_equal((counter->marks[1].time - counter->begin), 1, 1e-6);
    assert_float_equal((counter->end - counter->begin), 2, 1e-6);
    counter_close(counter);
}

static void holds_values_and_gives_means_of_intervals(void **state)
{
    (void)state;
    struct counter *counter =
        open_text(DEVICE "at 0\ngpu 0 sm_active_ratio=20% power_watts=100\n"
                         "at 1\ngpu * sm_active_ratio=0.6 power_watts=300\n"
                         "at 2\ngpu 0 sm_active_ratio=absent:no_new_sample\nend 3\n");
    struct frame frame = collect(counter, 0.1);
    assert_float_equal(value(&frame, 0, METRIC_SM_ACTIVE), 0.2, 0);
    assert_int_equal(frame.readings[0].state, READING_OK);
    assert_float_equal(frame.readings[0].sample.interval, 0.1, 1e-6);
    assert_int_equal(frame.readings[0].sample.absent[METRIC_DRAM_ACTIVE], ABSENT_NOT_PROVIDED);
    frame_free(&frame);
    frame = collect(counter, 1); /* what happens at 1 is not seen yet */
    assert_float_equal(value(&frame, 0, METRIC_SM_ACTIVE), 0.2, 0);
    assert_float_equal(value(&frame, 0, METRIC_POWER), 100, 0);
    frame_free(&frame);
    assert_int_equal(counter->ops->seek(counter, counter->begin + 0.5), 0);
    frame = collect(counter, 1.5); /* half of each */
    assert_float_equal(value(&frame, 0, METRIC_SM_ACTIVE), 0.4, 1e-6);
    assert_float_equal(value(&frame, 0, METRIC_POWER), 300, 0);
    frame_free(&frame);
    frame = collect(counter, 2.5); /* only what was there counts */
    assert_float_equal(value(&frame, 0, METRIC_SM_ACTIVE), 0.6, 1e-6);
    frame_free(&frame);
    frame = collect(counter, 3);
    assert_int_equal(frame.readings[0].sample.absent[METRIC_SM_ACTIVE], ABSENT_NO_NEW_SAMPLE);
    assert_int_equal(counter->ops->collect(counter, counter->begin + 3.1, &frame), -ENODATA);
    frame_free(&frame);
    counter_close(counter);
}

static void counts_rest_in_a_mean(void **state)
{
    (void)state;
    struct counter *counter =
        open_text(DEVICE "at 0\ngpu 0 l2_active_ratio=absent:counters_idle\n"
                         "gpu 0 effective_clock_hertz=absent:counters_idle\n"
                         "at 1\ngpu 0 l2_active_ratio=0.8 effective_clock_hertz=1e9\n"
                         "at 2\ngpu 0 l2_active_ratio=absent:counters_resting\n"
                         "at 3\ngpu 0 l2_active_ratio=absent:counters_idle\nend 6\n");
    struct frame frame = collect(counter, 4);
    assert_float_equal(value(&frame, 0, METRIC_L2_ACTIVE), 0.8 / 3, 1e-6);
    assert_float_equal(value(&frame, 0, METRIC_EFFECTIVE_CLOCK), 1e9, 0);
    frame_free(&frame);
    frame = collect(counter, 6);
    assert_int_equal(frame.readings[0].sample.absent[METRIC_L2_ACTIVE], ABSENT_COUNTERS_IDLE);
    frame_free(&frame);
    counter_close(counter);
}

static void draws_ramps(void **state)
{
    (void)state;
    struct counter *counter =
        open_text(DEVICE "at 0\ngpu 0 dram_active_ratio=0..1 energy_joules_total=0..400\n"
                         "at 4\ngpu 0 energy_joules_total=400..500\nend 5\n");
    struct frame frame = collect(counter, 1);
    assert_float_equal(value(&frame, 0, METRIC_DRAM_ACTIVE), 0.125, 1e-9);
    assert_float_equal(value(&frame, 0, METRIC_ENERGY), 100, 1e-6);
    frame_free(&frame);
    frame = collect(counter, 4.5); /* arrived at 4, and stays */
    assert_float_equal(value(&frame, 0, METRIC_DRAM_ACTIVE), (0.625 * 3 + 1 * 0.5) / 3.5, 1e-6);
    assert_float_equal(value(&frame, 0, METRIC_ENERGY), 450, 1e-6);
    frame_free(&frame);
    counter_close(counter);
}

static void loses_devices(void **state)
{
    (void)state;
    struct counter *counter = open_text(DEVICE DEVICE "at 0\ngpu * power_watts=100\n"
                                                      "process * pid=7\n"
                                                      "at 1\ngpu 1 lost\nat 2\ngpu 1 stale\n"
                                                      "at 3\ngpu 1 ok\nend 4\n");
    struct frame frame = collect(counter, 1.5);
    const struct reading *second = &frame.readings[1];
    assert_int_equal(second->state, READING_LOST);
    assert_int_equal(second->error, -ENODEV);
    assert_float_equal(second->age, 0.5, 1e-6);
    assert_int_equal(second->sample.absent[METRIC_POWER], ABSENT_LOST);
    assert_false(second->processes.known);
    assert_int_equal(frame.readings[0].state, READING_OK);
    assert_float_equal(value(&frame, 0, METRIC_POWER), 100, 0);
    frame_free(&frame);
    frame = collect(counter, 2.5);
    assert_int_equal(frame.readings[1].state, READING_STALE);
    assert_int_equal(frame.readings[1].sample.absent[METRIC_POWER], ABSENT_STALE);
    frame_free(&frame);
    frame = collect(counter, 3.5);
    assert_int_equal(frame.readings[1].state, READING_OK);
    assert_int_equal(frame.readings[1].processes.count, 1);
    frame_free(&frame);
    counter_close(counter);
}

static void follows_processes(void **state)
{
    (void)state;
    struct counter *counter = open_text(
        DEVICE "at 0\nprocess 0 pid=7 memory=1G user=al command=\"a \\\"b\\\" c\" start=-5\n"
               "process 0 pid=8 kinds=compute,mps_client\n"
               "at 1\nprocess 0 pid=7 memory=2G\nat 2\nprocess 0 pid=8 gone\n"
               "at 3\nprocesses 0 unknown\nend 4\n");
    struct frame frame = collect(counter, 1.5);
    const struct process_list *list = &frame.readings[0].processes;
    assert_true(list->known);
    assert_int_equal(list->count, 2);
    assert_int_equal(list->process[0].memory_bytes, UINT64_C(2) << 30);
    assert_int_equal(list->process[1].kinds, PROCESS_COMPUTE | PROCESS_MPS_CLIENT);
    assert_false(list->process[1].memory_known);
    frame_free(&frame);
    struct process_description description;
    assert_true(counter->ops->describe(counter, 7, &description));
    assert_string_equal(description.user, "al");
    assert_string_equal(description.command, "a \"b\" c");
    assert_float_equal((description.start_time - counter->begin), -5, 1e-6);
    assert_false(counter->ops->describe(counter, 8, &description));
    frame = collect(counter, 2.5);
    assert_int_equal(frame.readings[0].processes.count, 1);
    frame_free(&frame);
    frame = collect(counter, 3.5);
    assert_false(frame.readings[0].processes.known);
    frame_free(&frame);
    counter_close(counter);
}

static void names_the_line_that_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message; /* a part of it */
    } cases[] = {
        {"", "f:1: the file is over; expected end SECONDS"},
        {DEVICE "at 0\n", "expected end SECONDS"},
        {"at 0\n", "f:1: no device yet"},
        {"gpu 0 lost\n", "f:1: 'gpu' comes after the first 'at SECONDS'"},
        {"nonsense\n", "f:1: 'nonsense' is no statement"},
        {"device sm_count=1\n", "f:1: the device has no name"},
        {"device name=A colour=red\n", "f:1: a device has no field 'colour'"},
        {"device name=A sm_count=many\n", "f:1: 'many' is no value for sm_count"},
        {DEVICE "at 0\ngpu 1 lost\n", "f:3: expected the number of a device line, 0 to 0, or *"},
        {DEVICE "at 0\ngpu 0\n", "f:3: expected gpu N METRIC=VALUE"},
        {DEVICE "at 0\ngpu 0 speed=1\n", "f:3: no metric is called 'speed'"},
        {DEVICE "at 0\ngpu 0 bound=idle\n", "f:3: bound is computed"},
        {DEVICE "at 0\ngpu 0 sm_active_ratio=x\n", "expected a ratio such as 0.93 or 93%"},
        {DEVICE "at 0\ngpu 0 sm_active_ratio=0..\n", "wrong value for sm_active_ratio"},
        {DEVICE "at 0\ngpu 0 throttle_reasons=hot\n", "wrong value for throttle_reasons"},
        {DEVICE "at 0\ngpu 0 power_watts=absent:why\n", "f:3: 'why' is no reason"},
        {DEVICE "at 2\nat 1\n", "f:3: at SECONDS goes back in time; expected 2 or later"},
        {DEVICE "at -1\n", "f:2: expected at SECONDS, a number from 0"},
        {DEVICE "at 0\nprocess 0 user=a\n", "f:3: the process has no pid"},
        {DEVICE "at 0\nprocess 0 pid=1 kinds=x\n", "f:3: 'x' is no kind"},
        {DEVICE "at 0\nprocesses 0\n", "f:3: expected processes N none"},
        {DEVICE "at 0\nmark \"open\n", "f:3: a quotation mark is missing"},
        {DEVICE "at 0\n" DEVICE, "f:3: devices come before the first 'at'"},
        {DEVICE "at 0\nend 1\nat 2\n", "f:4: nothing comes after 'end'"},
        {"every 0\n", "f:1: expected every SECONDS"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct counter_failure failure = {0};
        struct sim_script script;
        const char *text = cases[i].text;
        assert_int_equal(sim_script_parse(&script, text, strlen(text), "f", &failure), -EINVAL);
        if (!strstr(failure.reason, cases[i].message))
            fail_msg("case %zu: '%s' lacks '%s'", i, failure.reason, cases[i].message);
    }
}

static void reads_flags_by_their_words(void **state)
{
    (void)state;
    struct counter *counter =
        open_text(DEVICE "at 0\ngpu 0 throttle_reasons=power_cap+thermal\nend 1\n");
    struct frame frame = collect(counter, 0.1);
    assert_float_equal(value(&frame, 0, METRIC_THROTTLE_REASONS), 0x24, 0);
    frame_free(&frame);
    counter_close(counter);
}

static void reports_a_file_that_cannot_be_read(void **state)
{
    (void)state;
    struct counter *counter;
    struct counter_failure failure;
    assert_int_equal(counter_open(&counter, "sim:/nowhere/x.sim", &failure), -ENOENT);
    assert_non_null(strstr(failure.reason, "/nowhere/x.sim"));
    assert_int_equal(counter_open(&counter, "sim:/tmp", &failure), -EINVAL);
    assert_int_equal(counter_open(&counter, "sim", &failure), -EINVAL);
}

static void the_usual_source_is_that_of_the_environment(void **state)
{
    (void)state;
    unsetenv("ROOFTOP_SOURCE");
    assert_string_equal(counter_usual_source(NULL), "auto");
    setenv("ROOFTOP_SOURCE", "", 1);
    assert_string_equal(counter_usual_source(NULL), "auto");
    setenv("ROOFTOP_SOURCE", "nvml", 1);
    assert_string_equal(counter_usual_source(NULL), "nvml");
    assert_string_equal(counter_usual_source("cupti"), "cupti");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_devices_with_their_fields),
        cmocka_unit_test(holds_values_and_gives_means_of_intervals),
        cmocka_unit_test(counts_rest_in_a_mean),
        cmocka_unit_test(draws_ramps),
        cmocka_unit_test(loses_devices),
        cmocka_unit_test(follows_processes),
        cmocka_unit_test(names_the_line_that_is_wrong),
        cmocka_unit_test(reads_flags_by_their_words),
        cmocka_unit_test(reports_a_file_that_cannot_be_read),
        cmocka_unit_test(the_usual_source_is_that_of_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
