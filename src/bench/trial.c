#include "bench/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "bench/trial_internal.h"

static const double DRAIN = 0.15; /* one more frame is wanted behind the end */
static const double GRACE = 2;    /* to SIGKILL, the time to leave MPS included */

static void fail(struct trial *trial, int error)
{
    loop_stop(trial->config.loop, error);
}

double trial_now(const struct trial *trial)
{
    return trial->epoch + clock_monotonic();
}

static void enter_phase(struct trial *trial, enum trial_phase phase)
{
    trial->phase = phase;
    trial->phase_since = clock_monotonic();
}

static bool in_turn(const struct trial *trial)
{
    return trial->config.turn.mode == MODE_EXCLUSIVE;
}

static void ready_path(const struct trial *trial, size_t i, char *ret, size_t size)
{
    snprintf(ret, size, "%s/ready.%zu.", trial->config.folder, i);
}

static void go_path(const struct trial *trial, char *ret, size_t size)
{
    snprintf(ret, size, "%s/go.%zu", trial->config.folder, trial->first);
}

static void read_member(const struct member *member, struct process_tree *ret)
{
    process_read_tree(member->child.pid, member->trial->config.run, ret);
    process_tree_add(ret, member->child.pid);
}

/* A client of MPS leaves its server first. */
static void signal_member(struct member *member, int signal)
{
    struct process_tree tree = {0};
    read_member(member, &tree);
    member->processes.pid = member->child.pid;
    job_signal(&member->processes, &tree, member->trial->config.mps, signal);
    process_tree_free(&tree);
}

static void pass_on(struct member *member)
{
    struct process_tree tree = {0};
    read_member(member, &tree);
    job_pass_on(&member->processes, &tree);
    process_tree_free(&tree);
}

/* What jobs have left behind outside their process groups: it would be on the GPU when the next
 * ones are measured. Orphans are this program's children. */
static void kill_strays(const struct trial *trial)
{
    struct process_tree tree = {0};
    process_read_tree(getpid(), trial->config.run, &tree);
    for (size_t i = 0; i < tree.count; i++)
        if (!process_tree_has(&trial->before, tree.pids[i])) {
            kill(tree.pids[i], SIGKILL);
            waitpid(tree.pids[i], NULL, WNOHANG);
        }
    process_tree_free(&tree);
}

/* ---- the barrier ---- */

static void let_go(struct trial *trial)
{
    char path[PATH_MAX];
    go_path(trial, path, sizeof(path));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        fail(trial, -errno);
        return;
    }
    close(fd);
    double now = trial_now(trial);
    for (size_t i = trial->first; i < trial->last; i++) {
        struct member *member = &trial->members[i];
        if (member->ended)
            continue;
        if (member->job->hold == HOLD_STOP)
            child_signal(&member->child, SIGCONT);
        child_open_gate(&member->child);
        member->going = true;
        member->begin = now;
    }
    trial->windows[trial->window_count++] = (struct window){now, now};
    enter_phase(trial, PHASE_RUN);
}

static void start_batch(struct trial *trial);

static void end_batch(struct trial *trial)
{
    struct window *window = &trial->windows[trial->window_count - 1];
    for (size_t i = trial->first; i < trial->last; i++)
        if (trial->members[i].going)
            window->end = fmax(window->end, trial->members[i].end);
    kill_strays(trial);
    trial->first = trial->last;
    if (trial->first == trial->count)
        enter_phase(trial, PHASE_DRAIN);
    else
        start_batch(trial);
}

static void look_at_batch(struct trial *trial)
{
    bool all_ready = true, all_ended = true;
    for (size_t i = trial->first; i < trial->last; i++) {
        const struct member *member = &trial->members[i];
        all_ready = all_ready && (member->ready || member->ended);
        all_ended = all_ended && member->ended;
    }
    if (trial->phase == PHASE_WARM && all_ready)
        let_go(trial);
    if (trial->phase == PHASE_RUN && all_ended)
        end_batch(trial);
}

static void set_ready(struct member *member)
{
    if (member->ready || member->ended)
        return;
    member->ready = true;
    if (member->job->hold == HOLD_STOP && !member->going)
        child_signal(&member->child, SIGSTOP);
    look_at_batch(member->trial);
}

/* ---- what jobs do ---- */

/* Why it was stopped, where it was, and the end of what it printed. */
static void keep_reason(struct member *member)
{
    const struct bench_plan *plan = member->trial->config.plan;
    const struct child *child = &member->child;
    char why[sizeof(member->why) + sizeof(child->tail) + 8] = "";
    if (member->outside)
        snprintf(why, sizeof(why), "%s", member->why);
    else if (member->late)
        snprintf(why, sizeof(why), "stopped after %g s", plan->timeout);
    else if (!member->going && member->killed > 0)
        snprintf(why, sizeof(why), "stopped: it had not warmed up after %g s",
                 plan->warm_up_timeout);
    else if (!member->going)
        snprintf(why, sizeof(why), "it ended before it had warmed up");
    size_t length = strlen(why);
    if (child->tail_length > 0)
        snprintf(why + length, sizeof(why) - length, "%s%.*s", length > 0 ? ": " : "",
                 (int)child->tail_length, child->tail);
    utf8_clean(member->run->output, sizeof(member->run->output), why);
}

static void judge(struct member *member, int code)
{
    struct bench_run *run = member->run;
    run->exit_code = code;
    if (member->outside)
        run->outcome = BENCH_OUTSIDE;
    else if (!member->going)
        run->outcome = BENCH_COLD;
    else if (member->late)
        run->outcome = BENCH_TIMEOUT;
    else
        run->outcome = code == 0 ? BENCH_ENDED : BENCH_FAILED;
    if (run->outcome != BENCH_ENDED)
        keep_reason(member);
}

/* In this order: a job that waits at its gate holds copies of the descriptors, so that closing one
 * would not take it out of the loop. */
static void close_output(struct member *member)
{
    if (member->child.output < 0)
        return;
    loop_remove(member->trial->config.loop, member->child.output);
    close(member->child.output);
    member->child.output = -1;
}

static void on_output(void *context, uint32_t events)
{
    (void)events;
    struct member *member = context;
    if (!child_read(&member->child, member->job))
        close_output(member);
    if (member->child.is_done && member->going && member->end <= 0)
        member->end = trial_now(member->trial);
    if (member->child.said_ready && member->job->ready == READY_LINE)
        set_ready(member);
}

/* A stray of it may hold the pipe and write for ever: no more than a pipe can hold. */
static void drain_output(struct member *member)
{
    int left = 0;
    for (int blocks = 0; blocks < 32 && member->child.output >= 0; blocks++)
        if (ioctl(member->child.output, FIONREAD, &left) < 0 || left == 0 ||
            !child_read(&member->child, member->job))
            break;
    close_output(member);
}

static void on_end(void *context, uint32_t events)
{
    (void)events;
    struct member *member = context;
    struct trial *trial = member->trial;
    double now = trial_now(trial);
    loop_remove(trial->config.loop, member->child.pid_fd);
    drain_output(member);
    int code = child_reap(&member->child);
    member->ended = true;
    if (member->end <= 0)
        member->end = now;
    judge(member, code);
    look_at_batch(trial);
}

/* Names in the folder that begin with "ready.N." are of job N. */
static void on_file(void *context, uint32_t events)
{
    (void)events;
    struct trial *trial = context;
    char block[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t got = read(trial->notify, block, sizeof(block));
    for (ssize_t at = 0; at < got;) {
        const struct inotify_event *event = (const void *)(block + at);
        size_t i;
        char dot;
        if (event->len && sscanf(event->name, "ready.%zu%c", &i, &dot) == 2 && dot == '.' &&
            i >= trial->first && i < trial->last && trial->members[i].job->ready == READY_FILE)
            set_ready(&trial->members[i]);
        at += (ssize_t)(sizeof(*event) + event->len);
    }
}

static int start_child(struct trial *trial, size_t i)
{
    struct member *member = &trial->members[i];
    const struct mps *mps = trial->config.mps;
    struct mps_limits limits = bench_plan_limits(trial->config.plan, trial->config.turn.mode,
                                                 member->job, trial->config.memory_bytes);
    char name[INI_NAME_SIZE + 8], ready[PATH_MAX], go[PATH_MAX];
    char visible[DEVICE_TEXT_SIZE + 32], pipe[PATH_MAX + 64], percent[64], memory[64];
    bench_plan_instance_name(trial->config.plan, i, name, sizeof(name));
    ready_path(trial, i, ready, sizeof(ready));
    go_path(trial, go, sizeof(go));
    snprintf(visible, sizeof(visible), "CUDA_VISIBLE_DEVICES=%s", trial->config.devices[i]);
    /* Without MPS: a folder in which there is none, lest it finds a daemon by itself. */
    snprintf(pipe, sizeof(pipe), "CUDA_MPS_PIPE_DIRECTORY=%s", mps ? mps->pipe : ready);
    snprintf(percent, sizeof(percent), "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%g", limits.sm_percent);
    snprintf(memory, sizeof(memory), "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%lluM",
             (unsigned long long)(limits.memory_bytes >> 20));
    /* A name alone removes the variable. */
    const char *changes[] = {
        visible,
        pipe,
        mps ? percent : "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        mps && limits.memory_bytes ? memory : "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
        VERIFY_VARIABLE,
        NULL,
    };
    const struct child_paths paths = {ready, go};
    member->verify = (struct verify){.mps = mps, .limits = limits};
    return child_start(&member->child, member->job, name, &paths, changes);
}

static int start_member(struct trial *trial, size_t i)
{
    struct member *member = &trial->members[i];
    int r = start_child(trial, i);
    if (r < 0)
        return r;
    r = loop_add(trial->config.loop, member->child.output, EPOLLIN, on_output, member);
    if (r == 0)
        r = loop_add(trial->config.loop, member->child.pid_fd, EPOLLIN, on_end, member);
    if (r == 0 && member->job->ready == READY_EXEC)
        member->ready = true;
    else if (r == 0)
        r = child_open_gate(&member->child);
    return r;
}

static void start_batch(struct trial *trial)
{
    trial->last = in_turn(trial) ? trial->first + 1 : trial->count;
    enter_phase(trial, PHASE_WARM);
    for (size_t i = trial->first; i < trial->last; i++) {
        int r = start_member(trial, i);
        if (r < 0) {
            fail(trial, r);
            return;
        }
    }
    look_at_batch(trial);
}

/* ---- time ---- */

static void stop_member(struct member *member)
{
    double now = clock_monotonic();
    if (member->killed <= 0) {
        member->killed = now;
        signal_member(member, SIGTERM);
        child_signal(&member->child, SIGCONT);
    } else if (now - member->killed > GRACE)
        signal_member(member, SIGKILL);
    pass_on(member);
}

static void look_at_time(struct trial *trial)
{
    double since = clock_monotonic() - trial->phase_since;
    const struct bench_plan *plan = trial->config.plan;
    for (size_t i = trial->first; i < trial->last; i++) {
        struct member *member = &trial->members[i];
        if (member->ended)
            continue;
        bool cold = trial->phase == PHASE_WARM && !member->ready && since > plan->warm_up_timeout;
        bool late = trial->phase == PHASE_RUN && since > plan->timeout;
        member->late = member->late || late;
        if (cold || late || member->outside)
            stop_member(member);
    }
}

static void finish(struct trial *trial)
{
    trial_judge_faults(trial);
    int r = trial_measure(trial);
    loop_stop(trial->config.loop, r);
}

void trial_tick(struct trial *trial)
{
    double since = clock_monotonic() - trial->phase_since;
    if (trial->phase == PHASE_REST && since >= trial->config.plan->settle) {
        trial->rest_end = trial_now(trial);
        start_batch(trial);
    } else if (trial->phase == PHASE_DRAIN && since >= DRAIN)
        finish(trial);
    else
        look_at_time(trial);
}

static void on_frame(void *context, uint32_t events)
{
    (void)events;
    struct trial *trial = context;
    int r = monitor_next(trial->config.monitor);
    if (r == 1)
        r = trial_take_frame(trial);
    if (r < 0)
        fail(trial, r);
}

/* ---- begin and end ---- */

static int make_members(struct trial *trial)
{
    const struct bench_plan *plan = trial->config.plan;
    trial->count = plan->instance_count;
    trial->members = calloc(trial->count, sizeof(*trial->members));
    trial->windows = calloc(trial->count, sizeof(*trial->windows));
    trial->result.runs = calloc(trial->count, sizeof(*trial->result.runs));
    if (!trial->members || !trial->windows || !trial->result.runs)
        return -ENOMEM;
    trial->result.run_count = trial->count;
    trial->result.mode = trial->config.turn.mode;
    trial->result.repeat = trial->config.turn.repeat;
    for (size_t i = 0; i < trial->count; i++) {
        unsigned number;
        trial->members[i] = (struct member){
            .trial = trial,
            .job = bench_plan_instance(plan, i, &number),
            .child = {.pid_fd = -1, .output = -1, .gate = -1},
            .run = &trial->result.runs[i],
        };
        trial->result.runs[i].memory_peak = NAN;
    }
    return 0;
}

static int watch(struct trial *trial)
{
    struct loop *loop = trial->config.loop;
    trial->notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (trial->notify < 0 ||
        inotify_add_watch(trial->notify, trial->config.folder, IN_CREATE | IN_MOVED_TO) < 0)
        return -errno;
    int r = loop_add(loop, trial->notify, EPOLLIN, on_file, trial);
    return r < 0 ? r : loop_add(loop, monitor_fd(trial->config.monitor), EPOLLIN, on_frame, trial);
}

int trial_begin(struct trial **ret, const struct trial_config *config)
{
    struct trial *trial = calloc(1, sizeof(*trial));
    if (!trial)
        return -ENOMEM;
    trial->config = *config;
    trial->notify = -1;
    trial->log_begin = config->mps ? mps_log_length(config->mps) : 0;
    trial->began = clock_monotonic();
    trial->epoch = clock_realtime() - trial->began;
    trial->rest_begin = trial_now(trial);
    enter_phase(trial, PHASE_REST);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    process_read_tree(getpid(), config->run, &trial->before);
    int r = make_members(trial);
    if (r == 0)
        r = watch(trial);
    if (r < 0)
        trial_end(trial);
    else
        *ret = trial;
    return r;
}

static void end_member(struct member *member)
{
    struct loop *loop = member->trial->config.loop;
    struct child *child = &member->child;
    if (child->pid > 0) {
        loop_remove(loop, child->pid_fd);
        signal_member(member, SIGKILL);
        child_reap(child);
    }
    close_output(member);
}

void trial_end(struct trial *trial)
{
    if (!trial)
        return;
    for (size_t i = 0; trial->members && i < trial->count; i++)
        end_member(&trial->members[i]);
    loop_remove(trial->config.loop, monitor_fd(trial->config.monitor));
    if (trial->notify >= 0) {
        loop_remove(trial->config.loop, trial->notify);
        close(trial->notify);
    }
    moments_free(&trial->moments);
    free(trial->points.points);
    process_tree_free(&trial->before);
    free(trial->windows);
    free(trial->result.runs);
    free(trial->members);
    free(trial);
}

struct trial_state trial_state(const struct trial *trial)
{
    static const char *const words[] = {"resting", "warming up", "running", "measuring"};
    struct trial_state state = {words[trial->phase], 0, clock_monotonic() - trial->began};
    for (size_t i = 0; i < trial->count; i++)
        state.running += trial->members[i].child.pid > 0;
    return state;
}

const struct bench_trial *trial_result(const struct trial *trial)
{
    return &trial->result;
}

const struct result_points *trial_points(const struct trial *trial)
{
    return &trial->points;
}

double trial_idle_watts(const struct trial *trial)
{
    return moments_mean(&trial->moments, GAUGE_POWER, trial->rest_begin, trial->rest_end);
}
