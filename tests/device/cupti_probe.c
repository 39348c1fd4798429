/* What CUPTI's counters say and cost on this GPU, through Rooftop's own binary interface.
 *
 *   cupti_probe [STEP…]        all steps without one: about a minute
 *   cupti_probe names SECONDS NAME…   any counters that fit one pass
 *
 * Run it beside a load. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "counter/cupti/cuda.h"
#include "counter/cupti/plan.h"
#include "counter/cupti/session.h"

#define MIB ((size_t)1 << 20)

static struct cupti cupti;
static struct cupti_host host;
static const size_t device;

static double cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static double resident_mib(void)
{
    long total;
    long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return NAN;
    if (fscanf(file, "%ld %ld", &total, &resident) != 2)
        resident = 0;
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / (double)MIB;
}

static int report(const char *what, int result)
{
    char text[160];
    if (result > 0)
        cupti_describe(&cupti, result, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "%s", result < 0 ? strerror(-result) : "ok");
    if (result != 0)
        printf("  %s: %s\n", what, text);
    return result;
}

struct experiment {
    const char *title;
    double interval;    /* of the hardware's samples */
    double decode_each; /* seconds between decodings; 0: once at the end */
    double seconds;
    size_t buffer_mib;
    bool quiet; /* one line instead of all values */
    bool value; /* the first value too */
};

struct totals {
    size_t samples;
    size_t decodings;
    size_t empty; /* decodings without a sample */
    size_t overflows;
    double longest; /* decoding */
    double sum[CUPTI_MAX_NAMES];
    size_t finite[CUPTI_MAX_NAMES];
};

static void add_values(struct totals *totals, const struct cupti_values *values, size_t names)
{
    totals->decodings++;
    totals->empty += values->samples == 0;
    totals->overflows += values->overflow;
    totals->samples += values->samples;
    for (size_t i = 0; i < names && values->samples; i++)
        if (isfinite(values->value[i])) {
            totals->sum[i] += values->value[i] * (double)values->samples;
            totals->finite[i] += values->samples;
        }
}

static void wait_until(double when)
{
    struct timespec until = clock_timespec(when);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void sample(struct cupti_session *session, const struct experiment *experiment,
                   struct totals *totals)
{
    double step = experiment->decode_each > 0 ? experiment->decode_each : experiment->seconds;
    double begin = clock_monotonic();
    struct cupti_values values;
    for (int i = 1; i * step <= experiment->seconds + 1e-9; i++) {
        wait_until(begin + i * step);
        double before = clock_monotonic();
        int r = cupti_session_collect(session, &values);
        totals->longest = fmax(totals->longest, clock_monotonic() - before);
        if (report("decode", r) != 0)
            return;
        add_values(totals, &values, session->name_count);
        if (values.overflow)
            return;
    }
}

static void print_totals(const struct experiment *experiment, const char *const *names,
                         size_t count, const struct totals *totals, double cpu)
{
    printf("  %-34s every %5.0f ms, decoded every %5.0f ms, buffer %3zu MiB: %4zu samples, %2zu of "
           "%2zu decodings empty, overflow %zu, longest decoding %6.2f ms, CPU %6.2f %%\n",
           experiment->title, experiment->interval * 1e3, experiment->decode_each * 1e3,
           experiment->buffer_mib, totals->samples, totals->empty, totals->decodings,
           totals->overflows, totals->longest * 1e3, cpu * 100);
    if (experiment->value && totals->finite[0])
        printf("    %14.6g\n", totals->sum[0] / (double)totals->finite[0]);
    for (size_t i = 0; i < count && !experiment->quiet; i++)
        printf("    %-80s %14.6g  (%zu of %zu)\n", names[i],
               totals->finite[i] ? totals->sum[i] / (double)totals->finite[i] : NAN,
               totals->finite[i], totals->samples);
}

static struct cupti_sampling sampling_of(const struct experiment *experiment)
{
    double step = experiment->decode_each > 0 ? experiment->decode_each : experiment->seconds;
    return (struct cupti_sampling){
        .interval = experiment->interval,
        .max_samples = (size_t)(2 * step / experiment->interval) + 8,
        .buffer_size = experiment->buffer_mib * MIB,
        .trigger = CUPTI_TRIGGER_TIME,
    };
}

static void time_call(const char *what, double *mark)
{
    double now = clock_monotonic();
    printf("%s %.1f ms  ", what, (now - *mark) * 1e3);
    *mark = now;
}

static void run_session(const struct experiment *experiment, const struct cupti_config *config,
                        const char *const *names, size_t count)
{
    struct cupti_session session = {0};
    struct cupti_sampling sampling = sampling_of(experiment);
    double mark = clock_monotonic();
    if (report("Enable", cupti_session_open(&session, &cupti, device)) != 0)
        return;
    if (!experiment->quiet)
        time_call("  Enable", &mark);
    int r = cupti_session_configure(&session, config, names, count, &sampling);
    if (!experiment->quiet)
        time_call("SetConfig", &mark);
    if (report("SetConfig", r) == 0 && report("Start", cupti_session_start(&session)) == 0) {
        if (!experiment->quiet)
            time_call("Start", &mark);
        struct totals totals = {0};
        size_t image_size = session.image_size;
        double cpu = cpu_seconds();
        double begin = clock_monotonic();
        sample(&session, experiment, &totals);
        cpu = (cpu_seconds() - cpu) / (clock_monotonic() - begin);
        mark = clock_monotonic();
        report("Stop", cupti_session_stop(&session));
        if (!experiment->quiet) {
            time_call("Stop", &mark);
            printf("image %zu bytes\n", image_size);
        }
        print_totals(experiment, names, count, &totals, cpu);
    }
    mark = clock_monotonic();
    report("Disable", cupti_session_close(&session));
    if (!experiment->quiet) {
        time_call("  Disable", &mark);
        printf("resident %.0f MiB\n", resident_mib());
    }
    fflush(stdout);
}

static void run_names(const struct experiment *experiment, const char *const *names, size_t count)
{
    struct cupti_config config;
    int r = cupti_config_build(&config, &host, names, count);
    if (r < 0) {
        printf("  %s: the chip lacks a counter of this set, or refuses it (%s)\n",
               experiment->title, strerror(-r));
        return;
    }
    if (config.passes == 1)
        run_session(experiment, &config, names, count);
    else
        printf("  %s: %zu passes\n", experiment->title, config.passes);
    cupti_config_free(&config, &cupti);
}

static int count_passes(void *chip, const char *const *names, size_t count)
{
    return cupti_count_passes(chip, names, count);
}

static const uint64_t clock_only = METRIC_BIT(METRIC_EFFECTIVE_CLOCK);
static const uint64_t beside_gpm = METRIC_BIT(METRIC_EFFECTIVE_CLOCK) |
                                   METRIC_BIT(METRIC_L2_ACTIVE) | METRIC_BIT(METRIC_L1_ACTIVE) |
                                   METRIC_BIT(METRIC_ISSUE_ACTIVE) | METRIC_BIT(METRIC_DRAM_READ) |
                                   METRIC_BIT(METRIC_DRAM_WRITE);

static void run_metrics(const struct experiment *experiment, uint64_t wanted)
{
    struct plan plan;
    plan_make(&plan, wanted, 1, count_passes, &host);
    run_names(experiment, plan.set[0].name, plan.set[0].count);
}

static void step_sets(void)
{
    puts("== sets at 10 Hz");
    run_metrics(&(struct experiment){"clock", .1, .1, 2, 16}, clock_only);
    run_metrics(&(struct experiment){"beside GPM", .1, .1, 3, 64}, beside_gpm);
    run_metrics(&(struct experiment){"all", .1, .1, 3, 128}, UINT64_MAX);
}

/* L1's throughput alone costs more than all others together. What costs less? */
static void step_l1(void)
{
#define OF_PEAK ".avg.pct_of_peak_sustained_elapsed"
    static const char *const names[] = {
        "SM_A.TriageCompute.l1tex__data_pipe_lsu_wavefronts" OF_PEAK,
        "SM_A.TriageCompute.l1tex__data_pipe_lsu_wavefronts_mem_shared" OF_PEAK,
        "SM_A.TriageCompute.l1tex__data_pipe_lsu_wavefronts_mem_lgds" OF_PEAK,
        "SM_A.TriageCompute.l1tex__lsu_writeback_active" OF_PEAK,
        "SM_A.TriageCompute.l1tex__m_xbar2l1tex_read_sectors_realtime" OF_PEAK,
        "SM_A.TriageCompute.l1tex__m_l1tex2xbar_req_cycles_active_realtime" OF_PEAK,
        "SM_B.TriageCompute.l1tex__t_sectors" OF_PEAK,
        "SM_C.TriageCompute.smsp__pipe_tensor_op_dmma_cycles_active" OF_PEAK,
        "l1tex__data_pipe_lsu_wavefronts" OF_PEAK,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared" OF_PEAK,
        "l1tex__data_bank_reads" OF_PEAK,
        "l1tex__lsuin_requests" OF_PEAK,
        "l1tex__t_sectors" OF_PEAK,
        "l1tex__throughput" OF_PEAK,
        "sm__issue_active" OF_PEAK,
        "sm__inst_executed_realtime" OF_PEAK,
        "sm__pipe_fma_cycles_active" OF_PEAK,
        "sm__pipe_shared_cycles_active_realtime" OF_PEAK,
    };
#undef OF_PEAK
    puts("== counters of L1 and others, each alone");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        run_names(&(struct experiment){names[i], .1, .1, .6, 64, true, true}, &names[i], 1);
    puts("== sets without L1");
    const uint64_t l1 = METRIC_BIT(METRIC_L1_ACTIVE);
    run_metrics(&(struct experiment){"beside GPM, no L1", .1, .1, 2, 16}, beside_gpm & ~l1);
    run_metrics(&(struct experiment){"beside GPM, no L1", .1, 0, 1, 4, true}, beside_gpm & ~l1);
    run_metrics(&(struct experiment){"beside GPM, no L1", .01, 0, 1, 4, true}, beside_gpm & ~l1);
    run_metrics(&(struct experiment){"beside GPM, no L1", .05, 0, .2, 4}, beside_gpm & ~l1);
    run_metrics(&(struct experiment){"all, no L1", .1, .1, 2, 16}, ~l1);
    run_metrics(&(struct experiment){"all, no L1", .1, 0, 1, 4, true}, ~l1);
    run_metrics(&(struct experiment){"all, no L1", .01, 0, 1, 4, true}, ~l1);
}

/* What makes a set cheap: the counters one by one, then the rates. */
static void step_cost(void)
{
    puts("== each counter of the full set alone, 10 Hz");
    struct plan plan;
    plan_make(&plan, UINT64_MAX, 1, count_passes, &host);
    for (size_t i = 0; i < plan.set[0].count; i++)
        run_names(&(struct experiment){plan.set[0].name[i], .1, .1, 1, 64, true},
                  &plan.set[0].name[i], 1);
    puts("== rates");
    run_metrics(&(struct experiment){"all", .1, 1, 2, 256, true}, UINT64_MAX);
    run_metrics(&(struct experiment){"all", .5, .5, 2, 256, true}, UINT64_MAX);
    run_metrics(&(struct experiment){"all", 1, 1, 2, 256, true}, UINT64_MAX);
    run_metrics(&(struct experiment){"beside GPM", .02, .1, 1, 64, true}, beside_gpm);
    run_metrics(&(struct experiment){"beside GPM", .5, .5, 2, 64, true}, beside_gpm);
    run_metrics(&(struct experiment){"clock", .01, .1, 1, 16, true}, clock_only);
    run_metrics(&(struct experiment){"clock", .02, 0, .2, 16, true}, clock_only);
}

/* Bytes that a sample takes in the record buffer: fill a small one and see what fitted. */
static void step_buffer(void)
{
    puts("== records that fit into a small buffer, decoded once");
    run_metrics(&(struct experiment){"clock", .001, 0, 1, 1, true}, clock_only);
    run_metrics(&(struct experiment){"clock", .01, 0, 1, 1, true}, clock_only);
    run_metrics(&(struct experiment){"beside GPM", .01, 0, 1, 16, true}, beside_gpm);
    run_metrics(&(struct experiment){"beside GPM", .1, 0, 1, 16, true}, beside_gpm);
    run_metrics(&(struct experiment){"all", .01, 0, 1, 64, true}, UINT64_MAX);
    run_metrics(&(struct experiment){"all", .1, 0, 1, 64, true}, UINT64_MAX);
}

/* Bursts as the monitor makes them, each with its own session. */
static void step_burst(void)
{
    puts("== bursts of 0.2 s");
    for (int i = 0; i < 3; i++)
        run_metrics(&(struct experiment){"clock", .1, 0, .2, 16, i > 0}, clock_only);
    for (int i = 0; i < 3; i++)
        run_metrics(&(struct experiment){"beside GPM", .1, 0, .2, 64, i > 0}, beside_gpm);
    run_metrics(&(struct experiment){"beside GPM", .05, 0, .2, 64, true}, beside_gpm);
}

/* Does anything tell the old tensor path (mma.sync, which loads its operands from shared memory
 * with instructions) from the new one (wgmma, which does not)? */
static void step_tensor(void)
{
#define TENSOR                                                                                     \
    "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed"
    static const char *const sets[][4] = {
        {TENSOR, "gpc__cycles_elapsed.avg.per_second",
         "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum.per_second",
         "sm__inst_executed_pipe_lsu_mem_shared_cmd_read.sum.per_second"},
        {TENSOR, "sm__inst_executed_pipe_uniform.sum.per_second",
         "sm__pipe_shared_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
         "TPC.TriageCompute.sm__inst_executed_realtime.sum.per_second"},
        {TENSOR, "gpc__cycles_elapsed.avg.per_second",
         "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.per_second",
         "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_misc.sum.per_second"},
    };
#undef TENSOR
    puts("== tensor path");
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        run_names(&(struct experiment){"tensor path", .1, .1, 1, 128}, sets[i], 4);
}

static void hold_counters(const char *const *names, size_t count, int ready)
{
    struct cupti_config config;
    struct cupti_session session = {0};
    struct cupti_sampling sampling = {
        .interval = .1, .max_samples = 16, .buffer_size = 64 * MIB, .trigger = CUPTI_TRIGGER_TIME};
    int r = cupti_config_build(&config, &host, names, count);
    if (r == 0)
        r = cupti_session_open(&session, &cupti, device);
    if (r == 0)
        r = cupti_session_configure(&session, &config, names, count, &sampling);
    if (r == 0)
        r = cupti_session_start(&session);
    report("the first holder", r);
    fflush(stdout);
    if (write(ready, "x", 1) == 1)
        pause();
}

/* Enable and the rest while another process holds the counters, then after its SIGKILL. */
static void step_held(const char *program)
{
    puts("== while another process holds the counters");
    fflush(stdout);
    int ready[2];
    char byte;
    if (pipe(ready) < 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        char text[16];
        snprintf(text, sizeof(text), "%d", ready[1]);
        execl(program, program, "hold", text, (char *)NULL);
        _exit(127);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1) {
        uint8_t *availability;
        int r = cupti_availability(&cupti, device, &availability);
        printf("  availability: result %d\n", r);
        if (r == 0)
            free(availability);
        run_metrics(&(struct experiment){"clock, held by another", .1, .1, .5, 16}, clock_only);
    }
    puts("== after SIGKILL of that process");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    run_metrics(&(struct experiment){"clock, after SIGKILL", .1, .1, .5, 16}, clock_only);
    close(ready[0]);
}

static bool open_host(void)
{
    char why[256];
    static struct cuda cuda;
    double mark = clock_monotonic();
    if (cupti_load(&cupti, why, sizeof(why)) < 0 || cuda_load(&cuda, why, sizeof(why)) < 0) {
        printf("skipped: %s\n", why);
        return false;
    }
    printf("%s, CUPTI version %u: ", cupti.dso.path, cupti.version);
    time_call("loaded with cuInit", &mark);
    char uuid[CUDA_UUID_TEXT_SIZE] = "";
    if (cuda_device_uuid(&cuda, (int)device, uuid) < 0)
        puts("no UUID");
    struct cupti_profiler_initialize initialize = {
        .size = CUPTI_SIZE(struct cupti_profiler_initialize, private)};
    report("cuptiProfilerInitialize", cupti.initialize(&initialize));
    time_call("cuptiProfilerInitialize", &mark);
    struct cupti_chip_name chip = {.size = CUPTI_SIZE(struct cupti_chip_name, chip),
                                   .device = device};
    if (report("chip name", cupti.chip_name(&chip)) != 0)
        return false;
    host.cupti = &cupti;
    snprintf(host.chip, sizeof(host.chip), "%s", chip.chip);
    static uint8_t *availability;
    if (report("availability", cupti_availability(&cupti, device, &availability)) == 0)
        host.availability = availability;
    time_call("availability", &mark);
    struct plan plan;
    plan_make(&plan, UINT64_MAX, PLAN_MAX_SETS, count_passes, &host);
    time_call("plan", &mark);
    printf("\n%s %s, resident %.0f MiB; %zu sets:", host.chip, uuid, resident_mib(),
           plan.set_count);
    for (size_t i = 0; i < plan.set_count; i++)
        printf(" %zu", plan.set[i].count);
    puts(" counters");
    return true;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!open_host())
        return 0;
    if (argc > 3 && strcmp(argv[1], "names") == 0) {
        double seconds = 1;
        if (parse_duration(argv[2], &seconds) < 0)
            return 2;
        run_names(&(struct experiment){"named counters", .1, .1, seconds, 128},
                  (const char *const *)argv + 3, (size_t)argc - 3);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "hold") == 0) {
        const char *const name = "gpc__cycles_elapsed.avg.per_second";
        hold_counters(&name, 1, atoi(argv[2]));
        return 0;
    }
    bool all = argc < 2;
    const char *step = all ? "" : argv[1];
    if (all || strcmp(step, "sets") == 0)
        step_sets();
    if (all || strcmp(step, "cost") == 0)
        step_cost();
    if (all || strcmp(step, "buffer") == 0)
        step_buffer();
    if (all || strcmp(step, "burst") == 0)
        step_burst();
    if (all || strcmp(step, "held") == 0)
        step_held("/proc/self/exe");
    if (all || strcmp(step, "tensor") == 0)
        step_tensor();
    if (all || strcmp(step, "l1") == 0)
        step_l1();
    return 0;
}
