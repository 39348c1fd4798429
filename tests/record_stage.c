#include "record_stage.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/format.h"

int record_stage_open(void **state)
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

int record_stage_close(void **state)
{
    struct folder *folder = *state;
    char command[128];
    chmod(folder->path, 0700);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder->path);
    int r = system(command);
    free(folder);
    return r;
}

struct record_writer *open_writer(struct folder *folder)
{
    struct record_writer *writer = NULL;
    const struct record_writer_options options = {.interval = 0.1};
    assert_int_equal(
        record_writer_open(&writer, folder->file, &options, folder->why, sizeof(folder->why)), 0);
    return writer;
}

struct record_reader *open_reader(struct folder *folder)
{
    struct record_reader *reader = NULL;
    int r = record_reader_open(&reader, folder->file, folder->why, sizeof(folder->why));
    if (r < 0)
        print_message("%s\n", folder->why);
    assert_int_equal(r, 0);
    return reader;
}

/* Runs SQL on the file, as anybody could. */
void alter(const struct folder *folder, const char *sql)
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

struct device example_device(unsigned index)
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
struct sample example_sample(unsigned gpu, unsigned n)
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

void assert_same_sample(const struct sample *read, const struct sample *written)
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

struct record_writer *open_with_device(struct folder *folder)
{
    struct record_writer *writer = open_writer(folder);
    struct device device = example_device(0);
    unsigned gpu;
    assert_int_equal(record_writer_device(writer, &device, &gpu), 0);
    return writer;
}

void write_samples(struct record_writer *writer, unsigned count)
{
    for (unsigned n = 0; n < count; n++) {
        struct sample sample = example_sample(0, n);
        assert_int_equal(record_writer_sample(writer, 0, &sample), 0);
    }
}
