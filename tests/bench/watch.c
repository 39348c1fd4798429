/* What watching costs, from the source to the derived metrics: no form, no screen.
 *
 * usage: bench_watch NAME SOURCE SECONDS
 *
 * A live source is watched at 10 Hz for so long; a recording is read to its end, again and again,
 * for so long. Prints lines of name, value and unit. Allocations are those of the whole process,
 * the libraries and the threads included. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "monitor/monitor.h"

#include "allocations.h"

enum { WARM_UP = 10 };

struct tally {
    unsigned long frames;
    unsigned long samples;
    unsigned long allocations;
    double cpu;  /* seconds, of the process */
    double wall; /* seconds */
};

static double cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static double resident_megabytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%*u %lu", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static int take_frame(struct monitor *monitor, struct tally *tally)
{
    int r = monitor_wait(monitor, -1);
    if (r == -ENODATA)
        return monitor_seek(monitor, monitor_counter(monitor)->begin);
    if (r > 0) {
        tally->frames++;
        for (size_t i = 0; i < monitor_count(monitor); i++)
            tally->samples += monitor_reading(monitor, i)->state == READING_OK;
    }
    return r;
}

static int watch(struct monitor *monitor, double seconds, struct tally *tally)
{
    struct tally ignored;
    int r = 0;
    for (int i = 0; i < WARM_UP && r >= 0; i++)
        r = take_frame(monitor, &ignored);
    double began = clock_monotonic(), cpu = cpu_seconds();
    unsigned long allocated = allocations_so_far();
    while (r >= 0 && clock_monotonic() - began < seconds)
        r = take_frame(monitor, tally);
    tally->allocations = allocations_so_far() - allocated;
    tally->cpu = cpu_seconds() - cpu;
    tally->wall = clock_monotonic() - began;
    return r;
}

static void print_live(const char *name, const struct tally *tally)
{
    printf("%s: CPU time a tick\t%.0f\tus\n", name, 1e6 * tally->cpu / (double)tally->frames);
    printf("%s: CPU at 10 Hz\t%.2f\t%% of a core\n", name, 100 * tally->cpu / tally->wall);
    printf("%s: resident memory\t%.1f\tMB\n", name, resident_megabytes());
}

static int run(const char *name, struct monitor *monitor, double began, double seconds)
{
    int r = monitor_wait(monitor, -1);
    double first_frame = clock_monotonic() - began;
    bool live = monitor_counter(monitor)->ops->live;
    struct tally tally = {0};
    if (r > 0)
        r = watch(monitor, seconds, &tally);
    if (r < 0 || tally.frames == 0) {
        fprintf(stderr, "%s: no frame: %s\n", name, strerror(-r));
        return 1;
    }
    printf("%s: open to first frame\t%.0f\tms\n", name, 1e3 * first_frame);
    if (live)
        print_live(name, &tally);
    else
        printf("%s: samples a second of CPU time\t%.0f\t\n", name,
               (double)tally.samples / tally.cpu);
    if (allocations_are_counted())
        printf("%s: allocations a tick\t%.2f\t\n", name,
               (double)tally.allocations / (double)tally.frames);
    return 0;
}

int main(int argc, char **argv)
{
    double seconds;
    if (argc != 4 || parse_double(argv[3], &seconds) < 0) {
        fputs("usage: bench_watch NAME SOURCE SECONDS\n", stderr);
        return 2;
    }
    double began = clock_monotonic();
    struct monitor_config config = {.source = argv[2]};
    struct counter_failure failure;
    struct monitor *monitor;
    if (monitor_open(&monitor, &config, &failure) < 0) {
        fprintf(stderr, "%s\n", failure.reason);
        return 1;
    }
    int status = run(argv[1], monitor, began, seconds);
    monitor_close(monitor);
    return status;
}
