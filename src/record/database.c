#include "record/database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"

enum {
    VERSION = 1, /* of the stores and results; recordings have their own */
    /* A recorder that could not commit tries again each second, and lets nobody in meanwhile. */
    READER_PATIENCE_MS = 1500,
    WRITER_PATIENCE_MS = 200,
    ADDING_PATIENCE_MS = 5000, /* another rooftop may be adding to it */
    TEXT_LIMIT_BYTES = 1 << 20,
    COPY_BLOCK_BYTES = 1 << 16,
};

int database_error(int code)
{
    if (code == SQLITE_READONLY_DBMOVED)
        return -ESTALE;
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_PERM:
        return -EACCES;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:
    case SQLITE_AUTH:
    case SQLITE_TOOBIG:
    case SQLITE_SCHEMA:
        return -EBADMSG;
    default:
        return -EIO;
    }
}

/* What a file's own schema could make a query do is refused: only plain columns are read. */
static int authorize(void *context, int action, const char *a, const char *b, const char *c,
                     const char *d)
{
    (void)context;
    (void)c;
    (void)d;
    static const char *const functions[] = {"count", "min", "max"};
    static const char *const pragmas[] = {"user_version", "application_id", "table_list",
                                          "table_info",   "table_xinfo",    "cell_size_check"};
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
            if (b && strcmp(b, functions[i]) == 0)
                return SQLITE_OK;
        return SQLITE_DENY;
    case SQLITE_PRAGMA:
        for (size_t i = 0; i < ARRAY_SIZE(pragmas); i++)
            if (a && strcmp(a, pragmas[i]) == 0)
                return SQLITE_OK;
        return SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static void distrust(sqlite3 *database)
{
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
}

static void harden(sqlite3 *database)
{
    distrust(database);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, TEXT_LIMIT_BYTES);
    sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, TEXT_LIMIT_BYTES);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_exec(database, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    sqlite3_set_authorizer(database, authorize, NULL);
}

/* "file:…" with what a URI keeps for itself escaped. */
static void make_uri(const char *path, const char *query, struct strbuf *out)
{
    strbuf_puts(out, "file:");
    for (const char *c = path; *c; c++)
        if (strchr("%?#", *c))
            strbuf_printf(out, "%%%02X", (unsigned)*c);
        else
            strbuf_putc(out, *c);
    strbuf_puts(out, query);
}

/* Opens, and reads something, since only that finds locks, journals and files of other kinds. */
static int try_open(sqlite3 **ret, const char *path, const char *query)
{
    struct strbuf uri = {0};
    make_uri(path, query, &uri);
    sqlite3 *database = NULL;
    int code = SQLITE_NOMEM;
    if (!strbuf_failed(&uri))
        code = sqlite3_open_v2(uri.text, &database,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                                   SQLITE_OPEN_PRIVATECACHE,
                               NULL);
    strbuf_free(&uri);
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(database, 1);
        sqlite3_busy_timeout(database, READER_PATIENCE_MS);
        code = sqlite3_exec(database, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
    }
    if (code != SQLITE_OK) {
        database_close(database);
        return code;
    }
    *ret = database;
    return SQLITE_OK;
}

static int copy_file(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return -errno;
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int r = out < 0 ? -errno : 0;
    while (r == 0) {
        char block[COPY_BLOCK_BYTES];
        ssize_t got = read(in, block, sizeof(block));
        if (got <= 0) {
            r = got < 0 ? -errno : 0;
            break;
        }
        if (write(out, block, (size_t)got) != got)
            r = -EIO;
    }
    close(in);
    if (out >= 0 && close(out) < 0 && r == 0)
        r = -errno;
    return r;
}

/* A recorder that was killed left a journal, and where the folder cannot be written nobody can
 * roll it back in place: do so in a copy, which goes as soon as it is open. */
static int open_copy(sqlite3 **ret, const char *path)
{
    const char *folder = secure_getenv("TMPDIR");
    char copy[PATH_MAX], journal[PATH_MAX + 16], copied_journal[PATH_MAX + 16];
    snprintf(copy, sizeof(copy) - 16, "%s/rooftop-XXXXXX", folder && folder[0] ? folder : "/tmp");
    if (!mkdtemp(copy))
        return SQLITE_CANTOPEN;
    char made[PATH_MAX];
    memcpy(made, copy, sizeof(made));
    strcat(copy, "/r.roof");
    snprintf(journal, sizeof(journal), "%s-journal", path);
    snprintf(copied_journal, sizeof(copied_journal), "%s-journal", copy);

    int code = SQLITE_CANTOPEN;
    if (copy_file(path, copy) == 0 && copy_file(journal, copied_journal) == 0) {
        sqlite3 *repair;
        code = sqlite3_open_v2(copy, &repair, SQLITE_OPEN_READWRITE, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_exec(repair, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
        sqlite3_close(repair);
        if (code == SQLITE_OK)
            code = try_open(ret, copy, "?immutable=1");
    }
    unlink(copied_journal);
    unlink(copy);
    rmdir(made);
    return code;
}

static bool has_journal(const char *path)
{
    struct strbuf journal = {0};
    struct stat status;
    strbuf_printf(&journal, "%s-journal", path);
    bool has = stat(strbuf_text(&journal), &status) == 0 && status.st_size > 0;
    strbuf_free(&journal);
    return has;
}

/* SQLite wants to write where it cannot: to roll back a journal, or a file beside this one. */
static bool wants_to_write(int code)
{
    return (code & 0xff) == SQLITE_READONLY || (code & 0xff) == SQLITE_CANTOPEN;
}

static int explain(int code, const char *path, char *why, size_t why_size)
{
    int r = database_error(code);
    if ((code & 0xff) == SQLITE_NOTADB)
        snprintf(why, why_size, "%s: this is no file of Rooftop", path);
    else if ((code & 0xff) == SQLITE_CORRUPT)
        snprintf(why, why_size, "%s: the file is damaged", path);
    else if ((code & 0xff) == SQLITE_BUSY)
        snprintf(why, why_size, "%s: another program holds the file locked", path);
    else if (wants_to_write(code))
        snprintf(why, why_size,
                 "%s: its recorder was killed in the middle of a write; copy it together with "
                 "%s-journal into a folder that can be written",
                 path, path);
    else
        snprintf(why, why_size, "%s: %s", path, sqlite3_errstr(code));
    return r;
}

int database_open_to_read(sqlite3 **ret, const char *path, char *why, size_t why_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    int r = fd < 0 || fstat(fd, &status) < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    if (r == 0 && !S_ISREG(status.st_mode))
        r = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    if (r < 0) {
        snprintf(why, why_size, "%s: %s", path,
                 r == -EINVAL ? "this is no regular file" : strerror(-r));
        return r;
    }
    if (status.st_size == 0) {
        snprintf(why, why_size, "%s: the file is empty", path);
        return -EBADMSG;
    }
    int code = try_open(ret, path, "?mode=ro");
    /* Without a journal nothing is to be rolled back: a file in WAL mode, where SQLite wants to
     * make files beside it. */
    if (wants_to_write(code))
        code = has_journal(path) ? open_copy(ret, path) : try_open(ret, path, "?immutable=1");
    if (code != SQLITE_OK)
        return explain(code, path, why, why_size);
    harden(*ret);
    return 0;
}

static int ask_number(sqlite3 *database, const char *sql, int *ret)
{
    sqlite3_stmt *query;
    int code = sqlite3_prepare_v2(database, sql, -1, &query, NULL);
    if (code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW)
        *ret = sqlite3_column_int(query, 0);
    sqlite3_finalize(query);
    return database_error(code);
}

static int identify(sqlite3 *database, const struct database_kind *kind)
{
    int id = -1, version = 0;
    int r = ask_number(database, "PRAGMA application_id", &id);
    if (r == 0)
        r = ask_number(database, "PRAGMA user_version", &version);
    if (r < 0)
        return r;
    if (id != kind->application_id)
        return id == 0 ? 1 : -EBADMSG;
    return version <= VERSION ? 0 : -ENOTSUP;
}

static int refuse(int error, sqlite3 *database, const struct database_kind *kind, const char *path,
                  char *why, size_t why_size)
{
    if ((sqlite3_errcode(database) & 0xff) == SQLITE_CORRUPT)
        snprintf(why, why_size, "%s: the file is damaged", path);
    else if (error == -EBADMSG)
        snprintf(why, why_size, "%s: this is no %s", path, kind->name);
    else if (error == -ENOTSUP)
        snprintf(why, why_size,
                 "%s: a newer rooftop has written it, in a format that this one "
                 "does not know",
                 path);
    else
        snprintf(why, why_size, "%s: %s", path, sqlite3_errmsg(database));
    return error;
}

int database_check(sqlite3 *database, const struct database_kind *kind, const char *path, char *why,
                   size_t why_size)
{
    int r = identify(database, kind);
    return r < 0 ? refuse(r, database, kind, path, why, why_size) : r;
}

/* 1 where the schema is to be run, 0 where it has been, or −errno. */
static int wants_schema(sqlite3 *database, const struct database_kind *kind)
{
    char sql[128];
    int tables = 0, own = 0;
    int r = identify(database, kind);
    if (r != 1)
        return r;
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM sqlite_master WHERE name = '%s'",
             kind->old_table ? kind->old_table : "");
    r = ask_number(database, "SELECT count(*) FROM sqlite_master", &tables);
    if (r == 0)
        r = ask_number(database, sql, &own);
    return r < 0 ? r : tables == 0 || own > 0 ? 1 : -EBADMSG;
}

static int run_schema(sqlite3 *database, const struct database_kind *kind)
{
    struct strbuf sql = {0};
    strbuf_printf(
        &sql, "BEGIN IMMEDIATE; %s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT;",
        kind->schema, kind->application_id, VERSION);
    int code =
        strbuf_failed(&sql) ? SQLITE_NOMEM : sqlite3_exec(database, sql.text, NULL, NULL, NULL);
    strbuf_free(&sql);
    return database_error(code);
}

int database_open_to_add(sqlite3 **ret, const char *path, const struct database_kind *kind,
                         char *why, size_t why_size)
{
    sqlite3 *database = NULL;
    int code = sqlite3_open_v2(path, &database,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                   SQLITE_OPEN_PRIVATECACHE,
                               NULL);
    int r = database_error(code);
    if (r == 0) {
        distrust(database);
        sqlite3_busy_timeout(database, ADDING_PATIENCE_MS);
        r = wants_schema(database, kind);
    }
    if (r == 1)
        r = run_schema(database, kind);
    if (r < 0) {
        refuse(r, database, kind, path, why, why_size);
        database_close(database);
        return r;
    }
    *ret = database;
    return 0;
}

int database_create(sqlite3 **ret, const char *path, char *why, size_t why_size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        int r = -errno;
        snprintf(why, why_size, "%s: %s", path, strerror(-r));
        return r;
    }
    close(fd);
    sqlite3 *database;
    int code = sqlite3_open_v2(
        path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
        NULL);
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(database, 1);
        sqlite3_busy_timeout(database, WRITER_PATIENCE_MS);
        /* Pages go to the file with a commit only. A commit does not wait for the disk: that can
         * take seconds where a job writes its checkpoint, and would leave a gap in the samples. */
        code = sqlite3_exec(database,
                            "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF;"
                            "PRAGMA cache_spill = OFF; PRAGMA temp_store = MEMORY;",
                            NULL, NULL, NULL);
    }
    if (code != SQLITE_OK) {
        snprintf(why, why_size, "%s: %s", path, sqlite3_errstr(code));
        database_close(database);
        unlink(path);
        return database_error(code);
    }
    *ret = database;
    return 0;
}

int database_flush(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return r;
}

void database_close(sqlite3 *database)
{
    sqlite3_close_v2(database);
}
