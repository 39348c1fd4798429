#include "share/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "share/mps_internal.h"

/* Lists of the driver and of the daemon are not of one instant: only what is seen twice counts. */
enum { STRIKES = 2, ENVIRONMENT_BYTES = 256 * 1024 };
/* A client that starts may be listed before it is known to be one. */
static const double OUTSIDE_PATIENCE = 0.5;

/* The value of the last variable of that name, as programs see it; NULL where there is none. */
static const char *find_variable(const char *environment, size_t length, const char *name)
{
    size_t name_length = strlen(name);
    for (size_t at = 0; at < length; at += strlen(environment + at) + 1)
        if (strncmp(environment + at, name, name_length) == 0 &&
            environment[at + name_length] == '=')
            return environment + at + name_length + 1;
    return NULL;
}

bool verify_environment(const char *environment, size_t length, const char *pipe,
                        const struct mps_limits *limits, char *why, size_t why_size)
{
    const char *folder = find_variable(environment, length, "CUDA_MPS_PIPE_DIRECTORY");
    const char *percent = find_variable(environment, length, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    const char *memory = find_variable(environment, length, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    const char *partition = find_variable(environment, length, "CUDA_MPS_SM_PARTITION");
    uint64_t bytes;
    if (!folder || strcmp(folder, pipe) != 0)
        snprintf(why, why_size, "its CUDA_MPS_PIPE_DIRECTORY is not the slot's");
    else if (!percent || atof(percent) <= 0 || atof(percent) > limits->sm_percent)
        snprintf(why, why_size, "its CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is not the slot's %g",
                 limits->sm_percent);
    else if (limits->partition[0] && (!partition || strcmp(partition, limits->partition) != 0))
        snprintf(why, why_size, "its CUDA_MPS_SM_PARTITION is not the slot's");
    else if (limits->memory_bytes > 0 &&
             (!memory || !mps_find_size(memory, &bytes) || bytes > limits->memory_bytes))
        snprintf(why, why_size, "its CUDA_MPS_PINNED_DEVICE_MEM_LIMIT is not the slot's %.2f GiB",
                 (double)limits->memory_bytes / (1 << 30));
    else
        return true;
    return false;
}

static bool is_known_good(const struct verify *verify, pid_t pid)
{
    for (size_t i = 0; i < verify->good_count; i++)
        if (verify->good[i] == pid)
            return true;
    return false;
}

/* A client's environment is that of its start: it is looked at once. */
static bool has_limits(struct verify *verify, pid_t pid, char *why, size_t why_size)
{
    if (is_known_good(verify, pid))
        return true;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    CLEANUP_FREE char *environment = malloc(ENVIRONMENT_BYTES);
    ssize_t length = environment ? file_read(path, environment, ENVIRONMENT_BYTES) : -1;
    /* It may have ended meanwhile. */
    if (length <= 0)
        return true;
    if (!verify_environment(environment, (size_t)length, verify->mps->pipe, &verify->limits, why,
                            why_size))
        return false;
    if (verify->good_count < PROCESS_LIST_CAPACITY)
        verify->good[verify->good_count++] = pid;
    return true;
}

/* Some drivers do not say who is a client: the daemon does. */
static bool is_client(const struct verify *verify, const struct process *process,
                      struct mps_view *view, bool *looked)
{
    if (process->kinds & PROCESS_MPS_CLIENT || is_known_good(verify, process->pid))
        return true;
    if (!*looked)
        mps_look(verify->mps, view);
    *looked = true;
    return mps_has_client(view, process->pid);
}

static bool is_too_long(bool outside, double *since)
{
    double now = clock_monotonic();
    if (!outside || *since <= 0)
        *since = outside ? now : 0;
    return outside && now - *since >= OUTSIDE_PATIENCE;
}

enum verify_result verify_look(struct verify *verify, const struct process_list *processes,
                               const struct process_tree *tree, char *why, size_t why_size)
{
    struct mps_view view;
    bool looked = false, outside = false;
    uint64_t memory = 0;
    enum verify_result result = VERIFY_NOTHING;
    for (size_t i = 0; i < processes->count; i++) {
        const struct process *process = &processes->process[i];
        if (!process_tree_has(tree, process->pid) || process->kinds == PROCESS_GRAPHICS)
            continue;
        memory += process->memory_known ? process->memory_bytes : 0;
        if (!is_client(verify, process, &view, &looked)) {
            outside = true;
            snprintf(why, why_size, "process %d uses the GPU without MPS", (int)process->pid);
            continue;
        }
        char reason[160];
        if (!has_limits(verify, process->pid, reason, sizeof(reason))) {
            snprintf(why, why_size, "process %d: %s", (int)process->pid, reason);
            return VERIFY_LIMITS;
        }
        result = VERIFY_GOOD;
    }
    if (is_too_long(outside, &verify->outside_since))
        return VERIFY_OUTSIDE;
    bool over = verify->limits.memory_bytes > 0 && memory > verify->limits.memory_bytes;
    verify->memory_strikes = over ? verify->memory_strikes + 1 : 0;
    if (verify->memory_strikes < STRIKES)
        return outside ? VERIFY_NOTHING : result;
    snprintf(why, why_size, "its processes hold %.2f GiB, its slot has %.2f",
             (double)memory / (1 << 30), (double)verify->limits.memory_bytes / (1 << 30));
    return VERIFY_MEMORY;
}
