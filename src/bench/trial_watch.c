#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/trial_internal.h"

/* Lists of the driver and of MPS are not of one instant. */
enum { STRIKES = 3 };

/* The job's processes on the GPU: those of its process group. */
static void find_processes(const struct member *member, const struct process_list *processes,
                           struct process_tree *ret)
{
    for (size_t i = 0; i < processes->count; i++)
        if (getpgid(processes->process[i].pid) == member->child.pid)
            process_tree_add(ret, processes->process[i].pid);
}

static void look_at_memory(struct member *member, const struct process_list *processes,
                           const struct process_tree *tree)
{
    double memory = 0;
    bool seen = false;
    for (size_t i = 0; i < processes->count; i++) {
        const struct process *process = &processes->process[i];
        if (!process->memory_known || !process_tree_has(tree, process->pid))
            continue;
        memory += (double)process->memory_bytes;
        seen = true;
    }
    if (seen)
        member->run->memory_peak = fmax(memory, member->run->memory_peak);
}

/* Without MPS wanted, a program may still have found a daemon of its own accord. */
static void look_for_clients(struct member *member, const struct process_list *processes,
                             const struct process_tree *tree)
{
    bool client = false;
    for (size_t i = 0; i < processes->count; i++)
        client = client || ((processes->process[i].kinds & PROCESS_MPS_CLIENT) &&
                            process_tree_has(tree, processes->process[i].pid));
    member->strikes = client ? member->strikes + 1 : 0;
    if (member->strikes < STRIKES)
        return;
    member->outside = true;
    snprintf(member->why, sizeof(member->why), "it runs under an MPS server of another");
}

static void look_at_limits(struct member *member, const struct process_list *processes,
                           const struct process_tree *tree)
{
    switch (verify_look(&member->verify, processes, tree, member->why, sizeof(member->why))) {
    case VERIFY_NOTHING:
    case VERIFY_GOOD:
        return;
    case VERIFY_OUTSIDE:
    case VERIFY_LIMITS:
    case VERIFY_MEMORY:
        member->outside = true;
    }
}

static void look_at_member(struct member *member, const struct process_list *processes)
{
    struct process_tree tree = {0};
    find_processes(member, processes, &tree);
    look_at_memory(member, processes, &tree);
    if (!member->outside && processes->known && member->trial->config.mps)
        look_at_limits(member, processes, &tree);
    else if (!member->outside && processes->known)
        look_for_clients(member, processes, &tree);
    process_tree_free(&tree);
}

int trial_take_frame(struct trial *trial)
{
    struct monitor *monitor = trial->config.monitor;
    if (monitor_count(monitor) == 0)
        return -ENODEV;
    const struct reading *reading = monitor_reading(monitor, 0);
    if (reading->state == READING_LOST)
        return -ENODEV;
    for (size_t i = trial->first; i < trial->last; i++)
        if (trial->members[i].child.pid > 0)
            look_at_member(&trial->members[i], &reading->processes);
    double set_back = trial_now(trial) - clock_realtime();
    return moments_add(&trial->moments, reading, monitor_time(monitor) + set_back,
                       monitor_interval(monitor));
}

void trial_judge_faults(struct trial *trial)
{
    const struct mps *mps = trial->config.mps;
    for (size_t i = 0; mps && i < trial->count; i++) {
        const struct verify *seen = &trial->members[i].verify;
        struct bench_run *run = trial->members[i].run;
        struct mps_story story;
        mps_read_log(mps, trial->log_begin, seen->good, seen->good_count, &story);
        if (run->outcome == BENCH_FAILED && story.torn_down.own > 0)
            run->outcome = BENCH_FAULT;
    }
}
