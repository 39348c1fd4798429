/* Recordings: what the writer wrote is what the reader reads, and files that are wrong. */
#include "record/reader.h"
#include "record/writer.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "record/format.h"

static const double T0 = 1796051131.9413; /* has no exact double */

struct folder {
    char path[64];
    char file[96];
    char why[512];
};

static int make_folder(void **state)
{
    struct folder *folder = calloc(1, sizeof(*folder));
    if (!folder)
        return -1;
    strcpy(folder->path, "/tmp/test_record-XXXXXX");
    if (!mkdtemp(folder->path))
        return -1;
    snprintf(folder->file, sizeof(folder->file), "%s/t.roof", folder->path);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;
    char command[128];
    chmod(folder->path, 0700);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder->path);
    int r = system(command);
    free(folder);
    return r;
}

static struct record_writer *open_writer(struct folder *folder)
{
    struct record_writer *writer = NULL;
    const struct record_writer_options options = {.interval = 0.1};
    assert_int_equal(
        record_writer_open(&writer, folder->file, &options, folder->why, sizeof(folder->why)), 0);
    return writer;
}

static struct record_reader *open_reader(struct folder *folder)
{
    struct record_reader *reader = NULL;
    int r = record_reader_open(&reader, folder->file, folder->why, sizeof(folder->why));
    if (r < 0)
        print_message("%s\n", folder->why);
    assert_int_equal(r, 0);
    return reader;
}

static void expect_refusal(struct folder *folder, int error, const char *reason)
{
    struct record_reader *reader = NULL;
    int r = record_reader_open(&reader, folder->file, folder->why, sizeof(folder->why));
    assert_int_equal(r, error);
    assert_null(reader);
    if (!strstr(folder->why, reason))
        print_message("%s\n", folder->why);
    assert_non_null(strstr(folder->why, reason));
    assert_non_null(strstr(folder->why, folder->file));
}

/* Runs SQL on the file, as anybody could. */
static void alter(const struct folder *folder, const char *sql)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open(folder->file, &database), SQLITE_OK);
    char *error = NULL;
    int code = sqlite3_exec(database, sql, NULL, NULL, &error);
    if (code != SQLITE_OK)
        print_message("%s: %s\n", sql, error);
    assert_int_equal(code, SQLITE_OK);
    sqlite3_close(database);
}

static struct device example_device(unsigned index)
{
    struct device device = {.index = index};
    char uuid[64];
    snprintf(uuid, sizeof(uuid), "GPU-00000000-0000-4000-8000-00000000000%u", index);
    device_set_text(&device, DEVICE_UUID, uuid);
    device_set_text(&device, DEVICE_NAME, "NVIDIA H200");
    device_set_number(&device, DEVICE_SM_COUNT, 132);
    device_set_number(&device, DEVICE_MAX_SM_CLOCK, 1.98e9);
    device_set_number(&device, DEVICE_MIG_ENABLED, 0);
    return device;
}

/* Values that a double holds only just, and absences of every kind. */
static struct sample example_sample(unsigned gpu, unsigned n)
{
    struct sample sample;
    sample_reset(&sample, ABSENT_NOT_SUPPORTED);
    sample.time = T0 + n * 0.1 + gpu * 0.003;
    sample.interval = 0.1004 + n * 1e-5;
    struct record_columns columns = record_columns();
    for (size_t i = 0; i < columns.count; i++) {
        enum metric metric = columns.metric[i];
        if ((i + n + gpu) % 5 == 0)
            sample_miss(&sample, metric, (enum absence)(1 + (i + n / 7) % (ABSENCE_COUNT - 1)));
        else
            sample_set(&sample, metric, 1.0 / (double)(i + 3 * n + gpu + 1));
    }
    return sample;
}

static void assert_same_sample(const struct sample *read, const struct sample *written)
{
    assert_true(read->time == written->time);
    assert_true(read->interval == written->interval);
    struct record_columns columns = record_columns();
    for (size_t i = 0; i < columns.count; i++) {
        enum metric metric = columns.metric[i];
        assert_int_equal(read->absent[metric], written->absent[metric]);
        if (sample_has(written, metric))
            assert_true(read->value[metric] == written->value[metric]);
    }
}

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
    assert_int_equal(record_writer_meta(writer, "driver_version", "580.159.04"), 0);
    assert_int_equal(record_writer_close(writer), 0);

    struct record_reader *reader = open_reader(folder);
    assert_int_equal(record_reader_device_count(reader), 2);
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

static struct record_writer *open_with_device(struct folder *folder)
{
    struct record_writer *writer = open_writer(folder);
    struct device device = example_device(0);
    unsigned gpu;
    assert_int_equal(record_writer_device(writer, &device, &gpu), 0);
    return writer;
}

static void write_samples(struct record_writer *writer, unsigned count)
{
    for (unsigned n = 0; n < count; n++) {
        struct sample sample = example_sample(0, n);
        assert_int_equal(record_writer_sample(writer, 0, &sample), 0);
    }
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

static void refuses_what_is_no_recording(void **state)
{
    struct folder *folder = *state;
    expect_refusal(folder, -ENOENT, "No such file");
    assert_int_equal(mkdir(folder->file, 0700), 0);
    expect_refusal(folder, -EISDIR, "Is a directory");
    assert_int_equal(rmdir(folder->file), 0);
    assert_int_equal(mkfifo(folder->file, 0600), 0);
    expect_refusal(folder, -EINVAL, "no regular file");
    assert_int_equal(unlink(folder->file), 0);

    FILE *file = fopen(folder->file, "w");
    assert_non_null(file);
    fclose(file);
    expect_refusal(folder, -EBADMSG, "the file is empty");
    file = fopen(folder->file, "w");
    for (int i = 0; i < 1000; i++)
        fprintf(file, "this is no database\n");
    fclose(file);
    expect_refusal(folder, -EBADMSG, "this is no recording");
    assert_int_equal(unlink(folder->file), 0);
    alter(folder, "CREATE TABLE sample (time, gpu)");
    expect_refusal(folder, -EBADMSG, "no recording of Rooftop");
}

static void knows_its_version(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    alter(folder, "PRAGMA user_version = 2");
    expect_refusal(folder, -ENOTSUP, "written in format 2");
    alter(folder, "PRAGMA user_version = 1; DROP TABLE sample");
    expect_refusal(folder, -EBADMSG, "lacks its tables");
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

/* Views and virtual tables would run the file's own SQL. */
static void runs_nothing_of_the_file(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    alter(folder,
          "DROP TABLE mark; CREATE VIEW mark AS WITH RECURSIVE n(time) AS (SELECT 1 UNION "
          "ALL SELECT time + 1 FROM n) SELECT time, time AS id, time AS \"end\", 'x' AS name "
          "FROM n");
    struct record_reader *reader = open_reader(folder);
    assert_int_equal(record_reader_mark_count(reader), 0);
    record_reader_close(reader);
    alter(folder,
          "ALTER TABLE sample RENAME TO hidden; CREATE VIEW sample AS SELECT * FROM hidden");
    expect_refusal(folder, -EBADMSG, "lacks its tables");
}

static void replaces_only_when_told(void **state)
{
    struct folder *folder = *state;
    assert_int_equal(record_writer_close(open_with_device(folder)), 0);
    struct record_writer *writer = NULL;
    struct record_writer_options options = {.interval = 0.1};
    assert_int_equal(
        record_writer_open(&writer, folder->file, &options, folder->why, sizeof(folder->why)),
        -EEXIST);
    assert_null(writer);
    options.replace = true;
    assert_int_equal(
        record_writer_open(&writer, folder->file, &options, folder->why, sizeof(folder->why)), 0);
    assert_int_equal(record_writer_close(writer), 0);
    struct record_reader *reader = open_reader(folder);
    assert_int_equal(record_reader_device_count(reader), 0);
    record_reader_close(reader);
}

/* What was committed can be read while the recorder goes on, and a reader that holds the file
 * delays the recorder but loses nothing. */
static void is_read_while_it_is_written(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_commit(writer), 0);
    struct sample sample = example_sample(0, 3), read;
    assert_int_equal(record_writer_sample(writer, 0, &sample), 0);

    struct record_reader *reader = open_reader(folder);
    size_t gpu;
    assert_int_equal(record_reader_sample(reader, 1e11, &gpu, &read), 1);
    assert_int_equal(record_writer_commit(writer), -EBUSY);
    assert_int_equal(record_reader_sample(reader, 1e11, &gpu, &read), 1);
    /* A reader that waits for later samples lets the file go. */
    usleep(25000);
    assert_int_equal(record_reader_sample(reader, T0, &gpu, &read), 0);
    assert_int_equal(record_writer_commit(writer), 0);
    assert_int_equal(record_reader_sample(reader, 1e11, &gpu, &read), 1);
    assert_near(read.time, T0 + 0.2, 1e-6);
    record_reader_close(reader);
    assert_int_equal(record_writer_close(writer), 0);
    reader = open_reader(folder);
    for (int i = 0; i < 4; i++)
        assert_int_equal(record_reader_sample(reader, 1e11, &gpu, &read), 1);
    assert_same_sample(&read, &sample);
    record_reader_close(reader);
}

static int count_samples(struct folder *folder)
{
    struct record_reader *reader = open_reader(folder);
    struct sample read;
    size_t gpu;
    int count = 0;
    while (record_reader_sample(reader, 1e11, &gpu, &read) == 1)
        count++;
    record_reader_close(reader);
    return count;
}

enum { NOBODY = 65534 };

/* root could write all the same, so the test steps down for a while. */
static void become_nobody(const struct folder *folder)
{
    assert_int_equal(chmod(folder->file, 0444), 0);
    assert_int_equal(chmod(folder->path, 0555), 0);
    if (geteuid() == 0)
        assert_int_equal(seteuid(NOBODY), 0);
}

static void become_oneself(void)
{
    if (getuid() == 0)
        assert_int_equal(seteuid(0), 0);
}

static void opens_where_nothing_can_be_written(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    become_nobody(folder);
    int count = count_samples(folder);
    become_oneself();
    assert_int_equal(count, 3);
}

/* As a recorder leaves it that is killed in the middle of a commit: some pages are written, and
 * the journal takes them back. */
static void leave_hot_journal(struct folder *folder)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open(folder->file, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database,
                                  "PRAGMA journal_mode = TRUNCATE; PRAGMA cache_size = 1;"
                                  "PRAGMA cache_spill = 1; BEGIN;"
                                  "UPDATE sample SET power_watts = 12345;"
                                  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                                  "LIMIT 3000) INSERT INTO sample (time, gpu) SELECT 2e9 + i, 0 "
                                  "FROM n",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    char command[512], copy[96];
    snprintf(copy, sizeof(copy), "%s/copy.roof", folder->path);
    snprintf(command, sizeof(command), "cp %s %s && cp %s-journal %s-journal", folder->file, copy,
             folder->file, copy);
    assert_int_equal(system(command), 0);
    sqlite3_close(database);
    strcpy(folder->file, copy);
}

static void rolls_back_a_killed_commit(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 30);
    assert_int_equal(record_writer_close(writer), 0);
    leave_hot_journal(folder);
    become_nobody(folder);
    int count = count_samples(folder);
    become_oneself();
    assert_int_equal(count, 30);
    assert_int_equal(chmod(folder->path, 0755), 0);
    assert_int_equal(chmod(folder->file, 0644), 0);
    assert_int_equal(count_samples(folder), 30);
}

/* Somebody has put the file into WAL mode, in which SQLite wants to make files beside it. */
static void opens_another_journal_mode(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    alter(folder, "PRAGMA journal_mode = WAL");
    become_nobody(folder);
    int count = count_samples(folder);
    become_oneself();
    assert_int_equal(count, 3);
}

/* The writer keeps what the file holds, and says the same from then on. */
static void keeps_what_it_has_when_the_disk_is_full(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 30);
    assert_int_equal(record_writer_commit(writer), 0);
    struct rlimit unlimited, little = {.rlim_cur = 80 << 10, .rlim_max = RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    little.rlim_max = unlimited.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    int r = 0;
    for (unsigned n = 30; n < 2000 && r == 0; n++) {
        struct sample sample = example_sample(0, n);
        r = record_writer_sample(writer, 0, &sample);
        if (r == 0 && n % 10 == 0)
            r = record_writer_commit(writer);
    }
    struct sample sample = example_sample(0, 3000);
    int again = record_writer_sample(writer, 0, &sample);
    int closed = record_writer_close(writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    assert_true(r < 0);
    assert_int_equal(again, r);
    assert_int_equal(closed, r);
    assert_true(count_samples(folder) >= 30);
}

static const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)
    TEST(returns_samples_to_the_digit),
    TEST(returns_facts_of_devices),
    TEST(returns_processes),
    TEST(returns_marks_in_order),
    TEST(returns_outages),
    TEST(refuses_what_is_no_recording),
    TEST(knows_its_version),
    TEST(takes_other_columns),
    TEST(leaves_out_what_makes_no_sense),
    TEST(runs_nothing_of_the_file),
    TEST(replaces_only_when_told),
    TEST(is_read_while_it_is_written),
    TEST(opens_where_nothing_can_be_written),
    TEST(rolls_back_a_killed_commit),
    TEST(opens_another_journal_mode),
    TEST(keeps_what_it_has_when_the_disk_is_full),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
