/* The processes of a job: a process group of its own, and everything that descends from it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/util.h"
#include "share/mps.h"
#include "share/process.h"
#include "share/slot.h"

struct job {
    pid_t pid;     /* leads the group; 0: not begun */
    int pid_fd;    /* tells of its end */
    bool in_front; /* it was given the terminal */
};

enum { JOB_EXIT_CANNOT_RUN = 126, JOB_EXIT_NOT_FOUND = 127, JOB_EXIT_SIGNAL = 128 };

/* Starts the command in a process group of its own, once its lease knows of it: whoever is killed
 * in between leaves no job behind. The environment changes are as spawn_environment() takes them.
 * Returns 0 or −errno. */
MUST_CHECK int job_start(struct job *job, const char *const *argv, const char *const *changes,
                         struct slot_table *slots, uint64_t lease);

/* Passes a signal on to the process group. A program that would die of it is first taken from its
 * MPS server, since one that is killed while it works leaves the server in no defined state. `mps`
 * may be NULL. */
void job_signal(const struct job *job, const struct process_tree *tree, const struct mps *mps,
                int signal);

/* The same for all that is left of a job, whatever process groups it has made: SIGTERM or SIGKILL.
 */
void job_end_all(const struct job *job, const struct process_tree *tree, const struct mps *mps,
                 int signal);

/* The job has stopped by this signal, as by Ctrl-Z: this program stops too, so that a shell takes
 * the terminal, and with it all of the job, since nobody watches meanwhile. When it is continued,
 * so is the job. A job that waits for the terminal gets it where this program has it. */
void job_stop_along(struct job *job, const struct process_tree *tree, int signal);

/* Gives the terminal back. */
void job_end(struct job *job);

/* The exit code that stands for a status of waitpid(). */
int job_exit_code(int status);
