#include "jobs/describe.h"

#include <errno.h>
#include <stdlib.h>

struct jobs_cache {
    struct process_description description;
};

int jobs_cache_new(struct jobs_cache **ret, const char *root)
{
    (void)root;
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

void jobs_cache_free(struct jobs_cache *cache)
{
    free(cache);
}

const struct process_description *jobs_cache_describe(struct jobs_cache *cache, pid_t pid)
{
    (void)pid;
    return &cache->description;
}
