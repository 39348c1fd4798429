#include "record/reader_walk.h"

#include <errno.h>

#include "base/clock.h"
#include "record/database.h"

enum { LOOK_BACK_ROWS = 20000 };
/* Who reads on and on lets go of the file that often. */
static const double REST_PERIOD = 0.02;
static const double LONGEST_INTERVAL = 1e6;
static const double HIGHEST_RATIO = 10;

/* Which columns there are: an older recording has fewer, a newer one others too. */
static int find_columns(struct record_reader *reader)
{
    sqlite3_stmt *statement;
    int r = reader_prepare(reader, &statement, "SELECT * FROM sample");
    if (r < 0)
        return r;
    struct record_columns known = record_columns();
    for (size_t i = 0; i < known.count; i++)
        for (int column = 0; column < sqlite3_column_count(statement); column++)
            if (strcmp(sqlite3_column_name(statement, column),
                       metric_info(known.metric[i])->name) == 0) {
                reader->columns.metric[reader->columns.count++] = known.metric[i];
                break;
            }
    sqlite3_finalize(statement);
    return 0;
}

static int prepare_samples(struct record_reader *reader, sqlite3_stmt **ret, const char *condition)
{
    struct strbuf sql = {0};
    strbuf_puts(&sql, "SELECT time, gpu, interval");
    for (size_t i = 0; i < reader->columns.count; i++)
        strbuf_printf(&sql, ", \"%s\"", metric_info(reader->columns.metric[i])->name);
    strbuf_printf(&sql, " FROM sample WHERE %s", condition);
    int r = strbuf_failed(&sql) ? -ENOMEM : reader_prepare(reader, ret, sql.text);
    strbuf_free(&sql);
    return r;
}

#define AFTER  "(time, gpu) > (?1, ?2) AND time < 1e12 ORDER BY time, gpu"
#define BEFORE "time <= ?1 AND time > 0 ORDER BY time DESC, gpu DESC"

#define PROCESSES(share)                                                                           \
    "SELECT pid, kinds, memory_bytes, " share " FROM process WHERE time = ?1 AND gpu = ?2 "        \
    "ORDER BY pid"

/* The first recordings have no column for the share of the SMs. */
static int prepare_processes(struct record_reader *reader)
{
    if (reader_prepare(reader, &reader->processes, PROCESSES("sm_ratio")) == 0)
        return 0;
    return reader_prepare(reader, &reader->processes, PROCESSES("NULL"));
}

int reader_prepare_walks(struct record_reader *reader)
{
    int r = find_columns(reader);
    if (r == 0)
        r = prepare_samples(reader, &reader->samples.statement, AFTER);
    if (r == 0)
        r = prepare_samples(reader, &reader->sample_at, BEFORE);
    if (r == 0 && reader_has_table(reader, "process_list") && reader_has_table(reader, "process")) {
        r = reader_prepare(reader, &reader->lists.statement,
                           "SELECT time, gpu, known, truncated FROM process_list WHERE " AFTER);
        if (r == 0)
            r = reader_prepare(
                reader, &reader->list_at,
                "SELECT time, gpu, known, truncated FROM process_list WHERE " BEFORE);
        if (r == 0)
            r = prepare_processes(reader);
    }
    if (r == 0 && reader_has_table(reader, "process_info"))
        r = reader_prepare(
            reader, &reader->describe,
            "SELECT start_time, outside, user, command, container, cgroup FROM "
            "process_info WHERE pid = ?1 AND start_time <= ?2 ORDER BY start_time DESC");
    return r;
}

void reader_finish_walks(struct record_reader *reader)
{
    sqlite3_finalize(reader->samples.statement);
    sqlite3_finalize(reader->lists.statement);
    sqlite3_finalize(reader->sample_at);
    sqlite3_finalize(reader->list_at);
    sqlite3_finalize(reader->processes);
    sqlite3_finalize(reader->describe);
}

static void stop(struct walk *walk)
{
    if (walk->running)
        sqlite3_reset(walk->statement);
    walk->running = false;
    walk->on_row = false;
}

void record_reader_rest(struct record_reader *reader)
{
    reader->rested = clock_monotonic();
    stop(&reader->samples);
    stop(&reader->lists);
}

static void rest_at_times(struct record_reader *reader)
{
    if (clock_monotonic() >= reader->rested + REST_PERIOD)
        record_reader_rest(reader);
}

static void move_to(struct walk *walk, double after)
{
    stop(walk);
    walk->time = after;
    walk->gpu = INT64_MAX;
}

/* Stands on the next row, and not later than `until`. Returns 1, 0 or −errno. */
static int next_row(struct walk *walk, double until)
{
    if (!walk->statement)
        return 0;
    if (!walk->on_row) {
        if (!walk->running) {
            sqlite3_bind_double(walk->statement, 1, walk->time);
            sqlite3_bind_int64(walk->statement, 2, walk->gpu);
            walk->running = true;
        }
        int code = sqlite3_step(walk->statement);
        walk->on_row = code == SQLITE_ROW;
        if (!walk->on_row) {
            stop(walk);
            return database_error(code);
        }
    }
    return reader_number(walk->statement, 0, 0) <= until;
}

/* Takes the row that the walk stands on; its device, or -1 where the row makes no sense. */
static int take_row(const struct record_reader *reader, struct walk *walk)
{
    walk->on_row = false;
    walk->time = reader_number(walk->statement, 0, walk->time);
    walk->gpu = reader_integer(walk->statement, 1, 0, INT32_MAX, -1);
    return reader_find_gpu(reader, walk->gpu);
}

static void put_in_force(struct record_reader *reader, double until)
{
    while (reader->absence_next < reader->absence_count &&
           reader->absences[reader->absence_next].time <= until) {
        const struct absence_row *row = &reader->absences[reader->absence_next++];
        sample_miss(&reader->blank[row->gpu], (enum metric)row->metric, (enum absence)row->reason);
    }
}

int record_reader_seek(struct record_reader *reader, double after)
{
    move_to(&reader->samples, after);
    move_to(&reader->lists, after);
    for (size_t i = 0; i < reader->device_count; i++)
        sample_reset(&reader->blank[i], ABSENT_NOT_RECORDED);
    reader->absence_next = 0;
    reader->outage_next = 0;
    put_in_force(reader, after);
    return 0;
}

static bool is_plausible(enum metric metric, double value)
{
    const struct metric_info *info = metric_info(metric);
    if (!isfinite(value))
        return false;
    if (info->unit == UNIT_CELSIUS)
        return value > -274;
    return value >= 0 && (info->unit != UNIT_RATIO || value <= HIGHEST_RATIO);
}

static void read_sample(const struct record_reader *reader, sqlite3_stmt *statement, int gpu,
                        struct sample *ret)
{
    *ret = reader->blank[gpu];
    ret->time = sqlite3_column_double(statement, 0);
    double interval = reader_number(statement, 2, 0);
    ret->interval = interval > 0 && interval < LONGEST_INTERVAL ? interval : reader->interval;
    for (size_t i = 0; i < reader->columns.count; i++) {
        sqlite3_value *value = sqlite3_column_value(statement, 3 + (int)i);
        int type = sqlite3_value_type(value);
        if (type == SQLITE_NULL)
            continue;
        enum metric metric = reader->columns.metric[i];
        double figure =
            type == SQLITE_FLOAT || type == SQLITE_INTEGER ? sqlite3_value_double(value) : NAN;
        ret->value[metric] = figure;
        ret->absent[metric] = is_plausible(metric, figure) ? ABSENT_NO : ABSENT_NOT_PLAUSIBLE;
    }
}

int record_reader_sample(struct record_reader *reader, double until, size_t *ret_gpu,
                         struct sample *ret)
{
    int r;
    while ((r = next_row(&reader->samples, until)) == 1) {
        int gpu = take_row(reader, &reader->samples);
        if (gpu < 0)
            continue;
        put_in_force(reader, reader->samples.time);
        read_sample(reader, reader->samples.statement, gpu, ret);
        *ret_gpu = (size_t)gpu;
        return 1;
    }
    rest_at_times(reader);
    return r;
}

int record_reader_outage(struct record_reader *reader, double until, struct record_outage *ret)
{
    if (reader->outage_next == reader->outage_count ||
        reader->outages[reader->outage_next].time > until)
        return 0;
    *ret = reader->outages[reader->outage_next++];
    return 1;
}

static void read_process(sqlite3_stmt *statement, struct process_list *list)
{
    int64_t pid = reader_integer(statement, 0, 1, INT32_MAX, -1);
    double bytes = reader_number(statement, 2, -1);
    double share = reader_number(statement, 3, -1);
    bool share_known = share >= 0 && share <= 1;
    if (pid < 0)
        return;
    if (list->count == PROCESS_LIST_CAPACITY) {
        list->truncated = true;
        return;
    }
    list->process[list->count++] = (struct process){
        .pid = (pid_t)pid,
        .kinds = (unsigned)reader_integer(statement, 1, 0, 0xffff, 0),
        .memory_known = bytes >= 0 && bytes < 0x1p62,
        .memory_bytes = bytes >= 0 && bytes < 0x1p62 ? (uint64_t)bytes : 0,
        .sm_known = share_known,
        .sm_ratio = share_known ? share : 0,
    };
}

/* The list whose row the statement stands on. */
static int read_list(struct record_reader *reader, sqlite3_stmt *statement,
                     struct process_list *ret)
{
    ret->known = reader_integer(statement, 2, 0, 1, 0) == 1;
    ret->truncated = reader_integer(statement, 3, 0, 1, 0) == 1;
    ret->count = 0;
    sqlite3_bind_value(reader->processes, 1, sqlite3_column_value(statement, 0));
    sqlite3_bind_value(reader->processes, 2, sqlite3_column_value(statement, 1));
    int code;
    while ((code = sqlite3_step(reader->processes)) == SQLITE_ROW && !ret->truncated)
        read_process(reader->processes, ret);
    sqlite3_reset(reader->processes);
    return database_error(code);
}

int record_reader_processes(struct record_reader *reader, double until, size_t *ret_gpu,
                            struct process_list *ret)
{
    int r;
    while ((r = next_row(&reader->lists, until)) == 1) {
        int gpu = take_row(reader, &reader->lists);
        if (gpu < 0)
            continue;
        *ret_gpu = (size_t)gpu;
        r = read_list(reader, reader->lists.statement, ret);
        return r < 0 ? r : 1;
    }
    return r;
}

/* Goes back from `time` to the device's last row. Returns 1, 0 or −errno; reset it afterwards. */
static int look_back(const struct record_reader *reader, sqlite3_stmt *statement, size_t gpu,
                     double time)
{
    sqlite3_bind_double(statement, 1, time);
    for (int i = 0; i < LOOK_BACK_ROWS; i++) {
        int code = sqlite3_step(statement);
        if (code != SQLITE_ROW)
            return database_error(code);
        if (reader_find_gpu(reader, reader_integer(statement, 1, 0, INT32_MAX, -1)) == (int)gpu)
            return 1;
    }
    return 0;
}

int record_reader_sample_at(struct record_reader *reader, size_t gpu, double time,
                            struct sample *ret)
{
    int r = look_back(reader, reader->sample_at, gpu, time);
    if (r == 1)
        read_sample(reader, reader->sample_at, (int)gpu, ret);
    sqlite3_reset(reader->sample_at);
    return r;
}

int record_reader_processes_at(struct record_reader *reader, size_t gpu, double time,
                               struct process_list *ret)
{
    if (!reader->list_at)
        return 0;
    int r = look_back(reader, reader->list_at, gpu, time);
    if (r == 1) {
        int read = read_list(reader, reader->list_at, ret);
        r = read < 0 ? read : 1;
    }
    sqlite3_reset(reader->list_at);
    return r;
}

bool record_reader_describe(struct record_reader *reader, pid_t pid, double time,
                            struct process_description *ret)
{
    if (!reader->describe)
        return false;
    sqlite3_bind_int64(reader->describe, 1, pid);
    sqlite3_bind_double(reader->describe, 2, time);
    bool found = sqlite3_step(reader->describe) == SQLITE_ROW;
    if (found) {
        *ret = (struct process_description){
            .start_time = reader_number(reader->describe, 0, 0),
            .outside = reader_integer(reader->describe, 1, 0, 1, 0) == 1,
        };
        reader_text(reader->describe, 2, ret->user, sizeof(ret->user));
        reader_text(reader->describe, 3, ret->command, sizeof(ret->command));
        reader_text(reader->describe, 4, ret->container, sizeof(ret->container));
        reader_text(reader->describe, 5, ret->cgroup, sizeof(ret->cgroup));
    }
    sqlite3_reset(reader->describe);
    return found;
}
