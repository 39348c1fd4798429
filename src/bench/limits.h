/* The limits of the mode mps-limits: those that JOBS.ini names, else what a job's profile says that
 * it needs. */
#pragma once

#include "bench/plan.h"
#include "store/profiles.h"

struct bench_need {
    double sm_percent;     /* 0: the profile does not tell */
    const char *sm_from;   /* how it tells */
    uint64_t memory_bytes; /* 0: not seen */
};

/* What the profile says that the job needs to itself. A pure function. */
struct bench_need bench_need_of(const struct profile *profile);

/* Shrinks the SMs that come from profiles so that all jobs together have no more than the GPU,
 * where those that JOBS.ini names leave room for that. A pure function. */
void bench_limits_fit(struct bench_plan *plan);

/* Looks up the profiles of the jobs for which JOBS.ini leaves limits open: under the name that
 * `profile` gives, else the job's own, else the command's. Where a job's SMs stay open,
 * plan->no_limits says so and what to run. */
void bench_limits_fill(struct bench_plan *plan);

/* "train: 25 % of the SMs (profile train), 4 GiB (profile train)", one job a line. */
void bench_limits_describe(const struct bench_plan *plan, struct strbuf *out);
void bench_limits_describe_job(const struct bench_job *job, struct strbuf *out);
