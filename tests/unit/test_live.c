#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "counter/sampler.h"

#include "cmocka_test.h"
#include "scripted.h"

/* Only a broken sampler makes a test wait this long. */
enum { PATIENCE_MILLISECONDS = 20000 };
static const double INTERVAL = 0.01;

struct fixture {
    struct scripted scripted;
    struct sampler *sampler;
    struct frame frame;
    double change_period;
};

static void start(struct fixture *fixture)
{
    static const size_t devices[] = {0, 1, 2};
    struct sampler_config config = {
        .interval = INTERVAL,
        .devices = devices,
        .device_count = ARRAY_SIZE(devices),
        .change_period = fixture->change_period,
    };
    assert_int_equal(sampler_start(&fixture->sampler, &fixture->scripted.counter, &config), 0);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    scripted_init(&fixture->scripted, 3);
    *state = fixture;
    return frame_init(&fixture->frame, 3);
}

/* For the test that leaves a thread behind: the script outlives it. */
static int keep(void **state)
{
    static struct fixture *volatile kept;
    kept = *state;
    frame_free(&kept->frame);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < 3; i++)
        SCRIPTED_SET(&fixture->scripted, device[i].hang, false);
    SCRIPTED_SET(&fixture->scripted, hang_changes, false);
    assert_true(sampler_stop(fixture->sampler));
    for (size_t i = 0; i < 3; i++) {
        assert_false(fixture->scripted.device[i].read_twice_at_once);
        assert_false(fixture->scripted.device[i].takes_signals);
    }
    frame_free(&fixture->frame);
    free(fixture);
    return 0;
}

/* Waits for a frame the way that an event loop does. */
static int next_frame(struct fixture *fixture)
{
    for (;;) {
        int r = sampler_next(fixture->sampler, &fixture->frame);
        if (r != 0)
            return r;
        struct pollfd poll_fd = {.fd = sampler_fd(fixture->sampler), .events = POLLIN};
        assert_int_equal(poll(&poll_fd, 1, PATIENCE_MILLISECONDS), 1);
    }
}

static const struct reading *reading(struct fixture *fixture, size_t device)
{
    return &fixture->frame.readings[device];
}

/* Takes frames until the device is in that state. */
static void await_state(struct fixture *fixture, size_t device, enum reading_state state)
{
    do
        assert_int_equal(next_frame(fixture), 1);
    while (reading(fixture, device)->state != state);
}

/* Takes frames until all devices are in that state at once. */
static void await_states(struct fixture *fixture, enum reading_state state)
{
    size_t there;
    do {
        assert_int_equal(next_frame(fixture), 1);
        there = 0;
        for (size_t i = 0; i < 3; i++)
            there += reading(fixture, i)->state == state;
    } while (there < 3);
}

static void gives_frames_of_all_devices(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    for (int i = 0; i < 3; i++) {
        double before = fixture->frame.time;
        assert_int_equal(next_frame(fixture), 1);
        assert_true(fixture->frame.time > before);
        assert_true(fixture->frame.interval > 0);
    }
    for (size_t i = 0; i < 3; i++)
        await_state(fixture, i, READING_OK);
    double read_at = reading(fixture, 2)->sample.time;
    assert_true(read_at > 0 && read_at <= fixture->frame.time);
    assert_true(sample_has(&reading(fixture, 2)->sample, METRIC_TEMPERATURE));
    assert_float_equal(reading(fixture, 2)->sample.value[METRIC_TEMPERATURE], 2, 0);
    assert_true(reading(fixture, 2)->processes.known);
    assert_int_equal(reading(fixture, 2)->processes.process[0].pid, 1002);
}

static void a_device_that_hangs_goes_stale_alone(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    await_state(fixture, 1, READING_OK);
    SCRIPTED_SET(&fixture->scripted, device[1].hang, true);
    SCRIPTED_AWAIT(&fixture->scripted, fixture->scripted.device[1].waiting == 1);
    unsigned reads = scripted_reads(&fixture->scripted, 1);

    await_state(fixture, 1, READING_STALE);
    const struct reading *stale = reading(fixture, 1);
    assert_true(stale->age > 2 * INTERVAL);
    assert_false(sample_has(&stale->sample, METRIC_TEMPERATURE));
    assert_int_equal(stale->sample.absent[METRIC_TEMPERATURE], ABSENT_STALE);
    assert_int_equal(stale->sample.absent[METRIC_POWER], ABSENT_FIRST_SAMPLE);
    assert_false(stale->processes.known);

    unsigned others = scripted_reads(&fixture->scripted, 0);
    double age = stale->age;
    for (int i = 0; i < 5; i++) {
        await_state(fixture, 0, READING_OK);
        assert_int_equal(reading(fixture, 1)->state, READING_STALE);
        assert_true(reading(fixture, 1)->age > age);
        age = reading(fixture, 1)->age;
    }
    while (scripted_reads(&fixture->scripted, 0) < others + 4)
        await_state(fixture, 0, READING_OK);
    assert_int_equal(scripted_reads(&fixture->scripted, 1), reads);

    SCRIPTED_SET(&fixture->scripted, device[1].hang, false);
    await_state(fixture, 1, READING_OK);
    assert_true(reading(fixture, 1)->age < age);
    assert_true(sample_has(&reading(fixture, 1)->sample, METRIC_TEMPERATURE));
    assert_true(reading(fixture, 1)->processes.known);
}

static void a_device_that_never_answered_goes_stale(void **state)
{
    struct fixture *fixture = *state;
    fixture->scripted.device[0].hang = true;
    start(fixture);
    await_state(fixture, 0, READING_STALE);
    assert_int_equal(reading(fixture, 0)->sample.absent[METRIC_TEMPERATURE], ABSENT_FIRST_SAMPLE);
    await_state(fixture, 2, READING_OK);
}

/* As after SIGSTOP and SIGCONT: nobody took frames, and no worker has run since. */
static void a_late_caller_gives_the_devices_their_time(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    await_states(fixture, READING_OK);
    for (size_t i = 0; i < 3; i++) {
        SCRIPTED_SET(&fixture->scripted, device[i].hang, true);
        SCRIPTED_AWAIT(&fixture->scripted, fixture->scripted.device[i].waiting == 1);
    }
    double late = clock_monotonic() + 0.4;
    while (clock_monotonic() < late)
        poll(NULL, 0, 50);
    assert_int_equal(sampler_next(fixture->sampler, &fixture->frame), 0);
    for (size_t i = 0; i < 3; i++)
        SCRIPTED_SET(&fixture->scripted, device[i].hang, false);
    await_states(fixture, READING_OK);
}

static void one_who_always_comes_late_gets_frames_too(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    SCRIPTED_SET(&fixture->scripted, device[0].hang, true);
    SCRIPTED_AWAIT(&fixture->scripted, fixture->scripted.device[0].waiting == 1);
    int frames = 0;
    for (int calls = 0; calls < 6; calls++) {
        double late = clock_monotonic() + 3 * INTERVAL;
        while (clock_monotonic() < late)
            poll(NULL, 0, 10);
        frames += sampler_next(fixture->sampler, &fixture->frame) == 1;
    }
    assert_true(frames >= 2);
}

static void frames_go_on_where_every_device_hangs(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    await_state(fixture, 0, READING_OK);
    for (size_t i = 0; i < 3; i++)
        SCRIPTED_SET(&fixture->scripted, device[i].hang, true);
    await_state(fixture, 0, READING_STALE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(next_frame(fixture), 1);
}

static void a_lost_device_backs_off_and_returns(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    await_state(fixture, 2, READING_OK);
    SCRIPTED_SET(&fixture->scripted, device[2].reopen_error, -ENODEV);
    SCRIPTED_SET(&fixture->scripted, device[2].error, -ENODEV);
    await_state(fixture, 2, READING_LOST);
    assert_int_equal(reading(fixture, 2)->error, -ENODEV);
    assert_int_equal(reading(fixture, 2)->sample.absent[METRIC_TEMPERATURE], ABSENT_LOST);
    unsigned reads = scripted_reads(&fixture->scripted, 2);

    /* each wait is at least twice the one before: 4, 8, 16 intervals between the attempts */
    struct scripted_device *script = &fixture->scripted.device[2];
    SCRIPTED_AWAIT(&fixture->scripted, script->reopens >= 4);
    assert_int_equal(scripted_reads(&fixture->scripted, 2), reads);
    for (int i = 0; i < 3; i++)
        assert_true(script->reopened_at[i + 1] - script->reopened_at[i] >= (4 << i) * INTERVAL);
    await_state(fixture, 0, READING_OK);
    assert_int_equal(reading(fixture, 2)->state, READING_LOST);

    SCRIPTED_SET(&fixture->scripted, device[2].error, 0);
    SCRIPTED_SET(&fixture->scripted, device[2].reopen_error, 0);
    await_state(fixture, 2, READING_OK);
    assert_int_equal(reading(fixture, 2)->error, 0);
}

static void a_device_that_never_worked_has_a_sane_age(void **state)
{
    struct fixture *fixture = *state;
    double began = clock_monotonic();
    fixture->scripted.device[1].error = -EIO;
    start(fixture);
    await_state(fixture, 1, READING_FAILED);
    assert_int_equal(reading(fixture, 1)->error, -EIO);
    assert_true(reading(fixture, 1)->age <= clock_monotonic() - began);
}

static void changed_devices_end_the_sampling(void **state)
{
    struct fixture *fixture = *state;
    fixture->change_period = INTERVAL;
    fixture->scripted.device[0].hang = true; /* the others do the looking then */
    start(fixture);
    await_state(fixture, 2, READING_OK);
    SCRIPTED_SET(&fixture->scripted, devices_changed, true);
    int r;
    do
        r = next_frame(fixture);
    while (r == 1);
    assert_int_equal(r, -ESTALE);
}

static void a_look_for_changes_that_hangs_holds_up_one_device(void **state)
{
    struct fixture *fixture = *state;
    fixture->change_period = INTERVAL;
    fixture->scripted.hang_changes = true;
    start(fixture);
    SCRIPTED_AWAIT(&fixture->scripted, fixture->scripted.change_checks == 1);
    size_t stale = 0;
    for (int frames = 0; frames < 500 && stale != 1; frames++) {
        assert_int_equal(next_frame(fixture), 1);
        stale = 0;
        for (size_t i = 0; i < 3; i++)
            stale += reading(fixture, i)->state == READING_STALE;
    }
    assert_int_equal(stale, 1);
    SCRIPTED_SET(&fixture->scripted, hang_changes, false);
    for (size_t i = 0; i < 3; i++)
        await_state(fixture, i, READING_OK);
}

static void stops_while_a_device_hangs(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    SCRIPTED_SET(&fixture->scripted, device[0].hang, true);
    SCRIPTED_AWAIT(&fixture->scripted, fixture->scripted.device[0].waiting == 1);
    assert_false(sampler_stop(fixture->sampler));
    fixture->sampler = NULL;
    unsigned others = scripted_reads(&fixture->scripted, 1);

    /* the hanging thread may still return, into memory that must be there */
    SCRIPTED_SET(&fixture->scripted, device[0].hang, false);
    SCRIPTED_AWAIT(&fixture->scripted, fixture->scripted.device[0].waiting == 0);
    assert_int_equal(scripted_reads(&fixture->scripted, 1), others);
}

static void the_interval_can_change(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    await_state(fixture, 0, READING_OK);
    double began = clock_monotonic();
    assert_int_equal(next_frame(fixture), 1);
    assert_int_equal(sampler_set_interval(fixture->sampler, 0.2), 0);
    assert_int_equal(next_frame(fixture), 1); /* this one was under way */
    for (int i = 0; i < 2; i++)
        assert_int_equal(next_frame(fixture), 1);
    assert_true(clock_monotonic() - began >= 2 * 0.2);
    /* a tick that is far away comes as soon as the shorter interval wants it */
    assert_int_equal(sampler_set_interval(fixture->sampler, 3600), 0);
    assert_int_equal(next_frame(fixture), 1);
    assert_int_equal(sampler_set_interval(fixture->sampler, INTERVAL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(next_frame(fixture), 1);
    await_state(fixture, 0, READING_OK);
    assert_int_equal(sampler_set_interval(fixture->sampler, 0), -EINVAL);
}

static void refuses_intervals_out_of_range(void **state)
{
    struct fixture *fixture = *state;
    const double wrong[] = {0, -1, 1e-300, 1e300, NAN};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct sampler_config config = {.interval = wrong[i]};
        assert_int_equal(sampler_start(&fixture->sampler, &fixture->scripted.counter, &config),
                         -EINVAL);
        assert_null(fixture->sampler);
    }
}

static void live_sources_have_no_speed(void **state)
{
    struct fixture *fixture = *state;
    start(fixture);
    assert_int_equal(sampler_seek(fixture->sampler, 1), -ENOTSUP);
    assert_int_equal(sampler_set_speed(fixture->sampler, 1), -ENOTSUP);
}

#define LIVE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(gives_frames_of_all_devices),
        LIVE_TEST(a_device_that_hangs_goes_stale_alone),
        LIVE_TEST(a_device_that_never_answered_goes_stale),
        LIVE_TEST(a_late_caller_gives_the_devices_their_time),
        LIVE_TEST(one_who_always_comes_late_gets_frames_too),
        LIVE_TEST(frames_go_on_where_every_device_hangs),
        LIVE_TEST(a_lost_device_backs_off_and_returns),
        LIVE_TEST(a_device_that_never_worked_has_a_sane_age),
        LIVE_TEST(changed_devices_end_the_sampling),
        LIVE_TEST(a_look_for_changes_that_hangs_holds_up_one_device),
        cmocka_unit_test_setup_teardown(stops_while_a_device_hangs, set_up, keep),
        LIVE_TEST(the_interval_can_change),
        LIVE_TEST(refuses_intervals_out_of_range),
        LIVE_TEST(live_sources_have_no_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
