/* One job that runs: its process group, what it prints, and how it is held until the start. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "bench/plan.h"

struct child {
    pid_t pid;    /* leads the group; 0: none */
    int pid_fd;   /* readable when it has ended */
    int output;   /* its standard output and error; -1 once it is at its end */
    int gate;     /* a byte lets its command begin; -1 once it may */
    bool is_done; /* it printed what `done` names */
    bool said_ready;
    char line[1024]; /* the last one, not ended yet */
    size_t line_length;
    char tail[512]; /* of what it printed */
    size_t tail_length;
};

struct child_paths {
    const char *ready; /* how the name of the file begins that it makes */
    const char *go;
};

/* Starts the job, stopped at a gate before its command. `changes` are variables that come before
 * the job's own, as spawn_environment() takes them, NULL-terminated.
 * Returns 0 or −errno. */
MUST_CHECK int child_start(struct child *child, const struct bench_job *job, const char *name,
                           const struct child_paths *paths, const char *const *changes);
/* Lets its command begin, where it does not run yet. Returns 0 or −errno. */
int child_open_gate(struct child *child);

/* Takes what it has printed. False: no more will come. */
bool child_read(struct child *child, const struct bench_job *job);

void child_signal(const struct child *child, int signal);
/* After it has ended: kills what is left of its group, and returns the exit code, 128 + the number
 * of a signal. */
int child_reap(struct child *child);
