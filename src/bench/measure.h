/* From what was seen of trials to what a person decides by. Pure functions.
 *
 * STP, ANTT and fairness are those of Eyerman and Eeckhout, "System-Level Performance Metrics for
 * Multiprogram Workloads", IEEE Micro 28(3), 2008: with a job's progress NP = time alone ÷ time
 * shared, STP = Σ NP, ANTT = mean of 1 ÷ NP, fairness = min NP ÷ max NP. Theirs keep the load
 * constant; here each job runs once, so that late jobs have fewer neighbours. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"
#include "base/strbuf.h"
#include "bench/plan.h"

enum measure {
#define MEASURE(id, name, title, unit, better, help) MEASURE_##id,
#include "bench/measure.def"
#undef MEASURE
    MEASURE_COUNT
};

enum measure_unit {
    MEASURE_SECONDS,
    MEASURE_PER_HOUR,
    MEASURE_TIMES,
    MEASURE_RATIO,
    MEASURE_BYTES,
    MEASURE_JOULES,
    MEASURE_WATTS,
    MEASURE_HERTZ,
};

enum measure_better { MEASURE_NEITHER, MEASURE_LOWER, MEASURE_HIGHER };

struct measure_info {
    const char *name;
    const char *title;
    enum measure_unit unit;
    enum measure_better better;
    const char *help;
};

const struct measure_info *measure_info(enum measure measure);
/* "12.6", "93.5", "1.31" */
void measure_put_number(struct strbuf *out, enum measure measure, double value);
/* "12.6 s", "93.5 %", "1.31" */
void measure_put_human(struct strbuf *out, enum measure measure, double value);

enum bench_outcome {
    BENCH_ENDED,   /* with exit code 0 */
    BENCH_FAILED,  /* with another, or by a signal */
    BENCH_TIMEOUT, /* it was stopped */
    BENCH_COLD,    /* it did not warm up in time, or ended before it had */
    BENCH_OUTSIDE, /* it did not keep to the mode: outside MPS, without its limits, or under
                      another's */
    BENCH_FAULT,   /* a GPU fault took it down, its own or that of another client */
    BENCH_OUTCOME_COUNT,
};

const char *bench_outcome_word(enum bench_outcome outcome);
/* The outcome of that word, or BENCH_OUTCOME_COUNT. */
enum bench_outcome bench_outcome_by_word(const char *word);

/* One job of a trial. Times are seconds since the trial's start, when all jobs could begin; in
 * turn, what the next job took to warm up is left out. */
struct bench_run {
    double begin;
    double end;
    enum bench_outcome outcome;
    int exit_code;      /* 128 + the number of a signal */
    double memory_peak; /* bytes of all its processes, NAN where not seen */
    char output[512]; /* why it was stopped, and the end of what it printed; "" where it ended well
                       */
};

struct bench_trial {
    enum bench_mode mode;
    unsigned repeat;
    double time; /* of its start, seconds since 1970 */
    size_t run_count;
    struct bench_run *runs; /* one for each instance of the plan, in its order */
    /* What the GPU did meanwhile, NAN where not known; of the enum measure those from ENERGY on but
     * ENERGY_PER_JOB are set by who measured. */
    double seen[MEASURE_COUNT];
};

/* How many jobs of the trial a GPU fault took down. */
size_t bench_fault_count(const struct bench_trial *trial);

struct bench_trials {
    size_t count;
    struct bench_trial *trials;
};

/* What trials say together. One in which a job failed is counted, and enters no measure. */
struct bench_summary {
    size_t trial_count[MODE_COUNT];
    size_t failed_runs[MODE_COUNT];
    size_t faulted[MODE_COUNT]; /* trials in which a GPU fault took jobs down together */
    struct stats of[MODE_COUNT][MEASURE_COUNT]; /* over the repeats */
    /* Time shared by time alone of each job of the plan, over the repeats; where there are several
     * of it, their mean. [job × MODE_COUNT + mode] */
    struct stats *slowdown;
    struct stats *seconds;           /* how long a job ran, alike */
    double (*values)[MEASURE_COUNT]; /* of each trial */
};

/* Returns 0 or -ENOMEM. */
MUST_CHECK int bench_summarize(const struct bench_plan *plan, const struct bench_trials *trials,
                               struct bench_summary *ret);
void bench_summary_free(struct bench_summary *summary);

/* The measures of one trial, all NAN where a job failed: one that ends early makes the others look
 * fast. `alone` holds the time of each instance when it had the GPU to itself, NAN where not
 * known. */
void bench_measure(const struct bench_trial *trial, const double *alone, double ret[MEASURE_COUNT]);

static inline bool measure_known(const struct stats *stats)
{
    return stats->count > 0;
}

/* The confidence of all that a bench says, here alone and in the documents. */
#define BENCH_CONFIDENCE "95 %"

/* Half the width of the mean's confidence interval; INFINITY with fewer than two repeats. */
double measure_interval(const struct stats *stats);
/* The repeats tell the means apart: the interval of their difference, by Welch's t, does not
 * hold 0. */
bool measure_apart(const struct stats *a, const struct stats *b);

struct measure_ratio {
    double value, low, high; /* its interval, NAN where there is none */
};

/* The mean of a by that of b, with the interval that follows from theirs. */
struct measure_ratio measure_ratio(const struct stats *a, const struct stats *b);
