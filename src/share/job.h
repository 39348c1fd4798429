/* The processes of a job: a process group of its own, and everything that descends from it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/util.h"
#include "share/mps.h"
#include "share/process.h"
#include "share/slot.h"

enum { JOB_LEAVING = 64 };

struct job {
    pid_t pid;     /* leads the group; 0: not begun */
    int pid_fd;    /* tells of its end */
    bool in_front; /* it was given the terminal */

    bool dropped; /* by its MPS server, since it would die of a signal: the command itself */
    /* Signals that wait until these have left MPS. */
    unsigned long long waiting; /* bit i: signal i + 1 */
    bool waiting_for_all;       /* they are for the whole tree, not the process group alone */
    double patience;            /* seconds; 0: the usual one */
    double waiting_until;       /* monotonic */
    size_t leaving_count;
    struct process_id leaving[JOB_LEAVING];
};

enum { JOB_EXIT_CANNOT_RUN = 126, JOB_EXIT_NOT_FOUND = 127, JOB_EXIT_SIGNAL = 128 };

/* Starts the command in a process group of its own, once its lease knows of it: whoever is killed
 * in between leaves no job behind. The environment changes are as spawn_environment() takes them.
 * Returns 0 or −errno. */
MUST_CHECK int job_start(struct job *job, const char *const *argv, const char *const *changes,
                         struct slot_table *slots, uint64_t lease);

/* Passes a signal on to the process group. A client of MPS that dies while a kernel of it runs can
 * take down the clients beside it, since its memory goes first (docs/SHARING.md). So clients that
 * would die of the signal are dropped by their server, and then have a second to leave by
 * themselves: until then the signal waits, for them and for what would outlive it. `mps` may be
 * NULL. */
void job_signal(struct job *job, const struct process_tree *tree, const struct mps *mps,
                int signal);

/* The same for all that is left of a job, whatever process groups it has made: SIGTERM or SIGKILL.
 */
void job_end_all(struct job *job, const struct process_tree *tree, const struct mps *mps,
                 int signal);

/* Sends the signals that waited, where the clients have left or their time is over. True where none
 * waits any more. */
bool job_pass_on(struct job *job, const struct process_tree *tree);

/* The job has stopped by this signal, as by Ctrl-Z: this program stops too, so that a shell takes
 * the terminal, and with it all of the job, since nobody watches meanwhile. When it is continued,
 * so is the job. A job that waits for the terminal gets it where this program has it. */
void job_stop_along(struct job *job, const struct process_tree *tree, int signal);

/* Gives the terminal back. */
void job_end(struct job *job);

/* The exit code that stands for a status of waitpid(). */
int job_exit_code(int status);
