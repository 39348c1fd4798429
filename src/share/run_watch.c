#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "share/run_internal.h"

static const double USUAL_GRACE = 5;
static const double TICK = 1;
static const double LEAVE_PERIOD = 0.02; /* while signals wait for clients of MPS to leave */
/* The tree of processes is read with each frame at first, and then with each fifth. */
enum { EAGER_FRAMES = 50, TREE_PERIOD = 5 };

static double grace(const struct run *run)
{
    return run->options->grace > 0 ? run->options->grace : USUAL_GRACE;
}

static void read_tree(struct run *run)
{
    process_read_tree(getpid(), run->folder, &run->tree);
}

static bool tree_has_members(struct run *run)
{
    read_tree(run);
    return run->tree.count > 0;
}

static void end_all(struct run *run, int signal)
{
    read_tree(run);
    job_end_all(&run->job, &run->tree, run->has_mps ? &run->mps : NULL, signal);
    loop_timer_set(run->leave_timer, LEAVE_PERIOD, LEAVE_PERIOD);
    loop_timer_set(run->kill_timer, grace(run), 0);
}

static void on_leave_time(void *context, uint32_t events)
{
    (void)events;
    struct run *run = context;
    read_tree(run);
    if (job_pass_on(&run->job, &run->tree))
        loop_timer_set(run->leave_timer, 0, 0);
}

static void stop(struct run *run, enum account_outcome outcome, int exit_code, const char *why)
{
    if (run->stopping || run->ended)
        return;
    run->stopping = true;
    run->account->outcome = outcome;
    run->account->exit_code = exit_code;
    snprintf(run->account->note, sizeof(run->account->note), "stopped: %s", why);
    run_say(run, "stopping it: %s", why);
    end_all(run, SIGTERM);
}

static void on_kill_time(void *context, uint32_t events)
{
    (void)events;
    struct run *run = context;
    end_all(run, SIGKILL);
    if (run->ended && !tree_has_members(run))
        loop_stop(run->loop, 0);
}

static void on_timeout(void *context, uint32_t events)
{
    (void)events;
    struct run *run = context;
    char why[64];
    snprintf(why, sizeof(why), "its %g s are over", run->options->timeout);
    stop(run, OUTCOME_TIMEOUT, RUN_EXIT_TIMEOUT, why);
}

static const struct reading *find_reading(const struct run *run, const char *uuid)
{
    for (size_t i = 0; i < monitor_count(run->monitor); i++)
        if (strcmp(monitor_device(run->monitor, i)->text[DEVICE_UUID], uuid) == 0)
            return monitor_reading(run->monitor, i);
    return NULL;
}

/* A program without a slot is on the GPU. One that cannot be seen from here may be the job's own.
 */
static bool has_stranger(const struct run *run, const char *uuid)
{
    const struct reading *reading = find_reading(run, uuid);
    for (size_t i = 0; reading && i < reading->processes.count; i++) {
        const struct process *process = &reading->processes.process[i];
        if (process->kinds != PROCESS_GRAPHICS && !(process->kinds & PROCESS_MPS_SERVER) &&
            !process_tree_has(&run->tree, process->pid) &&
            process_identify(process->pid).start > 0 &&
            !slot_has(run->leases, run->lease_count, uuid, process->pid))
            return true;
    }
    return false;
}

static void list_leases(struct run *run)
{
    free(run->leases);
    run->leases = NULL;
    run->lease_count = 0;
    if (run->slots && slot_list(run->slots, &run->leases, &run->lease_count) < 0)
        run->lease_count = 0;
}

/* How many jobs share each of its GPUs now, itself included, and whether others are there too. */
static void count_jobs(struct run *run, bool strangers)
{
    if (!run->leases)
        return;
    for (size_t i = 0; i < run->account->gpu_count; i++) {
        const char *uuid = run->account->gpus[i].device.text[DEVICE_UUID];
        struct slot_use use = slot_use(run->leases, run->lease_count, uuid);
        run->jobs[i] = use.shared + use.exclusive > 0 ? use.shared + use.exclusive : 1;
        if (strangers)
            run->strangers[i] = has_stranger(run, uuid);
    }
    if (run->jobs[0] > run->most_jobs)
        run->most_jobs = run->jobs[0];
}

/* What the command leaves running ends with it: its slot does. */
static void finish(struct run *run, int status)
{
    run->ended = true;
    if (!run->stopping)
        run->account->exit_code =
            run->ended_by ? JOB_EXIT_SIGNAL + run->ended_by : job_exit_code(status);
    if (!tree_has_members(run)) {
        loop_stop(run->loop, 0);
        return;
    }
    run->stopping = true;
    end_all(run, SIGTERM);
}

static void stop_along(struct run *run, int signal)
{
    read_tree(run);
    job_stop_along(&run->job, &run->tree, signal);
}

/* Orphans of the job are this program's children. */
static void reap(struct run *run)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0)
        if (pid == run->job.pid && WIFSTOPPED(status))
            stop_along(run, WSTOPSIG(status));
        else if (pid == run->job.pid)
            finish(run, status);
    if (run->ended && !tree_has_members(run))
        loop_stop(run->loop, 0);
}

static void on_child(void *context, int signal)
{
    (void)signal;
    reap(context);
}

static void on_command_end(void *context, uint32_t events)
{
    (void)events;
    struct run *run = context;
    loop_remove(run->loop, run->job.pid_fd);
    reap(run);
}

static void on_signal(void *context, int signal)
{
    struct run *run = context;
    read_tree(run);
    job_signal(&run->job, &run->tree, run->has_mps ? &run->mps : NULL, signal);
    if (run->job.dropped && !run->ended_by)
        run->ended_by = signal;
    loop_timer_set(run->leave_timer, LEAVE_PERIOD, LEAVE_PERIOD);
}

static void remember_clients(struct run *run, const struct process_list *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        pid_t pid = processes->process[i].pid;
        bool known = !process_tree_has(&run->tree, pid);
        for (size_t k = 0; k < run->client_count && !known; k++)
            known = run->clients[k] == pid;
        if (!known && run->client_count < PROCESS_LIST_CAPACITY)
            run->clients[run->client_count++] = pid;
    }
}

static void verify(struct run *run, const struct process_list *processes)
{
    char why[256] = "";
    switch (verify_look(&run->verify, processes, &run->tree, why, sizeof(why))) {
    case VERIFY_GOOD:
        if (run->account->verified_after <= 0)
            run->account->verified_after = clock_monotonic() - run->attempt_begin;
        break;
    case VERIFY_OUTSIDE:
    case VERIFY_LIMITS:
        stop(run, OUTCOME_OUTSIDE, RUN_EXIT_OUTSIDE, why);
        break;
    case VERIFY_MEMORY:
        stop(run, OUTCOME_MEMORY, RUN_EXIT_MEMORY, why);
        break;
    case VERIFY_NOTHING:
        break;
    }
}

static void look_at_limits(struct run *run, const struct reading *reading)
{
    char why[256] = "";
    if (!run->shared || reading->state != READING_OK)
        return;
    if (reading->processes.known) {
        remember_clients(run, &reading->processes);
        verify(run, &reading->processes);
    }
    if (guard_look(&run->guard, reading, run->leases, run->lease_count, run->mps.uuid,
                   run->grant.id, why, sizeof(why)))
        stop(run, OUTCOME_MEMORY, RUN_EXIT_MEMORY, why);
}

static void look_at_gpu(struct run *run, size_t i, const struct reading *reading)
{
    double interval = account_interval(reading, monitor_interval(run->monitor), run->attempt_begin,
                                       clock_monotonic());
    if (!run->ended) {
        bool seen = account_add(&run->account->gpus[i], reading, interval, &run->tree,
                                run->jobs[i] + run->strangers[i]);
        run->account->seen = run->account->seen || seen;
    }
    if (!run->ended && i == 0 && run->options->observe)
        run->options->observe(run->options->context, reading, interval);
    look_at_limits(run, reading);
}

static void on_frame(void *context, uint32_t events)
{
    (void)events;
    struct run *run = context;
    int r = monitor_next(run->monitor);
    if (r < 0)
        loop_remove(run->loop, monitor_fd(run->monitor));
    if (r <= 0 || run->job.pid == 0)
        return;
    bool eager = run->frames < EAGER_FRAMES || run->frames % TREE_PERIOD == 0;
    if (eager)
        read_tree(run);
    run->frames++;
    list_leases(run);
    if (!run->ended)
        count_jobs(run, eager);
    for (size_t i = 0; i < run->account->gpu_count; i++) {
        const struct reading *reading =
            find_reading(run, run->account->gpus[i].device.text[DEVICE_UUID]);
        if (reading)
            look_at_gpu(run, i, reading);
    }
}

static void on_tick(void *context, uint32_t events)
{
    (void)events;
    struct run *run = context;
    reap(run);
}

static bool has_daemon(const struct run *run)
{
    struct pollfd end = {.fd = run->daemon_fd, .events = POLLIN};
    return poll(&end, 1, 0) <= 0 && !process_is_ending(run->daemon);
}

/* Without it the job's limits and its place in MPS are nobody's. */
static void look_at_daemon(struct run *run)
{
    if (run->daemon_fd < 0 || run->account->mps_lost_after > 0 || has_daemon(run))
        return;
    run->account->mps_lost_after = clock_monotonic() - run->attempt_begin;
    run_say(run,
            "the MPS daemon of %s has ended under the job, which may fail for that; %s/control.log "
            "may say why",
            run->mps.uuid, run->mps.log);
}

static void on_daemon_end(void *context, uint32_t events)
{
    (void)events;
    struct run *run = context;
    loop_remove(run->loop, run->daemon_fd);
    look_at_daemon(run);
}

static int watch_daemon(struct run *run)
{
    run->daemon = run->shared ? mps_daemon_pid(&run->mps) : 0;
    run->daemon_fd = run->daemon ? pidfd_open(run->daemon, 0) : -1;
    return run->daemon_fd < 0 ? 0
                              : loop_add(run->loop, run->daemon_fd, EPOLLIN, on_daemon_end, run);
}

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

static void list_forwarded(sigset_t *ret)
{
    sigemptyset(ret);
    for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
        if (forwarded[i] != SIGHUP || !loop_ignores_hangup())
            sigaddset(ret, forwarded[i]);
}

void run_block_signals(void)
{
    sigset_t signals;
    list_forwarded(&signals);
    sigaddset(&signals, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

int run_pause(double seconds)
{
    sigset_t signals;
    list_forwarded(&signals);
    struct timespec pause = clock_timespec(seconds);
    int signal = sigtimedwait(&signals, NULL, &pause);
    return signal > 0 ? signal : 0;
}

static int set_up(struct run *run)
{
    int r = loop_new(&run->loop);
    for (size_t i = 0; i < ARRAY_SIZE(forwarded) && r == 0; i++)
        r = loop_add_signal(run->loop, forwarded[i], on_signal, run);
    if (r == 0)
        r = loop_add_signal(run->loop, SIGTSTP, on_signal, run);
    if (r == 0)
        r = loop_add_signal(run->loop, SIGCHLD, on_child, run);
    if (r == 0)
        r = loop_add_timer(run->loop, &run->kill_timer, on_kill_time, run);
    if (r == 0)
        r = loop_add_timer(run->loop, &run->leave_timer, on_leave_time, run);
    if (r == 0)
        r = loop_add_timer(run->loop, &run->timeout_timer, on_timeout, run);
    if (r == 0)
        r = loop_add_timer(run->loop, &run->tick_timer, on_tick, run);
    if (r == 0)
        r = loop_timer_set(run->tick_timer, TICK, TICK);
    if (r == 0 && run->options->timeout > 0)
        r = loop_timer_set(run->timeout_timer, run->options->timeout, 0);
    if (r == 0 && run->monitor)
        r = loop_add(run->loop, monitor_fd(run->monitor), EPOLLIN, on_frame, run);
    return r;
}

/* What tells CUDA of the slot. */
static void describe_slot(const struct run *run, char variables[5][4400])
{
    size_t used = (size_t)snprintf(variables[0], sizeof(variables[0]), "CUDA_VISIBLE_DEVICES=");
    for (size_t i = 0; i < run->account->gpu_count && used < sizeof(variables[0]); i++)
        used += (size_t)snprintf(variables[0] + used, sizeof(variables[0]) - used, "%s%s",
                                 i ? "," : "", run->account->gpus[i].device.text[DEVICE_UUID]);
    if (run->shared) {
        snprintf(variables[1], sizeof(variables[1]), "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%.9g",
                 run->limits.sm_percent);
        snprintf(variables[2], sizeof(variables[2]), "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%lluM",
                 (unsigned long long)(run->limits.memory_bytes >> 20));
        snprintf(variables[3], sizeof(variables[3]), "CUDA_MPS_SM_PARTITION%s%s",
                 run->limits.partition[0] ? "=" : "", run->limits.partition);
        snprintf(variables[4], sizeof(variables[4]), "CUDA_MPS_PIPE_DIRECTORY=%s", run->mps.pipe);
        return;
    }
    snprintf(variables[1], sizeof(variables[1]), "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    snprintf(variables[2], sizeof(variables[2]), "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    snprintf(variables[3], sizeof(variables[3]), "CUDA_MPS_SM_PARTITION");
    /* That of a job around this one: its daemon serves one other GPU. */
    const char *pipe = secure_getenv("CUDA_MPS_PIPE_DIRECTORY");
    bool around = pipe && strncmp(pipe, run->folder, strlen(run->folder)) == 0;
    snprintf(variables[4], sizeof(variables[4]), "%s", around ? "CUDA_MPS_PIPE_DIRECTORY" : "");
}

static int start(struct run *run)
{
    char variables[5][4400];
    describe_slot(run, variables);
    static const char *const none[] = {NULL};
    const char *const changes[] = {variables[0], variables[1], variables[2],
                                   variables[3], variables[4], run->shared ? VERIFY_VARIABLE : "",
                                   NULL};
    return job_start(&run->job, run->options->command, run->account->gpu_count > 0 ? changes : none,
                     run->slots, run->grant.id);
}

int run_watch(struct run *run)
{
    run->ended = run->stopping = false;
    run->ended_by = 0;
    run->daemon_fd = -1;
    run->frames = 0;
    run->client_count = 0;
    run->most_jobs = 0;
    run->tree.count = 0;
    run->verify = (struct verify){.mps = &run->mps, .limits = run->limits};
    run->guard = (struct guard){
        .reserve_bytes =
            run->options->reserve_bytes ? run->options->reserve_bytes : GUARD_RESERVE_BYTES,
    };
    account_begin_attempt(run->account);
    for (size_t i = 0; i < SLOT_GPUS; i++)
        run->jobs[i] = 1;
    int r = set_up(run);
    if (r == 0)
        r = watch_daemon(run);
    list_leases(run);
    count_jobs(run, false);
    /* Orphans of the job stay in its tree. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    run->attempt_begin = clock_monotonic();
    if (run->account->begin <= 0)
        run->account->begin = run->attempt_begin;
    if (r == 0)
        r = start(run);
    if (r == 0)
        run->clients[run->client_count++] = run->job.pid;
    if (r == 0)
        r = loop_add(run->loop, run->job.pid_fd, EPOLLIN, on_command_end, run);
    if (r == 0)
        r = loop_run(run->loop);
    run->account->wall_seconds = clock_monotonic() - run->account->begin;
    /* The job may have ended of it first. */
    look_at_daemon(run);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    list_leases(run);
    count_jobs(run, false);
    free(run->leases);
    run->leases = NULL;
    job_end(&run->job);
    if (run->daemon_fd >= 0)
        close(run->daemon_fd);
    loop_free(run->loop);
    run->loop = NULL;
    return r;
}
