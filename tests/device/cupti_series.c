/* Counters over time, as JSON lines: what tests/device/tensor.py sets beside known work.
 *
 *   cupti_series SECONDS EACH INTERVAL MIB NAME… [-- NAME…]…
 *
 * Samples the named counters, which must fit one pass, every INTERVAL seconds into a buffer of MIB,
 * and decodes them every EACH seconds. Several sets, with "--" between them, take turns of two
 * decodings. After an overflow sampling begins anew, as in Rooftop. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/parse.h"
#include "counter/cupti/cuda.h"
#include "counter/cupti/session.h"

static struct cupti cupti;
static struct cupti_host host = {.cupti = &cupti};
static const size_t device;

enum { MAX_SETS = 32, DECODINGS = 2 };

struct set {
    const char *const *names;
    size_t name_count;
    struct cupti_config config;
};

struct series {
    double seconds;
    double each;
    struct cupti_sampling sampling;
    struct set sets[MAX_SETS];
    size_t set_count;
};

static double cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static void wait_until(double when)
{
    struct timespec until = clock_timespec(when);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int complain(const char *what, int result)
{
    char text[160];
    if (result > 0)
        cupti_describe(&cupti, result, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "%s", strerror(-result));
    if (result != 0)
        fprintf(stderr, "cupti_series: %s: %s\n", what, text);
    return result;
}

static int begin(struct cupti_session *session, const struct series *series, const struct set *set)
{
    int r = complain("Enable", cupti_session_open(session, &cupti, device));
    if (r == 0)
        r = complain("SetConfig", cupti_session_configure(session, &set->config, set->names,
                                                          set->name_count, &series->sampling));
    return r == 0 ? complain("Start", cupti_session_start(session)) : r;
}

static void print_values(const struct series *series, const struct set *set,
                         const struct cupti_values *values, double decoding)
{
    printf("{\"set\": %td, \"time\": %.4f, \"samples\": %zu, \"overflow\": %d, "
           "\"decoding\": %.6f, \"cpu\": %.6f, \"values\": [",
           set - series->sets, clock_realtime(), values->samples, values->overflow, decoding,
           cpu_seconds());
    for (size_t i = 0; i < set->name_count; i++)
        if (values->samples && isfinite(values->value[i]))
            printf("%s%.9g", i ? ", " : "", values->value[i]);
        else
            printf("%snull", i ? ", " : "");
    puts("]}");
}

static int follow(const struct series *series, const struct set *set, double seconds)
{
    struct cupti_session session = {0};
    int r = begin(&session, series, set);
    double start = clock_monotonic();
    for (int i = 1; r == 0 && i * series->each <= seconds + 1e-9; i++) {
        struct cupti_values values;
        wait_until(start + i * series->each);
        double before = clock_monotonic();
        r = complain("decoding", cupti_session_collect(&session, &values));
        if (r != 0)
            break;
        print_values(series, set, &values, clock_monotonic() - before);
        if (values.overflow) {
            cupti_session_close(&session);
            r = begin(&session, series, set);
        }
    }
    cupti_session_close(&session);
    return r;
}

static int take_turns(const struct series *series)
{
    int r = 0;
    double until = clock_monotonic() + series->seconds;
    while (r == 0 && clock_monotonic() < until)
        for (size_t i = 0; r == 0 && i < series->set_count; i++)
            r = follow(series, &series->sets[i], DECODINGS * series->each);
    return r;
}

static int open_chip(void)
{
    static struct cuda cuda;
    static uint8_t *availability;
    char why[256];
    if (cupti_load(&cupti, why, sizeof(why)) < 0 || cuda_load(&cuda, why, sizeof(why)) < 0) {
        fprintf(stderr, "cupti_series: %s\n", why);
        return -ENODEV;
    }
    struct cupti_profiler_initialize initialize = {
        .size = CUPTI_SIZE(struct cupti_profiler_initialize, private)};
    struct cupti_chip_name chip = {.size = CUPTI_SIZE(struct cupti_chip_name, chip),
                                   .device = device};
    int r = complain("initialize", cupti.initialize(&initialize));
    if (r == 0)
        r = complain("chip name", cupti.chip_name(&chip));
    if (r == 0)
        r = complain("availability", cupti_availability(&cupti, device, &availability));
    if (r == 0) {
        snprintf(host.chip, sizeof(host.chip), "%s", chip.chip);
        host.availability = availability;
    }
    return r;
}

static bool add_set(struct series *series, char **names, size_t count)
{
    if (count == 0 || count > CUPTI_MAX_NAMES || series->set_count == MAX_SETS)
        return false;
    series->sets[series->set_count++] =
        (struct set){.names = (const char *const *)names, .name_count = count};
    return true;
}

static bool add_sets(struct series *series, int argc, char **argv)
{
    int first = 0;
    for (int i = 0; i <= argc; i++) {
        if (i < argc && strcmp(argv[i], "--") != 0)
            continue;
        if (!add_set(series, argv + first, (size_t)(i - first)))
            return false;
        first = i + 1;
    }
    return true;
}

static int parse(struct series *series, int argc, char **argv)
{
    double mib;
    if (argc < 6 || parse_duration(argv[1], &series->seconds) < 0 ||
        parse_duration(argv[2], &series->each) < 0 ||
        parse_duration(argv[3], &series->sampling.interval) < 0 || (mib = atof(argv[4])) <= 0 ||
        series->each <= 0 || series->sampling.interval <= 0 ||
        !add_sets(series, argc - 5, argv + 5))
        return -EINVAL;
    series->sampling.trigger = CUPTI_TRIGGER_TIME;
    series->sampling.buffer_size = (size_t)(mib * 1024 * 1024);
    series->sampling.max_samples = (size_t)(2 * series->each / series->sampling.interval) + 8;
    return 0;
}

static bool build_sets(struct series *series)
{
    for (size_t i = 0; i < series->set_count; i++) {
        struct set *set = &series->sets[i];
        int r = cupti_config_build(&set->config, &host, set->names, set->name_count);
        if (r < 0 || set->config.passes != 1) {
            fprintf(stderr, "cupti_series: %s does not count set %zu in one pass\n", host.chip, i);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    static struct series series;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (parse(&series, argc, argv) < 0) {
        fputs("usage: cupti_series SECONDS EACH INTERVAL MIB NAME… [-- NAME…]…\n", stderr);
        return 2;
    }
    if (open_chip() != 0)
        return 3;
    if (!build_sets(&series))
        return 1;
    int r =
        series.set_count == 1 ? follow(&series, series.sets, series.seconds) : take_turns(&series);
    return r == 0 ? 0 : 1;
}
