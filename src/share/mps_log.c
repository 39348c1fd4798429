#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "metric/process.h"
#include "share/mps.h"

static const char FAULT[] = "Server is handling a fatal GPU error";
/* On an H200 the fault came 0.15 s behind the end of a client. */
static const double AFTERMATH = 1;

/* Each process of the log, once. */
struct named {
    size_t count;
    pid_t pids[PROCESS_LIST_CAPACITY];
};

static void log_path(const struct mps *mps, char ret[256])
{
    snprintf(ret, 256, "%s/server.log", mps->log);
}

long mps_log_length(const struct mps *mps)
{
    char path[256];
    struct stat status;
    log_path(mps, path);
    return stat(path, &status) == 0 ? (long)status.st_size : 0;
}

static bool has(const pid_t *pids, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* "… Client {PID: 802, Context ID: 1} …" */
static void add_named(struct named *named, const char *line)
{
    int pid;
    const char *at = strstr(line, "{PID: ");
    if (at && sscanf(at, "{PID: %d", &pid) == 1 && named->count < PROCESS_LIST_CAPACITY &&
        !has(named->pids, named->count, pid))
        named->pids[named->count++] = pid;
}

/* "[2026-12-01 11:43:33.010 Server   520] …", in seconds. */
static double time_of(const char *line)
{
    struct tm date = {0};
    double seconds = 0;
    if (sscanf(line, "[%d-%d-%d %d:%d:%lf", &date.tm_year, &date.tm_mon, &date.tm_mday,
               &date.tm_hour, &date.tm_min, &seconds) != 6)
        return 0;
    date.tm_year -= 1900;
    date.tm_mon -= 1;
    return (double)timegm(&date) + seconds;
}

static bool is_of_another(const char *line, const pid_t *own, size_t count)
{
    int pid;
    const char *at = strstr(line, "{PID: ");
    return at && sscanf(at, "{PID: %d", &pid) == 1 && !has(own, count, pid);
}

static struct mps_tally tally(const struct named *named, const pid_t *own, size_t count)
{
    struct mps_tally tally = {0};
    for (size_t i = 0; i < named->count; i++)
        if (has(own, count, named->pids[i]))
            tally.own++;
        else
            tally.others++;
    return tally;
}

void mps_read_log(const struct mps *mps, long from, const pid_t *own, size_t count,
                  struct mps_story *ret)
{
    char path[256], line[512];
    struct named connected = {0}, torn_down = {0};
    double left = 0; /* the last of another's that did */
    ret->another_had_left = false;
    log_path(mps, path);
    FILE *file = fopen(path, "re");
    /* A new daemon begins a new log. */
    bool open = file && fseek(file, 0, SEEK_END) == 0 &&
                fseek(file, ftell(file) >= from ? from : 0, SEEK_SET) == 0;
    while (open && fgets(line, sizeof(line), file)) {
        bool is_fault = strstr(line, FAULT);
        if (is_fault && tally(&torn_down, own, count).own > 0)
            break;
        if (is_fault) {
            torn_down.count = 0;
            ret->another_had_left = left > 0 && time_of(line) - left <= AFTERMATH;
        } else if (strstr(line, "} exiting") && is_of_another(line, own, count))
            left = time_of(line);
        else if (strstr(line, "} connected"))
            add_named(&connected, line);
        else if (strstr(line, "to be torn down"))
            add_named(&torn_down, line);
    }
    if (file)
        fclose(file);
    ret->connected = tally(&connected, own, count);
    ret->torn_down = tally(&torn_down, own, count);
}
