/* Part of run*.c. */
#pragma once

#include "base/loop.h"
#include "monitor/monitor.h"
#include "share/guard.h"
#include "share/job.h"
#include "share/mps.h"
#include "share/run.h"
#include "share/verify.h"

struct run {
    const struct run_options *options;
    struct monitor *monitor;
    char folder[200];
    struct slot_table *slots;
    size_t gpu_count; /* that can be had */
    struct slot_gpu gpus[SLOT_GPUS];
    struct slot_request request;
    struct slot_grant grant; /* id 0: none */
    bool shared;
    bool has_mps;
    struct mps mps;
    struct mps_limits limits; /* of this job */
    long log_begin;           /* how long the server's log was */

    struct account *account;

    /* run_watch.c's own. */
    struct loop *loop;
    struct loop_timer *kill_timer, *leave_timer, *timeout_timer, *tick_timer;
    struct job job;
    pid_t daemon;         /* MPS', or 0 */
    int daemon_fd;        /* of its process, or -1 */
    double attempt_begin; /* monotonic */
    struct process_tree tree;
    struct verify verify;
    struct guard guard;
    struct slot_lease *leases; /* of all jobs of this host, at the last frame */
    size_t lease_count;
    unsigned frames;
    unsigned jobs[SLOT_GPUS];  /* on each of the job's GPUs */
    bool strangers[SLOT_GPUS]; /* programs without a slot are there */
    unsigned most_jobs;        /* on the first of them, ever */
    bool ended;                /* the command itself, */
    int ended_by;              /* which would have died of this signal; or 0 */
    bool stopping;
    size_t client_count; /* the command, and processes of it that were seen on the GPU */
    pid_t clients[PROCESS_LIST_CAPACITY];
};

void run_say(const struct run *run, const char *format, ...) PRINTF_LIKE(2, 3);

/* run_mps.c: the MPS daemon of the GPU that was granted, with the limits of all its slots. Returns
 * 0 or −errno with `failure` filled. */
MUST_CHECK int run_start_mps(struct run *run, struct counter_failure *failure);
/* run_mps.c: behind the release of the lease. */
void run_leave_mps(struct run *run);
/* run_mps.c: sets back the compute modes that a killed rooftop has left. */
void run_restore_modes(struct run *run);

/* run_watch.c: blocks the signals that it handles. The driver's library starts threads of its own,
 * and one that does not block a signal could take it: call this before the library is opened. */
void run_block_signals(void);

/* run_watch.c: waits so long, with those signals blocked; returns the one that came, or 0. */
int run_pause(double seconds);

/* run_watch.c: runs the command once, under the slot that the run holds. Returns 0 or −errno. */
MUST_CHECK int run_watch(struct run *run);
