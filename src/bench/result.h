/* What `rooftop bench` found: an SQLite file that holds the jobs, the GPU, and each trial that ran
 * to its end. A trial is written at once, so that a bench that is killed leaves all those before.
 */
#pragma once

#include "bench/measure.h"

enum result_fact {
#define RESULT_FACT(id, name) FACT_##id,
#include "bench/result_fact.def"
#undef RESULT_FACT
    FACT_COUNT
};

const char *result_fact_name(enum result_fact fact);

/* A point of a trial's time line. */
struct result_point {
    double time; /* seconds since the trial's start */
    double compute_sol;
    double memory_sol;
    double nvml_utilization;
    double power;
};

struct result_points {
    size_t count;
    struct result_point *points;
};

struct result {
    char *facts[FACT_COUNT]; /* "" where not known */
    struct bench_plan plan;
    struct bench_trials trials;   /* in the order in which they ran */
    struct result_points *points; /* one for each trial */
};

/* Reads a whole file. Returns 0, or −errno with `why` filled. */
MUST_CHECK int result_load(struct result *ret, const char *path, char *why, size_t why_size);
void result_free(struct result *result);

/* The idle power in watts, NAN where not known. */
double result_idle_watts(const struct result *result);

struct result_file;

/* Opens the file to add to it, and makes it where there is none; nobody else can until it is
 * closed. -EBUSY: another bench has it. */
MUST_CHECK int result_open(struct result_file **ret, const char *path, char *why, size_t why_size);
void result_close(struct result_file *file);

/* A fact, which replaces one that is there; to be called before trials are added. */
MUST_CHECK int result_set(struct result_file *file, enum result_fact fact, const char *value);
/* The fact, for the caller to free(); NULL where there is none. */
char *result_get(struct result_file *file, enum result_fact fact);

/* Adds a trial of the plan, all or nothing. Returns 0 or −errno. */
MUST_CHECK int result_add(struct result_file *file, const struct bench_plan *plan,
                          const struct bench_trial *trial, const struct result_points *points);
/* The trial has been run. */
bool result_has(struct result_file *file, enum bench_mode mode, unsigned repeat);

/* The mean length of the mode's trials in seconds, warm-up included, NAN where there is none. */
double result_trial_seconds(struct result_file *file, enum bench_mode mode);
