#include "jobs/describe.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "jobs/proc.h"

/* A PID has its place in one set; the one there that was asked for longest ago makes room. */
enum { SET_COUNT = 256, SET_SIZE = 4 };
static const double BELIEVED_SECONDS = 1;

struct entry {
    pid_t pid; /* 0: empty */
    double checked_at;
    double used_at;
    struct proc_identity identity;
    struct process_description description;
};

struct jobs_cache {
    char *root;
    struct entry entries[SET_COUNT][SET_SIZE];
};

int jobs_cache_new(struct jobs_cache **ret, const char *root)
{
    struct jobs_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return -ENOMEM;
    cache->root = strdup(root);
    if (!cache->root) {
        free(cache);
        return -ENOMEM;
    }
    *ret = cache;
    return 0;
}

void jobs_cache_free(struct jobs_cache *cache)
{
    if (cache)
        free(cache->root);
    free(cache);
}

static struct entry *find_entry(struct jobs_cache *cache, pid_t pid)
{
    struct entry *set = cache->entries[(size_t)pid % SET_COUNT];
    struct entry *oldest = set;
    for (size_t i = 0; i < SET_SIZE; i++) {
        if (set[i].pid == pid)
            return &set[i];
        if (set[i].used_at < oldest->used_at)
            oldest = &set[i];
    }
    *oldest = (struct entry){.pid = pid, .checked_at = -1};
    return oldest;
}

static bool same(const struct proc_identity *a, const struct proc_identity *b)
{
    return a->start_ticks == b->start_ticks && memcmp(a->comm, b->comm, sizeof(a->comm)) == 0;
}

static void look(const struct jobs_cache *cache, struct entry *entry)
{
    struct proc_identity now = {0};
    bool readable = jobs_read_identity(cache->root, entry->pid, &now) == 0;
    bool known = entry->checked_at >= 0 && !entry->description.outside;
    if (readable && known && same(&now, &entry->identity))
        return;
    entry->identity = now;
    if (!jobs_read_process(cache->root, entry->pid, &entry->description))
        entry->description = (struct process_description){.outside = true};
}

const struct process_description *jobs_cache_describe_at(struct jobs_cache *cache, pid_t pid,
                                                         double now)
{
    struct entry *entry = find_entry(cache, pid);
    if (entry->checked_at < 0 || now - entry->checked_at >= BELIEVED_SECONDS) {
        look(cache, entry);
        entry->checked_at = now;
    }
    entry->used_at = now;
    return &entry->description;
}

const struct process_description *jobs_cache_describe(struct jobs_cache *cache, pid_t pid)
{
    return jobs_cache_describe_at(cache, pid, clock_monotonic());
}
