#include <errno.h>
#include <math.h>
#include <poll.h>

#include "base/clock.h"
#include "counter/sampler.h"

#include "cmocka_test.h"

/* A recording of ten seconds that remembers what was asked of it. */
struct recording {
    struct counter counter;
    double position;
    double from[32]; /* what collect() covered */
    double until[32];
    size_t collected;
    size_t rests;
};

static int collect(struct counter *counter, double until, struct frame *frame)
{
    struct recording *recording = (struct recording *)counter;
    if (recording->position >= counter->end)
        return -ENODATA;
    assert_true(recording->collected < ARRAY_SIZE(recording->from));
    recording->from[recording->collected] = recording->position;
    recording->until[recording->collected++] = until;
    recording->position = until;
    frame->readings[0].state = READING_OK;
    return 0;
}

static int seek(struct counter *counter, double time)
{
    ((struct recording *)counter)->position = time;
    return 0;
}

static void rest(struct counter *counter)
{
    ((struct recording *)counter)->rests++;
}

static const struct counter_ops recording_ops = {
    .name = "recording", .collect = collect, .seek = seek, .rest = rest};

struct fixture {
    struct recording recording;
    struct sampler *sampler;
    struct frame frame;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){
        .recording =
            {.counter = {.ops = &recording_ops, .device_count = 1, .begin = 1000, .end = 1010},
             .position = 1000},
    };
    *state = &fixture;
    return frame_init(&fixture.frame, 1);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    assert_true(sampler_stop(fixture->sampler));
    frame_free(&fixture->frame);
    return 0;
}

static void start(struct fixture *fixture, double interval, double speed)
{
    struct sampler_config config = {.interval = interval, .speed = speed};
    assert_int_equal(sampler_start(&fixture->sampler, &fixture->recording.counter, &config), 0);
}

static int next(struct fixture *fixture)
{
    return sampler_next(fixture->sampler, &fixture->frame);
}

static bool is_readable(struct fixture *fixture, int milliseconds)
{
    struct pollfd poll_fd = {.fd = sampler_fd(fixture->sampler), .events = POLLIN};
    return poll(&poll_fd, 1, milliseconds) == 1;
}

static void goes_through_the_recording_in_order(void **state)
{
    struct fixture *fixture = *state;
    struct recording *recording = &fixture->recording;
    start(fixture, 2.5, 0);
    for (int i = 1; i <= 4; i++) {
        assert_true(is_readable(fixture, 0));
        assert_int_equal(next(fixture), 1);
        assert_float_equal(fixture->frame.time, 1000 + 2.5 * i, 1e-9);
        assert_float_equal(fixture->frame.interval, 2.5, 1e-9);
    }
    assert_int_equal(next(fixture), -ENODATA);
    assert_int_equal(recording->collected, 4);
    for (size_t i = 1; i < 4; i++)
        assert_float_equal(recording->from[i], recording->until[i - 1], 0);
}

static void rests_at_the_end(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 10, 0);
    assert_int_equal(next(fixture), 1);
    assert_int_equal(next(fixture), -ENODATA);
    assert_false(is_readable(fixture, 0));
    assert_int_equal(next(fixture), -ENODATA);

    assert_int_equal(sampler_seek(fixture->sampler, 1000), 0);
    assert_true(is_readable(fixture, 20000));
    assert_int_equal(next(fixture), 1);
}

static void keeps_to_its_speed(void **state)
{
    struct fixture *fixture = *state;
    double began = clock_monotonic();
    start(fixture, 1, 50);
    assert_true(is_readable(fixture, 20000));
    assert_int_equal(next(fixture), 1);
    assert_true(clock_monotonic() - began >= 0.019);
    assert_float_equal(fixture->frame.time, 1001, 1e-9);

    assert_int_equal(sampler_set_speed(fixture->sampler, 0), 0);
    for (int i = 2; i <= 10; i++) {
        assert_int_equal(next(fixture), 1);
        assert_float_equal(fixture->frame.time, 1000 + i, 1e-9);
    }
    assert_int_equal(next(fixture), -ENODATA);
}

/* Whoever waits, or has nothing left to read, lets the file go. */
static void lets_go_of_the_recording(void **state)
{
    struct fixture *fixture = *state;
    size_t *rests = &fixture->recording.rests;
    start(fixture, 5, 1000);
    assert_true(is_readable(fixture, 20000));
    assert_int_equal(next(fixture), 1);
    assert_int_equal(*rests, 1);
    assert_int_equal(sampler_set_speed(fixture->sampler, 0), 0);
    assert_int_equal(*rests, 2);
    assert_int_equal(next(fixture), 1);
    assert_int_equal(*rests, 2);
    assert_int_equal(next(fixture), -ENODATA);
    assert_int_equal(*rests, 3);
}

static void slower_means_later(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 1, 0);
    assert_int_equal(next(fixture), 1);
    assert_int_equal(sampler_set_speed(fixture->sampler, 0.001), 0);
    assert_int_equal(next(fixture), 0);
    assert_false(is_readable(fixture, 0));
}

static void does_not_rush_after_a_stop(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 1, 5);
    double late = clock_monotonic() + 1;
    while (clock_monotonic() < late)
        poll(NULL, 0, 100);
    double began = clock_monotonic();
    assert_int_equal(next(fixture), 1);
    assert_true(is_readable(fixture, 20000));
    assert_int_equal(next(fixture), 1);
    assert_true(clock_monotonic() - began >= 0.19);
    assert_float_equal(fixture->frame.time, 1002, 1e-9);
}

static void seeks_within_the_recording(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 1, 0);
    assert_int_equal(sampler_seek(fixture->sampler, 1007.5), 0);
    assert_int_equal(next(fixture), 1);
    assert_float_equal(fixture->frame.time, 1008.5, 1e-9);
    assert_float_equal(fixture->recording.from[0], 1007.5, 1e-9);

    assert_int_equal(sampler_seek(fixture->sampler, -5), 0);
    assert_int_equal(next(fixture), 1);
    assert_float_equal(fixture->frame.time, 1001, 1e-9);
    assert_int_equal(sampler_seek(fixture->sampler, 1e12), 0);
    assert_int_equal(next(fixture), -ENODATA);
    assert_int_equal(sampler_seek(fixture->sampler, NAN), -EINVAL);
}

static void refuses_impossible_speeds(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 1, 1);
    const double wrong[] = {-1, 1e-300, 1e300, NAN, INFINITY};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(sampler_set_speed(fixture->sampler, wrong[i]), -EINVAL);
}

#define PLAYBACK_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAYBACK_TEST(goes_through_the_recording_in_order),
        PLAYBACK_TEST(rests_at_the_end),
        PLAYBACK_TEST(keeps_to_its_speed),
        PLAYBACK_TEST(lets_go_of_the_recording),
        PLAYBACK_TEST(slower_means_later),
        PLAYBACK_TEST(does_not_rush_after_a_stop),
        PLAYBACK_TEST(seeks_within_the_recording),
        PLAYBACK_TEST(refuses_impossible_speeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
