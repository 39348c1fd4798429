#include "share/run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "share/gpus.h"
#include "share/place.h"
#include "share/run_internal.h"

static const double WAIT_PERIOD = 0.5;
static const double USUAL_SM_PERCENT = 25;

void run_say(const struct run *run, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    run->options->say(text);
}

void run_free(struct account *account)
{
    free(account->gpus);
    *account = (struct account){0};
}

static void end(struct run *run)
{
    monitor_close(run->monitor);
    slot_close(run->slots);
    process_tree_free(&run->tree);
}

/* ---- a slot ---- */

/* Whoever is above it, such as a batch system or another `rooftop run`, may have chosen a GPU. */
static const char *visible_devices(const struct run *run)
{
    return run->options->gpus ? NULL : secure_getenv("CUDA_VISIBLE_DEVICES");
}

static void list_gpus(struct run *run)
{
    run->gpu_count =
        gpus_list(run->monitor, run->slots, run->folder, visible_devices(run), run->gpus);
}

static void shape_request(struct run *run, bool shared)
{
    const struct run_options *options = run->options;
    run->request = (struct slot_request){
        .mode = shared ? SLOT_SHARED : SLOT_EXCLUSIVE,
        .gpu_count = options->gpu_count,
        .sm_percent = options->sm_percent > 0 ? options->sm_percent : USUAL_SM_PERCENT,
        .memory_bytes = options->memory_bytes,
        .beside = options->beside,
        .multi_user = options->multi_user,
        .name = options->name ? options->name : options->command[0],
    };
    /* Where no memory is asked for it goes with the SMs. */
    for (size_t i = 0; i < run->gpu_count && options->memory_bytes == 0; i++) {
        double percent = options->all_memory ? 100 : run->request.sm_percent;
        uint64_t share = (uint64_t)((double)run->gpus[i].memory_bytes * percent / 100);
        if (i == 0 || share < run->request.memory_bytes)
            run->request.memory_bytes = share;
    }
    run->request.memory_bytes = run->request.memory_bytes >> 20 << 20;
}

static int take_slot(struct run *run, bool shared, struct counter_failure *failure)
{
    double until = clock_monotonic() + run->options->wait;
    bool said = false;
    for (;;) {
        list_gpus(run);
        shape_request(run, shared);
        int r =
            slot_take(run->slots, &run->request, run->gpus, run->gpu_count, &run->grant, failure);
        if (r != -EBUSY || clock_monotonic() >= until)
            return r;
        if (!said)
            run_say(run, "waiting for a slot: %s", failure->reason);
        said = true;
        int signal = run_pause(WAIT_PERIOD);
        if (signal) {
            run->account->exit_code = JOB_EXIT_SIGNAL + signal;
            return share_fail(failure, -EINTR, "", "a signal ended the wait for a slot");
        }
        while (monitor_next(run->monitor) == 1)
            ;
    }
}

static void leave(struct run *run)
{
    if (run->grant.id)
        slot_release(run->slots, run->grant.id);
    run->grant.id = 0;
    run_leave_mps(run);
}

static int enter_shared(struct run *run, struct counter_failure *failure)
{
    int r = take_slot(run, true, failure);
    if (r < 0)
        return r;
    run->limits = (struct mps_limits){
        .sm_percent = run->request.sm_percent,
        .memory_bytes = run->request.memory_bytes,
    };
    r = run_start_mps(run, failure);
    run->shared = r == 0;
    if (r < 0)
        leave(run);
    return r;
}

static int enter(struct run *run, struct counter_failure *failure)
{
    struct mps mps;
    list_gpus(run);
    if (run->gpu_count == 0 && visible_devices(run))
        return gpus_none_visible(visible_devices(run), failure);
    if (run->options->mode != RUN_EXCLUSIVE) {
        /* Before a slot is taken that MPS could not serve. */
        int r = run->gpu_count > 0 ? mps_open(&mps, run->folder, run->gpus[0].uuid, failure) : 0;
        if (r == 0)
            r = enter_shared(run, failure);
        if (r == 0 || r == -EBUSY || r == -E2BIG || r == -EINTR || r == -EBADMSG ||
            run->options->mode == RUN_SHARED)
            return r;
        run_say(run, "no MPS, so it has the GPU to itself: %s", failure->reason);
    }
    int r = take_slot(run, false, failure);
    for (size_t i = 0; r == 0 && i < run->grant.count; i++)
        if (run->gpus[run->grant.gpus[i]].compute_mode != COMPUTE_SHARED)
            run_say(run,
                    "%s has the compute mode EXCLUSIVE_PROCESS: one process of the job can use it",
                    run->gpus[run->grant.gpus[i]].uuid);
    return r;
}

/* ---- faults ---- */

/* A fault takes down every client of the server, and nobody says whose it was. The job that was
 * alone, on its GPU or among those that were taken down, caused its own; unless another's process
 * had just ended, whose kernel may still have run. */
static void judge_fault(struct run *run, const struct mps_story *story)
{
    struct account *account = run->account;
    const struct mps_tally *down = &story->torn_down;
    bool alone = run->most_jobs < 2;
    if (account->outcome != OUTCOME_ENDED || account->exit_code == 0 ||
        down->own + (alone ? down->others : 0) == 0)
        return;
    alone = alone || (down->others == 0 && !story->another_had_left);
    account->outcome = alone ? OUTCOME_FAULT : OUTCOME_VICTIM;
    if (!alone)
        account->exit_code = RUN_EXIT_VICTIM;
    snprintf(account->note, sizeof(account->note),
             alone ? "it caused a GPU fault"
             : down->others > 0
                 ? "a GPU fault took down %u processes on its GPU, its own too"
                 : "a GPU fault took it down, just after a process of another job had ended",
             down->own + down->others);
}

/* Who was on the GPU too shortly to be listed by the driver stands in the server's log. */
static void verify_late(struct run *run, const struct mps_story *story)
{
    struct account *account = run->account;
    const struct mps_tally *clients = &story->connected;
    account->was_client = clients->own + (run->most_jobs < 2 ? clients->others : 0) > 0;
}

static void look_back(struct run *run)
{
    struct mps_story story;
    if (!run->shared)
        return;
    mps_read_log(&run->mps, run->log_begin, run->clients, run->client_count, &story);
    judge_fault(run, &story);
    verify_late(run, &story);
}

/* ---- the whole ---- */

static int make_account(struct run *run)
{
    struct account *account = run->account;
    account->gpu_count = run->grant.count;
    account->gpus = calloc(run->grant.count + 1, sizeof(*account->gpus));
    if (!account->gpus)
        return -ENOMEM;
    account->shared = run->shared;
    account->sm_percent = run->shared ? run->limits.sm_percent : 0;
    account->memory_bytes = run->shared ? run->limits.memory_bytes : 0;
    for (size_t i = 0; i < run->grant.count; i++)
        for (size_t k = 0; k < monitor_count(run->monitor); k++) {
            const struct device *device = monitor_device(run->monitor, k);
            if (strcmp(device->text[DEVICE_UUID], run->gpus[run->grant.gpus[i]].uuid) == 0)
                account->gpus[i].device = *device;
        }
    return 0;
}

static int watch_until_done(struct run *run, struct counter_failure *failure)
{
    for (;;) {
        run->log_begin = run->shared ? mps_log_length(&run->mps) : 0;
        int r = run_watch(run);
        if (r < 0)
            return share_fail(failure, r, "", "the command cannot be run: %s", strerror(-r));
        look_back(run);
        if (run->account->outcome != OUTCOME_VICTIM ||
            run->account->attempts > run->options->victim_retries)
            return 0;
        run_say(run, "%s; trying again", run->account->note);
        r = run_start_mps(run, failure);
        if (r < 0)
            return r;
    }
}

/* Without a GPU there is nothing to hold or to measure. */
static enum run_result run_plainly(struct run *run, struct counter_failure *failure)
{
    const struct run_options *options = run->options;
    if (options->needs_gpu)
        return RUN_NO_GPU;
    if (options->mode == RUN_SHARED || options->gpus || options->gpu_count > 1) {
        snprintf(failure->advice, sizeof(failure->advice),
                 "`rooftop doctor` says what is missing. Without --share, --gpu and --gpus the "
                 "command runs without a GPU.");
        return RUN_NO_GPU;
    }
    run_say(run, "no GPU, so it runs without: %s", failure->reason);
    int r = run_watch(run);
    if (r < 0)
        share_fail(failure, r, "", "the command cannot be run: %s", strerror(-r));
    return r < 0 ? RUN_FAILED : RUN_DONE;
}

static enum run_result run_on_gpus(struct run *run, struct counter_failure *failure)
{
    int r = place_open(run->folder, sizeof(run->folder), failure);
    if (r == 0)
        r = slot_open(&run->slots, run->folder, failure);
    if (r < 0)
        return RUN_FAILED;
    r = enter(run, failure);
    if (r < 0)
        return r == -E2BIG     ? RUN_WRONG
               : r == -EINTR   ? RUN_INTERRUPTED
               : r == -EBADMSG ? RUN_FAILED
                               : RUN_NO_GPU;
    r = make_account(run);
    if (r == 0)
        r = watch_until_done(run, failure);
    leave(run);
    return r < 0 ? RUN_FAILED : RUN_DONE;
}

enum run_result run_job(const struct run_options *options, struct account *ret,
                        struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    *ret = (struct account){.command = options->command};
    double since = clock_monotonic();
    if (options->mode != RUN_EXCLUSIVE && options->gpu_count > 1) {
        share_fail(
            failure, -EINVAL,
            "Leave out --share, --sm and --mem; or, where it has a process for each GPU, start "
            "each of these with a `rooftop run --share` of its own.",
            "a job on several GPUs has them whole: each shared GPU has an MPS daemon of its "
            "own, and a CUDA process reaches one daemon only");
        return RUN_WRONG;
    }
    if ((options->multi_user || options->exclusive_process) && geteuid() != 0) {
        share_fail(failure, -EPERM, "Leave it out: jobs of this user share all the same.",
                   "only root can ask for %s",
                   options->multi_user ? "--multi-user: the MPS server would be root's"
                                       : "--exclusive-process: it changes a setting of the GPU");
        return RUN_NO_GPU;
    }
    struct run *run = calloc(1, sizeof(*run));
    if (!run)
        return RUN_FAILED;
    run->options = options;
    run->account = ret;
    run_block_signals();
    run_restore_modes(run);
    int r = gpus_open(&run->monitor, options->source, options->gpus, options->clock, failure);
    bool wrong = r == -EINVAL || r == -ENOENT || r == -EISDIR;
    enum run_result result = wrong   ? RUN_WRONG
                             : r < 0 ? run_plainly(run, failure)
                                     : run_on_gpus(run, failure);
    if (ret->begin > 0)
        ret->waited_seconds = ret->begin - since;
    end(run);
    free(run);
    return result;
}
