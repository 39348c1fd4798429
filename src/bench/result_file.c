#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/result.h"
#include "bench/result_schema.h"
#include "record/database.h"

struct result_file {
    sqlite3 *database;
    int lock_fd;
    double since; /* of the trial that is running: when the last one was written */
};

/* SQLite's own locks are of single writes; this one is held for the whole bench. Closing it would
 * drop SQLite's: it goes last. */
static int take_lock(const char *path, int *ret)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int r = errno == EWOULDBLOCK ? -EBUSY : -errno;
        close(fd);
        return r;
    }
    *ret = fd;
    return 0;
}

int result_open(struct result_file **ret, const char *path, char *why, size_t why_size)
{
    struct result_file *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    file->lock_fd = -1;
    file->since = clock_realtime();
    int r = take_lock(path, &file->lock_fd);
    if (r < 0)
        snprintf(why, why_size, "%s: %s", path,
                 r == -EBUSY ? "another bench is writing it" : strerror(-r));
    else
        r = database_open_to_add(&file->database, path, &result_kind, why, why_size);
    if (r < 0) {
        result_close(file);
        return r;
    }
    *ret = file;
    return 0;
}

void result_close(struct result_file *file)
{
    if (!file)
        return;
    database_close(file->database);
    if (file->lock_fd >= 0)
        close(file->lock_fd);
    free(file);
}

int result_set(struct result_file *file, enum result_fact fact, const char *value)
{
    sqlite3_stmt *insert;
    int code = sqlite3_prepare_v2(
        file->database, "INSERT OR REPLACE INTO fact(name, value) VALUES(?, ?)", -1, &insert, NULL);
    if (code != SQLITE_OK)
        return database_error(code);
    sqlite3_bind_text(insert, 1, result_fact_name(fact), -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 2, value, -1, SQLITE_STATIC);
    sqlite3_step(insert);
    return database_error(sqlite3_finalize(insert));
}

char *result_get(struct result_file *file, enum result_fact fact)
{
    sqlite3_stmt *query;
    char *value = NULL;
    if (sqlite3_prepare_v2(file->database, "SELECT value FROM fact WHERE name = ?", -1, &query,
                           NULL) != SQLITE_OK)
        return NULL;
    sqlite3_bind_text(query, 1, result_fact_name(fact), -1, SQLITE_STATIC);
    if (sqlite3_step(query) == SQLITE_ROW && sqlite3_column_text(query, 0))
        value = strdup((const char *)sqlite3_column_text(query, 0));
    sqlite3_finalize(query);
    return value;
}

/* What is not known becomes NULL. */
static void bind(sqlite3_stmt *insert, int place, double value)
{
    if (isfinite(value))
        sqlite3_bind_double(insert, place, value);
    else
        sqlite3_bind_null(insert, place);
}

static int insert_trial(struct result_file *file, const struct bench_trial *trial)
{
    sqlite3_stmt *insert;
    int code = sqlite3_prepare_v2(file->database, result_insert_trial, -1, &insert, NULL);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_text(insert, 1, bench_mode_info(trial->mode)->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, trial->repeat);
    bind(insert, 3, trial->time);
    bind(insert, 4, clock_realtime() - file->since);
    for (int i = 0; i < MEASURE_COUNT; i++)
        bind(insert, RESULT_FIRST_MEASURE + 1 + i, trial->seen[i]);
    sqlite3_step(insert);
    return sqlite3_finalize(insert);
}

static int insert_runs(struct result_file *file, const struct bench_plan *plan,
                       const struct bench_trial *trial, sqlite3_int64 id)
{
    sqlite3_stmt *insert;
    int code = sqlite3_prepare_v2(
        file->database, "INSERT INTO run VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", -1, &insert, NULL);
    for (size_t i = 0; i < trial->run_count && code == SQLITE_OK; i++) {
        const struct bench_run *run = &trial->runs[i];
        char name[INI_NAME_SIZE + 8];
        bench_plan_instance_name(plan, i, name, sizeof(name));
        sqlite3_bind_int64(insert, 1, id);
        sqlite3_bind_int64(insert, 2, (sqlite3_int64)i);
        sqlite3_bind_text(insert, 3, name, -1, SQLITE_TRANSIENT);
        bind(insert, 4, run->begin);
        bind(insert, 5, run->end);
        sqlite3_bind_text(insert, 6, bench_outcome_word(run->outcome), -1, SQLITE_STATIC);
        sqlite3_bind_int(insert, 7, run->exit_code);
        bind(insert, 8, run->memory_peak);
        sqlite3_bind_text(insert, 9, run->output, -1, SQLITE_STATIC);
        sqlite3_step(insert);
        code = sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    return code;
}

static int insert_points(struct result_file *file, const struct result_points *points,
                         sqlite3_int64 id)
{
    sqlite3_stmt *insert;
    int code = sqlite3_prepare_v2(
        file->database, "INSERT OR IGNORE INTO point VALUES(?, ?, ?, ?, ?, ?)", -1, &insert, NULL);
    for (size_t i = 0; i < points->count && code == SQLITE_OK; i++) {
        const struct result_point *point = &points->points[i];
        sqlite3_bind_int64(insert, 1, id);
        bind(insert, 2, point->time);
        bind(insert, 3, point->compute_sol);
        bind(insert, 4, point->memory_sol);
        bind(insert, 5, point->nvml_utilization);
        bind(insert, 6, point->power);
        sqlite3_step(insert);
        code = sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    return code;
}

int result_add(struct result_file *file, const struct bench_plan *plan,
               const struct bench_trial *trial, const struct result_points *points)
{
    sqlite3 *database = file->database;
    int code = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return database_error(code);
    code = insert_trial(file, trial);
    sqlite3_int64 id = sqlite3_last_insert_rowid(database);
    if (code == SQLITE_OK)
        code = insert_runs(file, plan, trial, id);
    if (code == SQLITE_OK)
        code = insert_points(file, points, id);
    if (code == SQLITE_OK)
        code = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    file->since = clock_realtime();
    return database_error(code);
}

bool result_has(struct result_file *file, enum bench_mode mode, unsigned repeat)
{
    sqlite3_stmt *query;
    if (sqlite3_prepare_v2(file->database, "SELECT 1 FROM trial WHERE mode = ? AND repeat = ?", -1,
                           &query, NULL) != SQLITE_OK)
        return false;
    sqlite3_bind_text(query, 1, bench_mode_info(mode)->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(query, 2, repeat);
    bool has = sqlite3_step(query) == SQLITE_ROW;
    sqlite3_finalize(query);
    return has;
}

double result_trial_seconds(struct result_file *file, enum bench_mode mode)
{
    sqlite3_stmt *query;
    double seconds = NAN;
    if (sqlite3_prepare_v2(file->database, "SELECT avg(whole_seconds) FROM trial WHERE mode = ?",
                           -1, &query, NULL) != SQLITE_OK)
        return seconds;
    sqlite3_bind_text(query, 1, bench_mode_info(mode)->name, -1, SQLITE_STATIC);
    if (sqlite3_step(query) == SQLITE_ROW && sqlite3_column_type(query, 0) == SQLITE_FLOAT)
        seconds = sqlite3_column_double(query, 0);
    sqlite3_finalize(query);
    return seconds;
}
