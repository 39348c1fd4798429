#include "share/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/spawn.h"

/* For a client that its server has dropped: on an H200 it took 0.16 s. */
static const double LEAVE_PATIENCE = 1;

int job_exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : JOB_EXIT_SIGNAL + WTERMSIG(status);
}

/* As a shell's exit codes have it. */
static _Noreturn void refuse(const char *command, int error)
{
    dprintf(STDERR_FILENO, "rooftop: cannot run '%s': %s\n%s\n", command, strerror(error),
            error == ENOENT || !strchr(command, '/')
                ? "What only a shell knows, or a whole line of it: -- sh -c 'LINE'"
            : error == EACCES ? "Make it executable (chmod +x), or name the program that reads it: "
                                "-- python FILE"
                              : "");
    _exit(error == ENOENT ? JOB_EXIT_NOT_FOUND : JOB_EXIT_CANNOT_RUN);
}

/* In the child: waits for the word to go, and becomes the command. */
static _Noreturn void become(const char *const *argv, char **environment, int gate)
{
    setpgid(0, 0);
    char go;
    ssize_t got;
    do {
        got = read(gate, &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(JOB_EXIT_CANNOT_RUN);
    close(gate);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGTTOU, SIG_DFL);
    execvpe(argv[0], (char *const *)argv, environment);
    refuse(argv[0], errno);
}

static bool is_in_front(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Where this program is in front on a terminal, the job takes its place. */
static bool give_terminal(pid_t group)
{
    if (!is_in_front())
        return false;
    signal(SIGTTOU, SIG_IGN);
    return tcsetpgrp(STDIN_FILENO, group) == 0;
}

int job_start(struct job *job, const char *const *argv, const char *const *changes,
              struct slot_table *slots, uint64_t lease)
{
    CLEANUP_FREE char **environment = spawn_environment(changes);
    int gate[2];
    if (!environment)
        return -ENOMEM;
    if (pipe2(gate, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        become(argv, environment, gate[0]);
    }
    int r = pid < 0 ? -errno : 0;
    close(gate[0]);
    if (r == 0) {
        job->pid_fd = pidfd_open(pid, 0);
        r = job->pid_fd < 0 ? -errno : 0;
    }
    if (r == 0) {
        setpgid(pid, pid);
        if (lease)
            r = slot_begin(slots, lease, pid);
    }
    if (r == 0) {
        /* Its output goes to a program that may want the terminal: the job gets it when it asks. */
        job->in_front = isatty(STDOUT_FILENO) && give_terminal(pid);
        job->pid = pid;
        if (write(gate[1], "g", 1) != 1)
            r = -errno;
    }
    close(gate[1]);
    return r;
}

static void take_terminal(struct job *job)
{
    if (job->in_front)
        tcsetpgrp(STDIN_FILENO, getpgrp());
    job->in_front = false;
}

void job_end(struct job *job)
{
    take_terminal(job);
    if (job->pid_fd > 0)
        close(job->pid_fd);
    *job = (struct job){0};
}

/* Reads the masks of /proc/PID/status: a signal that is blocked may be waited for. */
static bool dies_of(pid_t pid, int signal)
{
    if (signal == SIGTSTP)
        return false;
    static const char *const masks[] = {"\nSigBlk:", "\nSigIgn:", "\nSigCgt:"};
    char path[64], status[4096];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (file_read(path, status, sizeof(status)) <= 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
        const char *line = strstr(status, masks[i]);
        if (line && strtoull(line + strlen(masks[i]), NULL, 16) >> (signal - 1) & 1)
            return false;
    }
    return true;
}

static bool is_of_group(const struct job *job, pid_t pid)
{
    return getpgid(pid) == job->pid;
}

/* To the process group, and to those of the tree that have left it where `tree` is given. */
static void send(const struct job *job, const struct process_tree *tree, int signal)
{
    if (job->pid > 0)
        kill(-job->pid, signal);
    for (size_t i = 0; tree && i < tree->count; i++)
        if (!is_of_group(job, tree->pids[i]))
            kill(tree->pids[i], signal);
}

/* One that is stopped would not answer its server. */
static void drop_client(struct job *job, const struct mps *mps, const struct mps_client *client)
{
    struct process_id id = process_identify(client->pid);
    kill(client->pid, SIGCONT);
    if (mps_terminate(mps, client) < 0)
        return;
    job->dropped = job->dropped || client->pid == job->pid;
    if (job->leaving_count < JOB_LEAVING)
        job->leaving[job->leaving_count++] = id;
}

static bool is_leaving(const struct job *job, pid_t pid)
{
    for (size_t i = 0; i < job->leaving_count; i++)
        if (job->leaving[i].pid == pid && process_lives(job->leaving[i]))
            return true;
    return false;
}

static void drop_clients(struct job *job, const struct process_tree *tree, bool all,
                         const struct mps *mps, int signal)
{
    struct mps_view view = {0};
    size_t before = job->leaving_count;
    if (mps)
        mps_look(mps, &view);
    for (size_t i = 0; i < view.client_count; i++) {
        pid_t client = view.clients[i].pid;
        if (process_tree_has(tree, client) && (all || is_of_group(job, client)) &&
            !is_leaving(job, client) && (signal == SIGKILL || dies_of(client, signal)))
            drop_client(job, mps, &view.clients[i]);
    }
    if (job->leaving_count > before)
        job->waiting_until =
            clock_monotonic() + (job->patience > 0 ? job->patience : LEAVE_PATIENCE);
}

static bool has_leaving(const struct job *job)
{
    if (clock_monotonic() >= job->waiting_until)
        return false;
    for (size_t i = 0; i < job->leaving_count; i++)
        if (process_lives(job->leaving[i]))
            return true;
    return false;
}

/* A shell that lived on would begin its next command. What handles the signal is told later, as it
 * may kill the clients itself. */
static void end_what_dies(const struct job *job, const struct process_tree *tree, bool all,
                          int signal)
{
    for (size_t i = 0; i < tree->count; i++) {
        pid_t pid = tree->pids[i];
        if ((all || is_of_group(job, pid)) && !is_leaving(job, pid) && dies_of(pid, signal))
            kill(pid, signal);
    }
}

static void signal_job(struct job *job, const struct process_tree *tree, bool all,
                       const struct mps *mps, int signal)
{
    drop_clients(job, tree, all, mps, signal);
    if (!has_leaving(job)) {
        send(job, all ? tree : NULL, signal);
        return;
    }
    end_what_dies(job, tree, all, signal);
    job->waiting |= 1ULL << (signal - 1);
    job->waiting_for_all = job->waiting_for_all || all;
}

void job_signal(struct job *job, const struct process_tree *tree, const struct mps *mps, int signal)
{
    signal_job(job, tree, false, mps, signal);
}

void job_end_all(struct job *job, const struct process_tree *tree, const struct mps *mps,
                 int signal)
{
    signal_job(job, tree, true, mps, signal);
}

bool job_pass_on(struct job *job, const struct process_tree *tree)
{
    if (job->waiting && has_leaving(job))
        return false;
    for (int signal = 1; job->waiting; signal++, job->waiting >>= 1)
        if (job->waiting & 1)
            send(job, job->waiting_for_all ? tree : NULL, signal);
    job->waiting_for_all = false;
    job->leaving_count = 0;
    return true;
}

/* Until SIGCONT. Where no shell could continue it, the kernel does not stop it. */
static void stop_here(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction action;
    sigset_t stops, mask;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTSTP);
    sigaction(SIGTSTP, &usual, &action);
    pthread_sigmask(SIG_UNBLOCK, &stops, &mask);
    raise(SIGTSTP);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGTSTP, &action, NULL);
}

void job_stop_along(struct job *job, const struct process_tree *tree, int signal)
{
    bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
    /* Whoever sent it that will continue it. */
    if (signal == SIGSTOP && !job->in_front)
        return;
    if (!wants_terminal || !is_in_front()) {
        send(job, tree, SIGSTOP);
        take_terminal(job);
        stop_here();
    }
    job->in_front = give_terminal(job->pid);
    send(job, tree, SIGCONT);
}
