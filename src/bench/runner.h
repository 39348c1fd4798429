/* All trials of a plan on one GPU, in turn, into a result file. */
#pragma once

#include "bench/plan.h"
#include "counter/counter.h"

struct runner_options {
    const struct bench_plan *plan;
    const char *jobs_name; /* of JOBS.ini */
    const char *jobs_text; /* its words */
    const char *output;    /* the result; one that is there is resumed */
    const char *source;
    const char *gpu;     /* NULL: the first one */
    const char *clock;   /* as gpus_open() has it */
    const char *command; /* that a person would give again */
    bool beside;         /* programs that use the GPU already do not matter */
    /* One sentence for the person; where `fleeting` is set it may be overwritten by the next. */
    void (*say)(const char *text, bool fleeting);
};

enum runner_result {
    RUNNER_DONE,
    RUNNER_INTERRUPTED, /* by a signal: the same command goes on */
    RUNNER_WRONG,       /* the options do not fit the result or the machine */
    RUNNER_NO_GPU,
    RUNNER_FAILED,
};

/* `failure` is filled unless it was done. */
MUST_CHECK enum runner_result runner_run(const struct runner_options *options,
                                         struct counter_failure *failure);
