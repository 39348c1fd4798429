/* A live monitor into a recording: devices that come, fail and are lost. The linker gives the
 * monitor the test's own sources (-Wl,--wrap=counter_open,--wrap=sampler_start). */
#include "monitor/recording.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "record/mark_socket.h"
#include "record/reader.h"
#include "record/writer.h"
#include "scripted.h"

enum { PATIENCE_SECONDS = 20, FRAMES = 5, ENOUGH_SAMPLES = 10 };

static struct scripted sources[2];
static size_t opened;

int __wrap_counter_open(struct counter **ret, const char *source, struct counter_failure *failure);

int __wrap_counter_open(struct counter **ret, const char *source, struct counter_failure *failure)
{
    (void)source;
    (void)failure;
    *ret = &sources[opened++].counter;
    return 0;
}

struct studio {
    char folder[64];
    char file[96];
    struct monitor *monitor;
    struct recording *recording;
    struct mark told; /* of the last mark from outside */
};

static void note_mark(void *context, const struct mark *mark)
{
    struct studio *studio = context;
    studio->told = *mark;
}

static int set_up(void **state)
{
    struct studio *studio = calloc(1, sizeof(*studio));
    if (!studio)
        return -1;
    strcpy(studio->folder, "/tmp/test_recording-XXXXXX");
    if (!mkdtemp(studio->folder))
        return -1;
    snprintf(studio->file, sizeof(studio->file), "%s/t.roof", studio->folder);
    setenv("ROOFTOP_RUNTIME_DIR", studio->folder, 1);
    opened = 0;
    scripted_init(&sources[0], 2);
    scripted_init(&sources[1], 3);
    const struct monitor_config config = {.source = "nvml", .interval = 0.02};
    struct counter_failure failure;
    *state = studio;
    if (monitor_open(&studio->monitor, &config, &failure) < 0)
        return -1;
    const struct recording_options options = {
        .redact = true, .on_mark = note_mark, .context = studio};
    return recording_start(&studio->recording, studio->monitor, studio->file, &options, &failure);
}

static int tear_down(void **state)
{
    struct studio *studio = *state;
    monitor_close(studio->monitor);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", studio->folder);
    int r = system(command);
    free(studio);
    return r;
}

static void record_frame(struct studio *studio)
{
    assert_int_equal(monitor_wait(studio->monitor, PATIENCE_SECONDS), 1);
    assert_int_equal(recording_add(studio->recording), 0);
}

static void record_until(struct studio *studio, size_t device, enum reading_state state)
{
    do
        record_frame(studio);
    while (monitor_reading(studio->monitor, device)->state != state);
}

static struct record_reader *read_back(struct studio *studio)
{
    assert_int_equal(recording_stop(studio->recording), 0);
    struct record_reader *reader = NULL;
    char why[256];
    assert_int_equal(record_reader_open(&reader, studio->file, why, sizeof(why)), 0);
    return reader;
}

static void samples_are_written_once(void **state)
{
    struct studio *studio = *state;
    record_until(studio, 0, READING_OK);
    record_until(studio, 1, READING_OK);
    const struct record_writer *writer = recording_writer(studio->recording);
    while (record_writer_samples(writer) < ENOUGH_SAMPLES)
        record_frame(studio);
    size_t written = record_writer_samples(writer);
    struct record_reader *reader = read_back(studio);
    double last[2] = {0};
    size_t gpu, count = 0;
    struct sample sample;
    for (; record_reader_sample(reader, 1e11, &gpu, &sample) == 1; count++) {
        assert_true(sample.time > last[gpu]);
        last[gpu] = sample.time;
        assert_true(sample.value[METRIC_TEMPERATURE] == (double)gpu);
    }
    assert_int_equal(count, written);
    record_reader_close(reader);
}

static void a_lost_device_is_an_outage(void **state)
{
    struct studio *studio = *state;
    record_until(studio, 1, READING_OK);
    SCRIPTED_SET(&sources[0], device[1].error, -ENODEV);
    record_until(studio, 1, READING_LOST);
    for (int i = 0; i < FRAMES; i++)
        record_frame(studio);
    struct record_reader *reader = read_back(studio);
    struct record_outage outage;
    unsigned lost = 0;
    while (record_reader_outage(reader, 1e11, &outage) == 1) {
        if (strcmp(outage.state, "stale") == 0)
            continue; /* a machine that is busy may hold up any thread */
        assert_int_equal(outage.gpu, 1);
        assert_string_equal(outage.state, "lost");
        assert_int_equal(outage.error, -ENODEV);
        lost++;
    }
    /* Told once, however long it lasts. */
    assert_int_equal(lost, 1);
    record_reader_close(reader);
}

static void devices_that_come_are_added(void **state)
{
    struct studio *studio = *state;
    record_until(studio, 0, READING_OK);
    SCRIPTED_SET(&sources[0], devices_changed, true);
    unsigned before = monitor_generation(studio->monitor);
    while (monitor_generation(studio->monitor) == before) {
        struct pollfd poll_fd = {.fd = monitor_fd(studio->monitor), .events = POLLIN};
        assert_int_equal(poll(&poll_fd, 1, PATIENCE_SECONDS * 1000), 1);
        assert_true(monitor_next(studio->monitor) >= 0);
    }
    record_until(studio, 2, READING_OK);
    struct record_reader *reader = read_back(studio);
    assert_int_equal(record_reader_device_count(reader), 3);
    bool seen[3] = {false};
    size_t gpu;
    struct sample sample;
    while (record_reader_sample(reader, 1e11, &gpu, &sample) == 1) {
        assert_true(sample.value[METRIC_TEMPERATURE] == (double)gpu);
        seen[gpu] = true;
    }
    assert_true(seen[0] && seen[2]);
    record_reader_close(reader);
}

static void marks_come_from_here_and_from_outside(void **state)
{
    struct studio *studio = *state;
    record_frame(studio);
    double now = monitor_time(studio->monitor);
    assert_int_equal(recording_mark(studio->recording, now, now + 2, "a span"), 0);
    struct mark mark = {.time = now + 1, .end = now + 1, .name = "from outside"};
    unsigned taken, silent;
    /* The recorder, which is this same thread, cannot answer until it records again. */
    assert_int_equal(mark_send(&mark, &taken, &silent), 0);
    assert_int_equal(taken, 0);
    assert_int_equal(silent, 1);
    record_frame(studio);
    assert_int_equal(recording_mark_count(studio->recording), 2);
    assert_string_equal(studio->told.name, "from outside");
    struct record_reader *reader = read_back(studio);
    assert_int_equal(record_reader_mark_count(reader), 2);
    const struct mark *marks = record_reader_marks(reader);
    assert_string_equal(marks[0].name, "a span");
    assert_near(marks[0].end - marks[0].time, 2, 1e-6);
    assert_string_equal(marks[1].name, "from outside");
    assert_near(marks[1].time, now + 1, 1e-5);
    record_reader_close(reader);
    assert_int_equal(mark_send(&mark, &taken, &silent), 0);
    assert_int_equal(silent, 0);
    mark.name[0] = '\0';
    assert_int_equal(mark_send(&mark, &taken, &silent), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
        TEST(samples_are_written_once),
        TEST(a_lost_device_is_an_outage),
        TEST(devices_that_come_are_added),
        TEST(marks_come_from_here_and_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
