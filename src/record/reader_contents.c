#include "record/reader_contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "record/database.h"

/* More of these than any real recording has: a hostile one stops there. */
enum {
    ABSENCE_LIMIT = 1 << 20,
    OUTAGE_LIMIT = 1 << 16,
    MARK_LIMIT = 1 << 16,
    SPACING_SAMPLES = 4096,
};
static const double LONGEST_INTERVAL = 1e6;

/* Appends a zeroed element to an array that has `count`; NULL where memory is short. */
static void *append(void *array_pointer, size_t count, size_t size)
{
    char **array = array_pointer;
    if ((count & (count - 1)) == 0) {
        char *grown = reallocarray(*array, count ? 2 * count : 1, size);
        if (!grown)
            return NULL;
        *array = grown;
    }
    return memset(*array + count * size, 0, size);
}

static void read_device_column(sqlite3_stmt *statement, int column, struct device *device)
{
    const char *name = sqlite3_column_name(statement, column);
    for (size_t i = 0; i < DEVICE_TEXT_COUNT; i++)
        if (strcmp(name, device_text_field((enum device_text)i)->name) == 0)
            reader_text(statement, column, device->text[i], DEVICE_TEXT_SIZE);
    for (size_t i = 0; i < DEVICE_NUMBER_COUNT; i++)
        if (strcmp(name, device_number_field((enum device_number)i)->name) == 0)
            device_set_number(device, (enum device_number)i, reader_number(statement, column, NAN));
}

static int add_device(struct record_reader *reader, sqlite3_stmt *statement, int gpu_column,
                      int index_column)
{
    int64_t gpu = reader_integer(statement, gpu_column, 0, INT32_MAX, -1);
    if (gpu < 0 || (reader->device_count && gpu <= reader->gpu[reader->device_count - 1]))
        return 0;
    struct device *device = append(&reader->devices, reader->device_count, sizeof(*device));
    int64_t *number_in_file = append(&reader->gpu, reader->device_count, sizeof(*number_in_file));
    if (!device || !number_in_file)
        return -ENOMEM;
    *number_in_file = gpu;
    device->index = (unsigned)reader_integer(statement, index_column, 0, INT32_MAX, gpu);
    for (int i = 0; i < sqlite3_column_count(statement); i++)
        read_device_column(statement, i, device);
    reader->device_count++;
    return 0;
}

static int load_devices(struct record_reader *reader)
{
    sqlite3_stmt *statement;
    int r = reader_prepare(reader, &statement, "SELECT gpu, gpu_index, * FROM device ORDER BY gpu");
    if (r < 0)
        return r;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW && r == 0 &&
           reader->device_count < RECORD_DEVICE_LIMIT)
        r = add_device(reader, statement, 0, 1);
    if (r == 0)
        r = database_error(code);
    sqlite3_finalize(statement);
    reader->blank = calloc(reader->device_count + 1, sizeof(*reader->blank));
    return r == 0 && !reader->blank ? -ENOMEM : r;
}

static int add_mark(struct record_reader *reader, sqlite3_stmt *statement)
{
    double time = reader_number(statement, 0, NAN);
    double end = reader_number(statement, 1, time);
    char name[MARK_NAME_SIZE];
    reader_text(statement, 2, name, sizeof(name));
    if (!(time > 0) || !name[0] || reader->mark_count == MARK_LIMIT)
        return 0;
    struct mark *mark = append(&reader->marks, reader->mark_count, sizeof(*mark));
    if (!mark)
        return -ENOMEM;
    mark->time = time;
    mark->end = end > time ? end : time;
    memcpy(mark->name, name, sizeof(name));
    reader->mark_count++;
    return 0;
}

static int add_absence(struct record_reader *reader, sqlite3_stmt *statement)
{
    int gpu = reader_find_gpu(reader, reader_integer(statement, 1, 0, INT32_MAX, -1));
    char name[64], word[32];
    reader_text(statement, 2, name, sizeof(name));
    reader_text(statement, 3, word, sizeof(word));
    enum metric metric = metric_by_name(name);
    enum absence reason = absence_by_word(word);
    if (gpu < 0 || metric == METRIC_COUNT || reader->absence_count == ABSENCE_LIMIT)
        return 0;
    struct absence_row *row = append(&reader->absences, reader->absence_count, sizeof(*row));
    if (!row)
        return -ENOMEM;
    row->time = reader_number(statement, 0, 0);
    row->gpu = (uint16_t)gpu;
    row->metric = (uint8_t)metric;
    row->reason = (uint8_t)(reason == ABSENT_NO ? ABSENT_NOT_RECORDED : reason);
    reader->absence_count++;
    return 0;
}

static int add_outage(struct record_reader *reader, sqlite3_stmt *statement)
{
    int gpu = reader_find_gpu(reader, reader_integer(statement, 1, 0, INT32_MAX, -1));
    if (gpu < 0 || reader->outage_count == OUTAGE_LIMIT)
        return 0;
    struct record_outage *outage = append(&reader->outages, reader->outage_count, sizeof(*outage));
    if (!outage)
        return -ENOMEM;
    outage->time = reader_number(statement, 0, 0);
    outage->gpu = (size_t)gpu;
    reader_text(statement, 2, outage->state, sizeof(outage->state));
    outage->error = -(int)reader_integer(statement, 3, 0, 4095, 0);
    reader->outage_count++;
    return 0;
}

static int load(struct record_reader *reader, const char *table, const char *sql,
                int (*add)(struct record_reader *, sqlite3_stmt *))
{
    if (!reader_has_table(reader, table))
        return 0;
    sqlite3_stmt *statement;
    int r = reader_prepare(reader, &statement, sql);
    int code = SQLITE_OK;
    while (r == 0 && (code = sqlite3_step(statement)) == SQLITE_ROW)
        r = add(reader, statement);
    if (r == 0)
        r = database_error(code);
    sqlite3_finalize(statement);
    return r;
}

static int find_begin(struct record_reader *reader, sqlite3_stmt *statement)
{
    reader->begin = reader_number(statement, 0, 0);
    return 0;
}

static int find_end(struct record_reader *reader, sqlite3_stmt *statement)
{
    reader->end = reader_number(statement, 0, 0);
    return 0;
}

static int compare_numbers(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return difference < 0 ? -1 : difference > 0;
}

/* The median of the spacings at the recording's begin. */
static int find_spacing(struct record_reader *reader)
{
    sqlite3_stmt *statement;
    int r = reader_prepare(reader, &statement,
                           "SELECT time, gpu FROM sample WHERE " RECORD_TIME_IS_PLAUSIBLE
                           " ORDER BY time, gpu");
    if (r < 0)
        return r;
    CLEANUP_FREE double *spacing = calloc(SPACING_SAMPLES, sizeof(*spacing));
    CLEANUP_FREE double *last = calloc(reader->device_count + 1, sizeof(*last));
    size_t count = 0;
    for (int i = 0; spacing && last && i < SPACING_SAMPLES && sqlite3_step(statement) == SQLITE_ROW;
         i++) {
        double time = reader_number(statement, 0, 0);
        int gpu = reader_find_gpu(reader, reader_integer(statement, 1, 0, INT32_MAX, -1));
        if (gpu < 0)
            continue;
        if (last[gpu] > 0)
            spacing[count++] = time - last[gpu];
        last[gpu] = time;
    }
    sqlite3_finalize(statement);
    if (count) {
        qsort(spacing, count, sizeof(*spacing), compare_numbers);
        reader->interval = spacing[count / 2];
    }
    return 0;
}

static int find_interval(struct record_reader *reader)
{
    char told[32];
    double interval;
    record_reader_meta(reader, "interval", told, sizeof(told));
    if (parse_double(told, &interval) == 0 && interval > 0 && interval < LONGEST_INTERVAL) {
        reader->interval = interval;
        return 0;
    }
    return find_spacing(reader);
}

int reader_load_contents(struct record_reader *reader)
{
    int r = load_devices(reader);
    if (r == 0)
        r = load(reader, "mark", "SELECT time, \"end\", name FROM mark ORDER BY time, id",
                 add_mark);
    if (r == 0)
        r = load(reader, "absence",
                 "SELECT time, gpu, metric, reason FROM absence ORDER BY time, gpu, metric",
                 add_absence);
    if (r == 0)
        r = load(reader, "outage", "SELECT time, gpu, state, error FROM outage ORDER BY time, gpu",
                 add_outage);
    if (r == 0)
        r = load(reader, "sample",
                 "SELECT time FROM sample WHERE " RECORD_TIME_IS_PLAUSIBLE " ORDER BY time LIMIT 1",
                 find_begin);
    if (r == 0)
        r = load(reader, "sample",
                 "SELECT time FROM sample WHERE " RECORD_TIME_IS_PLAUSIBLE
                 " ORDER BY time DESC LIMIT 1",
                 find_end);
    if (r == 0 && reader->end < reader->begin) /* a damaged index is not in order */
        r = -EBADMSG;
    if (r == 0 && reader->outage_count && reader->outages[reader->outage_count - 1].time < 1e12 &&
        reader->outages[reader->outage_count - 1].time > reader->end && reader->end > 0)
        reader->end = reader->outages[reader->outage_count - 1].time;
    return r < 0 ? r : find_interval(reader);
}
