/* What a frame costs: from the source to the text of a form, with the calls that allocate memory.
 *
 * usage: bench_tick NAME SOURCE FORM SECONDS
 *
 * Prints lines of name, value and unit. A recorded source is read as fast as it goes, a live one at
 * 10 Hz; both for so long. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/parse.h"
#include "monitor/monitor.h"
#include "view/view.h"

static atomic_ulong allocations;

/* The linker gives these for the program's own calls of malloc() and its like (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

enum { WARM_UP = 10, MOST_DEVICES = 64 };

static const struct process_description *describe(void *context, pid_t pid)
{
    return monitor_describe(context, pid);
}

struct run {
    unsigned long frames;
    unsigned long allocations;
    unsigned long bytes;
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

/* Most memory resident so far, in MB. */
static double peak_memory(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_maxrss / 1024;
}

static void write_frame(struct monitor *monitor, struct view *view, struct strbuf *out)
{
    struct view_gpu gpus[MOST_DEVICES];
    size_t count = util_min(monitor_count(monitor), MOST_DEVICES);
    for (size_t i = 0; i < count; i++)
        gpus[i] = (struct view_gpu){monitor_device(monitor, i), monitor_reading(monitor, i)};
    struct view_frame frame = {.time = monitor_time(monitor), .count = count, .gpus = gpus};
    strbuf_clear(out);
    view->form->write(view, &frame, out);
}

/* 0, or what monitor_wait() failed with. */
static int measure(struct monitor *monitor, const char *form, double seconds, struct run *run)
{
    struct view view = {.form = view_form_by_name(form), .describe = describe, .context = monitor};
    struct strbuf out = {0};
    int r = 0;
    for (int i = 0; i < WARM_UP && r >= 0; i++) {
        r = monitor_wait(monitor, -1);
        write_frame(monitor, &view, &out);
    }
    double began = clock_monotonic(), cpu = cpu_seconds();
    unsigned long allocated = allocations;
    while (r >= 0 && clock_monotonic() - began < seconds) {
        r = monitor_wait(monitor, -1);
        if (r <= 0)
            continue;
        write_frame(monitor, &view, &out);
        run->frames++;
        run->bytes += out.length;
    }
    run->allocations = allocations - allocated;
    run->cpu = cpu_seconds() - cpu;
    run->wall = clock_monotonic() - began;
    strbuf_free(&out);
    return r == -ENODATA ? 0 : r;
}

int main(int argc, char **argv)
{
    double seconds;
    if (argc != 5 || parse_double(argv[4], &seconds) < 0 || !view_form_by_name(argv[3])) {
        fputs("usage: bench_tick NAME SOURCE FORM SECONDS\n", stderr);
        return 2;
    }
    struct monitor_config config = {.source = argv[2], .interval = 0.1};
    struct counter_failure failure;
    struct monitor *monitor;
    if (monitor_open(&monitor, &config, &failure) < 0) {
        fprintf(stderr, "%s\n", failure.reason);
        return 1;
    }
    struct run run = {0};
    bool live = monitor_counter(monitor)->ops->live;
    int r = measure(monitor, argv[3], seconds, &run);
    monitor_close(monitor);
    if (r < 0 || run.frames == 0) {
        fprintf(stderr, "%s: no frame: %s\n", argv[1], strerror(-r));
        return 1;
    }
    double frames = (double)run.frames;
    printf("%s: CPU time a tick\t%.1f\tus\n", argv[1], 1e6 * run.cpu / frames);
    if (live) {
        printf("%s: CPU at 10 Hz\t%.2f\t%% of a core\n", argv[1], 100 * run.cpu / run.wall);
        printf("%s: memory resident\t%.1f\tMB\n", argv[1], peak_memory());
    }
    printf("%s: allocations a tick\t%.2f\t\n", argv[1], (double)run.allocations / frames);
    printf("%s: output a tick\t%.0f\tbytes\n", argv[1], (double)run.bytes / frames);
    return 0;
}
