#include "share/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GIBI = 1 << 30;
/* What is freed and taken again in one moment does not count. */
enum { STRIKES = 2 };
/* So many looks pass until the driver has given back what a job had that left, or that left just
 * before this one began: nobody else has to end for that. */
enum { PATIENCE = 10 };

static uint64_t excess(const struct guard_job *job)
{
    return job->held_bytes > job->slot_bytes ? job->held_bytes - job->slot_bytes : 0;
}

const struct guard_job *guard_choose(const struct guard_job *jobs, size_t count)
{
    const struct guard_job *chosen = &jobs[0];
    for (size_t i = 1; i < count; i++)
        if (excess(&jobs[i]) > excess(chosen) ||
            (excess(&jobs[i]) == excess(chosen) && jobs[i].id > chosen->id))
            chosen = &jobs[i];
    return chosen;
}

static uint64_t held_by(const struct slot_lease *lease, const struct process_list *processes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < processes->count; i++)
        if (processes->process[i].memory_known && slot_covers(lease, processes->process[i].pid))
            sum += processes->process[i].memory_bytes;
    return sum;
}

static size_t find_jobs(const struct slot_lease *leases, size_t count, const char *uuid,
                        const struct process_list *processes, struct guard_job *ret)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(leases[i].uuid, uuid) == 0)
            ret[found++] = (struct guard_job){
                .id = leases[i].id,
                .slot_bytes = leases[i].memory_bytes,
                .held_bytes = held_by(&leases[i], processes),
            };
    return found;
}

static void explain(const struct guard *guard, const struct guard_job *job, double left, char *why,
                    size_t why_size)
{
    int length =
        snprintf(why, why_size, "the GPU has %.2f GiB of memory left, %.2f are to stay free, and ",
                 left / GIBI, (double)guard->reserve_bytes / GIBI);
    if (length < 0 || (size_t)length >= why_size)
        return;
    if (excess(job) > 0)
        snprintf(why + length, why_size - (size_t)length, "it holds %.2f GiB, its slot has %.2f",
                 (double)job->held_bytes / GIBI, (double)job->slot_bytes / GIBI);
    else
        snprintf(why + length, why_size - (size_t)length, "it was the last to come");
}

/* A job has left since the last look, or this is the first: IDs grow, so those that were there then
 * are those up to the newest of them. */
static bool has_lost_a_job(struct guard *guard, const struct slot_lease *leases, size_t count,
                           const char *uuid)
{
    size_t now = 0, remaining = 0;
    uint64_t newest = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(leases[i].uuid, uuid) != 0)
            continue;
        now++;
        remaining += leases[i].id <= guard->newest_id;
        newest = leases[i].id > newest ? leases[i].id : newest;
    }
    bool first = guard->job_count == 0, left = remaining < guard->job_count;
    guard->job_count = now;
    guard->newest_id = newest;
    return first || left;
}

static bool runs_out(struct guard *guard, bool is_short, bool memory_may_come)
{
    if (is_short && memory_may_come)
        guard->patience = PATIENCE;
    bool waits = guard->patience > 0;
    guard->patience -= waits;
    guard->strikes = is_short && !waits ? guard->strikes + 1 : 0;
    return guard->strikes >= STRIKES;
}

bool guard_look(struct guard *guard, const struct reading *reading, const struct slot_lease *leases,
                size_t count, const char *uuid, uint64_t id, char *why, size_t why_size)
{
    bool memory_may_come = has_lost_a_job(guard, leases, count, uuid);
    double left = sample_get(&reading->sample, METRIC_MEMORY_FREE, (double)guard->reserve_bytes);
    if (!runs_out(guard, left < (double)guard->reserve_bytes, memory_may_come))
        return false;
    struct guard_job *jobs = calloc(count + 1, sizeof(*jobs));
    size_t found = jobs ? find_jobs(leases, count, uuid, &reading->processes, jobs) : 0;
    const struct guard_job *chosen = found > 0 ? guard_choose(jobs, found) : NULL;
    bool ours = chosen && chosen->id == id;
    if (ours)
        explain(guard, chosen, left, why, why_size);
    free(jobs);
    return ours;
}
