/* Whether a shared job keeps to its slot. CUDA runs silently without MPS, and so without limits,
 * where it does not reach the daemon: what was asked for is looked up in what happens. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metric/process.h"
#include "share/mps.h"
#include "share/process.h"

/* For the environment of what is to be verified: Python's setproctitle else writes the title
 * over it. */
#define VERIFY_VARIABLE "SPT_NOENV=1"

enum verify_result {
    VERIFY_NOTHING, /* no process of the job uses the GPU */
    VERIFY_GOOD,
    VERIFY_OUTSIDE, /* one uses it without MPS */
    VERIFY_LIMITS,  /* one is a client without the slot's limits, or hides what it has */
    VERIFY_MEMORY,  /* together they hold more memory than the slot */
};

struct verify {
    const struct mps *mps;
    struct mps_limits limits; /* of the slot */
    unsigned memory_strikes;
    double outside_since;              /* 0: none is outside */
    double hidden_since;               /* 0: the environment of each could be read */
    pid_t good[PROCESS_LIST_CAPACITY]; /* clients whose environment was looked at */
    struct verify_mark {
        unsigned long long start, stack; /* as struct proc_identity has them */
    } marks[PROCESS_LIST_CAPACITY];      /* of those */
    size_t good_count;
};

/* Looks at the processes that the driver lists on the GPU. `why` says what is wrong. */
enum verify_result verify_look(struct verify *verify, const struct process_list *processes,
                               const struct process_tree *tree, char *why, size_t why_size);

/* The variables of a program's environment that carry the limits say what the slot does, or less.
 * `environment` is as /proc/PID/environ has it, of `length` bytes and a NUL. */
bool verify_environment(const char *environment, size_t length, const char *pipe,
                        const struct mps_limits *limits, char *why, size_t why_size);
