/* Sampling does not allocate: neither its threads nor whoever takes the frames. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter/sampler.h"
#include "monitor/monitor.h"

#include "allocations.h"
#include "cmocka_test.h"
#include "scripted.h"

enum { WARM_UP = 10, COUNTED_FRAMES = 30, DEVICES = 8 };

static struct scripted scripted;

int __wrap_counter_open(struct counter **ret, const char *source, struct counter_failure *failure);

int __wrap_counter_open(struct counter **ret, const char *source, struct counter_failure *failure)
{
    (void)source;
    (void)failure;
    *ret = &scripted.counter;
    return 0;
}

static bool take_frames(struct monitor *monitor, int count)
{
    bool taken = true;
    for (int i = 0; i < count; i++)
        taken &= monitor_wait(monitor, -1) == 1;
    return taken;
}

static struct monitor *open_monitor(void)
{
    scripted_init(&scripted, DEVICES);
    struct monitor *monitor = NULL;
    struct counter_failure failure;
    struct monitor_config config = {.source = "auto", .interval = 0.01};
    assert_int_equal(monitor_open(&monitor, &config, &failure), 0);
    assert_true(take_frames(monitor, WARM_UP));
    return monitor;
}

static void counts_allocations(void **state)
{
    (void)state;
    unsigned long before = allocations_so_far();
    void *volatile memory = malloc(10);
    free(memory);
    char *volatile copy = strdup("text");
    free(copy);
    assert_int_equal(allocations_so_far() - before, 2);
}

static void sampling_does_not_allocate(void **state)
{
    (void)state;
    struct monitor *monitor = open_monitor();
    unsigned reads = scripted_reads(&scripted, DEVICES - 1);
    unsigned long before = allocations_so_far();
    bool taken = take_frames(monitor, COUNTED_FRAMES);
    unsigned long allocated = allocations_so_far() - before;
    assert_true(taken);
    assert_int_equal(allocated, 0);
    assert_true(scripted_reads(&scripted, DEVICES - 1) > reads);
    monitor_close(monitor);
}

static void nor_do_failures(void **state)
{
    (void)state;
    struct monitor *monitor = open_monitor();
    SCRIPTED_SET(&scripted, device[0].hang, true);
    SCRIPTED_SET(&scripted, device[1].reopen_error, -ENODEV);
    SCRIPTED_SET(&scripted, device[1].error, -ENODEV);
    unsigned long before = allocations_so_far();
    bool taken = true;
    while (monitor_reading(monitor, 0)->state != READING_STALE ||
           monitor_reading(monitor, 1)->state != READING_LOST)
        taken &= take_frames(monitor, 1);
    unsigned long allocated = allocations_so_far() - before;
    assert_true(taken);
    assert_int_equal(allocated, 0);
    SCRIPTED_SET(&scripted, device[0].hang, false);
    monitor_close(monitor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_allocations),
        cmocka_unit_test(sampling_does_not_allocate),
        cmocka_unit_test(nor_do_failures),
    };
    if (!allocations_are_counted()) {
        puts("1..0 # SKIP a sanitizer's allocator is in use");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
