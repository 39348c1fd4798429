/* The replay source: means, held values, outages, and seeking. */
#include "counter/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "record/writer.h"

static const double T0 = 1796051130;

struct tape {
    char folder[64];
    char file[96];
    struct record_writer *writer;
    struct counter *counter;
    struct frame frame;
};

static int make_tape(void **state)
{
    struct tape *tape = calloc(1, sizeof(*tape));
    if (!tape)
        return -1;
    strcpy(tape->folder, "/tmp/test_replay-XXXXXX");
    if (!mkdtemp(tape->folder))
        return -1;
    snprintf(tape->file, sizeof(tape->file), "%s/t.roof", tape->folder);
    char why[256];
    const struct record_writer_options options = {.interval = 0.1};
    if (record_writer_open(&tape->writer, tape->file, &options, why, sizeof(why)) < 0)
        return -1;
    for (unsigned i = 0; i < 2; i++) {
        struct device device = {.index = i};
        unsigned gpu;
        device_set_text(&device, DEVICE_UUID, i ? "GPU-one" : "GPU-zero");
        if (record_writer_device(tape->writer, &device, &gpu) < 0)
            return -1;
    }
    *state = tape;
    return 0;
}

static int remove_tape(void **state)
{
    struct tape *tape = *state;
    frame_free(&tape->frame);
    counter_close(tape->counter);
    unlink(tape->file);
    int r = rmdir(tape->folder);
    free(tape);
    return r;
}

static void add(struct tape *tape, unsigned gpu, double time, double interval, double tensor,
                double power)
{
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_SUPPORTED);
    sample.time = T0 + time;
    sample.interval = interval;
    if (tensor >= 0)
        sample_set(&sample, METRIC_TENSOR_ACTIVE, tensor);
    else
        sample_miss(&sample, METRIC_TENSOR_ACTIVE, ABSENT_NO_NEW_SAMPLE);
    if (power >= 0)
        sample_set(&sample, METRIC_POWER, power);
    else
        sample_miss(&sample, METRIC_POWER, ABSENT_DRIVER_ERROR);
    assert_int_equal(record_writer_sample(tape->writer, gpu, &sample), 0);
}

static void play(struct tape *tape)
{
    assert_int_equal(record_writer_close(tape->writer), 0);
    struct counter_failure failure = {0};
    assert_int_equal(replay_counter.open(&tape->counter, tape->file, &failure), 0);
    assert_int_equal(frame_init(&tape->frame, tape->counter->device_count), 0);
}

static const struct reading *collect(struct tape *tape, double until, unsigned gpu)
{
    assert_int_equal(replay_counter.collect(tape->counter, T0 + until, &tape->frame), 0);
    return &tape->frame.readings[gpu];
}

static void joins_samples_by_their_interval(void **state)
{
    struct tape *tape = *state;
    add(tape, 0, 0.1, 0.1, 0.2, 100);
    add(tape, 0, 0.4, 0.3, 0.6, 200);
    add(tape, 0, 0.5, 0.1, -1, -1);
    add(tape, 0, 0.6, 0.1, 0.7, 400);
    play(tape);
    const struct sample *sample = &collect(tape, 0.5, 0)->sample;
    /* (0.1·0.2 + 0.3·0.6) ÷ 0.4: the empty sample has no weight. */
    assert_near(sample->value[METRIC_TENSOR_ACTIVE], 0.5, 1e-9);
    assert_near(sample->interval, 0.5, 1e-9);
    assert_true(sample->value[METRIC_POWER] == 200);
    assert_true(sample->time == T0 + 0.5);
    sample = &collect(tape, 0.6, 0)->sample;
    assert_true(sample->value[METRIC_TENSOR_ACTIVE] == 0.7);
    assert_true(sample->value[METRIC_POWER] == 400);
    assert_true(sample->interval == 0.1);
    assert_int_equal(replay_counter.collect(tape->counter, T0 + 0.7, &tape->frame), -ENODATA);
}

static void add_l2(struct tape *tape, double time, enum absence absence, double l2)
{
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_SUPPORTED);
    sample.time = T0 + time;
    sample.interval = 0.1;
    sample_miss(&sample, METRIC_L2_ACTIVE, absence);
    sample_miss(&sample, METRIC_EFFECTIVE_CLOCK, absence);
    if (absence == ABSENT_NO) {
        sample_set(&sample, METRIC_L2_ACTIVE, l2);
        sample_set(&sample, METRIC_EFFECTIVE_CLOCK, 1e9);
    }
    assert_int_equal(record_writer_sample(tape->writer, 0, &sample), 0);
}

/* No burst is made while nothing runs: caches rest then, too, but a clock is none of work. */
static void counts_rest_in_a_mean(void **state)
{
    struct tape *tape = *state;
    add_l2(tape, 0.1, ABSENT_COUNTERS_IDLE, 0);
    add_l2(tape, 0.2, ABSENT_COUNTERS_IDLE, 0);
    add_l2(tape, 0.3, ABSENT_NO, 0.6);
    add_l2(tape, 0.4, ABSENT_COUNTERS_RESTING, 0); /* work that no burst has seen */
    add_l2(tape, 0.5, ABSENT_COUNTERS_IDLE, 0);
    add_l2(tape, 0.6, ABSENT_COUNTERS_IDLE, 0);
    add_l2(tape, 0.7, ABSENT_COUNTERS_IDLE, 0);
    play(tape);
    const struct sample *sample = &collect(tape, 0.5, 0)->sample;
    assert_near(sample->value[METRIC_L2_ACTIVE], 0.15, 1e-9);
    assert_near(sample->value[METRIC_EFFECTIVE_CLOCK], 1e9, 0);
    sample = &collect(tape, 0.7, 0)->sample; /* rest alone is not measured */
    assert_int_equal(sample->absent[METRIC_L2_ACTIVE], ABSENT_COUNTERS_IDLE);
}

static void gives_the_reasons(void **state)
{
    struct tape *tape = *state;
    add(tape, 0, 0.1, 0.1, -1, 100);
    add(tape, 0, 0.2, 0.1, 0.5, -1);
    add(tape, 0, 0.3, 0.1, -1, -1);
    play(tape);
    const struct sample *sample = &collect(tape, 0.15, 0)->sample;
    assert_int_equal(sample->absent[METRIC_TENSOR_ACTIVE], ABSENT_NO_NEW_SAMPLE);
    assert_int_equal(sample->absent[METRIC_L2_ACTIVE], ABSENT_NOT_SUPPORTED);
    assert_true(sample_has(sample, METRIC_POWER));
    sample = &collect(tape, 0.25, 0)->sample;
    assert_true(sample_has(sample, METRIC_TENSOR_ACTIVE));
    assert_int_equal(sample->absent[METRIC_POWER], ABSENT_DRIVER_ERROR);
    sample = &collect(tape, 0.35, 0)->sample;
    assert_int_equal(sample->absent[METRIC_TENSOR_ACTIVE], ABSENT_NO_NEW_SAMPLE);
}

static void holds_a_value_for_a_while(void **state)
{
    struct tape *tape = *state;
    add(tape, 0, 0.1, 0.1, 0.5, 100);
    add(tape, 0, 2.0, 0.1, 0.6, 100);
    add(tape, 1, 1.0, 0.1, 0.7, 100);
    play(tape);
    assert_int_equal(collect(tape, 0.15, 0)->state, READING_OK);
    assert_int_equal(tape->frame.readings[1].state, READING_NONE);
    const struct reading *reading = collect(tape, 0.3, 0);
    assert_int_equal(reading->state, READING_OK);
    assert_near(reading->age, 0.2, 1e-6);
    assert_true(reading->sample.value[METRIC_TENSOR_ACTIVE] == 0.5);
    reading = collect(tape, 1.0, 0);
    assert_int_equal(reading->state, READING_STALE);
    assert_int_equal(reading->sample.absent[METRIC_TENSOR_ACTIVE], ABSENT_STALE);
    assert_int_equal(reading->sample.absent[METRIC_L2_ACTIVE], ABSENT_NOT_SUPPORTED);
    assert_int_equal(tape->frame.readings[1].state, READING_OK);
    reading = collect(tape, 2.0, 0);
    assert_int_equal(reading->state, READING_OK);
    assert_true(reading->sample.value[METRIC_TENSOR_ACTIVE] == 0.6);
}

static void shows_outages(void **state)
{
    struct tape *tape = *state;
    struct process_list list = {.known = true, .count = 1, .process = {{.pid = 7}}};
    add(tape, 0, 0.1, 0.1, 0.5, 100);
    assert_int_equal(record_writer_processes(tape->writer, 0, T0 + 0.1, &list), 1);
    assert_int_equal(record_writer_outage(tape->writer, 0, T0 + 0.2, "lost", -ENODEV), 0);
    add(tape, 0, 3.0, 0.1, 0.6, 100);
    add(tape, 1, 3.0, 0.1, 0.6, 100);
    assert_int_equal(record_writer_outage(tape->writer, 1, T0 + 3.5, "failed", -EIO), 0);
    play(tape);
    assert_int_equal(collect(tape, 0.15, 0)->processes.count, 1);
    const struct reading *reading = collect(tape, 0.25, 0);
    assert_int_equal(reading->state, READING_LOST);
    assert_int_equal(reading->error, -ENODEV);
    assert_int_equal(reading->sample.absent[METRIC_TENSOR_ACTIVE], ABSENT_LOST);
    assert_false(reading->processes.known);
    assert_int_equal(collect(tape, 2.5, 0)->state, READING_LOST);
    assert_int_equal(collect(tape, 3.0, 0)->state, READING_OK);
    assert_int_equal(tape->frame.readings[0].processes.count, 1);
    /* The end is that of the last outage. */
    assert_int_equal(collect(tape, 3.6, 1)->state, READING_FAILED);
    assert_int_equal(replay_counter.collect(tape->counter, T0 + 4, &tape->frame), -ENODATA);
}

static void seeks(void **state)
{
    struct tape *tape = *state;
    struct process_list list = {.known = true, .count = 1, .process = {{.pid = 7}}};
    for (int n = 1; n <= 50; n++) {
        add(tape, 0, n * 0.1, 0.1, n / 100.0, n);
        add(tape, 1, n * 0.1, 0.1, n / 200.0, n);
        if (n == 20)
            assert_int_equal(record_writer_processes(tape->writer, 1, T0 + n * 0.1, &list), 1);
    }
    play(tape);
    assert_int_equal(collect(tape, 5.0, 0)->state, READING_OK);
    assert_int_equal(replay_counter.collect(tape->counter, T0 + 6, &tape->frame), -ENODATA);

    assert_int_equal(replay_counter.seek(tape->counter, T0 + 3.05), 0);
    const struct reading *reading = collect(tape, 3.06, 1);
    assert_int_equal(reading->state, READING_OK);
    assert_true(reading->sample.value[METRIC_TENSOR_ACTIVE] == 0.15);
    assert_int_equal(reading->processes.count, 1);
    reading = collect(tape, 3.25, 0);
    assert_near(reading->sample.value[METRIC_TENSOR_ACTIVE], 0.315, 1e-9);
    assert_true(reading->sample.value[METRIC_POWER] == 32);

    assert_int_equal(replay_counter.seek(tape->counter, T0 - 100), 0);
    assert_int_equal(collect(tape, 0, 0)->state, READING_NONE);
    assert_int_equal(replay_counter.seek(tape->counter, T0 + 100), 0);
    assert_int_equal(replay_counter.collect(tape->counter, T0 + 101, &tape->frame), -ENODATA);
}

static void tells_its_span_and_marks(void **state)
{
    struct tape *tape = *state;
    for (int n = 1; n <= 3; n++)
        add(tape, 0, n * 0.1, 0.1, 0.5, 1);
    assert_int_equal(record_writer_mark(tape->writer, T0 + 0.2, 0, "here"), 0);
    assert_int_equal(record_writer_meta(tape->writer, "driver_version", "580"), 0);
    play(tape);
    assert_int_equal(tape->counter->device_count, 2);
    assert_near(tape->counter->begin, T0 + 0.05, 1e-6);
    assert_near(tape->counter->end, T0 + 0.3, 1e-6);
    assert_true(tape->counter->interval == 0.1);
    assert_int_equal(tape->counter->mark_count, 1);
    assert_string_equal(tape->counter->marks[0].name, "here");
    assert_string_equal(tape->counter->driver_version, "580");
    /* Each tick has its own sample, whatever their jitter. */
    for (int n = 1; n <= 3; n++) {
        double until = tape->counter->begin + n * tape->counter->interval;
        assert_int_equal(replay_counter.collect(tape->counter, until, &tape->frame), 0);
        assert_near(tape->frame.readings[0].sample.time, T0 + n * 0.1, 1e-6);
    }
}

/* One that is still being written, stopped where samples and lists are ahead. */
static void lets_its_recorder_commit(void **state)
{
    struct tape *tape = *state;
    for (int n = 1; n <= 4; n++) {
        const struct process_list list = {.known = true, .count = 1, .process = {{.pid = n}}};
        add(tape, 0, n, 1, 0.5, 1);
        assert_true(record_writer_processes(tape->writer, 0, T0 + n, &list) >= 0);
    }
    assert_int_equal(record_writer_commit(tape->writer), 0);
    struct counter_failure failure = {0};
    assert_int_equal(replay_counter.open(&tape->counter, tape->file, &failure), 0);
    assert_int_equal(frame_init(&tape->frame, tape->counter->device_count), 0);
    collect(tape, 2, 0);
    replay_counter.rest(tape->counter);
    add(tape, 0, 5, 1, 0.5, 1);
    assert_int_equal(record_writer_commit(tape->writer), 0);
    assert_near(collect(tape, 3, 0)->sample.time, T0 + 3, 1e-6);
    assert_int_equal(record_writer_close(tape->writer), 0);
}

static void plays_an_empty_recording(void **state)
{
    struct tape *tape = *state;
    play(tape);
    assert_int_equal(replay_counter.collect(tape->counter, T0, &tape->frame), -ENODATA);
}

static void says_why_it_does_not_open(void **state)
{
    struct tape *tape = *state;
    assert_int_equal(record_writer_close(tape->writer), 0);
    struct counter_failure failure = {0};
    assert_int_equal(replay_counter.open(&tape->counter, "/no/such.roof", &failure), -EINVAL);
    assert_null(tape->counter);
    assert_string_equal(failure.reason, "/no/such.roof: No such file or directory");
    assert_non_null(strstr(failure.advice, "rooftop record"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_tape, remove_tape)
        TEST(joins_samples_by_their_interval),
        TEST(counts_rest_in_a_mean),
        TEST(gives_the_reasons),
        TEST(holds_a_value_for_a_while),
        TEST(shows_outages),
        TEST(seeks),
        TEST(tells_its_span_and_marks),
        TEST(lets_its_recorder_commit),
        TEST(plays_an_empty_recording),
        TEST(says_why_it_does_not_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
