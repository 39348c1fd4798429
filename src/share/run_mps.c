#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/mode.h"
#include "share/place.h"
#include "share/run_internal.h"

/* The partitions of jobs that have gone are given back; `own` is gone too. */
static void sweep(struct run *run, uint64_t own)
{
    struct slot_lease *leases;
    size_t count, others = 0;
    if (slot_list(run->slots, &leases, &count) < 0)
        return;
    uint64_t *ids = calloc(count + 1, sizeof(*ids));
    for (size_t i = 0; ids && i < count; i++)
        if (leases[i].id != own)
            ids[others++] = leases[i].id;
    if (ids)
        mps_sweep_partitions(&run->mps, ids, others);
    free(ids);
    free(leases);
}

static int read_use(struct slot_table *slots, const char *uuid, struct slot_use *ret)
{
    struct slot_lease *leases;
    size_t count;
    int r = slot_list(slots, &leases, &count);
    if (r < 0)
        return r;
    *ret = slot_use(leases, count, uuid);
    free(leases);
    return 0;
}

/* The largest slots of a GPU bound what any program on it can have. */
static int set_limits(struct run *run, struct counter_failure *failure)
{
    struct slot_use use;
    int r = read_use(run->slots, run->mps.uuid, &use);
    if (r < 0)
        return share_fail(failure, r, "", "the leases cannot be read: %s", strerror(-r));
    const struct mps_limits limits = {
        .sm_percent = use.largest_sm_percent,
        .memory_bytes = use.largest_memory_bytes,
    };
    return mps_limit(&run->mps, &limits, failure);
}

/* Its SMs are a partition of its own where MPS makes one; else the percentage bounds them. */
static int take_partition(struct run *run, struct counter_failure *failure)
{
    struct slot_use use;
    run->limits.partition[0] = '\0';
    if (!run->mps.has_partitions)
        return 0;
    sweep(run, run->grant.id);
    int r = mps_take_partition(&run->mps, run->grant.id, &run->limits, failure);
    if (r != -EPROTO || read_use(run->slots, run->mps.uuid, &use) < 0 || use.shared > 1)
        return r;
    run_say(run, "its SMs are no partition of its own: %s", failure->reason);
    run->mps.want_partitions = false;
    return mps_start(&run->mps, failure);
}

int run_start_mps(struct run *run, struct counter_failure *failure)
{
    int r = mps_open(&run->mps, run->folder, run->gpus[run->grant.gpus[0]].uuid, failure);
    if (r < 0)
        return r;
    run->has_mps = true;
    run->mps.multi_user = run->options->multi_user;
    run->mps.want_partitions = true;
    r = mps_lock(&run->mps);
    if (r < 0)
        return share_fail(failure, r, "", "another rooftop holds the MPS daemon of %s: %s",
                          run->mps.uuid, strerror(-r));
    if (run->options->exclusive_process)
        r = mode_close(&run->mps, failure);
    if (r == 0)
        r = mps_start(&run->mps, failure);
    if (r == 0)
        r = take_partition(run, failure);
    if (r == 0)
        r = set_limits(run, failure);
    mps_unlock(&run->mps);
    if (r == 0 && run->mps.multi_user)
        run_say(run,
                "one MPS server serves all users of %s: none can read another's memory there, "
                "but a fault in one job ends them all, and nothing else keeps users apart",
                run->mps.uuid);
    return r;
}

/* Under the lock of its daemon. Says what it cannot do. */
static void clear(struct run *run, struct mps *mps)
{
    struct counter_failure failure = {0};
    if (mps_stop(mps) < 0)
        run_say(run, "the MPS daemon of %s does not end", mps->uuid);
    if (mode_restore(mps, &failure) < 0)
        run_say(run, "%s", failure.reason);
}

/* Whoever leaves a GPU last stops its daemon. */
void run_leave_mps(struct run *run)
{
    struct slot_use use;
    if (!run->has_mps || mps_lock(&run->mps) < 0)
        return;
    if (run->mps.has_partitions)
        sweep(run, run->grant.id);
    if (read_use(run->slots, run->mps.uuid, &use) == 0 && use.shared == 0)
        clear(run, &run->mps);
    mps_close(&run->mps);
    run->has_mps = false;
}

static void restore_mode(struct run *run, struct slot_table *slots, const char *folder,
                         const char *uuid)
{
    struct mps mps;
    struct slot_use use;
    struct counter_failure failure = {0};
    if (mps_open(&mps, folder, uuid, &failure) < 0 || mps_lock(&mps) < 0)
        return;
    if (mode_is_noted(&mps) && read_use(slots, uuid, &use) == 0 && use.shared == 0) {
        run_say(run, "the compute mode of %s was left at EXCLUSIVE_PROCESS, and is set back", uuid);
        clear(run, &mps);
    }
    mps_close(&mps);
}

/* Only root can have changed one. */
void run_restore_modes(struct run *run)
{
    char folder[sizeof(run->folder)], path[sizeof(folder) + 8];
    struct counter_failure failure = {0};
    struct slot_table *slots;
    if (geteuid() != 0 || place_open(folder, sizeof(folder), &failure) < 0 ||
        slot_open(&slots, folder, &failure) < 0)
        return;
    snprintf(path, sizeof(path), "%s/mps", folder);
    DIR *gpus = opendir(path);
    struct dirent *entry;
    while (gpus && (entry = readdir(gpus)))
        if (mode_is_noted_in(path, entry->d_name))
            restore_mode(run, slots, folder, entry->d_name);
    if (gpus)
        closedir(gpus);
    slot_close(slots);
}
