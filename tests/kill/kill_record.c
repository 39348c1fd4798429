/* Kills `rooftop record` at random moments, and looks at what it leaves: each file must open by
 * itself with plain SQLite, be whole, and lack the last second at most.
 *
 *     kill_record PROGRAM RECORDING COUNT [SEED]
 *
 * RECORDING is replayed at its own speed, so that a second of it is a second here. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { AT_ONCE = 25 };
static const double SHORTEST_LIFE = 0.02;
static const double LONGEST_LIFE = 2.5;
/* A commit is due each second. It and the tick take their time. */
static const double PERIOD = 1;
static const double SLACK = 1;

extern char **environ;

struct victim {
    pid_t pid;
    char file[128];
    double begin; /* on the monotonic clock */
    double life;  /* how long it was let live */
    double lived; /* with a processor to run on */
};

/* Seconds in which the process could have run and got no processor, as this test itself makes it
 * happen; 0 where the kernel does not say. */
static double waited(pid_t pid)
{
    char path[64];
    unsigned long long running, waiting;
    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    FILE *file = fopen(path, "re");
    bool known = file && fscanf(file, "%llu %llu", &running, &waiting) == 2;
    if (file)
        fclose(file);
    return known ? (double)waiting * 1e-9 : 0;
}

static void die(const char *what)
{
    fprintf(stderr, "kill_record: %s: %s\n", what, strerror(errno));
    exit(99);
}

static void start(struct victim *victim, const char *program, const char *recording)
{
    char source[512];
    snprintf(source, sizeof(source), "replay:%s", recording);
    char *argv[] = {(char *)program, "record", "--source", source, "-o", victim->file, NULL};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", 1, 0);
    posix_spawn_file_actions_addopen(&quiet, STDIN_FILENO, "/dev/null", 0, 0);
    victim->begin = clock_monotonic();
    errno = posix_spawn(&victim->pid, program, &quiet, NULL, argv, environ);
    if (errno)
        die(program);
    posix_spawn_file_actions_destroy(&quiet);
}

static int by_life(const void *a, const void *b)
{
    double difference = ((const struct victim *)a)->life - ((const struct victim *)b)->life;
    return difference < 0 ? -1 : difference > 0;
}

static void kill_in_time(struct victim *victim)
{
    double left = victim->begin + victim->life - clock_monotonic();
    if (left > 0)
        usleep((useconds_t)(left * 1e6));
    victim->lived = clock_monotonic() - victim->begin - waited(victim->pid);
    kill(victim->pid, SIGKILL);
    int status;
    if (waitpid(victim->pid, &status, 0) < 0)
        die("waitpid");
    if (!WIFSIGNALED(status))
        victim->life = -1;
}

static int take_text(void *to, int count, char **values, char **names)
{
    (void)count;
    (void)names;
    snprintf(to, 64, "%s", values[0] ? values[0] : "");
    return 0;
}

/* Seconds that are recorded, or -1 with what is wrong printed. */
static double recorded(const struct victim *victim)
{
    sqlite3 *database;
    char whole[64] = "", length[64] = "", tables[64] = "";
    bool opened =
        sqlite3_open(victim->file, &database) == SQLITE_OK &&
        sqlite3_exec(database, "PRAGMA integrity_check", take_text, whole, NULL) == SQLITE_OK &&
        sqlite3_exec(database, "SELECT count(*) FROM sqlite_master", take_text, tables, NULL) ==
            SQLITE_OK;
    double seconds = -1;
    if (!opened || strcmp(whole, "ok") != 0)
        printf("# %s: %s, %s\n", victim->file, sqlite3_errmsg(database), whole);
    else if (strcmp(tables, "0") == 0)
        seconds = 0; /* killed before it had made its tables */
    else if (sqlite3_exec(database, "SELECT coalesce(max(time) - min(time), 0) FROM sample",
                          take_text, length, NULL) == SQLITE_OK)
        seconds = atof(length);
    else
        printf("# %s: %s\n", victim->file, sqlite3_errmsg(database));
    sqlite3_close(database);
    return seconds;
}

static bool check(const struct victim *victim, double *most_lost)
{
    if (victim->life < 0) {
        printf("# %s: the recorder ended by itself\n", victim->file);
        return false;
    }
    /* Killed before it made the file: nothing to look at. */
    if (access(victim->file, F_OK) < 0)
        return victim->lived < PERIOD + SLACK;
    double seconds = recorded(victim);
    double lost = victim->lived - seconds;
    if (seconds >= 0 && lost > *most_lost)
        *most_lost = lost;
    if (seconds >= 0 && lost <= PERIOD + SLACK)
        return true;
    printf("# %s: lived %.3f s, recorded %.3f s\n", victim->file, victim->lived, seconds);
    return false;
}

static void remove_files(const struct victim *victim)
{
    char journal[160];
    snprintf(journal, sizeof(journal), "%s-journal", victim->file);
    unlink(journal);
    unlink(victim->file);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    unsigned count = (unsigned)atoi(argv[3]);
    unsigned seed = argc > 4 ? (unsigned)atoi(argv[4]) : (unsigned)(clock_realtime() * 1e3);
    char folder[] = "/tmp/kill_record-XXXXXX";
    if (!mkdtemp(folder))
        die(folder);
    setenv("ROOFTOP_RUNTIME_DIR", folder, 1);
    printf("# seed %u\n", seed);
    srand48((long)seed);
    double most_lost = 0;
    unsigned failed = 0;
    for (unsigned done = 0; done < count;) {
        struct victim victims[AT_ONCE] = {0};
        unsigned n = 0;
        for (; n < AT_ONCE && done < count; n++, done++) {
            snprintf(victims[n].file, sizeof(victims[n].file), "%s/%u.roof", folder, done);
            victims[n].life = SHORTEST_LIFE + drand48() * (LONGEST_LIFE - SHORTEST_LIFE);
            start(&victims[n], argv[1], argv[2]);
        }
        qsort(victims, n, sizeof(victims[0]), by_life);
        for (unsigned i = 0; i < n; i++)
            kill_in_time(&victims[i]);
        for (unsigned i = 0; i < n; i++) {
            failed += !check(&victims[i], &most_lost);
            remove_files(&victims[i]);
        }
    }
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command) != 0)
        failed++;
    printf("# at most %.3f s lost\n", most_lost);
    printf(
        "%s 1 - %u recorders killed: each file is whole and lacks the last second at most\n1..1\n",
        failed ? "not ok" : "ok", count);
    return failed != 0;
}
