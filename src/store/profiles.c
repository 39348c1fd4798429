#include "store/profiles.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "record/database.h"
#include "store/place.h"

struct profiles {
    sqlite3 *database;
};

static const struct database_kind store_kind = {
    .name = "store of profiles",
    .application_id = 0x524F4650,
    .old_table = "profile_metric",
    .schema =
        "CREATE TABLE IF NOT EXISTS profile(key TEXT PRIMARY KEY, command TEXT, gpu_name TEXT,"
        " gpu_uuid TEXT, created REAL, wall_seconds REAL, measured_seconds REAL, exit_code INTEGER,"
        " memory_peak_bytes REAL, energy_joules REAL, idle_ratio REAL, span_seconds REAL)"
        " WITHOUT ROWID;"
        "CREATE TABLE IF NOT EXISTS profile_metric(key TEXT, metric TEXT, count INTEGER, mean REAL,"
        " p5 REAL, p25 REAL, p50 REAL, p75 REAL, p95 REAL, max REAL, PRIMARY KEY(key, metric))"
        " WITHOUT ROWID;"
        "CREATE TABLE IF NOT EXISTS profile_phase(key TEXT, place INTEGER, begin REAL, length REAL,"
        " bound TEXT, compute_sol_ratio REAL, memory_sol_ratio REAL, PRIMARY KEY(key, place))"
        " WITHOUT ROWID;"
        "CREATE TABLE IF NOT EXISTS profile_scaling(key TEXT, sm_percent REAL, wall_seconds REAL,"
        " span_seconds REAL, PRIMARY KEY(key, sm_percent)) WITHOUT ROWID;",
};

/* Files of before have no such columns; where they are there, this fails. */
static const char *const later_columns[] = {
    "ALTER TABLE profile ADD COLUMN span_seconds REAL",
    "ALTER TABLE profile_scaling ADD COLUMN span_seconds REAL",
};

static const char *const tables[] = {"profile", "profile_metric", "profile_phase",
                                     "profile_scaling"};

static int find_path(struct strbuf *out)
{
    const char *own = secure_getenv("ROOFTOP_PROFILES");
    if (!own || !own[0])
        return store_path("profiles.db", out);
    strbuf_puts(out, own);
    return strbuf_failed(out) ? -ENOMEM : 0;
}

static int open_file(struct profiles *profiles, const char *path, char *why, size_t why_size)
{
    int r = database_open_to_add(&profiles->database, path, &store_kind, why, why_size);
    for (size_t i = 0; i < ARRAY_SIZE(later_columns) && r == 0; i++)
        sqlite3_exec(profiles->database, later_columns[i], NULL, NULL, NULL);
    return r;
}

static int open_profiles(struct profiles **ret, bool to_add, char *why, size_t why_size)
{
    struct strbuf path = {0};
    int r = find_path(&path);
    struct profiles *profiles = r == 0 ? calloc(1, sizeof(*profiles)) : NULL;
    if (!profiles) {
        strbuf_free(&path);
        snprintf(why, why_size, "there is no place for profiles; set ROOFTOP_PROFILES to a file");
        return r < 0 ? r : -ENOMEM;
    }
    if (to_add)
        file_make_folders(strbuf_text(&path));
    bool is_there = to_add || access(strbuf_text(&path), F_OK) == 0;
    r = open_file(profiles, is_there ? strbuf_text(&path) : ":memory:", why, why_size);
    strbuf_free(&path);
    if (r < 0) {
        profiles_close(profiles);
        return r;
    }
    *ret = profiles;
    return 0;
}

int profiles_open(struct profiles **ret, char *why, size_t why_size)
{
    return open_profiles(ret, false, why, why_size);
}

int profiles_open_to_add(struct profiles **ret, char *why, size_t why_size)
{
    return open_profiles(ret, true, why, why_size);
}

void profiles_close(struct profiles *profiles)
{
    if (!profiles)
        return;
    database_close(profiles->database);
    free(profiles);
}

/* Runs a statement whose parameters are, in order, as the letters say: 't' const char *,
 * 'd' double, 'i' int64_t. A row for each call; `code` remembers the first failure. */
static void execute(struct profiles *profiles, int *code, const char *sql, const char *letters, ...)
{
    sqlite3_stmt *statement = NULL;
    if (*code != SQLITE_OK)
        return;
    *code = sqlite3_prepare_v2(profiles->database, sql, -1, &statement, NULL);
    va_list values;
    va_start(values, letters);
    for (int i = 0; letters[i] && *code == SQLITE_OK; i++)
        *code = letters[i] == 't'
                    ? sqlite3_bind_text(statement, i + 1, va_arg(values, const char *), -1,
                                        SQLITE_TRANSIENT)
                : letters[i] == 'd' ? sqlite3_bind_double(statement, i + 1, va_arg(values, double))
                                    : sqlite3_bind_int64(statement, i + 1, va_arg(values, int64_t));
    va_end(values);
    if (*code == SQLITE_OK && sqlite3_step(statement) != SQLITE_DONE)
        *code = sqlite3_errcode(profiles->database);
    sqlite3_finalize(statement);
}

static int finish(struct profiles *profiles, int code)
{
    int ended = sqlite3_exec(profiles->database, code == SQLITE_OK ? "COMMIT" : "ROLLBACK", NULL,
                             NULL, NULL);
    return database_error(code == SQLITE_OK ? ended : code);
}

static void remove_rows(struct profiles *profiles, int *code, const char *key)
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        char sql[96];
        snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE key = ?", tables[i]);
        execute(profiles, code, sql, "t", key);
    }
}

static void put_metrics(struct profiles *profiles, int *code, const struct profile *profile)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct profile_spread *spread = &profile->metrics[i];
        if (spread->count > 0)
            execute(profiles, code, "INSERT INTO profile_metric VALUES(?,?,?,?,?,?,?,?,?,?)",
                    "ttiddddddd", profile->key, metric_info((enum metric)i)->name,
                    (int64_t)spread->count, spread->mean, spread->p5, spread->p25, spread->p50,
                    spread->p75, spread->p95, spread->max);
    }
}

int profiles_put(struct profiles *profiles, const struct profile *profile)
{
    int code = sqlite3_exec(profiles->database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return database_error(code);
    remove_rows(profiles, &code, profile->key);
    execute(profiles, &code, "INSERT INTO profile VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", "ttttdddidddd",
            profile->key, profile->command, profile->gpu_name, profile->gpu_uuid, profile->created,
            profile->wall_seconds, profile->measured_seconds, (int64_t)profile->exit_code,
            profile->memory_peak_bytes, profile->energy_joules, profile->idle_ratio,
            profile->span_seconds);
    put_metrics(profiles, &code, profile);
    for (size_t i = 0; i < profile->phase_count; i++) {
        const struct profile_phase *phase = &profile->phases[i];
        const char *bound = label_word(METRIC_BOUND, (double)phase->bound);
        execute(profiles, &code, "INSERT INTO profile_phase VALUES(?,?,?,?,?,?,?)", "tiddtdd",
                profile->key, (int64_t)i, phase->begin, phase->length, bound ? bound : "",
                phase->compute_sol, phase->memory_sol);
    }
    for (size_t i = 0; i < profile->scaling_count; i++)
        execute(profiles, &code,
                "INSERT INTO profile_scaling(key, sm_percent, wall_seconds, span_seconds)"
                " VALUES(?,?,?,?)",
                "tddd", profile->key, profile->scaling[i].sm_percent,
                profile->scaling[i].wall_seconds, profile->scaling[i].span_seconds);
    return finish(profiles, code);
}

int profiles_remove(struct profiles *profiles, const char *key)
{
    int code = sqlite3_exec(profiles->database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return database_error(code);
    int removed = 0;
    for (size_t i = ARRAY_SIZE(tables); i-- > 0;) {
        char sql[96];
        snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE key = ?", tables[i]);
        execute(profiles, &code, sql, "t", key);
        removed = sqlite3_changes(profiles->database);
    }
    int r = finish(profiles, code);
    return r == 0 && removed == 0 ? -ENOENT : r;
}

/* Calls back for each row of a query about the key. */
static int query(struct profiles *profiles, const char *sql, const char *key,
                 void (*row)(void *context, sqlite3_stmt *statement), void *context)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(profiles->database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK && key)
        code = sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        row(context, statement);
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return database_error(code);
}

static void take_text(sqlite3_stmt *statement, int column, char *ret, size_t size)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    snprintf(ret, size, "%s", text ? (const char *)text : "");
}

static void take_profile(void *context, sqlite3_stmt *row)
{
    struct profile *profile = context;
    take_text(row, 0, profile->key, sizeof(profile->key));
    take_text(row, 1, profile->command, sizeof(profile->command));
    take_text(row, 2, profile->gpu_name, sizeof(profile->gpu_name));
    take_text(row, 3, profile->gpu_uuid, sizeof(profile->gpu_uuid));
    profile->created = sqlite3_column_double(row, 4);
    profile->wall_seconds = sqlite3_column_double(row, 5);
    profile->measured_seconds = sqlite3_column_double(row, 6);
    profile->exit_code = sqlite3_column_int(row, 7);
    profile->memory_peak_bytes = sqlite3_column_double(row, 8);
    profile->energy_joules = sqlite3_column_double(row, 9);
    profile->idle_ratio = sqlite3_column_double(row, 10);
    profile->span_seconds = sqlite3_column_double(row, 11);
}

static void take_metric(void *context, sqlite3_stmt *row)
{
    struct profile *profile = context;
    char name[64];
    take_text(row, 1, name, sizeof(name));
    enum metric metric = metric_by_name(name);
    if (metric == METRIC_COUNT)
        return;
    profile->metrics[metric] = (struct profile_spread){
        .count = (uint64_t)sqlite3_column_int64(row, 2),
        .mean = sqlite3_column_double(row, 3),
        .p5 = sqlite3_column_double(row, 4),
        .p25 = sqlite3_column_double(row, 5),
        .p50 = sqlite3_column_double(row, 6),
        .p75 = sqlite3_column_double(row, 7),
        .p95 = sqlite3_column_double(row, 8),
        .max = sqlite3_column_double(row, 9),
    };
}

static void take_phase(void *context, sqlite3_stmt *row)
{
    struct profile *profile = context;
    char word[32];
    take_text(row, 4, word, sizeof(word));
    int bound = label_value(METRIC_BOUND, word);
    if (bound < 0 || profile->phase_count == PROFILE_PHASES)
        return;
    profile->phases[profile->phase_count++] = (struct profile_phase){
        .begin = sqlite3_column_double(row, 2),
        .length = sqlite3_column_double(row, 3),
        .bound = (enum label)bound,
        .compute_sol = sqlite3_column_double(row, 5),
        .memory_sol = sqlite3_column_double(row, 6),
    };
}

static void take_scaling(void *context, sqlite3_stmt *row)
{
    struct profile *profile = context;
    if (profile->scaling_count < PROFILE_SCALING)
        profile->scaling[profile->scaling_count++] = (struct profile_scaling){
            .sm_percent = sqlite3_column_double(row, 0),
            .wall_seconds = sqlite3_column_double(row, 1),
            .span_seconds = sqlite3_column_double(row, 2),
        };
}

int profiles_get(struct profiles *profiles, const char *key, struct profile *ret)
{
    struct profile *profile = calloc(1, sizeof(*profile));
    if (!profile)
        return -ENOMEM;
    int r = query(profiles, "SELECT * FROM profile WHERE key = ?", key, take_profile, profile);
    if (r == 0 && !profile->key[0])
        r = -ENOENT;
    if (r == 0)
        r = query(profiles, "SELECT * FROM profile_metric WHERE key = ?", key, take_metric,
                  profile);
    if (r == 0)
        r = query(profiles, "SELECT * FROM profile_phase WHERE key = ? ORDER BY place", key,
                  take_phase, profile);
    if (r == 0)
        r = query(profiles,
                  "SELECT sm_percent, wall_seconds, span_seconds FROM profile_scaling"
                  " WHERE key = ? ORDER BY sm_percent",
                  key, take_scaling, profile);
    if (r == 0)
        *ret = *profile;
    free(profile);
    return r;
}

struct each_context {
    void (*each)(void *context, const char *key);
    void *context;
};

static void pass_key(void *context, sqlite3_stmt *row)
{
    struct each_context *each = context;
    char key[PROFILE_KEY_SIZE];
    take_text(row, 0, key, sizeof(key));
    each->each(each->context, key);
}

int profiles_each(struct profiles *profiles, void (*each)(void *context, const char *key),
                  void *context)
{
    struct each_context pass = {each, context};
    return query(profiles, "SELECT key FROM profile ORDER BY key", NULL, pass_key, &pass);
}
