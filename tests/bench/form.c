/* What writing a frame in a form costs.
 *
 * usage: bench_form NAME SOURCE FORM SECONDS
 *
 * Takes one frame from the source and writes it again and again for so long; prints lines of name,
 * value and unit. */
#include <stdio.h>

#include "base/clock.h"
#include "base/parse.h"
#include "monitor/monitor.h"
#include "view/view.h"

#include "allocations.h"

enum { MOST_DEVICES = 64 };

static const struct process_description *describe(void *context, pid_t pid)
{
    return monitor_describe(context, pid);
}

static void run(const char *name, struct monitor *monitor, const char *form, double seconds)
{
    struct view_gpu gpus[MOST_DEVICES];
    size_t count = util_min(monitor_count(monitor), MOST_DEVICES);
    for (size_t i = 0; i < count; i++)
        gpus[i] = (struct view_gpu){monitor_device(monitor, i), monitor_reading(monitor, i)};
    struct view_frame frame = {.time = monitor_time(monitor), .count = count, .gpus = gpus};
    struct view view = {.form = view_form_by_name(form), .describe = describe, .context = monitor};
    struct strbuf out = {0};
    view.form->write(&view, &frame, &out); /* with the header, and to the full size */

    unsigned long frames = 0, allocated = allocations_so_far();
    double began = clock_monotonic(), passed;
    do {
        strbuf_clear(&out);
        view.form->write(&view, &frame, &out);
        frames++;
        passed = clock_monotonic() - began;
    } while (passed < seconds);
    printf("%s: time\t%.1f\tus\n", name, 1e6 * passed / (double)frames);
    printf("%s: size\t%zu\tbytes\n", name, out.length);
    if (allocations_are_counted())
        printf("%s: allocations\t%.2f\t\n", name,
               (double)(allocations_so_far() - allocated) / (double)frames);
    strbuf_free(&out);
}

int main(int argc, char **argv)
{
    double seconds;
    if (argc != 5 || parse_double(argv[4], &seconds) < 0 || !view_form_by_name(argv[3])) {
        fputs("usage: bench_form NAME SOURCE FORM SECONDS\n", stderr);
        return 2;
    }
    struct monitor_config config = {.source = argv[2], .interval = 0.1};
    struct counter_failure failure;
    struct monitor *monitor;
    if (monitor_open(&monitor, &config, &failure) < 0) {
        fprintf(stderr, "%s\n", failure.reason);
        return 1;
    }
    int r = monitor_wait(monitor, -1);
    if (r > 0)
        run(argv[1], monitor, argv[3], seconds);
    else
        fprintf(stderr, "%s: no frame\n", argv[1]);
    monitor_close(monitor);
    return r > 0 ? 0 : 1;
}
