#include "bench/runner.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "bench/guard.h"
#include "bench/limits.h"
#include "bench/result.h"
#include "bench/stage.h"
#include "bench/trial.h"
#include "version.h"

static const double TICK = 0.1;

struct runner {
    const struct runner_options *options;
    const struct bench_plan *plan;
    struct counter_failure *failure;
    struct loop *loop;
    struct loop_timer *tick;
    struct stage stage;
    bool skipped[MODE_COUNT];
    struct result_file *file;
    struct trial *trial;
    size_t turn; /* that runs, from 0 */
    char folder[PATH_MAX];
    struct guard guard;
    double estimate; /* seconds from the trial's begin to the end of all, NAN where not known */
    bool interrupted;
};

static enum runner_result refuse(struct runner *runner, enum runner_result result,
                                 const char *advice, const char *format, ...) PRINTF_LIKE(4, 5);

static enum runner_result refuse(struct runner *runner, enum runner_result result,
                                 const char *advice, const char *format, ...)
{
    struct counter_failure *failure = runner->failure;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->reason, sizeof(failure->reason), format, arguments);
    va_end(arguments);
    snprintf(failure->advice, sizeof(failure->advice), "%s", advice);
    return result;
}

static enum runner_result refuse_file(struct runner *runner, int error)
{
    return refuse(runner, error == -EBADMSG ? RUNNER_WRONG : RUNNER_FAILED,
                  error == -EBADMSG ? "name another file with --output"
                                    : "the trials so far are kept; the same command goes on from "
                                      "there",
                  "%s: %s", runner->options->output,
                  error == -EBADMSG ? "the result is damaged" : strerror(-error));
}

/* ---- progress ---- */

/* Seconds that the trials from this one on take, by those that have run; NAN before a mode's
 * first. */
static double estimate(const struct runner *runner)
{
    double left = 0;
    for (size_t i = runner->turn; i < bench_plan_turns(runner->plan); i++) {
        struct bench_turn turn = bench_plan_turn(runner->plan, i);
        if (!runner->skipped[turn.mode] && !result_has(runner->file, turn.mode, turn.repeat))
            left += result_trial_seconds(runner->file, turn.mode);
    }
    return left;
}

static void show_progress(struct runner *runner)
{
    struct trial_state state = trial_state(runner->trial);
    struct bench_turn turn = bench_plan_turn(runner->plan, runner->turn);
    double left = fmax(runner->estimate - state.seconds, 0);
    struct strbuf line = {0};
    strbuf_printf(&line, "trial %zu of %zu: %s, repeat %u: %s", runner->turn + 1,
                  bench_plan_turns(runner->plan), bench_mode_info(turn.mode)->name, turn.repeat + 1,
                  state.phase);
    if (state.running)
        strbuf_printf(&line, ", %zu job%s", state.running, state.running == 1 ? "" : "s");
    strbuf_puts(&line, ", ");
    bench_put_duration(&line, state.seconds);
    if (isfinite(runner->estimate)) {
        strbuf_puts(&line, "; about ");
        bench_put_duration(&line, left);
        strbuf_puts(&line, " left");
    }
    runner->options->say(strbuf_text(&line), true);
    strbuf_free(&line);
}

static void tell_trial(const struct runner *runner)
{
    const struct bench_trial *trial = trial_result(runner->trial);
    double end = 0;
    size_t failed = 0;
    for (size_t i = 0; i < trial->run_count; i++) {
        end = fmax(end, trial->runs[i].end);
        failed += trial->runs[i].outcome != BENCH_ENDED;
    }
    struct strbuf line = {0};
    strbuf_printf(&line, "trial %zu of %zu: %s, repeat %u: ", runner->turn + 1,
                  bench_plan_turns(runner->plan), bench_mode_info(trial->mode)->name,
                  trial->repeat + 1);
    bench_put_duration(&line, end);
    if (failed)
        strbuf_printf(&line, ", %zu of %zu jobs failed", failed, trial->run_count);
    if (bench_fault_count(trial))
        strbuf_printf(&line, ", a GPU fault took down %zu", bench_fault_count(trial));
    runner->options->say(strbuf_text(&line), false);
    strbuf_free(&line);
}

static void on_tick(void *context, uint32_t events)
{
    (void)events;
    struct runner *runner = context;
    if (!runner->trial)
        return;
    show_progress(runner);
    trial_tick(runner->trial);
}

static void on_signal(void *context, int signal)
{
    (void)signal;
    struct runner *runner = context;
    runner->interrupted = true;
    loop_stop(runner->loop, -EINTR);
}

/* ---- the result ---- */

static enum runner_result check_fact(struct runner *runner, enum result_fact fact,
                                     const char *value, const char *what)
{
    CLEANUP_FREE char *before = result_get(runner->file, fact);
    if (before && strcmp(before, value) != 0)
        return refuse(runner, RUNNER_WRONG, "name another file with --output, or remove it",
                      "%s: it is of %s", runner->options->output, what);
    int r = before ? 0 : result_set(runner->file, fact, value);
    return r < 0 ? refuse_file(runner, r) : RUNNER_DONE;
}

/* A profile may have been measured anew since. */
static enum runner_result check_limits(struct runner *runner)
{
    struct strbuf limits = {0};
    if (!bench_plan_has(runner->plan, MODE_MPS_LIMITS) || runner->plan->no_limits[0])
        return RUNNER_DONE;
    bench_limits_describe(runner->plan, &limits);
    enum runner_result result =
        check_fact(runner, FACT_LIMITS, strbuf_text(&limits), "other limits");
    strbuf_free(&limits);
    return result;
}

static enum runner_result open_result(struct runner *runner)
{
    const struct runner_options *options = runner->options;
    int r = result_open(&runner->file, options->output, runner->failure->reason,
                        sizeof(runner->failure->reason));
    if (r < 0)
        return r == -EBADMSG || r == -ENOTSUP || r == -EBUSY || file_is_misplaced(r)
                   ? RUNNER_WRONG
                   : RUNNER_FAILED;
    const struct device *device = monitor_device(runner->stage.monitor, 0);
    enum runner_result result = check_fact(runner, FACT_JOBS, options->jobs_text, "other jobs");
    if (result == RUNNER_DONE)
        result = check_fact(runner, FACT_GPU_UUID, device->text[DEVICE_UUID], "another GPU");
    if (result == RUNNER_DONE)
        result =
            check_fact(runner, FACT_DRIVER, monitor_counter(runner->stage.monitor)->driver_version,
                       "another driver");
    if (result == RUNNER_DONE)
        result = check_limits(runner);
    if (result != RUNNER_DONE)
        return result;
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    const struct {
        enum result_fact fact;
        const char *value;
    } facts[] = {
        {FACT_JOBS_NAME, options->jobs_name},
        {FACT_GPU, device->text[DEVICE_NAME]},
        {FACT_HOST, host},
        {FACT_VERSION, ROOFTOP_VERSION},
        {FACT_COMMAND, options->command},
        {FACT_SKIPPED, ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
        r = result_set(runner->file, facts[i].fact, facts[i].value);
        if (r < 0)
            return refuse_file(runner, r);
    }
    return RUNNER_DONE;
}

/* ---- trials ---- */

static int keep_trial(struct runner *runner)
{
    char watts[32];
    CLEANUP_FREE char *before = result_get(runner->file, FACT_IDLE_WATTS);
    double idle = trial_idle_watts(runner->trial);
    int r = 0;
    if (!before && isfinite(idle)) {
        snprintf(watts, sizeof(watts), "%.3f", idle);
        r = result_set(runner->file, FACT_IDLE_WATTS, watts);
    }
    if (r == 0)
        r = result_add(runner->file, runner->plan, trial_result(runner->trial),
                       trial_points(runner->trial));
    if (r < 0)
        refuse_file(runner, r);
    else
        tell_trial(runner);
    return r;
}

static int run_trial(struct runner *runner, struct bench_turn turn, const struct stage_place *place)
{
    const struct trial_config config = {
        .plan = runner->plan,
        .turn = turn,
        .loop = runner->loop,
        .monitor = runner->stage.monitor,
        .run = runner->stage.folder,
        .folder = runner->folder,
        .devices = place->devices,
        .mps = place->mps,
        .memory_bytes = runner->stage.memory_bytes,
    };
    file_empty_folder(runner->folder);
    runner->estimate = estimate(runner);
    int r = trial_begin(&runner->trial, &config);
    if (r == 0)
        r = loop_run(runner->loop);
    if (r == 0)
        r = keep_trial(runner);
    trial_end(runner->trial);
    runner->trial = NULL;
    return r;
}

/* A mode that this machine does not have is left out, and the result says why. */
static int skip(struct runner *runner, enum bench_mode mode, const char *why)
{
    if (runner->skipped[mode])
        return 0;
    runner->skipped[mode] = true;
    struct strbuf all = {0}, line = {0};
    CLEANUP_FREE char *before = result_get(runner->file, FACT_SKIPPED);
    strbuf_printf(&line, "%s: %s", bench_mode_info(mode)->name, why);
    runner->options->say(strbuf_text(&line), false);
    strbuf_printf(&all, "%s%s%s", before ? before : "", before && before[0] ? "; " : "",
                  strbuf_text(&line));
    int r = result_set(runner->file, FACT_SKIPPED, strbuf_text(&all));
    strbuf_free(&all);
    strbuf_free(&line);
    return r;
}

static int run_turn(struct runner *runner, struct bench_turn turn)
{
    struct stage_place place;
    struct counter_failure failure;
    if (turn.mode == MODE_MPS_LIMITS && runner->plan->no_limits[0])
        return skip(runner, turn.mode, runner->plan->no_limits);
    int r = stage_set(&runner->stage, runner->plan, turn.mode, &place, &failure);
    if (r == -ENOTSUP)
        return skip(runner, turn.mode, failure.reason);
    if (r < 0)
        runner->options->say(failure.reason, false);
    else
        r = run_trial(runner, turn, &place);
    stage_clear(&runner->stage, &place);
    return r;
}

static enum runner_result run_turns(struct runner *runner)
{
    for (runner->turn = 0; runner->turn < bench_plan_turns(runner->plan); runner->turn++) {
        struct bench_turn turn = bench_plan_turn(runner->plan, runner->turn);
        if (result_has(runner->file, turn.mode, turn.repeat))
            continue;
        int r = runner->interrupted ? -EINTR : run_turn(runner, turn);
        if (runner->interrupted)
            return refuse(runner, RUNNER_INTERRUPTED, "the same command goes on from there",
                          "interrupted; the trials so far are in %s", runner->options->output);
        if (r < 0 && runner->failure->reason[0])
            return RUNNER_FAILED;
        if (r < 0)
            return refuse(runner, r == -ENODEV ? RUNNER_NO_GPU : RUNNER_FAILED,
                          "the trials so far are kept; the same command goes on from there", "%s",
                          r == -ENODEV ? "the GPU is lost" : strerror(-r));
    }
    return RUNNER_DONE;
}

static int watch(struct runner *runner)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    int r = loop_new(&runner->loop);
    for (size_t i = 0; i < ARRAY_SIZE(signals) && r == 0; i++)
        r = loop_add_signal(runner->loop, signals[i], on_signal, runner);
    if (r == 0)
        r = loop_add_timer(runner->loop, &runner->tick, on_tick, runner);
    return r < 0 ? r : loop_timer_set(runner->tick, TICK, TICK);
}

static enum runner_result make_folder(struct runner *runner)
{
    const char *parent = secure_getenv("TMPDIR");
    if (!parent || !parent[0])
        parent = "/tmp";
    snprintf(runner->folder, sizeof(runner->folder), "%s/rooftop-bench-XXXXXX", parent);
    if (!mkdtemp(runner->folder)) {
        runner->folder[0] = '\0';
        return refuse(runner, RUNNER_FAILED, "set TMPDIR to a folder that can be written",
                      "a folder in %s: %s", parent, strerror(errno));
    }
    int r = guard_start(&runner->guard, runner->folder);
    return r < 0 ? refuse(runner, RUNNER_FAILED, "", "%s", strerror(-r)) : RUNNER_DONE;
}

static void end(struct runner *runner)
{
    if (runner->folder[0]) {
        file_empty_folder(runner->folder);
        rmdir(runner->folder);
    }
    result_close(runner->file);
    stage_close(&runner->stage);
    loop_free(runner->loop);
    guard_end(&runner->guard);
}

static enum runner_result open_stage(struct runner *runner)
{
    const struct runner_options *options = runner->options;
    switch (stage_open(&runner->stage, options->source, options->gpu, options->clock,
                       options->beside, runner->failure)) {
    case 0:
        return RUNNER_DONE;
    case -EINVAL:
    case -E2BIG:
        return RUNNER_WRONG;
    case -EBUSY:
        return RUNNER_FAILED;
    default:
        return RUNNER_NO_GPU;
    }
}

enum runner_result runner_run(const struct runner_options *options, struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    struct runner runner = {.options = options, .plan = options->plan, .failure = failure};
    int r = watch(&runner);
    enum runner_result result =
        r < 0 ? refuse(&runner, RUNNER_FAILED, "", "%s", strerror(-r)) : make_folder(&runner);
    if (result == RUNNER_DONE)
        result = open_stage(&runner);
    if (result == RUNNER_DONE)
        result = open_result(&runner);
    if (result == RUNNER_DONE)
        result = run_turns(&runner);
    end(&runner);
    return result;
}
