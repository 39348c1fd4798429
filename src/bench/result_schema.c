#include "bench/result_schema.h"

const struct database_kind result_kind = {
    .name = "result of rooftop bench",
    .application_id = 0x524F4245,
    .schema =
        "CREATE TABLE IF NOT EXISTS fact(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
        "CREATE TABLE IF NOT EXISTS trial(id INTEGER PRIMARY KEY, mode TEXT NOT NULL,"
        " repeat INTEGER NOT NULL, time REAL NOT NULL,"
#define MEASURE(id, name, title, unit, better, help) " " name " REAL,"
#include "bench/measure.def"
#undef MEASURE
        " whole_seconds REAL, UNIQUE(mode, repeat));"
        "CREATE TABLE IF NOT EXISTS run(trial INTEGER NOT NULL, instance INTEGER NOT NULL,"
        " name TEXT NOT NULL, begin REAL, end REAL, outcome TEXT, exit_code INTEGER, memory_peak "
        "REAL,"
        " output TEXT, PRIMARY KEY(trial, instance)) WITHOUT ROWID;"
        "CREATE TABLE IF NOT EXISTS point(trial INTEGER NOT NULL, time REAL NOT NULL,"
        " compute_sol REAL, memory_sol REAL, nvml_utilization REAL, power REAL,"
        " PRIMARY KEY(trial, time)) WITHOUT ROWID;",
};

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
