#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/database.h"
#include "record/format.h"

static const double PROCESS_PERIOD = 1;
/* Each waits for a reader as long as the database's patience says. */
enum { CLOSE_ATTEMPTS = 20 };
/* Of the file, behind all that SQLite writes and locks: a recorder holds it while it writes. */
static const off_t CLAIMED_BYTE = (off_t)1 << 60;

enum statement {
    WRITE_META,
    WRITE_DEVICE,
    WRITE_SAMPLE,
    WRITE_ABSENCE,
    WRITE_OUTAGE,
    WRITE_PROCESS_LIST,
    WRITE_PROCESS,
    WRITE_PROCESS_INFO,
    WRITE_MARK,
    STATEMENT_COUNT
};

static const char *const statement_tables[STATEMENT_COUNT] = {
    "meta",         "device",  "sample",       "absence", "outage",
    "process_list", "process", "process_info", "mark",
};

/* What was written of a device last. */
struct written {
    char uuid[DEVICE_TEXT_SIZE];
    unsigned index;
    double sample_time;
    double list_time;
    bool listed;
    struct process_list list;
    uint8_t reason[METRIC_COUNT]; /* enum absence in force for a NULL; ABSENT_NO: none told yet */
};

struct record_writer {
    char *path;
    sqlite3 *database;
    int claim; /* the file, with a lock that tells others of this recorder; or -1 */
    sqlite3_stmt *statement[STATEMENT_COUNT];
    struct record_columns columns;
    bool redact;
    bool in_transaction;
    int error; /* −errno, once something failed */

    struct written **devices;
    size_t device_count;
    size_t sample_count;
    int64_t mark_count;
};

static int remember(struct record_writer *writer, int code)
{
    int r = database_error(code);
    if (r < 0 && writer->error == 0)
        writer->error = r;
    return r;
}

/* Begins a row; NULL after a failure. Parameters that are not bound become NULL. */
static sqlite3_stmt *row(struct record_writer *writer, enum statement statement)
{
    if (writer->error == 0 && !writer->in_transaction) {
        remember(writer, sqlite3_exec(writer->database, "BEGIN", NULL, NULL, NULL));
        writer->in_transaction = writer->error == 0;
    }
    return writer->error == 0 ? writer->statement[statement] : NULL;
}

static int add_row(struct record_writer *writer, sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return remember(writer, code);
}

static void bind_text(sqlite3_stmt *statement, int column, const char *text)
{
    if (text && text[0])
        sqlite3_bind_text(statement, column, text, -1, SQLITE_STATIC);
}

static int column_count(sqlite3 *database, const char *table)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"", table);
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        return 0;
    int count = sqlite3_column_count(statement);
    sqlite3_finalize(statement);
    return count;
}

/* A row that is there already stays: a process described twice, a clock that was set back. */
static int prepare(struct record_writer *writer, enum statement statement)
{
    const char *table = statement_tables[statement];
    int count = column_count(writer->database, table);
    struct strbuf sql = {0};
    strbuf_printf(&sql, "INSERT OR %s INTO \"%s\" VALUES (",
                  statement == WRITE_META ? "REPLACE" : "IGNORE", table);
    for (int i = 0; i < count; i++)
        strbuf_puts(&sql, i ? ", ?" : "?");
    strbuf_putc(&sql, ')');
    int code = strbuf_failed(&sql)
                   ? SQLITE_NOMEM
                   : sqlite3_prepare_v3(writer->database, sql.text, -1, SQLITE_PREPARE_PERSISTENT,
                                        &writer->statement[statement], NULL);
    strbuf_free(&sql);
    return remember(writer, code);
}

static int make_tables(struct record_writer *writer)
{
    struct strbuf sql = {0};
    strbuf_printf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN;\n",
                  RECORD_APPLICATION_ID, RECORD_VERSION);
    record_schema(&sql);
    strbuf_puts(&sql, "COMMIT;");
    int code = strbuf_failed(&sql) ? SQLITE_NOMEM
                                   : sqlite3_exec(writer->database, sql.text, NULL, NULL, NULL);
    strbuf_free(&sql);
    int r = remember(writer, code);
    for (size_t i = 0; i < STATEMENT_COUNT && r == 0; i++)
        r = prepare(writer, (enum statement)i);
    return r;
}

static int lock_claimed_byte(int fd, int command, struct flock *lock)
{
    *lock = (struct flock){.l_type = F_WRLCK, .l_start = CLAIMED_BYTE, .l_len = 1};
    return fcntl(fd, command, lock);
}

/* Where locks are not to be had, nobody is told. */
static int claim(const char *path)
{
    struct flock lock;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        lock_claimed_byte(fd, F_OFD_SETLK, &lock);
    return fd;
}

static bool is_claimed(const char *path)
{
    struct flock lock;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool claimed =
        fd >= 0 && lock_claimed_byte(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return claimed;
}

static int make_way(const char *path, bool replace, char *why, size_t why_size)
{
    if (access(path, F_OK) < 0)
        return 0;
    if (!replace) {
        snprintf(why, why_size, "%s: the file exists", path);
        return -EEXIST;
    }
    if (is_claimed(path)) {
        snprintf(why, why_size,
                 "%s: another rooftop records into it now; end that first, or give another", path);
        return -EBUSY;
    }
    if (unlink(path) < 0) {
        int r = -errno;
        snprintf(why, why_size, "%s: %s", path, strerror(-r));
        return r;
    }
    /* The journal of a recorder that was killed would be taken for the new file's. */
    struct strbuf journal = {0};
    strbuf_printf(&journal, "%s-journal", path);
    unlink(strbuf_text(&journal));
    strbuf_free(&journal);
    return 0;
}

int record_writer_open(struct record_writer **ret, const char *path,
                       const struct record_writer_options *options, char *why, size_t why_size)
{
    int r = make_way(path, options->replace, why, why_size);
    if (r < 0)
        return r;
    struct record_writer *writer = calloc(1, sizeof(*writer));
    char *copy = strdup(path);
    if (!writer || !copy) {
        free(writer);
        free(copy);
        snprintf(why, why_size, "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    writer->path = copy;
    writer->redact = options->redact;
    writer->columns = record_columns();
    r = database_create(&writer->database, path, why, why_size);
    if (r < 0) {
        free(copy);
        free(writer);
        return r;
    }
    writer->claim = claim(path);
    r = make_tables(writer);
    if (r == 0 && options->interval > 0) {
        char interval[32];
        snprintf(interval, sizeof(interval), "%.15g", options->interval);
        r = record_writer_meta(writer, "interval", interval);
    }
    if (r < 0) {
        snprintf(why, why_size, "%s: %s", path, strerror(-r));
        record_writer_close(writer);
        unlink(path);
        return r;
    }
    *ret = writer;
    return 0;
}

int record_writer_close(struct record_writer *writer)
{
    if (!writer)
        return 0;
    int r = -EBUSY;
    for (int i = 0; i < CLOSE_ATTEMPTS && r == -EBUSY; i++)
        r = record_writer_commit(writer);
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(writer->statement[i]);
    /* Leaves no empty journal beside the recording. */
    sqlite3_exec(writer->database, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    database_close(writer->database);
    /* Behind the database: the end of any descriptor takes all of SQLite's locks along. */
    if (writer->claim >= 0)
        close(writer->claim);
    int flushed = database_flush(writer->path);
    if (r == 0)
        r = flushed;
    free(writer->path);
    for (size_t i = 0; i < writer->device_count; i++)
        free(writer->devices[i]);
    free(writer->devices);
    free(writer);
    return r;
}

int record_writer_meta(struct record_writer *writer, const char *key, const char *value)
{
    sqlite3_stmt *meta = row(writer, WRITE_META);
    if (!meta)
        return writer->error;
    bind_text(meta, 1, key);
    bind_text(meta, 2, value);
    return add_row(writer, meta);
}

static int new_device(struct record_writer *writer, const struct device *device)
{
    struct written **devices =
        reallocarray(writer->devices, writer->device_count + 1, sizeof(*devices));
    if (!devices)
        return -ENOMEM;
    writer->devices = devices;
    struct written *written = calloc(1, sizeof(*written));
    if (!written)
        return -ENOMEM;
    memcpy(written->uuid, device->text[DEVICE_UUID], sizeof(written->uuid));
    written->index = device->index;
    devices[writer->device_count++] = written;
    return 0;
}

static bool is_same(const struct written *written, const struct device *device)
{
    return strcmp(written->uuid, device->text[DEVICE_UUID]) == 0 &&
           (written->uuid[0] || written->index == device->index);
}

int record_writer_device(struct record_writer *writer, const struct device *device,
                         unsigned *ret_gpu)
{
    for (size_t i = 0; i < writer->device_count; i++)
        if (is_same(writer->devices[i], device)) {
            *ret_gpu = (unsigned)i;
            return 0;
        }
    if (writer->device_count == RECORD_DEVICE_LIMIT)
        return -E2BIG;
    sqlite3_stmt *statement = row(writer, WRITE_DEVICE);
    int r = statement ? new_device(writer, device) : writer->error;
    if (r < 0)
        return r;
    unsigned gpu = (unsigned)writer->device_count - 1;
    int column = 1;
    sqlite3_bind_int64(statement, column++, gpu);
    sqlite3_bind_int64(statement, column++, device->index);
    for (size_t i = 0; i < DEVICE_TEXT_COUNT; i++)
        bind_text(statement, column++, device->text[i]);
    for (size_t i = 0; i < DEVICE_NUMBER_COUNT; i++, column++)
        if (device_knows(device, (enum device_number)i))
            sqlite3_bind_double(statement, column, device->number[i]);
    r = add_row(writer, statement);
    if (r == 0)
        *ret_gpu = gpu;
    return r;
}

static int write_absence(struct record_writer *writer, unsigned gpu, double time,
                         enum metric metric, enum absence reason)
{
    sqlite3_stmt *statement = row(writer, WRITE_ABSENCE);
    if (!statement)
        return writer->error;
    sqlite3_bind_double(statement, 1, time);
    sqlite3_bind_int64(statement, 2, gpu);
    bind_text(statement, 3, metric_info(metric)->name);
    bind_text(statement, 4, absence_info(reason)->word);
    return add_row(writer, statement);
}

static int write_absences(struct record_writer *writer, unsigned gpu, const struct sample *sample)
{
    struct written *written = writer->devices[gpu];
    for (size_t i = 0; i < writer->columns.count; i++) {
        enum metric metric = writer->columns.metric[i];
        uint8_t reason = sample->absent[metric];
        if (reason == ABSENT_NO || reason == written->reason[metric])
            continue;
        written->reason[metric] = reason;
        int r = write_absence(writer, gpu, sample->time, metric, (enum absence)reason);
        if (r < 0)
            return r;
    }
    return 0;
}

int record_writer_sample(struct record_writer *writer, unsigned gpu, const struct sample *sample)
{
    struct written *written = writer->devices[gpu];
    if (sample->time == written->sample_time || sample->time <= 0)
        return writer->error;
    int r = write_absences(writer, gpu, sample);
    sqlite3_stmt *statement = row(writer, WRITE_SAMPLE);
    if (r < 0 || !statement)
        return writer->error;
    int column = 1;
    sqlite3_bind_double(statement, column++, sample->time);
    sqlite3_bind_int64(statement, column++, gpu);
    sqlite3_bind_double(statement, column++, sample->interval);
    for (size_t i = 0; i < writer->columns.count; i++, column++)
        if (sample_has(sample, writer->columns.metric[i]))
            sqlite3_bind_double(statement, column, sample->value[writer->columns.metric[i]]);
    r = add_row(writer, statement);
    if (r < 0)
        return r;
    written->sample_time = sample->time;
    writer->sample_count++;
    return 0;
}

int record_writer_outage(struct record_writer *writer, unsigned gpu, double time, const char *state,
                         int error)
{
    sqlite3_stmt *statement = row(writer, WRITE_OUTAGE);
    if (!statement)
        return writer->error;
    sqlite3_bind_double(statement, 1, time);
    sqlite3_bind_int64(statement, 2, gpu);
    bind_text(statement, 3, state);
    sqlite3_bind_int(statement, 4, abs(error));
    return add_row(writer, statement);
}

static bool same_processes(const struct process_list *a, const struct process_list *b)
{
    if (a->known != b->known || a->truncated != b->truncated || a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->process[i].pid != b->process[i].pid || a->process[i].kinds != b->process[i].kinds)
            return false;
    return true;
}

static bool same_amounts(const struct process_list *a, const struct process_list *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->process[i].memory_known != b->process[i].memory_known ||
            a->process[i].memory_bytes != b->process[i].memory_bytes ||
            a->process[i].sm_known != b->process[i].sm_known ||
            a->process[i].sm_ratio != b->process[i].sm_ratio)
            return false;
    return true;
}

static int write_process(struct record_writer *writer, unsigned gpu, double time,
                         const struct process *process)
{
    sqlite3_stmt *statement = row(writer, WRITE_PROCESS);
    if (!statement)
        return writer->error;
    sqlite3_bind_double(statement, 1, time);
    sqlite3_bind_int64(statement, 2, gpu);
    sqlite3_bind_int64(statement, 3, process->pid);
    sqlite3_bind_int64(statement, 4, process->kinds);
    if (process->memory_known)
        sqlite3_bind_int64(statement, 5, (int64_t)process->memory_bytes);
    if (process->sm_known)
        sqlite3_bind_double(statement, 6, process->sm_ratio);
    return add_row(writer, statement);
}

int record_writer_processes(struct record_writer *writer, unsigned gpu, double time,
                            const struct process_list *processes)
{
    struct written *written = writer->devices[gpu];
    bool same = written->listed && same_processes(&written->list, processes);
    if (same &&
        (time < written->list_time + PROCESS_PERIOD || same_amounts(&written->list, processes)))
        return writer->error;
    sqlite3_stmt *statement = row(writer, WRITE_PROCESS_LIST);
    if (!statement)
        return writer->error;
    sqlite3_bind_double(statement, 1, time);
    sqlite3_bind_int64(statement, 2, gpu);
    sqlite3_bind_int(statement, 3, processes->known);
    sqlite3_bind_int(statement, 4, processes->truncated);
    int r = add_row(writer, statement);
    for (size_t i = 0; i < processes->count && r == 0; i++)
        r = write_process(writer, gpu, time, &processes->process[i]);
    if (r < 0)
        return r;
    process_list_copy(&written->list, processes);
    written->list_time = time;
    written->listed = true;
    return !same;
}

int record_writer_process_info(struct record_writer *writer, pid_t pid,
                               const struct process_description *description)
{
    sqlite3_stmt *statement = row(writer, WRITE_PROCESS_INFO);
    if (!statement)
        return writer->error;
    sqlite3_bind_int64(statement, 1, pid);
    sqlite3_bind_double(statement, 2, description->start_time);
    sqlite3_bind_int(statement, 3, description->outside);
    if (!writer->redact) {
        bind_text(statement, 4, description->user);
        bind_text(statement, 5, description->command);
        bind_text(statement, 6, description->container);
        bind_text(statement, 7, description->cgroup);
    }
    return add_row(writer, statement);
}

int record_writer_mark(struct record_writer *writer, double time, double end, const char *name)
{
    sqlite3_stmt *statement = row(writer, WRITE_MARK);
    if (!statement)
        return writer->error;
    sqlite3_bind_int64(statement, 1, ++writer->mark_count);
    sqlite3_bind_double(statement, 2, time);
    sqlite3_bind_double(statement, 3, end > time ? end : time);
    sqlite3_bind_text(statement, 4, name, -1, SQLITE_STATIC);
    return add_row(writer, statement);
}

int record_writer_commit(struct record_writer *writer)
{
    if (writer->error < 0 || !writer->in_transaction)
        return writer->error;
    int code = sqlite3_exec(writer->database, "COMMIT", NULL, NULL, NULL);
    if ((code & 0xff) == SQLITE_BUSY)
        return -EBUSY;
    writer->in_transaction = false;
    return remember(writer, code);
}

size_t record_writer_samples(const struct record_writer *writer)
{
    return writer->sample_count;
}
