#include "share/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "jobs/describe.h"
#include "jobs/proc.h"

/* Lists of the driver and of the daemon are not of one instant: only what is seen twice counts. */
enum { STRIKES = 2 };
/* More than exec() takes. */
enum { ENVIRONMENT_BYTES = 8 << 20 };
/* A client that starts may be listed before it is known to be one. */
static const double OUTSIDE_PATIENCE = 0.5;
/* Above a percentage that was written as a decimal. */
static const double SM_SLACK = 1e-6;

/* The value of the first variable of that name, as programs see it; NULL where there is none. */
static const char *find_variable(const char *environment, size_t length, const char *name)
{
    size_t name_length = strlen(name);
    for (size_t at = 0; at < length; at += strlen(environment + at) + 1)
        if (strncmp(environment + at, name, name_length) == 0 &&
            environment[at + name_length] == '=')
            return environment + at + name_length + 1;
    return NULL;
}

static bool is_percent_within(const char *text, const struct mps_limits *limits)
{
    double percent = text ? atof(text) : 0;
    return percent > 0 && percent <= limits->sm_percent + SM_SLACK;
}

/* "0=2G" or "0=2048M", and more of the kind with commas between: each within the limit, and one of
 * them for the first device, which is the slot's. */
static bool is_memory_within(const char *text, const struct mps_limits *limits)
{
    bool first_device = false;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        const char *size = memchr(text, '=', length);
        char *end = NULL;
        unsigned long long number = size ? strtoull(size + 1, &end, 10) : 0;
        unsigned shift = end && *end == 'G' ? 30 : end && *end == 'M' ? 20 : 0;
        if (number == 0 || shift == 0 || end + 1 != text + length ||
            number > limits->memory_bytes >> shift)
            return false;
        first_device = first_device || (size == text + 1 && *text == '0');
        text += length + (text[length] == ',');
    }
    return first_device;
}

bool verify_environment(const char *environment, size_t length, const char *pipe,
                        const struct mps_limits *limits, char *why, size_t why_size)
{
    const char *folder = find_variable(environment, length, "CUDA_MPS_PIPE_DIRECTORY");
    const char *percent = find_variable(environment, length, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    const char *memory = find_variable(environment, length, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    const char *partition = find_variable(environment, length, "CUDA_MPS_SM_PARTITION");
    if (!folder || strcmp(folder, pipe) != 0)
        snprintf(why, why_size, "its CUDA_MPS_PIPE_DIRECTORY is not the slot's");
    else if (!is_percent_within(percent, limits))
        snprintf(why, why_size, "its CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is not the slot's %g",
                 limits->sm_percent);
    else if (limits->partition[0] && (!partition || strcmp(partition, limits->partition) != 0))
        snprintf(why, why_size, "its CUDA_MPS_SM_PARTITION is not the slot's");
    else if (limits->memory_bytes > 0 && !is_memory_within(memory, limits))
        snprintf(why, why_size, "its CUDA_MPS_PINNED_DEVICE_MEM_LIMIT is not the slot's %.2f GiB",
                 (double)limits->memory_bytes / (1 << 30));
    else
        return true;
    return false;
}

/* Its place among the clients that were looked at, or their count: one that has become another
 * program, or another process with its PID, is none of them. */
static size_t find_good(const struct verify *verify, pid_t pid,
                        const struct proc_identity *identity)
{
    size_t i = 0;
    while (i < verify->good_count &&
           (verify->good[i] != pid || verify->marks[i].start != identity->start_ticks ||
            verify->marks[i].stack != identity->stack))
        i++;
    return i;
}

static bool is_listed(const struct process_list *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->process[i].pid == pid)
            return true;
    return false;
}

/* Where there is no more room, those that have left the GPU are forgotten. */
static void remember_good(struct verify *verify, const struct process_list *processes, pid_t pid,
                          const struct proc_identity *identity)
{
    size_t kept = 0;
    bool full = verify->good_count == PROCESS_LIST_CAPACITY;
    for (size_t i = 0; i < verify->good_count && full; i++)
        if (is_listed(processes, verify->good[i])) {
            verify->good[kept] = verify->good[i];
            verify->marks[kept++] = verify->marks[i];
        }
    if (full)
        verify->good_count = kept;
    if (verify->good_count == PROCESS_LIST_CAPACITY)
        return;
    verify->good[verify->good_count] = pid;
    verify->marks[verify->good_count++] = (struct verify_mark){
        .start = identity->start_ticks,
        .stack = identity->stack,
    };
}

/* What is not of one instant, or of a process that ends just now, passes. */
static bool is_too_long(bool wrong, double *since)
{
    double now = clock_monotonic();
    if (!wrong || *since <= 0)
        *since = wrong ? now : 0;
    return wrong && now - *since >= OUTSIDE_PATIENCE;
}

/* One reading of the driver's list. */
struct look {
    struct verify *verify;
    const struct process_list *processes;
    struct mps_view view; /* what the daemon says, once it was asked */
    bool asked;
    bool good, outside, hidden; /* there is such a process */
    char *why;
    size_t why_size;
};

/* Some drivers do not say who is a client: the daemon does. Who was one stays one, also where the
 * daemon or the server has ended. */
static bool is_client(struct look *look, const struct process *process, size_t good)
{
    if (process->kinds & PROCESS_MPS_CLIENT || good < look->verify->good_count)
        return true;
    if (!look->asked)
        mps_look(look->verify->mps, &look->view);
    look->asked = true;
    return mps_has_client(&look->view, process->pid);
}

/* A client's environment is that of its start: it is looked at once. False where it has other
 * limits than the slot's. */
static bool look_at_limits(struct look *look, const struct process *process,
                           const struct proc_identity *identity)
{
    struct verify *verify = look->verify;
    char path[64], reason[160];
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)process->pid);
    CLEANUP_FREE char *environment = malloc(ENVIRONMENT_BYTES);
    ssize_t length = environment ? file_read(path, environment, ENVIRONMENT_BYTES) : -1;
    if (length <= 0) {
        look->hidden = true;
        snprintf(look->why, look->why_size,
                 "process %d hides its environment, so nobody knows its limits", (int)process->pid);
        return true;
    }
    if (!verify_environment(environment, (size_t)length, verify->mps->pipe, &verify->limits, reason,
                            sizeof(reason))) {
        snprintf(look->why, look->why_size, "process %d: %s", (int)process->pid, reason);
        return false;
    }
    remember_good(verify, look->processes, process->pid, identity);
    look->good = true;
    return true;
}

/* False where it has other limits than the slot's. */
static bool look_at(struct look *look, const struct process *process)
{
    struct proc_identity identity;
    if (jobs_read_identity("", process->pid, &identity) < 0 || proc_has_ended(&identity))
        return true;
    size_t good = find_good(look->verify, process->pid, &identity);
    if (!is_client(look, process, good)) {
        look->outside = true;
        snprintf(look->why, look->why_size, "process %d uses the GPU without MPS",
                 (int)process->pid);
        return true;
    }
    look->good = look->good || good < look->verify->good_count;
    return good < look->verify->good_count || look_at_limits(look, process, &identity);
}

enum verify_result verify_look(struct verify *verify, const struct process_list *processes,
                               const struct process_tree *tree, char *why, size_t why_size)
{
    struct look look = {.verify = verify, .processes = processes, .why = why, .why_size = why_size};
    uint64_t memory = 0;
    for (size_t i = 0; i < processes->count; i++) {
        const struct process *process = &processes->process[i];
        if (!process_tree_has(tree, process->pid) || process->kinds == PROCESS_GRAPHICS)
            continue;
        memory += process->memory_known ? process->memory_bytes : 0;
        if (!look_at(&look, process))
            return VERIFY_LIMITS;
    }
    bool hidden = is_too_long(look.hidden, &verify->hidden_since);
    if (is_too_long(look.outside, &verify->outside_since))
        return VERIFY_OUTSIDE;
    if (hidden)
        return VERIFY_LIMITS;
    bool over = verify->limits.memory_bytes > 0 && memory > verify->limits.memory_bytes;
    verify->memory_strikes = over ? verify->memory_strikes + 1 : 0;
    if (verify->memory_strikes < STRIKES)
        return look.good && !look.outside && !look.hidden ? VERIFY_GOOD : VERIFY_NOTHING;
    snprintf(why, why_size, "its processes hold %.2f GiB, its slot has %.2f",
             (double)memory / (1 << 30), (double)verify->limits.memory_bytes / (1 << 30));
    return VERIFY_MEMORY;
}
