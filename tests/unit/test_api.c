#include "rooftop.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "monitor/monitor.h"
#include "record/mark_socket.h"

#include "cmocka_test.h"

/* What reads or writes numbers must not see the program's locale. */
int __real_monitor_open(struct monitor **ret, const struct monitor_config *config,
                        struct counter_failure *failure);
int __wrap_monitor_open(struct monitor **ret, const struct monitor_config *config,
                        struct counter_failure *failure);
int __real_mark_send(const struct mark *mark, unsigned *ret_taken, unsigned *ret_silent);
int __wrap_mark_send(const struct mark *mark, unsigned *ret_taken, unsigned *ret_silent);

static bool uses_own_locale(void)
{
    return uselocale((locale_t)0) != LC_GLOBAL_LOCALE;
}

int __wrap_monitor_open(struct monitor **ret, const struct monitor_config *config,
                        struct counter_failure *failure)
{
    assert_true(uses_own_locale());
    return __real_monitor_open(ret, config, failure);
}

int __wrap_mark_send(const struct mark *mark, unsigned *ret_taken, unsigned *ret_silent)
{
    assert_true(uses_own_locale());
    return __real_mark_send(mark, ret_taken, ret_silent);
}

static const char script[] =
    "driver 580.1 13.0\n"
    "device name=\"GPU A\" uuid=GPU-aaaa0000-0000-4000-8000-000000000001 sm_count=132\n"
    "device name=\"GPU B\" uuid=GPU-bbbb0000-0000-4000-8000-000000000002\n"
    "at 0\n"
    "gpu * temperature_celsius=40 throttle_reasons=none\n"
    "gpu 0 graphics_active_ratio=1 sm_active_ratio=0.9 tensor_active_ratio=0.1 "
    "fp64_active_ratio=0\n"
    "gpu 0 fp32_active_ratio=0 fp16_active_ratio=0 int_active_ratio=0 dram_active_ratio=0.64\n"
    "gpu 0 nvml_utilization_ratio=0.99\n"
    "gpu 0 throttle_reasons=power_cap+thermal l2_active_ratio=absent:needs_cupti\n"
    "process 0 pid=4242 memory=17G user=alice command=\"python serve.py\" container=web start=-30\n"
    "at 2\n"
    "mark \"second phase\" 1.5\n"
    "gpu 0 temperature_celsius=50\n"
    "gpu 1 lost\n"
    "end 4\n";

static char source[64];

static int make_script(void **state)
{
    (void)state;
    strcpy(source, "sim:/tmp/test_api.XXXXXX");
    int fd = mkstemp(source + 4);
    bool written = fd >= 0 && write(fd, script, strlen(script)) == (ssize_t)strlen(script);
    close(fd);
    strcat(source, "@max");
    return written ? 0 : -1;
}

static int remove_script(void **state)
{
    (void)state;
    *strrchr(source, '@') = '\0';
    return unlink(source + 4);
}

static int open_handle(void **state)
{
    rooftop *handle = NULL;
    struct rooftop_failure failure = {0};
    int r = rooftop_open(&handle, source, NULL, 1, &failure);
    assert_false(uses_own_locale());
    if (r < 0)
        print_error("%s\n", failure.reason);
    *state = handle;
    return r;
}

static int close_handle(void **state)
{
    rooftop_close(*state);
    return 0;
}

static void take_frames(rooftop *handle, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(rooftop_wait(handle, -1), 1);
}

static int id(const char *name)
{
    int metric = rooftop_metric_id(name);
    assert_true(metric >= 0);
    return metric;
}

static void lists_devices(void **state)
{
    rooftop *handle = *state;
    assert_int_equal(rooftop_device_count(handle), 2);
    assert_string_equal(rooftop_device_text(handle, 0, "name"), "GPU A");
    assert_string_equal(rooftop_device_text(handle, 1, "uuid"),
                        "GPU-bbbb0000-0000-4000-8000-000000000002");
    assert_int_equal(rooftop_device_index(handle, 1), 1);
    double number = 7;
    assert_int_equal(rooftop_device_number(handle, 0, "sm_count", &number), 0);
    assert_float_equal(number, 132, 0);
    assert_int_equal(rooftop_device_number(handle, 1, "sm_count", &number), -ENODATA);
    assert_int_equal(rooftop_device_number(handle, 0, "name", &number), -EINVAL);
    assert_int_equal(rooftop_device_number(handle, 2, "sm_count", &number), -EINVAL);
    assert_float_equal(number, 132, 0);
    assert_null(rooftop_device_text(handle, 0, "sm_count"));
    assert_null(rooftop_device_text(handle, 2, "name"));
    assert_int_equal(rooftop_device_index(handle, 2), -EINVAL);
    assert_string_equal(rooftop_source_text(handle, "source"), "sim");
    assert_string_equal(rooftop_source_text(handle, "driver_version"), "580.1");
    assert_null(rooftop_source_text(handle, "nonsense"));
}

static void walks_the_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < rooftop_field_count(); i++) {
        assert_non_null(rooftop_field_name(i));
        assert_true(strlen(rooftop_field_help(i)) > 0);
    }
    assert_string_equal(rooftop_field_name(0), "uuid");
    assert_null(rooftop_field_name(rooftop_field_count()));
    for (int i = 0; i < rooftop_metric_count(); i++) {
        assert_int_equal(rooftop_metric_id(rooftop_metric_name(i)), i);
        assert_non_null(rooftop_metric_unit(i));
        assert_non_null(rooftop_metric_span(i));
        assert_true(strlen(rooftop_metric_help(i)) > 0);
    }
    assert_string_equal(rooftop_metric_unit(id("dram_read_bytes_per_second")), "bytes_per_second");
    assert_string_equal(rooftop_metric_span(id("energy_joules_total")), "total");
    assert_int_equal(rooftop_metric_id("nonsense"), -ENOENT);
    assert_null(rooftop_metric_name(-1));
    assert_null(rooftop_metric_unit(rooftop_metric_count()));
    assert_true(strlen(rooftop_version()) > 0);
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), end = strlen(ending);
    return length >= end && strcmp(text + length - end, ending) == 0;
}

/* dcgm-exporter#87, #472: the name tells the unit, and what is a counter. */
static void names_tell_unit_and_kind(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        const char *ending;
    } endings[] = {
        {"ratio", "_ratio"},
        {"bytes", "_bytes"},
        {"bytes_per_second", "_bytes_per_second"},
        {"flops_per_second", "_flops_per_second"},
        {"hertz", "_hertz"},
        {"watts", "_watts"},
        {"joules", "_joules"},
        {"celsius", "_celsius"},
        {"seconds", "_seconds"},
        {"duration", "_seconds"},
    };
    for (int i = 0; i < rooftop_metric_count(); i++) {
        const char *name = rooftop_metric_name(i);
        const char *unit = "";
        for (size_t k = 0; k < sizeof(endings) / sizeof(endings[0]); k++)
            if (strcmp(rooftop_metric_unit(i), endings[k].unit) == 0)
                unit = endings[k].ending;
        bool counts = strcmp(rooftop_metric_span(i), "total") == 0;
        if (ends_with(name, "_total") != counts)
            fail_msg("%s: a counter ends with _total, and nothing else does", name);
        char expected[64];
        snprintf(expected, sizeof(expected), "%s%s", unit, counts ? "_total" : "");
        if (!ends_with(name, expected))
            fail_msg("%s should end with %s", name, expected);
    }
}

static void reads_values_and_reasons(void **state)
{
    rooftop *handle = *state;
    int temperature = id("temperature_celsius");
    int l2 = id("l2_active_ratio");
    double value = 7;
    assert_int_equal(rooftop_read(handle, 0, temperature, &value), -ENODATA);
    assert_string_equal(rooftop_device_state(handle, 0), "none");

    take_frames(handle, 1);
    assert_int_equal(rooftop_read(handle, 0, l2, &value), -ENODATA);
    assert_int_equal(rooftop_read(handle, 0, -ENOENT, &value), -EINVAL);
    assert_int_equal(rooftop_read(handle, 2, temperature, &value), -EINVAL);
    assert_float_equal(value, 7, 0);
    assert_int_equal(rooftop_read(handle, 0, temperature, &value), 0);
    assert_float_equal(value, 40, 0);
    assert_string_equal(rooftop_device_state(handle, 0), "ok");
    assert_true(rooftop_device_age(handle, 0) >= 0);

    assert_string_equal(rooftop_missing_word(handle, 0, l2), "needs_cupti");
    assert_string_equal(rooftop_missing_advice(handle, 0, l2), "use --source cupti");
    assert_true(strlen(rooftop_missing_reason(handle, 0, l2)) > 0);
    assert_null(rooftop_missing_word(handle, 0, temperature));
    assert_null(rooftop_missing_reason(handle, 2, l2));
    assert_null(rooftop_missing_advice(handle, 0, -1));
}

static void reads_words(void **state)
{
    rooftop *handle = *state;
    int reasons = id("throttle_reasons");
    take_frames(handle, 1);
    char text[32] = "";
    assert_int_equal(rooftop_read_words(handle, 0, reasons, text, sizeof(text)), 17);
    assert_string_equal(text, "power_cap,thermal");
    assert_int_equal(rooftop_read_words(handle, 0, reasons, text, 6), 17);
    assert_string_equal(text, "power");
    assert_int_equal(rooftop_read_words(handle, 0, reasons, NULL, 0), 17);
    assert_int_equal(rooftop_read_words(handle, 1, reasons, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    int bound = id("bound");
    assert_string_equal(rooftop_metric_unit(bound), "label");
    assert_int_equal(rooftop_read_words(handle, 0, bound, text, sizeof(text)), 6);
    assert_string_equal(text, "memory");
    assert_int_equal(rooftop_read_words(handle, 1, bound, text, sizeof(text)), -ENODATA);
    assert_string_equal(rooftop_missing_word(handle, 1, bound), "not_provided");
    int temperature = id("temperature_celsius");
    assert_int_equal(rooftop_read_words(handle, 0, temperature, text, sizeof(text)), -EINVAL);
    assert_int_equal(rooftop_read_words(handle, 2, reasons, text, sizeof(text)), -EINVAL);
}

static void a_lost_device_has_no_values(void **state)
{
    rooftop *handle = *state;
    take_frames(handle, 3);
    int temperature = id("temperature_celsius");
    double value = 7;
    assert_string_equal(rooftop_device_state(handle, 1), "lost");
    assert_int_equal(rooftop_read(handle, 1, temperature, &value), -ENODATA);
    assert_string_equal(rooftop_missing_word(handle, 1, temperature), "lost");
    assert_int_equal(rooftop_process_count(handle, 1), -ENODATA);
    assert_int_equal(rooftop_read(handle, 0, temperature, &value), 0);
    assert_float_equal(value, 50, 0);
    assert_string_equal(rooftop_verdict(handle, 0),
                        "memory-bound: DRAM at 64 %; nvidia-smi says 99 %");
    assert_non_null(rooftop_verdict(handle, 1));
    assert_null(rooftop_verdict(handle, 2));
    assert_null(rooftop_device_state(handle, 2));
    assert_true(rooftop_device_age(handle, 2) < 0);
}

static void lists_processes(void **state)
{
    rooftop *handle = *state;
    take_frames(handle, 1);
    assert_int_equal(rooftop_process_count(handle, 0), 1);
    const struct rooftop_process *process = rooftop_process_at(handle, 0, 0);
    assert_int_equal(process->pid, 4242);
    assert_int_equal(process->kinds, ROOFTOP_PROCESS_COMPUTE);
    assert_true(process->memory_known);
    assert_int_equal(process->memory_bytes, UINT64_C(17) << 30);
    assert_false(process->outside);
    assert_string_equal(process->user, "alice");
    assert_string_equal(process->command, "python serve.py");
    assert_string_equal(process->container, "web");
    assert_true(process->start_time > 0);
    assert_null(rooftop_process_at(handle, 0, 1));
    assert_null(rooftop_process_at(handle, 2, 0));
    assert_int_equal(rooftop_process_count(handle, 2), -EINVAL);
}

static void walks_a_recording(void **state)
{
    rooftop *handle = *state;
    double begin, end;
    assert_int_equal(rooftop_recorded_span(handle, &begin, &end), 0);
    assert_near(end - begin, 4, 1e-6);
    assert_int_equal(rooftop_recorded_mark_count(handle), 1);
    const struct rooftop_span *mark = rooftop_recorded_mark(handle, 0);
    assert_string_equal(mark->name, "second phase");
    assert_near(mark->time - begin, 2, 1e-6);
    assert_near(mark->end - mark->time, 1.5, 1e-6);
    assert_null(rooftop_recorded_mark(handle, 1));

    assert_int_equal(rooftop_seek(handle, begin + 2), 0);
    struct pollfd poll_fd = {.fd = rooftop_fd(handle), .events = POLLIN};
    assert_int_equal(poll(&poll_fd, 1, 20000), 1);
    assert_int_equal(rooftop_next(handle), 1);
    assert_near(rooftop_time(handle) - begin, 3, 1e-6);
    assert_near(rooftop_interval(handle), 1, 1e-6);
    assert_int_equal(rooftop_next(handle), 1);
    assert_int_equal(rooftop_next(handle), -ENODATA);
    assert_int_equal(rooftop_seek(handle, NAN), -EINVAL);
    assert_int_equal(rooftop_set_speed(handle, -1), -EINVAL);
    assert_int_equal(rooftop_set_speed(handle, 2), 0);
    assert_int_equal(rooftop_generation(handle), 0);
    assert_null(rooftop_away(handle));
}

static void says_why_it_does_not_open(void **state)
{
    (void)state;
    rooftop *handle = NULL;
    struct rooftop_failure failure = {0};
    assert_int_equal(rooftop_open(&handle, "nonsense", NULL, 0, &failure), -EINVAL);
    assert_non_null(strstr(failure.reason, "nonsense"));
    assert_true(strlen(failure.advice) > 0);
    assert_int_equal(rooftop_open(&handle, "sim:/nowhere", NULL, 0, &failure), -ENOENT);
    assert_non_null(strstr(failure.reason, "/nowhere"));
    assert_int_equal(rooftop_open(&handle, source, "5", 0, &failure), -EINVAL);
    assert_non_null(strstr(failure.reason, "'5' is no GPU here"));
    assert_int_equal(rooftop_open(&handle, source, NULL, 1e-9, NULL), -EINVAL);
    assert_null(handle);
    rooftop_close(NULL);
}

static void *take_marks(void *argument)
{
    struct mark_inbox *inbox = argument;
    static struct mark marks[2];
    for (size_t i = 0; i < ARRAY_SIZE(marks);) {
        struct pollfd poll_fd = {.fd = mark_inbox_fd(inbox), .events = POLLIN};
        if (poll(&poll_fd, 1, 20000) != 1)
            return NULL;
        i += mark_inbox_take(inbox, &marks[i]) == 1;
    }
    return marks;
}

static void marks_reach_recorders(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_api.XXXXXX";
    assert_non_null(mkdtemp(folder));
    setenv("ROOFTOP_RUNTIME_DIR", folder, 1);
    struct mark_inbox *inbox;
    assert_int_equal(mark_inbox_open(&inbox), 0);
    pthread_t recorder;
    assert_int_equal(pthread_create(&recorder, NULL, take_marks, inbox), 0);

    assert_int_equal(rooftop_mark(""), -EINVAL);
    assert_int_equal(rooftop_mark_span("x", 2, 1), -EINVAL);
    assert_int_equal(rooftop_mark_span("x", NAN, 1), -EINVAL);
    assert_true(rooftop_mark("warm-up done") >= 1);
    assert_true(rooftop_mark_span("epoch 1", 1000.5, 1060.25) >= 1);

    struct mark *marks;
    assert_int_equal(pthread_join(recorder, (void **)&marks), 0);
    assert_non_null(marks);
    assert_string_equal(marks[0].name, "warm-up done");
    assert_near(marks[0].end, marks[0].time, 1e-6);
    assert_string_equal(marks[1].name, "epoch 1");
    assert_near(marks[1].time, 1000.5, 1e-6);
    assert_near(marks[1].end, 1060.25, 1e-6);

    mark_inbox_close(inbox);
    char inside[64];
    snprintf(inside, sizeof(inside), "%s/rooftop", folder);
    assert_int_equal(rmdir(inside), 0);
    assert_int_equal(rmdir(folder), 0);
}

#define HANDLE_TEST(f) cmocka_unit_test_setup_teardown(f, open_handle, close_handle)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HANDLE_TEST(lists_devices),
        cmocka_unit_test(walks_the_tables),
        cmocka_unit_test(names_tell_unit_and_kind),
        HANDLE_TEST(reads_values_and_reasons),
        HANDLE_TEST(reads_words),
        HANDLE_TEST(a_lost_device_has_no_values),
        HANDLE_TEST(lists_processes),
        HANDLE_TEST(walks_a_recording),
        cmocka_unit_test(says_why_it_does_not_open),
        cmocka_unit_test(marks_reach_recorders),
    };
    return cmocka_run_group_tests(tests, make_script, remove_script);
}
