#include "record/format.h"

#include "metric/device.h"

struct column {
    const char *name;
    const char *type;
    const char *help;
};

struct table {
    const char *name;
    const char *key;
    const char *help;
    const struct column *columns; /* ends with a row without a name */
};

static const struct column meta_columns[] = {
    {"key", "TEXT NOT NULL", "What is told"},
    {"value", "TEXT", "Its value"},
    {NULL, NULL, NULL},
};

static const struct column device_columns[] = {
    {"gpu", "INTEGER NOT NULL", "The number of this device in the other tables"},
    {"gpu_index", "INTEGER NOT NULL",
     "Its index in nvidia-smi; for a MIG instance its place below its GPU"},
    {NULL, NULL, NULL},
};

static const struct column sample_columns[] = {
    {"time", "REAL NOT NULL", "End of the interval, seconds since 1970"},
    {"gpu", "INTEGER NOT NULL", "Device"},
    {"interval", "REAL", "Seconds that the metrics of span interval cover"},
    {NULL, NULL, NULL},
};

static const struct column absence_columns[] = {
    {"time", "REAL NOT NULL", "From this moment on"},
    {"gpu", "INTEGER NOT NULL", "on this device"},
    {"metric", "TEXT NOT NULL", "a NULL in this column of `sample`"},
    {"reason", "TEXT NOT NULL", "means this (a word of docs/METRICS.md)"},
    {NULL, NULL, NULL},
};

static const struct column outage_columns[] = {
    {"time", "REAL NOT NULL", "From this moment until its next sample"},
    {"gpu", "INTEGER NOT NULL", "this device"},
    {"state", "TEXT NOT NULL", "was stale, lost or failed"},
    {"error", "INTEGER", "with this error number of Linux, or 0"},
    {NULL, NULL, NULL},
};

static const struct column mark_columns[] = {
    {"id", "INTEGER NOT NULL", "Number of the mark"},
    {"time", "REAL NOT NULL", "When, or where the span begins, seconds since 1970"},
    {"end", "REAL NOT NULL", "End of the span; equal to time for a moment"},
    {"name", "TEXT NOT NULL", "Name of the mark"},
    {NULL, NULL, NULL},
};

static const struct column process_list_columns[] = {
    {"time", "REAL NOT NULL", "From this moment until the device's next list"},
    {"gpu", "INTEGER NOT NULL",
     "the processes of this device are those of `process` with this time"},
    {"known", "INTEGER NOT NULL", "0 where they could not be listed"},
    {"truncated", "INTEGER NOT NULL", "1 where there were more than are listed"},
    {NULL, NULL, NULL},
};

static const struct column process_columns[] = {
    {"time", "REAL NOT NULL", "Time of the list"},
    {"gpu", "INTEGER NOT NULL", "Device"},
    {"pid", "INTEGER NOT NULL", "Process"},
    {"kinds", "INTEGER NOT NULL", "Sum of 1: compute, 2: graphics, 4: MPS client, 8: MPS server"},
    {"memory_bytes", "INTEGER", "Device memory that it holds; NULL where not known"},
    {"sm_ratio", "REAL", "Its share of the SMs and of the time; NULL where not known"},
    {NULL, NULL, NULL},
};

static const struct column process_info_columns[] = {
    {"pid", "INTEGER NOT NULL", "Process"},
    {"start_time", "REAL NOT NULL", "Its start, seconds since 1970; 0 where not known"},
    {"outside", "INTEGER NOT NULL",
     "1 where the PID is of another namespace, so that nothing is known of it"},
    {"user", "TEXT", "User; like those below NULL where the recording was redacted"},
    {"command", "TEXT", "Command line"},
    {"container", "TEXT", "Container"},
    {"cgroup", "TEXT", "Control group"},
    {NULL, NULL, NULL},
};

static const struct table tables[] = {
    {"meta", "key", "Facts of the whole recording.", meta_columns},
    {"device", "gpu", "The devices, with their facts; NULL where not known.", device_columns},
    {"sample", "time, gpu", "One row for each device and moment; NULL where a value is missing.",
     sample_columns},
    {"absence", "time, gpu, metric", "Why values are missing.", absence_columns},
    {"outage", "time, gpu", "When a device gave no samples.", outage_columns},
    {"mark", "id", "Named moments and spans.", mark_columns},
    {"process_list", "time, gpu", "When the processes of a device were listed.",
     process_list_columns},
    {"process", "time, gpu, pid", "The processes of those lists.", process_columns},
    {"process_info", "pid, start_time", "What was known of a process.", process_info_columns},
};

struct record_columns record_columns(void)
{
    struct record_columns columns = {0};
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (metric_info((enum metric)i)->origin == ORIGIN_MEASURED)
            columns.metric[columns.count++] = (enum metric)i;
    return columns;
}

typedef void add_column(struct strbuf *out, const char *name, const char *type, const char *help);

static void walk_columns(const struct table *table, add_column *add, struct strbuf *out)
{
    for (const struct column *column = table->columns; column->name; column++)
        add(out, column->name, column->type, column->help);
    if (table->columns == device_columns) {
        for (size_t i = 0; i < DEVICE_TEXT_COUNT; i++) {
            const struct device_field *field = device_text_field((enum device_text)i);
            add(out, field->name, "TEXT", field->help);
        }
        for (size_t i = 0; i < DEVICE_NUMBER_COUNT; i++) {
            const struct device_field *field = device_number_field((enum device_number)i);
            add(out, field->name, "REAL", field->help);
        }
    }
    if (table->columns == sample_columns) {
        struct record_columns columns = record_columns();
        for (size_t i = 0; i < columns.count; i++) {
            const struct metric_info *info = metric_info(columns.metric[i]);
            add(out, info->name, "REAL", info->help);
        }
    }
}

static void add_sql(struct strbuf *out, const char *name, const char *type, const char *help)
{
    (void)help;
    strbuf_printf(out, "\"%s\" %s, ", name, type);
}

static void add_row(struct strbuf *out, const char *name, const char *type, const char *help)
{
    strbuf_printf(out, "| `%s` | %s | %s |\n", name, type, help);
}

void record_schema(struct strbuf *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        strbuf_printf(out, "CREATE TABLE \"%s\" (", tables[i].name);
        walk_columns(&tables[i], add_sql, out);
        strbuf_printf(out, "PRIMARY KEY (%s)) WITHOUT ROWID;\n", tables[i].key);
    }
}

static const char introduction[] =
    "# The format of recordings\n"
    "\n"
    "A recording (`.roof`) is an SQLite 3 database: `sqlite3 FILE` opens it. This page is made by\n"
    "`rooftop reference format` from the tables in the program; a test compares them.\n"
    "\n"
    "    sqlite3 run.roof \"SELECT time, sm_active_ratio, power_watts FROM sample WHERE gpu = 0\"\n"
    "\n"
    "- `PRAGMA application_id` is 0x524F4F46 (\"ROOF\"). `PRAGMA user_version` is the version of\n"
    "  the format, now %d. It grows only where an older reader would misunderstand the file; such\n"
    "  a file is refused, and the message names both versions. Older versions open.\n"
    "- Tables and columns may be added without a new version: a reader leaves out those that it\n"
    "  does not know, and takes what a file lacks as not recorded. The tables other than `meta`,\n"
    "  `device` and `sample` may be missing.\n"
    "- Times are seconds since 1970. Names and units are those of docs/METRICS.md.\n"
    "- All tables are WITHOUT ROWID. The journal mode is TRUNCATE: the file alone is the\n"
    "  recording, and can be read from a folder that cannot be written. It is committed once a\n"
    "  second. A recorder that was killed in the middle of a commit leaves `FILE-journal`, which\n"
    "  SQLite rolls back when it opens the file; keep the two together until then. Only the end\n"
    "  of the recording waits for the disk: a machine that loses its power before may leave a\n"
    "  damaged file.\n"
    "- A sample is written once, when it is new. A metric of span interval covers the sample's\n"
    "  `interval`; a reader that joins samples weights them by it.\n"
    "- `rooftop record --redact` leaves `host` out of `meta`, and `user`, `command`, `container`\n"
    "  and `cgroup` NULL.\n"
    "- Readers check what they read: a value of a wrong type, that is not finite or cannot be "
    "true\n"
    "  counts as missing, and a row without a plausible time or device is left out.\n"
    "\n"
    "Keys of `meta`: `program` (what wrote it), `source`, `interval` (seconds between samples, as\n"
    "asked for), `driver_version`, `library_version`, `cuda_version`, `host`, `redacted` (1 or "
    "0).\n"
    "\n"
    "## Tables\n"
    "\n";

void record_describe_format(struct strbuf *out)
{
    strbuf_printf(out, introduction, RECORD_VERSION);
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        strbuf_printf(out, "%s### `%s`\n\n%s Key: %s.\n\n", i ? "\n" : "", tables[i].name,
                      tables[i].help, tables[i].key);
        strbuf_puts(out, "| column | type | meaning |\n|---|---|---|\n");
        walk_columns(&tables[i], add_row, out);
    }
}
