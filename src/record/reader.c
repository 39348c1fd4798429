#include "record/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "record/database.h"
#include "record/reader_contents.h"
#include "record/reader_walk.h"

int reader_prepare(const struct record_reader *reader, sqlite3_stmt **ret, const char *sql)
{
    return database_error(
        sqlite3_prepare_v3(reader->database, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL));
}

static bool is_number(sqlite3_stmt *statement, int column)
{
    int type = sqlite3_column_type(statement, column);
    return type == SQLITE_FLOAT || type == SQLITE_INTEGER;
}

double reader_number(sqlite3_stmt *statement, int column, double otherwise)
{
    if (!is_number(statement, column))
        return otherwise;
    double value = sqlite3_column_double(statement, column);
    return isfinite(value) ? value : otherwise;
}

int64_t reader_integer(sqlite3_stmt *statement, int column, int64_t least, int64_t most,
                       int64_t otherwise)
{
    double value = reader_number(statement, column, NAN);
    return value >= (double)least && value <= (double)most ? (int64_t)value : otherwise;
}

void reader_text(sqlite3_stmt *statement, int column, char *ret, size_t size)
{
    const char *value = NULL;
    if (sqlite3_column_type(statement, column) == SQLITE_TEXT)
        value = (const char *)sqlite3_column_text(statement, column);
    utf8_clean(ret, size, value ? value : "");
}

int reader_find_gpu(const struct record_reader *reader, int64_t gpu)
{
    if (gpu >= 0 && gpu < (int64_t)reader->device_count && reader->gpu[gpu] == gpu)
        return (int)gpu;
    for (size_t i = 0; i < reader->device_count; i++)
        if (reader->gpu[i] == gpu)
            return (int)i;
    return -1;
}

/* A view, a virtual table or a computed column would run what the file says. */

/* A computed column runs what the file says, at any cost, as a view or a virtual table does. */
static bool computes_columns(const struct record_reader *reader, const char *table)
{
    enum { COMPUTED = 2 }; /* and above; 1 is a hidden column of a virtual table */
    char sql[64];
    sqlite3_stmt *statement;
    snprintf(sql, sizeof(sql), "PRAGMA main.table_xinfo(%s)", table);
    if (reader_prepare(reader, &statement, sql) < 0)
        return true;
    bool found = false;
    while (!found && sqlite3_step(statement) == SQLITE_ROW)
        found = sqlite3_column_int(statement, 6) >= COMPUTED;
    sqlite3_finalize(statement);
    return found;
}

bool reader_has_table(const struct record_reader *reader, const char *name)
{
    sqlite3_stmt *statement;
    if (reader_prepare(reader, &statement, "PRAGMA main.table_list") < 0)
        return false;
    bool found = false;
    while (!found && sqlite3_step(statement) == SQLITE_ROW) {
        const char *schema = (const char *)sqlite3_column_text(statement, 0);
        const char *table = (const char *)sqlite3_column_text(statement, 1);
        const char *type = (const char *)sqlite3_column_text(statement, 2);
        found = schema && table && type && strcmp(schema, "main") == 0 &&
                strcmp(table, name) == 0 && strcmp(type, "table") == 0;
    }
    sqlite3_finalize(statement);
    return found && !computes_columns(reader, name);
}

static int64_t pragma(const struct record_reader *reader, const char *sql)
{
    sqlite3_stmt *statement;
    if (reader_prepare(reader, &statement, sql) < 0)
        return -1;
    int64_t value = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    sqlite3_finalize(statement);
    return value;
}

static int check_format(struct record_reader *reader, const char *path, char *why, size_t why_size)
{
    if (pragma(reader, "PRAGMA application_id") != RECORD_APPLICATION_ID) {
        snprintf(why, why_size, "%s: this is no recording of Rooftop", path);
        return -EBADMSG;
    }
    int64_t version = pragma(reader, "PRAGMA user_version");
    if (version > RECORD_VERSION) {
        snprintf(why, why_size,
                 "%s: written in format %lld, and this rooftop reads formats up to %d; a newer "
                 "rooftop opens it",
                 path, (long long)version, RECORD_VERSION);
        return -ENOTSUP;
    }
    if (version < 1 || !reader_has_table(reader, "meta") || !reader_has_table(reader, "device") ||
        !reader_has_table(reader, "sample")) {
        snprintf(why, why_size, "%s: this recording lacks its tables", path);
        return -EBADMSG;
    }
    return 0;
}

int record_reader_open(struct record_reader **ret, const char *path, char *why, size_t why_size)
{
    struct record_reader *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        snprintf(why, why_size, "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    int r = database_open_to_read(&reader->database, path, why, why_size);
    if (r == 0)
        r = check_format(reader, path, why, why_size);
    if (r == 0) {
        r = reader_load_contents(reader);
        if (r == 0)
            r = reader_prepare_walks(reader);
        if (r == 0)
            r = record_reader_seek(reader, 0);
        if (r < 0)
            snprintf(why, why_size, "%s: %s", path,
                     r == -EBADMSG ? "the recording is damaged" : strerror(-r));
    }
    if (r < 0) {
        record_reader_close(reader);
        return r;
    }
    *ret = reader;
    return 0;
}

void record_reader_close(struct record_reader *reader)
{
    if (!reader)
        return;
    reader_finish_walks(reader);
    database_close(reader->database);
    free(reader->devices);
    free(reader->gpu);
    free(reader->marks);
    free(reader->absences);
    free(reader->outages);
    free(reader->blank);
    free(reader);
}

size_t record_reader_device_count(const struct record_reader *reader)
{
    return reader->device_count;
}

const struct device *record_reader_devices(const struct record_reader *reader)
{
    return reader->devices;
}

size_t record_reader_mark_count(const struct record_reader *reader)
{
    return reader->mark_count;
}

const struct mark *record_reader_marks(const struct record_reader *reader)
{
    return reader->marks;
}

double record_reader_begin(const struct record_reader *reader)
{
    return reader->begin;
}

double record_reader_end(const struct record_reader *reader)
{
    return reader->end;
}

double record_reader_interval(const struct record_reader *reader)
{
    return reader->interval;
}

void record_reader_meta(struct record_reader *reader, const char *key, char *ret, size_t size)
{
    ret[0] = '\0';
    sqlite3_stmt *statement;
    if (reader_prepare(reader, &statement, "SELECT value FROM meta WHERE key = ?1") < 0)
        return;
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW)
        reader_text(statement, 0, ret, size);
    sqlite3_finalize(statement);
}
