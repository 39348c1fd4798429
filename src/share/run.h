/* A job on a GPU: its slot, its limits, its measurement and its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/util.h"
#include "share/account.h"
#include "share/slot.h"

enum run_mode {
    RUN_EXCLUSIVE,
    RUN_SHARED, /* or not at all */
    RUN_EITHER, /* shared where MPS works here */
};

struct run_options {
    const char *source; /* as struct monitor_config has it */
    const char *gpus;
    const char *name;
    enum run_mode mode;
    unsigned gpu_count;
    double sm_percent;      /* 0: not asked for */
    uint64_t memory_bytes;  /* 0: not asked for */
    bool all_memory;        /* where it is not: all that can be given, and not a part by the SMs */
    const char *clock;      /* when CUPTI's counters run, NULL: not at all */
    double timeout;         /* seconds, 0: none */
    double grace;           /* seconds from being told to end until being killed; 0: as usual */
    uint64_t reserve_bytes; /* of memory, that stay free on a shared GPU; 0: as usual */
    double wait;            /* for a slot, seconds; 0: not at all */
    unsigned victim_retries;
    bool beside;
    bool multi_user;        /* shared: with other users' jobs; root only */
    bool exclusive_process; /* shared: in that compute mode; root only */
    bool needs_gpu;         /* without one it is not run at all */
    const char *const *command;
    /* One sentence at a time, while it runs. */
    void (*say)(const char *text);
    /* Optional: each reading of its first GPU, and the seconds that it covers. */
    void (*observe)(void *context, const struct reading *reading, double interval);
    void *context;
};

enum run_result {
    RUN_DONE,        /* the account says how it ended */
    RUN_NO_GPU,      /* no GPU, no MPS, or no slot: it was not run */
    RUN_WRONG,       /* the options do not fit this machine */
    RUN_INTERRUPTED, /* by a signal, before it was run; the account has the exit code */
    RUN_FAILED,
};

/* Runs the command to its end. `failure` is filled unless it was done. The account's GPUs are for
 * run_free(). */
MUST_CHECK enum run_result run_job(const struct run_options *options, struct account *ret,
                                   struct counter_failure *failure);
void run_free(struct account *account);

/* The exit codes of jobs that were stopped. */
enum {
    RUN_EXIT_OUTSIDE = 121,
    RUN_EXIT_MEMORY = 122,
    RUN_EXIT_VICTIM = 123,
    RUN_EXIT_TIMEOUT = 124,
};
