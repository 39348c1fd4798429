#include "scripted.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"

static int scripted_open(struct counter **ret, const char *argument,
                         struct counter_failure *failure)
{
    (void)ret;
    (void)argument;
    (void)failure;
    return -ENOSYS;
}

static void scripted_close(struct counter *counter)
{
    struct scripted *scripted = (struct scripted *)counter;
    SCRIPTED_SET(scripted, closed, true);
}

static bool takes_signals(void)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    return !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGWINCH);
}

static int scripted_read(struct counter *counter, size_t device, struct sample *sample,
                         struct process_list *processes)
{
    struct scripted *scripted = (struct scripted *)counter;
    struct scripted_device *script = &scripted->device[device];
    pthread_mutex_lock(&scripted->lock);
    script->read_twice_at_once |= script->reading;
    script->takes_signals |= takes_signals();
    script->reading = true;
    script->waiting++;
    pthread_cond_broadcast(&scripted->signal);
    while (script->hang)
        pthread_cond_wait(&scripted->signal, &scripted->lock);
    script->waiting--;
    script->reads++;
    script->reading = false;
    int error = script->error;
    unsigned reads = script->reads;
    pthread_cond_broadcast(&scripted->signal);
    pthread_mutex_unlock(&scripted->lock);
    if (error < 0)
        return error;
    sample_set(sample, METRIC_GRAPHICS_ACTIVE, (double)(reads % 100) / 100);
    sample_set(sample, METRIC_TEMPERATURE, (double)device);
    processes->known = true;
    processes->count = 1;
    processes->process[0] = (struct process){.pid = (pid_t)(1000 + device)};
    return 0;
}

static int scripted_reopen(struct counter *counter, size_t device)
{
    struct scripted *scripted = (struct scripted *)counter;
    struct scripted_device *script = &scripted->device[device];
    pthread_mutex_lock(&scripted->lock);
    if (script->reopens < SCRIPTED_ATTEMPTS)
        script->reopened_at[script->reopens] = clock_monotonic();
    script->reopens++;
    int error = script->reopen_error;
    pthread_cond_broadcast(&scripted->signal);
    pthread_mutex_unlock(&scripted->lock);
    return error;
}

static bool scripted_changed(struct counter *counter)
{
    struct scripted *scripted = (struct scripted *)counter;
    pthread_mutex_lock(&scripted->lock);
    scripted->change_checks++;
    pthread_cond_broadcast(&scripted->signal);
    while (scripted->hang_changes)
        pthread_cond_wait(&scripted->signal, &scripted->lock);
    bool changed = scripted->devices_changed;
    pthread_mutex_unlock(&scripted->lock);
    return changed;
}

const struct counter_ops scripted_ops = {
    .name = "scripted",
    .help = "a test's own source",
    .live = true,
    .open = scripted_open,
    .close = scripted_close,
    .read = scripted_read,
    .reopen = scripted_reopen,
    .changed = scripted_changed,
};

void scripted_init(struct scripted *scripted, size_t device_count)
{
    *scripted = (struct scripted){
        .counter = {.ops = &scripted_ops,
                    .devices = scripted->devices,
                    .device_count = device_count},
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .signal = PTHREAD_COND_INITIALIZER,
    };
    for (size_t i = 0; i < device_count; i++) {
        char uuid[64];
        snprintf(uuid, sizeof(uuid), "GPU-%08zx-0000-4000-8000-000000000000", 0xa0000000 + i);
        scripted->devices[i].index = (unsigned)i;
        device_set_text(&scripted->devices[i], DEVICE_UUID, uuid);
        device_set_text(&scripted->devices[i], DEVICE_NAME, "Scripted GPU");
    }
}

unsigned scripted_reads(struct scripted *scripted, size_t device)
{
    pthread_mutex_lock(&scripted->lock);
    unsigned reads = scripted->device[device].reads;
    pthread_mutex_unlock(&scripted->lock);
    return reads;
}
