/* The linker gives the monitor the test's own source in place of the table's
 * (-Wl,--wrap=counter_open,--wrap=counter_source), and lets it look for changed devices often
 * (--wrap=sampler_start). */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "monitor/monitor.h"

#include "cmocka_test.h"
#include "scripted.h"

enum { PATIENCE_SECONDS = 20 };

static struct scripted sources[2];
static size_t opened;
static int open_results[8]; /* of each attempt to open */
static size_t attempts;

int __wrap_counter_open(struct counter **ret, const char *source, struct counter_failure *failure);
const struct counter_ops *__wrap_counter_source(const char *source);

int __wrap_counter_open(struct counter **ret, const char *source, struct counter_failure *failure)
{
    (void)source;
    int r = open_results[attempts++];
    if (r < 0) {
        snprintf(failure->reason, sizeof(failure->reason), "the driver is away");
        return r;
    }
    *ret = &sources[opened++].counter;
    return 0;
}

const struct counter_ops *__wrap_counter_source(const char *source)
{
    static const struct counter_ops recorded = {.name = "tape"};
    return strncmp(source, "tape:", 5) == 0 ? &recorded : &scripted_ops;
}

static int set_up(void **state)
{
    (void)state;
    opened = attempts = 0;
    memset(open_results, 0, sizeof(open_results));
    scripted_init(&sources[0], 2);
    scripted_init(&sources[1], 3);
    return 0;
}

static struct monitor *open_monitor(const char *gpus)
{
    struct monitor *monitor = NULL;
    struct counter_failure failure;
    struct monitor_config config = {.source = "scripted", .gpus = gpus, .interval = 0.02};
    assert_int_equal(monitor_open(&monitor, &config, &failure), 0);
    return monitor;
}

static void shows_only_what_was_asked_for(void **state)
{
    (void)state;
    struct monitor *monitor = open_monitor("1");
    assert_int_equal(monitor_count(monitor), 1);
    assert_int_equal(monitor_device(monitor, 0)->index, 1);
    assert_int_equal(monitor_reading(monitor, 0)->state, READING_NONE);
    do
        assert_int_equal(monitor_wait(monitor, PATIENCE_SECONDS), 1);
    while (monitor_reading(monitor, 0)->state != READING_OK);
    assert_float_equal(monitor_reading(monitor, 0)->sample.value[METRIC_TEMPERATURE], 1, 0);
    assert_true(monitor_time(monitor) > 0);
    assert_int_equal(scripted_reads(&sources[0], 0), 0);
    monitor_close(monitor);
    assert_true(sources[0].closed);
}

static void change_devices(struct monitor *monitor)
{
    SCRIPTED_SET(&sources[0], devices_changed, true);
    unsigned before = monitor_generation(monitor);
    while (monitor_generation(monitor) == before) {
        struct pollfd poll_fd = {.fd = monitor_fd(monitor), .events = POLLIN};
        assert_int_equal(poll(&poll_fd, 1, PATIENCE_SECONDS * 1000), 1);
        assert_true(monitor_next(monitor) >= 0);
    }
}

static void changed_devices_are_listed_anew(void **state)
{
    (void)state;
    struct monitor *monitor = open_monitor(NULL);
    int fd = monitor_fd(monitor);
    assert_int_equal(monitor_count(monitor), 2);
    change_devices(monitor);
    assert_true(sources[0].closed);
    assert_int_equal(monitor_fd(monitor), fd);
    assert_int_equal(monitor_count(monitor), 3);
    assert_null(monitor_failure(monitor));
    assert_int_equal(monitor_wait(monitor, PATIENCE_SECONDS), 1);
    monitor_close(monitor);
}

static void a_source_that_went_away_is_tried_again(void **state)
{
    (void)state;
    open_results[1] = -ENODEV;
    struct monitor *monitor = open_monitor(NULL);
    change_devices(monitor);
    assert_int_equal(monitor_count(monitor), 0);
    assert_string_equal(monitor_failure(monitor)->reason, "the driver is away");
    assert_int_equal(monitor_counter(monitor)->device_count, 0);
    assert_int_equal(monitor_next(monitor), 0);
    assert_int_equal(monitor_seek(monitor, 0), -ENOTSUP);
    unsigned generation = monitor_generation(monitor);

    assert_int_equal(monitor_wait(monitor, PATIENCE_SECONDS), 1);
    assert_int_equal(attempts, 3);
    assert_true(monitor_generation(monitor) > generation);
    assert_int_equal(monitor_count(monitor), 3);
    assert_null(monitor_failure(monitor));
    monitor_close(monitor);
}

static void a_device_that_is_gone_is_waited_for(void **state)
{
    (void)state;
    scripted_init(&sources[1], 1);
    struct monitor *monitor = open_monitor("1");
    change_devices(monitor);
    assert_true(sources[1].closed);
    assert_int_equal(monitor_count(monitor), 0);
    assert_non_null(strstr(monitor_failure(monitor)->reason, "no GPU here"));
    monitor_close(monitor);
}

static void says_why_it_does_not_open(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        double interval;
        const char *reason;
    } wrong[] = {
        {"tape:x@fast", 0, "'fast' is not a speed"}, {"tape:x@0", 0, "'0' is not a speed"},
        {"tape:x@1e-9", 0, "'1e-9' is not a speed"}, {"scripted", 1e-9, "out of range"},
        {"scripted", 1e9, "out of range"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct monitor *monitor = NULL;
        struct counter_failure failure;
        struct monitor_config config = {.source = wrong[i].source, .interval = wrong[i].interval};
        assert_int_equal(monitor_open(&monitor, &config, &failure), -EINVAL);
        assert_non_null(strstr(failure.reason, wrong[i].reason));
        assert_null(monitor);
    }
    assert_int_equal(attempts, 0);
}

#define MONITOR_TEST(f) cmocka_unit_test_setup(f, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MONITOR_TEST(shows_only_what_was_asked_for),
        MONITOR_TEST(changed_devices_are_listed_anew),
        MONITOR_TEST(a_source_that_went_away_is_tried_again),
        MONITOR_TEST(a_device_that_is_gone_is_waited_for),
        MONITOR_TEST(says_why_it_does_not_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
