/* One run of all jobs in one mode: they are started, warm up, begin together at a barrier (in turn:
 * each by itself), and are watched to their ends. */
#pragma once

#include "base/loop.h"
#include "bench/measure.h"
#include "bench/result.h"
#include "monitor/monitor.h"
#include "share/mps.h"

struct trial;

struct trial_config {
    const struct bench_plan *plan;
    struct bench_turn turn;
    struct loop *loop;
    struct monitor *monitor;    /* its first device is the GPU */
    const char *run;            /* the folder of this host's sharing */
    const char *folder;         /* empty, for the files by which jobs are held */
    const char *const *devices; /* for each job the UUID of what it runs on */
    const struct mps *mps;      /* that the jobs are clients of, or NULL */
    uint64_t memory_bytes;      /* of the GPU */
};

/* What it is doing, for the progress display. */
struct trial_state {
    const char *phase; /* "resting", "warming up", "running", "measuring" */
    size_t running;
    double seconds; /* since the trial began */
};

/* Begins it; then loop_run() runs it, and stops with 0, or −errno where it cannot go on. */
MUST_CHECK int trial_begin(struct trial **ret, const struct trial_config *config);
/* To be called each 0.1 s or so. */
void trial_tick(struct trial *trial);
/* Kills what runs. */
void trial_end(struct trial *trial);
struct trial_state trial_state(const struct trial *trial);

/* Of one that ran to its end; what they point to is the trial's. */
const struct bench_trial *trial_result(const struct trial *trial);
const struct result_points *trial_points(const struct trial *trial);
/* The mean power in the rest before the jobs, in watts; NAN where not known. */
double trial_idle_watts(const struct trial *trial);
