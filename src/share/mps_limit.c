#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "share/mps_internal.h"
#include "share/place.h"

typedef bool says_function(const char *answer, const struct mps_limits *limits);

/* It may round down, and it answers with one decimal. */
static bool says_percent(const char *answer, const struct mps_limits *limits)
{
    double said;
    return sscanf(answer, "%lf", &said) == 1 && said >= limits->sm_percent - 1 &&
           said <= limits->sm_percent + 0.051;
}

/* It answers in whole GiB, rounded down, where it is one or more. */
static bool says_size(const char *answer, const struct mps_limits *limits)
{
    uint64_t said, bytes = limits->memory_bytes >> 20 << 20;
    return mps_find_size(answer, &said) &&
           (said == bytes || (bytes >> 30 > 0 && said == bytes >> 30 << 30));
}

/* Sends `set`, and looks at what `get` then says. */
static int set(const struct mps *mps, const char *what, const char *set, const char *get,
               says_function *says, const struct mps_limits *limits,
               struct counter_failure *failure)
{
    struct strbuf answer = {0};
    int r = mps_ask(mps, set, &answer);
    strbuf_clear(&answer);
    if (r == 0)
        r = mps_ask(mps, get, &answer);
    const char *said = strbuf_text(&answer);
    if (r == 0 && !says(said, limits))
        r = share_fail(failure, -EPROTO, "",
                       "the MPS daemon of %s did not take the %s: after '%s' it says '%.*s'",
                       mps->uuid, what, set, (int)util_min(strcspn(said, "\n"), 80), said);
    strbuf_free(&answer);
    return r;
}

/* Of a server, or the default of later ones where it is 0. */
static int set_limits(const struct mps *mps, const struct mps_limits *limits, pid_t server,
                      struct counter_failure *failure)
{
    const char *kind = server ? "" : "default_";
    char whose[24] = "", order[96], question[96];
    if (server)
        snprintf(whose, sizeof(whose), " %d", (int)server);
    int r = 0;
    if (!mps->has_partitions) {
        snprintf(order, sizeof(order), "set_%sactive_thread_percentage%s %.9g", kind, whose,
                 limits->sm_percent);
        snprintf(question, sizeof(question), "get_%sactive_thread_percentage%s", kind, whose);
        r = set(mps, "SM limit", order, question, says_percent, limits, failure);
    }
    if (r < 0 || limits->memory_bytes == 0)
        return r;
    snprintf(order, sizeof(order), "set_%sdevice_pinned_mem_limit%s 0 %lluM", kind, whose,
             (unsigned long long)(limits->memory_bytes >> 20));
    snprintf(question, sizeof(question), "get_%sdevice_pinned_mem_limit%s 0", kind, whose);
    return set(mps, "memory limit", order, question, says_size, limits, failure);
}

int mps_limit(const struct mps *mps, const struct mps_limits *limits,
              struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    int r = set_limits(mps, limits, 0, failure);
    struct mps_view view;
    mps_look(mps, &view);
    for (size_t i = 0; i < view.server_count && r == 0; i++)
        r = set_limits(mps, limits, view.servers[i].pid, failure);
    if (r < 0 && !failure->reason[0])
        share_fail(failure, r, "", "the MPS daemon of %s does not answer: %s", mps->uuid,
                   strerror(-r));
    return r;
}
