#include "bench/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SECONDS_PER_HOUR = 3600;
static const double GIBI = 1 << 30;
static const enum stats_confidence CONFIDENCE = STATS_95; /* BENCH_CONFIDENCE */

static const struct measure_info measures[MEASURE_COUNT] = {
#define MEASURE(id, name, title, unit, better, help)                                               \
    [MEASURE_##id] = {name, title, MEASURE_##unit, MEASURE_##better, help},
#include "bench/measure.def"
#undef MEASURE
};

const struct measure_info *measure_info(enum measure measure)
{
    return &measures[measure];
}

void measure_put_number(struct strbuf *out, enum measure measure, double value)
{
    switch (measures[measure].unit) {
    case MEASURE_SECONDS:
        strbuf_printf(out, "%.*f", value < 99.95 ? 2 : 1, value);
        break;
    case MEASURE_PER_HOUR: /* jobs that take hours */
        strbuf_printf(out, "%.*f", value < 0.995 ? 3 : value < 99.5 ? 1 : 0, value);
        break;
    case MEASURE_JOULES:
        strbuf_printf(out, "%.*f", value < 99.5 ? 1 : 0, value);
        break;
    case MEASURE_TIMES:
        strbuf_printf(out, "%.2f", value);
        break;
    case MEASURE_RATIO:
        strbuf_printf(out, "%.1f", value * 100);
        break;
    case MEASURE_BYTES:
        strbuf_printf(out, "%.2f", value / GIBI);
        break;
    case MEASURE_WATTS:
        strbuf_printf(out, "%.0f", value);
        break;
    case MEASURE_HERTZ:
        strbuf_printf(out, "%.0f", value / 1e6);
        break;
    }
}

void measure_put_human(struct strbuf *out, enum measure measure, double value)
{
    static const char *const suffixes[] = {
        [MEASURE_SECONDS] = " s", [MEASURE_PER_HOUR] = "",  [MEASURE_TIMES] = "",
        [MEASURE_RATIO] = " %",   [MEASURE_BYTES] = " GiB", [MEASURE_JOULES] = " J",
        [MEASURE_WATTS] = " W",   [MEASURE_HERTZ] = " MHz",
    };
    measure_put_number(out, measure, value);
    strbuf_puts(out, suffixes[measures[measure].unit]);
}

static const char *const outcome_words[BENCH_OUTCOME_COUNT] = {"ended", "failed",  "timeout",
                                                               "cold",  "outside", "fault"};

const char *bench_outcome_word(enum bench_outcome outcome)
{
    return outcome_words[outcome];
}

enum bench_outcome bench_outcome_by_word(const char *word)
{
    int outcome = 0;
    while (outcome < BENCH_OUTCOME_COUNT && strcmp(outcome_words[outcome], word) != 0)
        outcome++;
    return (enum bench_outcome)outcome;
}

size_t bench_fault_count(const struct bench_trial *trial)
{
    size_t count = 0;
    for (size_t i = 0; i < trial->run_count; i++)
        count += trial->runs[i].outcome == BENCH_FAULT;
    return count;
}

static bool ended_well(const struct bench_trial *trial)
{
    for (size_t i = 0; i < trial->run_count; i++)
        if (trial->runs[i].outcome != BENCH_ENDED)
            return false;
    return true;
}

static double duration(const struct bench_run *run)
{
    return run->end - run->begin;
}

static void measure_progress(const struct bench_trial *trial, const double *alone,
                             double ret[MEASURE_COUNT])
{
    double progress = 0, slowdown = 0, least = INFINITY, most = 0;
    for (size_t i = 0; i < trial->run_count; i++) {
        double part = alone[i] / duration(&trial->runs[i]);
        progress += part;
        slowdown += 1 / part;
        least = fmin(least, part);
        most = fmax(most, part);
    }
    if (!isfinite(progress) || !isfinite(slowdown))
        return;
    /* In turn only one job at a time makes progress, at full speed. */
    ret[MEASURE_STP] =
        trial->mode == MODE_EXCLUSIVE ? progress / (double)trial->run_count : progress;
    ret[MEASURE_ANTT] = slowdown / (double)trial->run_count;
    ret[MEASURE_WORST] = 1 / least;
    ret[MEASURE_FAIRNESS] = least / most;
}

void bench_measure(const struct bench_trial *trial, const double *alone, double ret[MEASURE_COUNT])
{
    double count = (double)trial->run_count, end = 0, completion = 0;
    for (int i = 0; i < MEASURE_COUNT; i++)
        ret[i] = NAN;
    for (size_t i = 0; i < trial->run_count; i++) {
        end = fmax(end, trial->runs[i].end);
        completion += trial->runs[i].end;
    }
    if (end <= 0 || !ended_well(trial))
        return;
    for (int i = MEASURE_ENERGY; i < MEASURE_COUNT; i++)
        ret[i] = trial->seen[i];
    ret[MEASURE_MAKESPAN] = end;
    ret[MEASURE_JOBS_PER_HOUR] = count / end * SECONDS_PER_HOUR;
    ret[MEASURE_COMPLETION] = completion / count;
    ret[MEASURE_ENERGY_PER_JOB] = ret[MEASURE_ENERGY] / count;
    ret[MEASURE_POWER] = ret[MEASURE_ENERGY] / end;
    measure_progress(trial, alone, ret);
}

double measure_interval(const struct stats *stats)
{
    return stats_interval(stats, CONFIDENCE);
}

bool measure_apart(const struct stats *a, const struct stats *b)
{
    return fabs(a->mean - b->mean) > stats_welch(a, b, CONFIDENCE);
}

struct measure_ratio measure_ratio(const struct stats *a, const struct stats *b)
{
    double value = a->mean / b->mean;
    double spread = hypot(measure_interval(a) / a->mean, measure_interval(b) / b->mean);
    if (!isfinite(spread))
        return (struct measure_ratio){value, NAN, NAN};
    return (struct measure_ratio){value, fmax(value * (1 - spread), 0), value * (1 + spread)};
}

/* The mean time of each instance with the GPU to itself. */
static void find_alone(const struct bench_trials *trials, size_t instances, double *ret)
{
    for (size_t i = 0; i < instances; i++) {
        struct stats stats = {0};
        for (size_t k = 0; k < trials->count; k++) {
            const struct bench_trial *trial = &trials->trials[k];
            if (trial->mode == MODE_EXCLUSIVE && trial->runs[i].outcome == BENCH_ENDED)
                stats_add(&stats, duration(&trial->runs[i]));
        }
        ret[i] = stats.count ? stats.mean : NAN;
    }
}

static void add_jobs(const struct bench_plan *plan, const struct bench_trial *trial,
                     const double *alone, struct bench_summary *summary)
{
    size_t instance = 0;
    for (size_t job = 0; job < plan->job_count; job++) {
        struct stats slowdown = {0}, seconds = {0};
        for (unsigned k = 0; k < plan->jobs[job].count; k++, instance++) {
            double time = duration(&trial->runs[instance]);
            stats_add(&seconds, time);
            if (isfinite(alone[instance]) && alone[instance] > 0)
                stats_add(&slowdown, time / alone[instance]);
        }
        size_t place = job * MODE_COUNT + trial->mode;
        stats_add(&summary->seconds[place], seconds.mean);
        if (slowdown.count == plan->jobs[job].count)
            stats_add(&summary->slowdown[place], slowdown.mean);
    }
}

static void add_trial(const struct bench_plan *plan, const struct bench_trial *trial,
                      const double *alone, double values[MEASURE_COUNT],
                      struct bench_summary *summary)
{
    bench_measure(trial, alone, values);
    summary->trial_count[trial->mode]++;
    summary->faulted[trial->mode] += bench_fault_count(trial) > 0;
    for (size_t i = 0; i < trial->run_count; i++)
        summary->failed_runs[trial->mode] += trial->runs[i].outcome != BENCH_ENDED;
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        if (isfinite(values[i]))
            stats_add(&summary->of[trial->mode][i], values[i]);
    if (ended_well(trial))
        add_jobs(plan, trial, alone, summary);
}

int bench_summarize(const struct bench_plan *plan, const struct bench_trials *trials,
                    struct bench_summary *ret)
{
    *ret = (struct bench_summary){
        .slowdown = calloc(plan->job_count * MODE_COUNT, sizeof(*ret->slowdown)),
        .seconds = calloc(plan->job_count * MODE_COUNT, sizeof(*ret->seconds)),
        .values = calloc(trials->count + 1, sizeof(*ret->values)),
    };
    CLEANUP_FREE double *alone = calloc(plan->instance_count, sizeof(*alone));
    if (!ret->slowdown || !ret->seconds || !ret->values || !alone) {
        bench_summary_free(ret);
        return -ENOMEM;
    }
    find_alone(trials, plan->instance_count, alone);
    for (size_t i = 0; i < trials->count; i++)
        add_trial(plan, &trials->trials[i], alone, ret->values[i], ret);
    return 0;
}

void bench_summary_free(struct bench_summary *summary)
{
    free(summary->slowdown);
    free(summary->seconds);
    free(summary->values);
    *summary = (struct bench_summary){0};
}
