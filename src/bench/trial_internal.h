/* Part of trial*.c. */
#pragma once

#include "bench/child.h"
#include "bench/moment.h"
#include "bench/trial.h"
#include "share/job.h"
#include "share/verify.h"

enum trial_phase { PHASE_REST, PHASE_WARM, PHASE_RUN, PHASE_DRAIN };

struct member {
    struct trial *trial;
    const struct bench_job *job;
    struct child child;
    struct job processes; /* of the child, to be ended */
    struct bench_run *run;
    bool ready; /* has warmed up */
    bool going; /* was let go */
    bool ended;
    bool late;         /* its time is over */
    double killed;     /* when it was asked to end, on the monotonic clock; 0: not yet */
    double begin, end; /* seconds since 1970 */
    struct verify verify;
    unsigned strikes;
    bool outside; /* it did not keep to the mode: `why` */
    char why[200];
};

struct trial {
    struct trial_config config;
    int notify;     /* inotify on the folder */
    long log_begin; /* how long the log of the MPS server was */
    enum trial_phase phase;
    double began;       /* monotonic */
    double epoch;       /* when the monotonic clock was 0, by the wall clock of the beginning */
    double phase_since; /* monotonic */
    size_t count;
    struct member *members;
    struct process_tree before; /* this program's other children */
    size_t first, last;         /* the members that run now: [first, last) */
    struct bench_trial result;
    struct moments moments;
    size_t window_count;
    struct window *windows; /* one for each batch of members */
    double rest_begin, rest_end;
    struct result_points points;
};

/* Seconds since 1970 for one who has not set the clock since the trial began: all its times are so.
 */
double trial_now(const struct trial *trial);

/* trial_watch.c: takes the monitor's present frame. Returns 0 or −errno. */
MUST_CHECK int trial_take_frame(struct trial *trial);

/* Once all have ended: who failed because a fault took its MPS server down is told from who failed
 * by itself. */
void trial_judge_faults(struct trial *trial);

/* trial_measure.c: fills result and points once all have ended. Returns 0 or -ENOMEM. */
MUST_CHECK int trial_measure(struct trial *trial);
