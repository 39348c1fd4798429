/* What a program costs in a terminal: time to its first screen, bytes that it writes, CPU, memory.
 *
 * usage: bench_terminal NAME WIDTHxHEIGHT SECONDS TEXT PROGRAM [ARGUMENT…]
 *
 * The first screen is there when TEXT has been written. CPU and bytes are counted from two seconds
 * on, for so many seconds. Prints lines of name, value and unit. */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#include "terminal.h"

static const double START_UP = 2;
static char output[1 << 18];

/* Of all threads, to the nanosecond: the ticks of `stat` are too coarse for tenths of a per cent.
 */
static double cpu_seconds(pid_t pid)
{
    char path[300];
    unsigned long long total = 0, time;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    struct dirent *task;
    while (tasks && (task = readdir(tasks))) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat", (int)pid, task->d_name);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%llu", &time) == 1)
            total += time;
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return (double)total * 1e-9;
}

static double most_resident_megabytes(pid_t pid)
{
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    unsigned long kilobytes = 0;
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmHWM: %lu", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    return (double)kilobytes * 1024 / 1e6;
}

static bool drain(struct terminal *terminal, double until)
{
    double left;
    while ((left = until - clock_monotonic()) > 0)
        if (terminal_read(terminal, left, output, sizeof(output)) < 0)
            return false;
    return true;
}

/* Seconds until the text has come, or a negative number. */
static double wait_for_text(struct terminal *terminal, const char *text, double start)
{
    size_t length = 0;
    while (length + 1 < sizeof(output)) {
        ssize_t got = terminal_read(terminal, 10, output + length, sizeof(output) - length);
        if (got <= 0)
            return -1;
        length += (size_t)got;
        if (strstr(output, text))
            return clock_monotonic() - start;
    }
    return -1;
}

int main(int argc, char **argv)
{
    int width, height;
    if (argc < 6 || sscanf(argv[2], "%dx%d", &width, &height) != 2)
        return 2;
    const char *name = argv[1];
    double seconds = strtod(argv[3], NULL);
    double start = clock_monotonic();
    struct terminal terminal;
    if (terminal_start(&terminal, width, height, &argv[5]) < 0)
        return 1;
    double first = wait_for_text(&terminal, argv[4], start);
    if (first < 0 || !drain(&terminal, start + START_UP))
        return 1;
    unsigned long bytes = terminal.bytes;
    double cpu = cpu_seconds(terminal.child);
    double began = clock_monotonic();
    if (!drain(&terminal, began + seconds))
        return 1;
    double elapsed = clock_monotonic() - began;
    cpu = cpu_seconds(terminal.child) - cpu;
    printf("%s: first screen after\t%.0f\tms\n", name, first * 1e3);
    printf("%s: CPU\t%.2f\t%% of a core\n", name, cpu / elapsed * 100);
    printf("%s: written\t%.1f\tkB/s\n", name, (double)(terminal.bytes - bytes) / elapsed / 1e3);
    printf("%s: most memory\t%.1f\tMB\n", name, most_resident_megabytes(terminal.child));
    kill(terminal.child, SIGTERM);
    return terminal_end(&terminal, 5) == 0 ? 0 : 1;
}
