/* Recordings as files: those that are wrong, that cannot be written, and that two programs use. */
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record_stage.h"

static void expect_refusal(struct folder *folder, int error, const char *reason)
{
    struct record_reader *reader = NULL;
    int r = record_reader_open(&reader, folder->file, folder->why, sizeof(folder->why));
    assert_int_equal(r, error);
    assert_null(reader);
    if (!strstr(folder->why, reason))
        print_message("%s\n", folder->why);
    assert_non_null(strstr(folder->why, reason));
    assert_non_null(strstr(folder->why, folder->file));
}

static void refuses_what_is_no_recording(void **state)
{
    struct folder *folder = *state;
    expect_refusal(folder, -ENOENT, "No such file");
    assert_int_equal(mkdir(folder->file, 0700), 0);
    expect_refusal(folder, -EISDIR, "Is a directory");
    assert_int_equal(rmdir(folder->file), 0);
    assert_int_equal(mkfifo(folder->file, 0600), 0);
    expect_refusal(folder, -EINVAL, "no regular file");
    assert_int_equal(unlink(folder->file), 0);

    FILE *file = fopen(folder->file, "w");
    assert_non_null(file);
    fclose(file);
    expect_refusal(folder, -EBADMSG, "the file is empty");
    file = fopen(folder->file, "w");
    for (int i = 0; i < 1000; i++)
        fprintf(file, "this is no database\n");
    fclose(file);
    expect_refusal(folder, -EBADMSG, "this is no file of Rooftop");
    assert_int_equal(unlink(folder->file), 0);
    alter(folder, "CREATE TABLE sample (time, gpu)");
    expect_refusal(folder, -EBADMSG, "no recording of Rooftop");
}

static void knows_its_version(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    alter(folder, "PRAGMA user_version = 2");
    expect_refusal(folder, -ENOTSUP, "written in format 2");
    alter(folder, "PRAGMA user_version = 1; DROP TABLE sample");
    expect_refusal(folder, -EBADMSG, "lacks its tables");
}

/* Views and virtual tables would run the file's own SQL. */
static void runs_nothing_of_the_file(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    alter(folder,
          "DROP TABLE mark; CREATE VIEW mark AS WITH RECURSIVE n(time) AS (SELECT 1 UNION "
          "ALL SELECT time + 1 FROM n) SELECT time, time AS id, time AS \"end\", 'x' AS name "
          "FROM n");
    struct record_reader *reader = open_reader(folder);
    assert_int_equal(record_reader_mark_count(reader), 0);
    record_reader_close(reader);
    alter(folder,
          "ALTER TABLE sample RENAME TO hidden; CREATE VIEW sample AS SELECT * FROM hidden");
    expect_refusal(folder, -EBADMSG, "lacks its tables");
}

/* A column may be computed, by any function and at any cost. */
static void computes_nothing_for_the_file(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    alter(folder, "DROP TABLE mark; CREATE TABLE mark (id, time, \"end\", n, "
                  "name AS (printf('%.*c', n, 'x')));"
                  "INSERT INTO mark (id, time, \"end\", n) VALUES (1, 1, 1, 5)");
    struct record_reader *reader = open_reader(folder);
    assert_int_equal(record_reader_mark_count(reader), 0);
    record_reader_close(reader);
}

static void says_that_a_file_is_damaged(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 300);
    assert_int_equal(record_writer_close(writer), 0);
    struct stat status;
    assert_int_equal(stat(folder->file, &status), 0);
    assert_int_equal(truncate(folder->file, status.st_size / 2), 0);
    expect_refusal(folder, -EBADMSG, "damaged");
}

static void says_that_a_file_is_locked(void **state)
{
    struct folder *folder = *state;
    assert_int_equal(record_writer_close(open_with_device(folder)), 0);
    sqlite3 *database;
    assert_int_equal(sqlite3_open(folder->file, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    expect_refusal(folder, -EBUSY, "another program holds the file locked");
    sqlite3_close(database);
}

static void replaces_only_when_told(void **state)
{
    struct folder *folder = *state;
    assert_int_equal(record_writer_close(open_with_device(folder)), 0);
    struct record_writer *writer = NULL;
    struct record_writer_options options = {.interval = 0.1};
    assert_int_equal(
        record_writer_open(&writer, folder->file, &options, folder->why, sizeof(folder->why)),
        -EEXIST);
    assert_null(writer);
    options.replace = true;
    assert_int_equal(
        record_writer_open(&writer, folder->file, &options, folder->why, sizeof(folder->why)), 0);
    assert_int_equal(record_writer_close(writer), 0);
    struct record_reader *reader = open_reader(folder);
    assert_int_equal(record_reader_device_count(reader), 0);
    record_reader_close(reader);
}

/* What was committed can be read while the recorder goes on, and a reader that holds the file
 * delays the recorder but loses nothing. */
static void is_read_while_it_is_written(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_commit(writer), 0);
    struct sample sample = example_sample(0, 3), read;
    assert_int_equal(record_writer_sample(writer, 0, &sample), 0);

    struct record_reader *reader = open_reader(folder);
    size_t gpu;
    assert_int_equal(record_reader_sample(reader, 1e11, &gpu, &read), 1);
    assert_int_equal(record_writer_commit(writer), -EBUSY);
    assert_int_equal(record_reader_sample(reader, 1e11, &gpu, &read), 1);
    /* A reader that waits for later samples lets the file go. */
    usleep(25000);
    assert_int_equal(record_reader_sample(reader, T0, &gpu, &read), 0);
    assert_int_equal(record_writer_commit(writer), 0);
    assert_int_equal(record_reader_sample(reader, 1e11, &gpu, &read), 1);
    assert_near(read.time, T0 + 0.2, 1e-6);
    record_reader_close(reader);
    assert_int_equal(record_writer_close(writer), 0);
    reader = open_reader(folder);
    for (int i = 0; i < 4; i++)
        assert_int_equal(record_reader_sample(reader, 1e11, &gpu, &read), 1);
    assert_same_sample(&read, &sample);
    record_reader_close(reader);
}

static int count_samples(struct folder *folder)
{
    struct record_reader *reader = open_reader(folder);
    struct sample read;
    size_t gpu;
    int count = 0;
    while (record_reader_sample(reader, 1e11, &gpu, &read) == 1)
        count++;
    record_reader_close(reader);
    return count;
}

static int count_rows(const struct folder *folder, const char *table)
{
    sqlite3 *database;
    sqlite3_stmt *statement;
    char sql[64];
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
    assert_int_equal(sqlite3_open(folder->file, &database), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return count;
}

/* A file that grew with each reason would be mostly reasons. */
static void writes_a_reason_when_it_changes(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    struct sample sample = example_sample(0, 0);
    assert_int_equal(record_writer_sample(writer, 0, &sample), 0);
    assert_int_equal(record_writer_commit(writer), 0);
    int first = count_rows(folder, "absence");
    assert_true(first > 0);
    for (int i = 0; i < 20; i++) {
        sample.time += 0.1;
        assert_int_equal(record_writer_sample(writer, 0, &sample), 0);
    }
    sample.time += 0.1;
    sample_miss(&sample, METRIC_POWER, ABSENT_LOST);
    assert_int_equal(record_writer_sample(writer, 0, &sample), 0);
    assert_int_equal(record_writer_close(writer), 0);
    assert_int_equal(count_rows(folder, "sample"), 22);
    assert_int_equal(count_rows(folder, "absence"), first + 1);
}

enum { NOBODY = 65534 };

/* root could write all the same, so the test steps down for a while. */
static void become_nobody(const struct folder *folder)
{
    assert_int_equal(chmod(folder->file, 0444), 0);
    assert_int_equal(chmod(folder->path, 0555), 0);
    if (geteuid() == 0)
        assert_int_equal(seteuid(NOBODY), 0);
}

static void become_oneself(void)
{
    if (getuid() == 0)
        assert_int_equal(seteuid(0), 0);
}

static void opens_where_nothing_can_be_written(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    become_nobody(folder);
    int count = count_samples(folder);
    become_oneself();
    assert_int_equal(count, 3);
}

/* As a recorder leaves it that is killed in the middle of a commit: some pages are written, and
 * the journal takes them back. */
static void leave_hot_journal(struct folder *folder)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open(folder->file, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database,
                                  "PRAGMA journal_mode = TRUNCATE; PRAGMA cache_size = 1;"
                                  "PRAGMA cache_spill = 1; BEGIN;"
                                  "UPDATE sample SET power_watts = 12345;"
                                  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                                  "LIMIT 3000) INSERT INTO sample (time, gpu) SELECT 2e9 + i, 0 "
                                  "FROM n",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    char command[512], copy[96];
    snprintf(copy, sizeof(copy), "%s/copy.roof", folder->path);
    snprintf(command, sizeof(command), "cp %s %s && cp %s-journal %s-journal", folder->file, copy,
             folder->file, copy);
    assert_int_equal(system(command), 0);
    sqlite3_close(database);
    strcpy(folder->file, copy);
}

static void rolls_back_a_killed_commit(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 30);
    assert_int_equal(record_writer_close(writer), 0);
    leave_hot_journal(folder);
    become_nobody(folder);
    int count = count_samples(folder);
    become_oneself();
    assert_int_equal(count, 30);
    assert_int_equal(chmod(folder->path, 0755), 0);
    assert_int_equal(chmod(folder->file, 0644), 0);
    assert_int_equal(count_samples(folder), 30);
}

/* The journal of a recorder that was killed is none of the new file's. */
static void replaces_what_a_killed_recorder_left(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 30);
    assert_int_equal(record_writer_close(writer), 0);
    leave_hot_journal(folder);
    const struct record_writer_options options = {.replace = true, .interval = 0.1};
    assert_int_equal(
        record_writer_open(&writer, folder->file, &options, folder->why, sizeof(folder->why)), 0);
    assert_int_equal(record_writer_close(writer), 0);
    assert_int_equal(count_samples(folder), 0);
}

/* Somebody has put the file into WAL mode, in which SQLite wants to make files beside it. */
static void opens_another_journal_mode(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 3);
    assert_int_equal(record_writer_close(writer), 0);
    alter(folder, "PRAGMA journal_mode = WAL");
    become_nobody(folder);
    int count = count_samples(folder);
    become_oneself();
    assert_int_equal(count, 3);
}

/* The writer keeps what the file holds, and says the same from then on. */
static void keeps_what_it_has_when_the_disk_is_full(void **state)
{
    struct folder *folder = *state;
    struct record_writer *writer = open_with_device(folder);
    write_samples(writer, 30);
    assert_int_equal(record_writer_commit(writer), 0);
    struct rlimit unlimited, little = {.rlim_cur = 80 << 10, .rlim_max = RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    little.rlim_max = unlimited.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    int r = 0;
    for (unsigned n = 30; n < 2000 && r == 0; n++) {
        struct sample sample = example_sample(0, n);
        r = record_writer_sample(writer, 0, &sample);
        if (r == 0 && n % 10 == 0)
            r = record_writer_commit(writer);
    }
    struct sample sample = example_sample(0, 3000);
    int again = record_writer_sample(writer, 0, &sample);
    int closed = record_writer_close(writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    assert_true(r < 0);
    assert_int_equal(again, r);
    assert_int_equal(closed, r);
    assert_true(count_samples(folder) >= 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, record_stage_open, record_stage_close)
        TEST(refuses_what_is_no_recording),    TEST(knows_its_version),
        TEST(runs_nothing_of_the_file),        TEST(computes_nothing_for_the_file),
        TEST(says_that_a_file_is_damaged),     TEST(says_that_a_file_is_locked),
        TEST(replaces_only_when_told),         TEST(is_read_while_it_is_written),
        TEST(writes_a_reason_when_it_changes), TEST(opens_where_nothing_can_be_written),
        TEST(rolls_back_a_killed_commit),      TEST(replaces_what_a_killed_recorder_left),
        TEST(opens_another_journal_mode),      TEST(keeps_what_it_has_when_the_disk_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
