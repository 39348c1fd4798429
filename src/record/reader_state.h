/* The reader's parts share this. */
#pragma once

#include <math.h>
#include <sqlite3.h>
#include <stdint.h>

#include "record/format.h"
#include "record/reader.h"

#define RECORD_TIME_IS_PLAUSIBLE "time > 0 AND time < 1e12"

struct absence_row {
    double time;
    uint16_t gpu;
    uint8_t metric;
    uint8_t reason;
};

/* A table that is walked by time and device. */
struct walk {
    sqlite3_stmt *statement;
    double time; /* of the last row taken */
    int64_t gpu;
    bool on_row; /* the statement stands on a row that is not taken yet */
    bool running;
};

struct record_reader {
    sqlite3 *database;
    double begin;
    double end;
    double interval;
    double rested; /* when the file was let go last, on the monotonic clock */

    struct device *devices;
    int64_t *gpu; /* the numbers of the devices in the file */
    size_t device_count;

    struct mark *marks;
    size_t mark_count;

    struct absence_row *absences;
    size_t absence_count;
    size_t absence_next;
    struct record_outage *outages;
    size_t outage_count;
    size_t outage_next;
    struct sample *blank; /* for each device: the reasons in force */

    struct record_columns columns; /* those that the file has, in the order of the statement */
    struct walk samples;
    struct walk lists;
    sqlite3_stmt *sample_at;
    sqlite3_stmt *list_at;
    sqlite3_stmt *processes;
    sqlite3_stmt *describe;
};

MUST_CHECK int reader_prepare(const struct record_reader *reader, sqlite3_stmt **ret,
                              const char *sql);
bool reader_has_table(const struct record_reader *reader, const char *name);
/* The device of that number in the file, or -1. */
int reader_find_gpu(const struct record_reader *reader, int64_t gpu);

/* A column's value where it is of the right type and can be true, else `otherwise`. */
double reader_number(sqlite3_stmt *statement, int column, double otherwise);
int64_t reader_integer(sqlite3_stmt *statement, int column, int64_t least, int64_t most,
                       int64_t otherwise);
/* As clean UTF-8; "" where it is no text. */
void reader_text(sqlite3_stmt *statement, int column, char *ret, size_t size);
