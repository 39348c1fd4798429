#include "bench/result_schema.h"

#include "record/database.h"

enum { APPLICATION_ID = 0x524F4245 };

const char result_schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS fact(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS trial(id INTEGER PRIMARY KEY, mode TEXT NOT NULL,"
    " repeat INTEGER NOT NULL, time REAL NOT NULL,"
#define MEASURE(id, name, title, unit, better, help) " " name " REAL,"
#include "bench/measure.def"
#undef MEASURE
    " whole_seconds REAL, UNIQUE(mode, repeat));"
    "CREATE TABLE IF NOT EXISTS run(trial INTEGER NOT NULL, instance INTEGER NOT NULL,"
    " name TEXT NOT NULL, begin REAL, end REAL, outcome TEXT, exit_code INTEGER, memory_peak REAL,"
    " output TEXT, PRIMARY KEY(trial, instance)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS point(trial INTEGER NOT NULL, time REAL NOT NULL,"
    " compute_sol REAL, memory_sol REAL, nvml_utilization REAL, power REAL,"
    " PRIMARY KEY(trial, time)) WITHOUT ROWID;"
    "PRAGMA application_id = 1380926021;"
    "PRAGMA user_version = 1;"
    "COMMIT;";
_Static_assert(APPLICATION_ID == 1380926021, "the number in the schema");

const char result_select_trials[] = "SELECT id, mode, repeat, time"
#define MEASURE(id, name, title, unit, better, help) ", " name
#include "bench/measure.def"
#undef MEASURE
                                    " FROM trial ORDER BY id";

const char result_insert_trial[] = "INSERT INTO trial(mode, repeat, time, whole_seconds"
#define MEASURE(id, name, title, unit, better, help) ", " name
#include "bench/measure.def"
#undef MEASURE
                                   ") VALUES(?, ?, ?, ?"
#define MEASURE(id, name, title, unit, better, help) ", ?"
#include "bench/measure.def"
#undef MEASURE
                                   ")";

int result_check_identity(sqlite3 *database)
{
    return database_identity(database, APPLICATION_ID);
}
