#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/utf8.h"
#include "record/database.h"
#include "store/ceiling.h"
#include "store/place.h"

static const struct database_kind store_kind = {
    .name = "store of ceilings",
    .application_id = 0x524F4345,
    .schema = "CREATE TABLE IF NOT EXISTS ceiling(uuid TEXT NOT NULL, kind TEXT NOT NULL,"
              " time REAL NOT NULL, value REAL NOT NULL, spread REAL, ratio REAL, clock REAL,"
              " temperature REAL, power REAL, driver TEXT, how TEXT,"
              " PRIMARY KEY(uuid, kind, time)) WITHOUT ROWID;",
};

struct ceiling_store {
    sqlite3 *database;
};

int ceiling_store_path(struct strbuf *out)
{
    return store_path("ceilings.db", out);
}

static int wrap(sqlite3 *database, struct ceiling_store **ret)
{
    struct ceiling_store *store = calloc(1, sizeof(*store));
    if (!store) {
        database_close(database);
        return -ENOMEM;
    }
    store->database = database;
    *ret = store;
    return 0;
}

int ceiling_store_open(struct ceiling_store **ret, const char *path, char *why, size_t why_size)
{
    file_make_folders(path);
    sqlite3 *database;
    int r = database_open_to_add(&database, path, &store_kind, why, why_size);
    return r < 0 ? r : wrap(database, ret);
}

int ceiling_store_open_to_read(struct ceiling_store **ret, const char *path, char *why,
                               size_t why_size)
{
    struct stat status;
    /* A full disk has cut it short, or another process is making it. */
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0)
        return -ENOENT;
    sqlite3 *database;
    int r = database_open_to_read(&database, path, why, why_size);
    if (r < 0)
        return r;
    r = database_check(database, &store_kind, path, why, why_size);
    if (r < 0) {
        database_close(database);
        return r;
    }
    return wrap(database, ret);
}

void ceiling_store_close(struct ceiling_store *store)
{
    if (store)
        database_close(store->database);
    free(store);
}

static void bind(sqlite3_stmt *insert, int place, double value)
{
    if (isfinite(value))
        sqlite3_bind_double(insert, place, value);
    else
        sqlite3_bind_null(insert, place);
}

static int add_one(sqlite3_stmt *insert, const char *uuid, enum ceiling ceiling,
                   const struct ceiling_value *value)
{
    sqlite3_reset(insert);
    sqlite3_bind_text(insert, 1, uuid, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 2, ceiling_info(ceiling)->name, -1, SQLITE_STATIC);
    bind(insert, 3, value->time);
    bind(insert, 4, value->value);
    bind(insert, 5, value->spread);
    bind(insert, 6, value->ratio);
    bind(insert, 7, value->clock);
    bind(insert, 8, value->temperature);
    bind(insert, 9, value->power);
    sqlite3_bind_text(insert, 10, value->driver, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 11, value->how, -1, SQLITE_STATIC);
    return sqlite3_step(insert);
}

int ceiling_store_add(struct ceiling_store *store, const char *uuid,
                      const struct ceilings *ceilings)
{
    sqlite3 *database = store->database;
    sqlite3_stmt *insert = NULL;
    int code = sqlite3_prepare_v2(database,
                                  "INSERT OR REPLACE INTO ceiling(uuid, kind, time, value, spread, "
                                  "ratio, clock, temperature, power, driver, how) "
                                  "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                  -1, &insert, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code != SQLITE_OK) {
        sqlite3_finalize(insert);
        return database_error(code);
    }
    for (size_t i = 0; i < CEILING_COUNT && database_error(code) == 0; i++)
        if (ceilings->of[i].origin == CEILING_MEASURED)
            code = add_one(insert, uuid, (enum ceiling)i, &ceilings->of[i]);
    sqlite3_finalize(insert);
    int r = database_error(code);
    if (r == 0)
        r = database_error(sqlite3_exec(database, "COMMIT", NULL, NULL, NULL));
    if (r < 0)
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

static double column(sqlite3_stmt *query, int place, double low, double high)
{
    double value = sqlite3_column_type(query, place) == SQLITE_FLOAT
                       ? sqlite3_column_double(query, place)
                       : NAN;
    return value >= low && value <= high ? value : NAN;
}

static void column_text(sqlite3_stmt *query, int place, char *ret, size_t size)
{
    const unsigned char *text = sqlite3_column_text(query, place);
    utf8_clean(ret, size, text ? (const char *)text : "");
}

/* A file can hold anything: what no GPU can have done is left out. */
static bool read_row(sqlite3_stmt *query, enum ceiling *ret_ceiling, struct ceiling_value *ret)
{
    const unsigned char *kind = sqlite3_column_text(query, 0);
    *ret_ceiling = kind ? ceiling_by_name((const char *)kind) : CEILING_COUNT;
    *ret = (struct ceiling_value){
        .origin = CEILING_MEASURED,
        .time = column(query, 1, 0, 1e11),
        .value = column(query, 2, 1, 1e18),
        .spread = column(query, 3, 0, 1e3),
        .ratio = column(query, 4, 0, 1),
        .clock = column(query, 5, 1, 1e11),
        .temperature = column(query, 6, -273, 1000),
        .power = column(query, 7, 0, 1e5),
    };
    column_text(query, 8, ret->driver, sizeof(ret->driver));
    column_text(query, 9, ret->how, sizeof(ret->how));
    return *ret_ceiling != CEILING_COUNT && isfinite(ret->time) && isfinite(ret->value);
}

int ceiling_store_each(struct ceiling_store *store, const char *uuid,
                       void (*each)(void *context, enum ceiling ceiling,
                                    const struct ceiling_value *value),
                       void *context)
{
    sqlite3_stmt *query;
    int code =
        sqlite3_prepare_v2(store->database,
                           "SELECT kind, time, value, spread, ratio, clock, temperature, power, "
                           "driver, how FROM ceiling WHERE uuid = ? ORDER BY time",
                           -1, &query, NULL);
    if (code != SQLITE_OK)
        return database_error(code);
    sqlite3_bind_text(query, 1, uuid, -1, SQLITE_STATIC);
    while ((code = sqlite3_step(query)) == SQLITE_ROW) {
        enum ceiling ceiling;
        struct ceiling_value value;
        if (read_row(query, &ceiling, &value))
            each(context, ceiling, &value);
    }
    sqlite3_finalize(query);
    return database_error(code);
}
