#include "bench/result.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"
#include "bench/result_schema.h"
#include "record/database.h"

enum { MOST_TRIALS = MODE_COUNT * BENCH_MOST_REPEATS, MOST_POINTS = 4096 };

static const char *const fact_names[FACT_COUNT] = {
#define RESULT_FACT(id, name) [FACT_##id] = name,
#include "bench/result_fact.def"
#undef RESULT_FACT
};

const char *result_fact_name(enum result_fact fact)
{
    return fact_names[fact];
}

static const char *text_of(sqlite3_stmt *query, int place)
{
    const unsigned char *text = sqlite3_column_text(query, place);
    return text ? (const char *)text : "";
}

/* A file can hold anything: what cannot have been measured is not known. */
static double number_of(sqlite3_stmt *query, int place)
{
    int type = sqlite3_column_type(query, place);
    double value =
        type == SQLITE_FLOAT || type == SQLITE_INTEGER ? sqlite3_column_double(query, place) : NAN;
    return value >= 0 && value < 1e18 ? value : NAN;
}

static int read_facts(sqlite3 *database, struct result *ret)
{
    sqlite3_stmt *query;
    int code = sqlite3_prepare_v2(database, "SELECT name, value FROM fact", -1, &query, NULL);
    if (code != SQLITE_OK)
        return database_error(code);
    while ((code = sqlite3_step(query)) == SQLITE_ROW)
        for (size_t i = 0; i < FACT_COUNT; i++)
            if (strcmp(fact_names[i], text_of(query, 0)) == 0) {
                free(ret->facts[i]);
                ret->facts[i] = strdup(text_of(query, 1));
            }
    sqlite3_finalize(query);
    for (size_t i = 0; i < FACT_COUNT; i++)
        if (!ret->facts[i] && !(ret->facts[i] = strdup("")))
            return -ENOMEM;
    return database_error(code);
}

static int add_trial(sqlite3_stmt *query, const struct bench_plan *plan,
                     struct bench_trials *trials)
{
    enum bench_mode mode = bench_mode_by_name(text_of(query, 1));
    double repeat = number_of(query, 2);
    if (mode == MODE_COUNT || !(repeat < BENCH_MOST_REPEATS))
        return -EBADMSG;
    struct bench_trial *trial = &trials->trials[trials->count];
    *trial = (struct bench_trial){
        .mode = mode,
        .repeat = (unsigned)repeat,
        .time = number_of(query, 3),
        .run_count = plan->instance_count,
        .runs = calloc(plan->instance_count, sizeof(*trial->runs)),
    };
    if (!trial->runs)
        return -ENOMEM;
    trials->count++;
    for (size_t i = 0; i < trial->run_count; i++)
        trial->runs[i] = (struct bench_run){.outcome = BENCH_FAILED, .memory_peak = NAN};
    for (int i = 0; i < MEASURE_COUNT; i++)
        trial->seen[i] = number_of(query, RESULT_FIRST_MEASURE + i);
    return 0;
}

static int read_run(sqlite3_stmt *query, struct bench_trial *trial)
{
    double instance = number_of(query, 0);
    if (!(instance < (double)trial->run_count))
        return -EBADMSG;
    struct bench_run *run = &trial->runs[(size_t)instance];
    *run = (struct bench_run){
        .begin = number_of(query, 1),
        .end = number_of(query, 2),
        .outcome = bench_outcome_by_word(text_of(query, 3)),
        .exit_code = sqlite3_column_int(query, 4),
        .memory_peak = number_of(query, 5),
    };
    utf8_clean(run->output, sizeof(run->output), text_of(query, 6));
    return run->outcome < BENCH_OUTCOME_COUNT && run->end >= run->begin ? 0 : -EBADMSG;
}

static int read_runs(sqlite3 *database, sqlite3_int64 id, struct bench_trial *trial)
{
    sqlite3_stmt *query;
    int code = sqlite3_prepare_v2(database,
                                  "SELECT instance, begin, end, outcome, exit_code, memory_peak, "
                                  "output FROM run WHERE trial = ?",
                                  -1, &query, NULL);
    if (code != SQLITE_OK)
        return database_error(code);
    sqlite3_bind_int64(query, 1, id);
    int r = 0;
    while (r == 0 && (code = sqlite3_step(query)) == SQLITE_ROW)
        r = read_run(query, trial);
    sqlite3_finalize(query);
    return r < 0 ? r : database_error(code);
}

static int read_points(sqlite3 *database, sqlite3_int64 id, struct result_points *ret)
{
    ret->points = calloc(MOST_POINTS, sizeof(*ret->points));
    if (!ret->points)
        return -ENOMEM;
    sqlite3_stmt *query;
    int code = sqlite3_prepare_v2(database,
                                  "SELECT time, compute_sol, memory_sol, nvml_utilization, power "
                                  "FROM point WHERE trial = ? ORDER BY time",
                                  -1, &query, NULL);
    if (code != SQLITE_OK)
        return database_error(code);
    sqlite3_bind_int64(query, 1, id);
    while ((code = sqlite3_step(query)) == SQLITE_ROW && ret->count < MOST_POINTS) {
        struct result_point point = {number_of(query, 0), number_of(query, 1), number_of(query, 2),
                                     number_of(query, 3), number_of(query, 4)};
        if (isfinite(point.time))
            ret->points[ret->count++] = point;
    }
    sqlite3_finalize(query);
    return database_error(code);
}

static int read_trials(sqlite3 *database, struct result *ret)
{
    ret->trials.trials = calloc(MOST_TRIALS, sizeof(*ret->trials.trials));
    ret->points = calloc(MOST_TRIALS, sizeof(*ret->points));
    if (!ret->trials.trials || !ret->points)
        return -ENOMEM;
    sqlite3_stmt *query;
    int code = sqlite3_prepare_v2(database, result_select_trials, -1, &query, NULL);
    if (code != SQLITE_OK)
        return database_error(code);
    int r = 0;
    while (r == 0 && (code = sqlite3_step(query)) == SQLITE_ROW &&
           ret->trials.count < MOST_TRIALS) {
        sqlite3_int64 id = sqlite3_column_int64(query, 0);
        size_t place = ret->trials.count;
        r = add_trial(query, &ret->plan, &ret->trials);
        if (r == 0)
            r = read_runs(database, id, &ret->trials.trials[place]);
        if (r == 0)
            r = read_points(database, id, &ret->points[place]);
    }
    sqlite3_finalize(query);
    return r < 0 ? r : database_error(code);
}

static int read_all(sqlite3 *database, struct result *ret, char *why, size_t why_size)
{
    int r = read_facts(database, ret);
    if (r < 0)
        return r;
    struct ini_error error;
    r = bench_plan_parse(&ret->plan, ret->facts[FACT_JOBS_NAME], ret->facts[FACT_JOBS],
                         strlen(ret->facts[FACT_JOBS]), &error);
    if (r == -EINVAL) {
        snprintf(why, why_size, "its jobs cannot be read: %s", error.text);
        return -EBADMSG;
    }
    return r < 0 ? r : read_trials(database, ret);
}

int result_load(struct result *ret, const char *path, char *why, size_t why_size)
{
    *ret = (struct result){0};
    sqlite3 *database;
    int r = database_open_to_read(&database, path, why, why_size);
    if (r < 0)
        return r;
    char reason[320] = "";
    r = database_check(database, &result_kind, path, why, why_size);
    if (r == 1) {
        snprintf(why, why_size, "%s: this is no %s", path, result_kind.name);
        r = -EBADMSG;
    }
    if (r == 0) {
        r = read_all(database, ret, reason, sizeof(reason));
        if (r < 0)
            snprintf(why, why_size, "%s: %s", path,
                     reason[0]       ? reason
                     : r == -EBADMSG ? "the result is damaged"
                                     : strerror(-r));
    }
    database_close(database);
    if (r < 0)
        result_free(ret);
    return r;
}

void result_free(struct result *result)
{
    for (size_t i = 0; i < FACT_COUNT; i++)
        free(result->facts[i]);
    for (size_t i = 0; i < result->trials.count; i++) {
        free(result->trials.trials[i].runs);
        free(result->points[i].points);
    }
    free(result->trials.trials);
    free(result->points);
    bench_plan_free(&result->plan);
    *result = (struct result){0};
}

double result_idle_watts(const struct result *result)
{
    double watts;
    return parse_double(result->facts[FACT_IDLE_WATTS], &watts) == 0 && watts >= 0 ? watts : NAN;
}
