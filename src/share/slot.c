#include "share/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "share/place.h"

static const char HEADER[] = "rooftop leases 1";
/* Above the sum of percentages that were written as decimals. */
static const double SM_SLACK = 1e-6;
static const double LOCK_PATIENCE = 5;

struct slot_table {
    char path[256];
    int lock_fd;
    uint64_t next_id;
    size_t count;
    struct slot_lease leases[SLOT_LEASES];
};

int slot_open(struct slot_table **ret, const char *run, struct counter_failure *failure)
{
    struct slot_table *table = calloc(1, sizeof(*table));
    if (!table)
        return -ENOMEM;
    char lock[264];
    snprintf(table->path, sizeof(table->path), "%s/leases", run);
    snprintf(lock, sizeof(lock), "%s.lock", table->path);
    table->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (table->lock_fd < 0) {
        int r = share_fail(failure, -errno, "", "%s: %s", lock, strerror(errno));
        free(table);
        return r;
    }
    *ret = table;
    return 0;
}

void slot_close(struct slot_table *table)
{
    if (!table)
        return;
    close(table->lock_fd);
    free(table);
}

static bool parse_lease(const char *line, struct slot_lease *ret)
{
    *ret = (struct slot_lease){0};
    int name = 0;
    char mode;
    int holder, job;
    unsigned user;
    int found = sscanf(line, "%" SCNu64 " %95s %c %lf %" SCNu64 " %d %llu %d %llu %u %lf %n",
                       &ret->id, ret->uuid, &mode, &ret->sm_percent, &ret->memory_bytes, &holder,
                       &ret->holder.start, &job, &ret->job.start, &user, &ret->since, &name);
    if (found != 11 || name == 0 || !strchr("xsm", mode))
        return false;
    ret->mode = mode == 'x' ? SLOT_EXCLUSIVE : SLOT_SHARED;
    ret->multi_user = mode == 'm';
    ret->holder.pid = holder;
    ret->job.pid = job;
    ret->user = user;
    snprintf(ret->name, sizeof(ret->name), "%s", line + name);
    return true;
}

static bool lives(const struct slot_lease *lease)
{
    return process_lives(lease->holder) || process_group_lives(lease->job);
}

/* Reads the leases that live. */
static int load(struct slot_table *table)
{
    table->count = 0;
    table->next_id = 1;
    FILE *file = fopen(table->path, "re");
    if (!file)
        return errno == ENOENT ? 0 : -errno;
    char line[512];
    int r = 0;
    if (!fgets(line, sizeof(line), file) || strncmp(line, HEADER, sizeof(HEADER) - 1) != 0 ||
        sscanf(line + sizeof(HEADER) - 1, "%" SCNu64, &table->next_id) != 1)
        r = -EBADMSG;
    while (r == 0 && fgets(line, sizeof(line), file)) {
        struct slot_lease lease;
        line[strcspn(line, "\n")] = '\0';
        if (table->count == SLOT_LEASES || !parse_lease(line, &lease))
            r = -EBADMSG;
        else if (lives(&lease))
            table->leases[table->count++] = lease;
    }
    fclose(file);
    return r;
}

static char letter_of(const struct slot_lease *lease)
{
    return lease->mode == SLOT_EXCLUSIVE ? 'x' : lease->multi_user ? 'm' : 's';
}

static void add_lease(struct strbuf *out, const struct slot_lease *lease)
{
    strbuf_printf(out, "%" PRIu64 " %s %c %.9g %" PRIu64 " %d %llu %d %llu %u %.3f %s\n", lease->id,
                  lease->uuid, letter_of(lease), lease->sm_percent, lease->memory_bytes,
                  (int)lease->holder.pid, lease->holder.start, (int)lease->job.pid,
                  lease->job.start, (unsigned)lease->user, lease->since, lease->name);
}

static int save(const struct slot_table *table)
{
    struct strbuf text = {0};
    strbuf_printf(&text, "%s %" PRIu64 "\n", HEADER, table->next_id);
    for (size_t i = 0; i < table->count; i++)
        add_lease(&text, &table->leases[i]);
    int r = file_replace(table->path, &text);
    strbuf_free(&text);
    return r;
}

/* Whoever holds it may be stopped, such as by a batch system: -ETIMEDOUT. */
static int lock(const struct slot_table *table)
{
    double until = clock_monotonic() + LOCK_PATIENCE;
    struct timespec pause = clock_timespec(0.001);
    while (flock(table->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        if (clock_monotonic() > until)
            return -ETIMEDOUT;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int lock_and_load(struct slot_table *table)
{
    int r = lock(table);
    if (r < 0)
        return r;
    r = load(table);
    if (r < 0)
        flock(table->lock_fd, LOCK_UN);
    return r;
}

static int save_and_unlock(struct slot_table *table)
{
    int r = save(table);
    flock(table->lock_fd, LOCK_UN);
    return r;
}

bool slot_covers(const struct slot_lease *lease, pid_t pid)
{
    return (lease->job.pid > 0 && getpgid(pid) == lease->job.pid) ||
           process_descends(pid, lease->holder.pid);
}

bool slot_has(const struct slot_lease *leases, size_t count, const char *uuid, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(leases[i].uuid, uuid) == 0 && slot_covers(&leases[i], pid))
            return true;
    return false;
}

struct slot_use slot_use(const struct slot_lease *leases, size_t count, const char *uuid)
{
    struct slot_use use = {0};
    for (size_t i = 0; i < count; i++) {
        const struct slot_lease *lease = &leases[i];
        if (strcmp(lease->uuid, uuid) != 0)
            continue;
        if (lease->mode == SLOT_EXCLUSIVE) {
            use.exclusive++;
            continue;
        }
        use.shared++;
        use.sm_percent += lease->sm_percent;
        use.memory_bytes += lease->memory_bytes;
        if (lease->sm_percent > use.largest_sm_percent)
            use.largest_sm_percent = lease->sm_percent;
        if (lease->memory_bytes > use.largest_memory_bytes)
            use.largest_memory_bytes = lease->memory_bytes;
    }
    return use;
}

static const struct slot_lease *holder_of(const struct slot_table *table, const char *uuid)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->leases[i].uuid, uuid) == 0)
            return &table->leases[i];
    return NULL;
}

/* What `rooftop slots` shows: whoever took the slot may have been killed. */
static pid_t pid_of(const struct slot_lease *lease)
{
    return lease->job.pid ? lease->job.pid : lease->holder.pid;
}

static double gib(uint64_t bytes)
{
    return (double)bytes / (1 << 30);
}

/* Why the GPU has no room for the request, or 0. */
static int find_room(const struct slot_table *table, const struct slot_request *request,
                     const struct slot_gpu *gpu, struct counter_failure *failure)
{
    struct slot_use use = slot_use(table->leases, table->count, gpu->uuid);
    const struct slot_lease *holder = holder_of(table, gpu->uuid);
    if (gpu->silent)
        return share_fail(failure, -EBUSY,
                          "`rooftop doctor` says more. Choose another GPU (--gpu), wait (--wait), "
                          "or reset it: nvidia-smi -r, with -i and the GPU.",
                          "the driver does not answer for %s, so nobody knows what runs there",
                          gpu->uuid);
    if (gpu->compute_mode == COMPUTE_PROHIBITED)
        return share_fail(failure, -EBUSY, "As root: nvidia-smi -c DEFAULT, with -i and the GPU.",
                          "nobody may use %s: its compute mode is PROHIBITED", gpu->uuid);
    if (gpu->occupant[0] && gpu->compute_mode != COMPUTE_SHARED)
        return share_fail(
            failure, -EBUSY,
            "Wait for it to end, or as root: nvidia-smi -c DEFAULT, with -i and the "
            "GPU.",
            "%s is in use by %s, and its compute mode EXCLUSIVE_PROCESS admits nobody "
            "beside it",
            gpu->uuid, gpu->occupant);
    if (gpu->occupant[0] && !request->beside)
        return share_fail(failure, -EBUSY, "Wait for it to end, or go beside it with --beside.",
                          "%s is in use by %s, which has no slot", gpu->uuid, gpu->occupant);
    if (use.exclusive > 0 || (request->mode == SLOT_EXCLUSIVE && use.shared > 0))
        return share_fail(failure, -EBUSY, "`rooftop slots` shows who holds what.",
                          "%s is held by '%s' (PID %d)%s", gpu->uuid, holder->name,
                          (int)pid_of(holder),
                          use.exclusive > 0 ? ", which does not share it" : "");
    if (request->mode == SLOT_EXCLUSIVE)
        return 0;
    if (holder && holder->multi_user != request->multi_user)
        return share_fail(
            failure, -EBUSY, "Wait for the jobs there to end, or ask for what they have.",
            holder->multi_user
                ? "%s is shared by several users (--multi-user), as '%s' (PID %d) asked"
                : "%s is shared by one user, as '%s' (PID %d) asked",
            gpu->uuid, holder->name, (int)pid_of(holder));
    if (request->memory_bytes > gpu->memory_bytes)
        return share_fail(failure, -E2BIG, "Ask for less: `rooftop slots` shows what is free.",
                          "%.2f GiB are more than %s can give (%.2f GiB)",
                          gib(request->memory_bytes), gpu->uuid, gib(gpu->memory_bytes));
    if (use.memory_bytes + request->memory_bytes > gpu->memory_bytes)
        return share_fail(
            failure, -EBUSY, "`rooftop slots` shows who holds what.",
            "%s has %.2f GiB left, %.2f are asked for", gpu->uuid,
            gib(gpu->memory_bytes > use.memory_bytes ? gpu->memory_bytes - use.memory_bytes : 0),
            gib(request->memory_bytes));
    if (use.sm_percent + request->sm_percent > 100 + SM_SLACK)
        return share_fail(failure, -EBUSY, "`rooftop slots` shows who holds what.",
                          "%s has %g %% of its SMs left, %g %% are asked for", gpu->uuid,
                          100 - use.sm_percent, request->sm_percent);
    return 0;
}

static bool is_chosen(const struct slot_grant *grant, size_t gpu)
{
    for (size_t i = 0; i < grant->count; i++)
        if (grant->gpus[i] == gpu)
            return true;
    return false;
}

/* Adds the best GPU that is left to the grant. */
static int choose(const struct slot_table *table, const struct slot_request *request,
                  const struct slot_gpu *gpus, size_t gpu_count, struct slot_grant *grant,
                  struct counter_failure *failure)
{
    int r = share_fail(failure, -ENODEV, "", "there is no GPU to choose from");
    size_t best = gpu_count;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < gpu_count; i++) {
        if (is_chosen(grant, i))
            continue;
        struct counter_failure why = {0};
        int room = find_room(table, request, &gpus[i], &why);
        if (room < 0 && (r == -ENODEV || (r != -EBUSY && room == -EBUSY))) {
            *failure = why;
            r = room;
        }
        uint64_t left =
            gpus[i].memory_bytes - slot_use(table->leases, table->count, gpus[i].uuid).memory_bytes;
        if (room == 0 && (best == gpu_count || left < least)) {
            best = i;
            least = left;
        }
    }
    if (best == gpu_count)
        return r;
    grant->gpus[grant->count++] = best;
    return 0;
}

static void write_grant(struct slot_table *table, const struct slot_request *request,
                        const struct slot_gpu *gpus, struct slot_grant *grant)
{
    grant->id = table->next_id++;
    for (size_t i = 0; i < grant->count; i++) {
        struct slot_lease *lease = &table->leases[table->count++];
        *lease = (struct slot_lease){
            .id = grant->id,
            .mode = request->mode,
            .multi_user = request->multi_user,
            .sm_percent = request->mode == SLOT_SHARED ? request->sm_percent : 100,
            .memory_bytes = request->mode == SLOT_SHARED ? request->memory_bytes
                                                         : gpus[grant->gpus[i]].memory_bytes,
            .holder = process_identify(getpid()),
            .user = geteuid(),
            .since = clock_realtime(),
        };
        memcpy(lease->uuid, gpus[grant->gpus[i]].uuid, sizeof(lease->uuid));
        utf8_clean(lease->name, sizeof(lease->name), request->name);
    }
}

static int fail_at_table(const struct slot_table *table, int error, struct counter_failure *failure)
{
    const char *what = error == -EBADMSG     ? "this is no table of leases"
                       : error == -ETIMEDOUT ? "another rooftop has held its lock for 5 s"
                                             : strerror(-error);
    const char *advice = error == -EBADMSG ? "Remove the file when no `rooftop run` is running."
                         : error == -ETIMEDOUT
                             ? "Look for one that is stopped: state T in `ps -el`."
                             : "";
    return share_fail(failure, -EBADMSG, advice, "%s: %s", table->path, what);
}

int slot_take(struct slot_table *table, const struct slot_request *request,
              const struct slot_gpu *gpus, size_t gpu_count, struct slot_grant *ret,
              struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    if (request->gpu_count == 0 || request->gpu_count > SLOT_GPUS)
        return -EINVAL;
    if (request->gpu_count > gpu_count)
        return share_fail(failure, -E2BIG, "`rooftop list` shows them.",
                          "%u GPUs are asked for, and there %s %zu", request->gpu_count,
                          gpu_count == 1 ? "is" : "are", gpu_count);
    int r = lock_and_load(table);
    if (r < 0)
        return fail_at_table(table, r, failure);
    struct slot_grant grant = {0};
    if (table->count + request->gpu_count > SLOT_LEASES)
        r = share_fail(failure, -EBUSY, "", "there are %d leases already", SLOT_LEASES);
    for (unsigned i = 0; i < request->gpu_count && r == 0; i++)
        r = choose(table, request, gpus, gpu_count, &grant, failure);
    if (r == 0) {
        write_grant(table, request, gpus, &grant);
        r = save_and_unlock(table);
        if (r < 0)
            r = fail_at_table(table, r, failure);
    } else
        flock(table->lock_fd, LOCK_UN);
    if (r == 0)
        *ret = grant;
    return r;
}

int slot_begin(struct slot_table *table, uint64_t id, pid_t job)
{
    int r = lock_and_load(table);
    if (r < 0)
        return r;
    bool found = false;
    for (size_t i = 0; i < table->count; i++)
        if (table->leases[i].id == id) {
            table->leases[i].job = process_identify(job);
            found = true;
        }
    r = save_and_unlock(table);
    return r == 0 && !found ? -ENOENT : r;
}

int slot_release(struct slot_table *table, uint64_t id)
{
    int r = lock_and_load(table);
    if (r < 0)
        return r;
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++)
        if (table->leases[i].id != id)
            table->leases[kept++] = table->leases[i];
    table->count = kept;
    return save_and_unlock(table);
}

int slot_read(struct slot_table *table, struct slot_lease **ret, size_t *ret_count,
              struct counter_failure *failure)
{
    int r = slot_list(table, ret, ret_count);
    return r < 0 ? fail_at_table(table, r, failure) : 0;
}

int slot_list(struct slot_table *table, struct slot_lease **ret, size_t *ret_count)
{
    /* What is in place is whole. */
    int r = load(table);
    if (r < 0)
        return r;
    struct slot_lease *leases = calloc(table->count + 1, sizeof(*leases));
    if (!leases)
        return -ENOMEM;
    memcpy(leases, table->leases, table->count * sizeof(*leases));
    *ret = leases;
    *ret_count = table->count;
    return 0;
}
