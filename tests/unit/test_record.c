/* Recordings: what the writer wrote is what the reader reads. */
#include <errno.h>
#include <string.h>

#include "record/format.h"
#include "record_stage.h"

static void returns_samples_to_the_digit(void **state)
{
    struct folder *folder = *state;
    enum { GPUS = 3, SAMPLES = 40 };
    struct record_writer *writer = open_writer(folder);
    unsigned gpu[GPUS];
    for (unsigned i = 0; i < GPUS; i++) {
        struct device device = example_device(i);
        assert_int_equal(record_writer_device(writer, &device, &gpu[i]), 0);
        assert_int_equal(gpu[i], i);
    }
    for (unsigned n = 0; n < SAMPLES; n++)
        for (unsigned i = 0; i < GPUS; i++) {
            struct sample sample = example_sample(i, n);
            assert_int_equal(record_writer_sample(writer, gpu[i], &sample), 0);
            /* Not new: left out. */
            assert_int_equal(record_writer_sample(writer, gpu[i], &sample), 0);
        }
    assert_int_equal(record_writer_samples(writer), GPUS * SAMPLES);
    assert_int_equal(record_writer_close(writer), 0);

    struct record_reader *reader = open_reader(folder);
    assert_int_equal(record_reader_device_count(reader), GPUS);
    assert_true(record_reader_begin(reader) == T0);
    assert_true(record_reader_interval(reader) == 0.1);
    for (unsigned n = 0; n < SAMPLES; n++)
        for (unsigned i = 0; i < GPUS; i++) {
            struct sample read, written = example_sample(i, n);
            size_t device;
            assert_int_equal(record_reader_sample(reader, written.time, &device, &read), 1);
            assert_int_equal(device, i);
            assert_same_sample(&read, &written);
        }
    struct sample read;
    size_t device;
    assert_int_equal(record_reader_sample(reader, 1e11, &device, &read), 0);

    /* And back to the middle, with the reasons that were in force there. */
    struct sample middle = example_sample(1, 20), next = example_sample(2, 20);
    assert_int_equal(record_reader_seek(reader, middle.time), 0);
    assert_int_equal(record_reader_sample_at(reader, 1, middle.time, &read), 1);
    assert_same_sample(&read, &middle);
    assert_int_equal(record_reader_sample(reader, 1e11, &device, &read), 1);
    assert_int_equal(device, 2);
    assert_same_sample(&read, &next);
    record_reader_close(reader);
}

static void returns_facts_of_devices(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_writer(folder);
    struct device written = example_device(4), other = example_device(2);
    unsigned gpu;
    assert_int_equal(record_writer_device(writer, &written, &gpu), 0);
    assert_int_equal(record_writer_device(writer, &other, &gpu), 0);
    assert_int_equal(gpu, 1);
    assert_int_equal(record_writer_device(writer, &written, &gpu), 0);
    assert_int_equal(gpu, 0);
    /* Where the driver tells no UUID, the number tells them apart. */
    struct device nameless = {.index = 6}, another = {.index = 7};
    assert_int_equal(record_writer_device(writer, &nameless, &gpu), 0);
    assert_int_equal(gpu, 2);
    assert_int_equal(record_writer_device(writer, &another, &gpu), 0);
    assert_int_equal(gpu, 3);
    assert_int_equal(record_writer_device(writer, &nameless, &gpu), 0);
    assert_int_equal(gpu, 2);
    assert_int_equal(record_writer_meta(writer, "driver_version", "580.159.04"), 0);
    assert_int_equal(record_writer_close(writer), 0);

    struct record_reader *reader = open_reader(folder);
    assert_int_equal(record_reader_device_count(reader), 4);
    const struct device *read = record_reader_devices(reader);
    assert_int_equal(read->index, 4);
    assert_int_equal(read->known, written.known);
    for (int i = 0; i < DEVICE_TEXT_COUNT; i++)
        assert_string_equal(read->text[i], written.text[i]);
    for (int i = 0; i < DEVICE_NUMBER_COUNT; i++)
        assert_true(read->number[i] == written.number[i]);
    char value[32];
    record_reader_meta(reader, "driver_version", value, sizeof(value));
    assert_string_equal(value, "580.159.04");
    record_reader_meta(reader, "nonsense", value, sizeof(value));
    assert_string_equal(value, "");
    record_reader_close(reader);
}

static void returns_processes(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    struct process_list none = {.known = true};
    struct process_list two = {
        .known = true,
        .count = 2,
        .process = {{.pid = 7,
                     .kinds = PROCESS_COMPUTE | PROCESS_MPS_CLIENT,
                     .memory_known = true,
                     .memory_bytes = UINT64_C(143) << 30,
                     .sm_known = true,
                     .sm_ratio = 0.25},
                    {.pid = 9, .kinds = PROCESS_GRAPHICS}},
    };
    struct process_list more = two, unknown = {0};
    more.process[0].memory_bytes = 5;
    assert_int_equal(record_writer_processes(writer, 0, T0, &none), 1);
    assert_int_equal(record_writer_processes(writer, 0, T0 + 0.1, &none), 0);
    assert_int_equal(record_writer_processes(writer, 0, T0 + 0.2, &two), 1);
    /* Only the memory changed: once a second. */
    assert_int_equal(record_writer_processes(writer, 0, T0 + 0.3, &more), 0);
    assert_int_equal(record_writer_processes(writer, 0, T0 + 1.3, &more), 0);
    assert_int_equal(record_writer_processes(writer, 0, T0 + 1.4, &unknown), 1);
    struct process_description told = {.start_time = T0 - 60,
                                       .user = "alice",
                                       .command = "python train.py",
                                       .container = "c",
                                       .cgroup = "/slice"};
    assert_int_equal(record_writer_process_info(writer, 7, &told), 0);
    assert_int_equal(record_writer_process_info(writer, 7, &told), 0);
    assert_int_equal(record_writer_close(writer), 0);

    struct record_reader *reader = open_reader(folder);
    struct process_list read;
    size_t gpu;
    assert_int_equal(record_reader_processes(reader, T0 + 0.1, &gpu, &read), 1);
    assert_true(read.known);
    assert_int_equal(read.count, 0);
    assert_int_equal(record_reader_processes(reader, T0 + 0.1, &gpu, &read), 0);
    assert_int_equal(record_reader_processes(reader, T0 + 9, &gpu, &read), 1);
    assert_int_equal(read.count, 2);
    assert_int_equal(read.process[0].pid, 7);
    assert_int_equal(read.process[0].kinds, PROCESS_COMPUTE | PROCESS_MPS_CLIENT);
    assert_true(read.process[0].memory_known);
    assert_true(read.process[0].memory_bytes == UINT64_C(143) << 30);
    assert_false(read.process[1].memory_known);
    assert_true(read.process[0].sm_known);
    assert_float_equal(read.process[0].sm_ratio, 0.25, 0);
    assert_false(read.process[1].sm_known);
    assert_int_equal(record_reader_processes(reader, T0 + 9, &gpu, &read), 1);
    assert_true(read.process[0].memory_bytes == 5);
    assert_int_equal(record_reader_processes(reader, T0 + 9, &gpu, &read), 1);
    assert_false(read.known);
    assert_int_equal(record_reader_processes(reader, T0 + 9, &gpu, &read), 0);
    assert_int_equal(record_reader_processes_at(reader, 0, T0 + 0.5, &read), 1);
    assert_int_equal(read.count, 2);

    struct process_description description;
    assert_true(record_reader_describe(reader, 7, T0, &description));
    assert_string_equal(description.command, "python train.py");
    assert_string_equal(description.user, "alice");
    assert_true(description.start_time == T0 - 60);
    assert_false(record_reader_describe(reader, 7, T0 - 61, &description));
    assert_false(record_reader_describe(reader, 9, T0, &description));
    record_reader_close(reader);
}

static void returns_marks_in_order(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    assert_int_equal(record_writer_mark(writer, T0 + 5, 0, "moment"), 0);
    assert_int_equal(record_writer_mark(writer, T0 + 1, T0 + 3, "span — with 'quotes'"), 0);
    assert_int_equal(record_writer_close(writer), 0);
    struct record_reader *reader = open_reader(folder);
    assert_int_equal(record_reader_mark_count(reader), 2);
    const struct mark *marks = record_reader_marks(reader);
    assert_string_equal(marks[0].name, "span — with 'quotes'");
    assert_true(marks[0].end == T0 + 3);
    assert_string_equal(marks[1].name, "moment");
    assert_true(marks[1].end == marks[1].time);
    record_reader_close(reader);
}

static void returns_outages(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 5);
    assert_int_equal(record_writer_outage(writer, 0, T0 + 8, "lost", -ENODEV), 0);
    assert_int_equal(record_writer_close(writer), 0);
    struct record_reader *reader = open_reader(folder);
    assert_true(record_reader_end(reader) == T0 + 8);
    struct record_outage outage;
    assert_int_equal(record_reader_outage(reader, T0 + 7, &outage), 0);
    assert_int_equal(record_reader_outage(reader, T0 + 8, &outage), 1);
    assert_string_equal(outage.state, "lost");
    assert_int_equal(outage.error, -ENODEV);
    record_reader_close(reader);
}

/* A newer Rooftop has added a column and a table, an older one lacked a column and tables. */
static void takes_other_columns(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    alter(folder, "ALTER TABLE sample ADD COLUMN flux_ratio REAL; UPDATE sample SET flux_ratio = 1;"
                  "ALTER TABLE sample DROP COLUMN power_watts; CREATE TABLE later (x);"
                  "ALTER TABLE device DROP COLUMN name; ALTER TABLE device ADD COLUMN colour TEXT;"
                  "DROP TABLE outage; DROP TABLE mark; DROP TABLE process_list;"
                  "DROP TABLE process_info; DROP TABLE absence");
    struct record_reader *reader = open_reader(folder);
    struct sample read, written = example_sample(0, 0);
    size_t gpu;
    assert_int_equal(record_reader_sample(reader, 1e11, &gpu, &read), 1);
    assert_int_equal(read.absent[METRIC_POWER], ABSENT_NOT_RECORDED);
    assert_true(read.value[METRIC_ENERGY] == written.value[METRIC_ENERGY]);
    struct process_list list;
    assert_int_equal(record_reader_processes(reader, 1e11, &gpu, &list), 0);
    assert_int_equal(record_reader_processes_at(reader, 0, 1e11, &list), 0);
    struct process_description description;
    assert_false(record_reader_describe(reader, 1, 1e11, &description));
    assert_string_equal(record_reader_devices(reader)->text[DEVICE_NAME], "");
    record_reader_close(reader);
}

static void leaves_out_what_makes_no_sense(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    alter(folder,
          "DELETE FROM absence;"
          "INSERT INTO sample(time, gpu) VALUES (-1, 0), (9e999, 0), ('soon', 0), (x'00', 0),"
          " (1796051132.5, 77), (1796051132.6, 'x'), (1796051132.7, -1);"
          "UPDATE sample SET sm_active_ratio = 'busy', power_watts = 9e999, energy_joules_total = "
          "-4, fan_speed_ratio = 1e6, temperature_celsius = -3, interval = -1;"
          "INSERT INTO mark VALUES (1, 'never', 2, 'a'), (2, 5, 'x', 'b'), (3, 6, 7, ''),"
          " (4, 8, 7, x'0102'), (5, 9, 1, 'c' || char(27) || '[2J');"
          "INSERT INTO absence VALUES (1, 0, 'nonsense', 'lost'), (1, 55, 'power_watts', 'lost'),"
          " (1, 0, 'l2_active_ratio', 'whatever');"
          "INSERT INTO outage VALUES (1, 99, 'lost', 1);");
    struct record_reader *reader = open_reader(folder);
    assert_int_equal(record_reader_device_count(reader), 1);
    assert_int_equal(record_reader_mark_count(reader), 2);
    assert_string_equal(record_reader_marks(reader)[0].name, "b");
    assert_true(record_reader_marks(reader)[0].end == 5);
    assert_null(strchr(record_reader_marks(reader)[1].name, 27));
    struct sample read;
    size_t gpu;
    int count = 0;
    while (record_reader_sample(reader, 1e13, &gpu, &read) == 1) {
        count++;
        assert_true(read.time >= T0 && read.time < T0 + 1);
        assert_true(read.interval == 0.1);
        assert_int_equal(read.absent[METRIC_SM_ACTIVE], ABSENT_NOT_PLAUSIBLE);
        assert_int_equal(read.absent[METRIC_POWER], ABSENT_NOT_PLAUSIBLE);
        assert_int_equal(read.absent[METRIC_ENERGY], ABSENT_NOT_PLAUSIBLE);
        assert_int_equal(read.absent[METRIC_FAN_SPEED], ABSENT_NOT_PLAUSIBLE);
        assert_int_equal(read.absent[METRIC_TEMPERATURE], ABSENT_NO);
    }
    assert_int_equal(count, 3);
    record_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, record_stage_open, record_stage_close)
        TEST(returns_samples_to_the_digit),
        TEST(returns_facts_of_devices),
        TEST(returns_processes),
        TEST(returns_marks_in_order),
        TEST(returns_outages),
        TEST(takes_other_columns),
        TEST(leaves_out_what_makes_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
