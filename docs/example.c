/* Prints, each second, how hard every GPU works and what holds it back.
 *
 *     cc example.c $(pkg-config --cflags --libs rooftop) -o example
 *     ./example                       # the GPUs of this machine
 *     ./example replay:FILE@max 1     # a recording; here, once for each second of it
 */
#include <errno.h>
#include <rooftop.h>
#include <stdio.h>
#include <stdlib.h>

static void print_ratio(const rooftop *gpus, size_t device, const char *label, const char *metric)
{
    int id = rooftop_metric_id(metric);
    double ratio;
    if (rooftop_read(gpus, device, id, &ratio) == 0)
        printf("  %s %.0f %%", label, 100 * ratio);
    else
        printf("  %s - (%s)", label, rooftop_missing_reason(gpus, device, id));
}

int main(int argc, char **argv)
{
    rooftop *gpus = NULL;
    struct rooftop_failure failure;
    int r = rooftop_open(&gpus, argc > 1 ? argv[1] : NULL, NULL, argc > 2 ? atof(argv[2]) : 1,
                         &failure);
    if (r < 0) {
        fprintf(stderr, "%s\n%s\n", failure.reason, failure.advice);
        return 1;
    }
    while ((r = rooftop_wait(gpus, -1)) == 1)
        for (size_t i = 0; i < rooftop_device_count(gpus); i++) {
            printf("%.1f  GPU %d", rooftop_time(gpus), rooftop_device_index(gpus, i));
            print_ratio(gpus, i, "compute", "compute_sol_ratio");
            print_ratio(gpus, i, "memory", "memory_sol_ratio");
            printf("  %s\n", rooftop_verdict(gpus, i));
        }
    rooftop_close(gpus);
    return r == -ENODATA ? 0 : 1; /* the recording has ended */
}
