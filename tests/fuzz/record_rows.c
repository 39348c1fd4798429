/* A sound database whose rows hold anything: each input line is "TABLE COLUMN VALUE", and puts the
 * value (a number, "text", x'blob' or null, as SQL writes them) into that column of a row of its
 * own. */
#include <sqlite3.h>

#include "read_recording.h"
#include "record/format.h"

static sqlite3 *make_database(const char *path)
{
    sqlite3 *database;
    struct strbuf sql = {0};
    unlink(path);
    MUST(sqlite3_open(path, &database) == SQLITE_OK);
    strbuf_printf(&sql,
                  "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA "
                  "application_id = %d; PRAGMA user_version = %d; BEGIN;",
                  RECORD_APPLICATION_ID, RECORD_VERSION);
    record_schema(&sql);
    strbuf_puts(&sql, "INSERT INTO device (gpu, gpu_index) VALUES (0, 0), (1, 1);"
                      "INSERT INTO sample (time, gpu) VALUES (10, 0), (10, 1), (11, 0);"
                      "INSERT INTO process_list VALUES (10, 0, 1, 0);"
                      "INSERT INTO process VALUES (10, 0, 7, 1, 5, 0.5);"
                      "INSERT INTO process_info (pid, start_time, outside) VALUES (7, 1, 0);");
    MUST(sqlite3_exec(database, sql.text, NULL, NULL, NULL) == SQLITE_OK);
    strbuf_free(&sql);
    return database;
}

/* The value goes in as a literal only if that is what it is: no other SQL of the input runs. */
static void put(sqlite3 *database, char *line)
{
    char *rest = NULL;
    char *table = strtok_r(line, " ", &rest), *column = strtok_r(NULL, " ", &rest);
    if (!table || !column || !rest || strlen(rest) > 200)
        return;
    struct strbuf sql = {0};
    char *end;
    double number = strtod(rest, &end);
    char *target = sqlite3_mprintf("UPDATE OR IGNORE \"%w\" SET \"%w\" = ", table, column);
    char *value = end != rest && *end == '\0' ? sqlite3_mprintf("%!.17g", number)
                  : strcmp(rest, "null") == 0 ? sqlite3_mprintf("NULL")
                  : rest[0] == 'x'            ? sqlite3_mprintf("CAST(%Q AS BLOB)", rest + 1)
                                              : sqlite3_mprintf("%Q", rest);
    MUST(target && value);
    strbuf_printf(&sql, "%s%s", target, value);
    sqlite3_exec(database, strbuf_text(&sql), NULL, NULL, NULL);
    strbuf_free(&sql);
    sqlite3_free(target);
    sqlite3_free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4096)
        return 0;
    char *text = fuzz_text(data, size);
    const char *path = recording_path();
    sqlite3 *database = make_database(path);
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        put(database, line);
    sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(database);
    read_recording(path);
    unlink(path);
    free(text);
    return 0;
}
