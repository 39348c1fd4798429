#include "bench/limits.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/profile.h"

static const double KEPT_SPEED = 0.95;
static const double HEADROOM = 1.2;
static const double GIBI = 1 << 30;
static const uint64_t MEMORY_STEP = 256 << 20;

/* What a job does before it uses the GPU scales with nothing: its time there alone counts. */
static bool has_spans(const struct profile *profile)
{
    bool all = profile->span_seconds > 0;
    for (size_t i = 0; i < profile->scaling_count; i++)
        all = all && profile->scaling[i].span_seconds > 0;
    return all;
}

/* The least share that keeps the speed, on straight lines between the shares that were tried. */
static double from_scaling(const struct profile *profile)
{
    double below_percent = 0, below_speed = 0;
    bool spans = has_spans(profile);
    for (size_t i = 0; i < profile->scaling_count; i++) {
        const struct profile_scaling *tried = &profile->scaling[i];
        double speed = spans ? profile->span_seconds / tried->span_seconds
                             : profile->wall_seconds / tried->wall_seconds;
        if (speed >= KEPT_SPEED && i == 0)
            return tried->sm_percent;
        if (speed >= KEPT_SPEED)
            return below_percent + (tried->sm_percent - below_percent) *
                                       (KEPT_SPEED - below_speed) / (speed - below_speed);
        below_percent = tried->sm_percent;
        below_speed = speed;
    }
    return below_percent + (100 - below_percent) * (KEPT_SPEED - below_speed) / (1 - below_speed);
}

static double from_coverage(const struct profile *profile)
{
    const struct profile_spread *busy = &profile->metrics[METRIC_WATERFALL_COVERAGE];
    const struct profile_spread *all = &profile->metrics[METRIC_SM_ACTIVE];
    const struct profile_spread *known = busy->count > 0 ? busy : all;
    return known->count > 0 ? known->p95 * 100 : 0;
}

struct bench_need bench_need_of(const struct profile *profile)
{
    struct bench_need need = {0};
    bool scaled = profile->scaling_count > 0;
    double percent = scaled ? from_scaling(profile) : from_coverage(profile);
    if (percent > 0) {
        need.sm_percent = fmin(ceil(percent), 100);
        need.sm_from = !scaled              ? "SMs that it uses, 95th percentile"
                       : has_spans(profile) ? "keeps 95 % of its speed"
                                            : "keeps 95 % of its speed, its start included: "
                                              "profile it anew";
    }
    uint64_t bytes = (uint64_t)(profile->memory_peak_bytes * HEADROOM);
    need.memory_bytes = (bytes + MEMORY_STEP - 1) / MEMORY_STEP * MEMORY_STEP;
    return need;
}

void bench_limits_fit(struct bench_plan *plan)
{
    double given = 0, needed = 0, least = 0;
    for (size_t i = 0; i < plan->job_count; i++) {
        const struct bench_job *job = &plan->jobs[i];
        *(job->sm_from[0] ? &needed : &given) += job->sm_percent * job->count;
        least += job->sm_from[0] ? job->count : 0;
    }
    if (given + needed <= 100 || given + least > 100)
        return;
    double factor = (100 - given) / needed;
    for (size_t i = 0; i < plan->job_count; i++) {
        struct bench_job *job = &plan->jobs[i];
        if (!job->sm_from[0])
            continue;
        size_t length = strlen(job->sm_from);
        snprintf(job->sm_from + length, sizeof(job->sm_from) - length,
                 "; %g %%, shrunk so that all fit", job->sm_percent);
        job->sm_percent = fmax(floor(job->sm_percent * factor), 1);
    }
}

/* The words of a command that a shell would not change; NULL-terminated in `ret`. False: it would,
 * or there are too many. */
static bool split_plain(char *command, const char **ret, size_t most)
{
    size_t count = 0;
    char *rest = NULL;
    if (strpbrk(command, "\"'`$\\|&;<>()*?[]{}~#=!"))
        return false;
    for (char *word = strtok_r(command, " \t", &rest); word && count < most - 1;
         word = strtok_r(NULL, " \t", &rest))
        ret[count++] = word;
    ret[count] = NULL;
    return count > 0 && count < most - 1;
}

static int find_by_command(struct profiles *profiles, const struct bench_job *job,
                           struct profile *ret)
{
    const char *words[64];
    char key[PROFILE_KEY_SIZE];
    CLEANUP_FREE char *command = strdup(job->command);
    if (!command)
        return -ENOMEM;
    if (!split_plain(command, words, ARRAY_SIZE(words)))
        return -ENOENT;
    profile_key(words, NULL, key);
    return profiles_get(profiles, key, ret);
}

static int find_profile(struct profiles *profiles, const struct bench_job *job, struct profile *ret)
{
    int r = profiles_get(profiles, job->profile ? job->profile : job->name, ret);
    return r == -ENOENT && !job->profile ? find_by_command(profiles, job, ret) : r;
}

static void take_profile(struct bench_job *job, const struct profile *profile)
{
    struct bench_need need = bench_need_of(profile);
    if (job->sm_percent <= 0 && need.sm_percent > 0) {
        job->sm_percent = need.sm_percent;
        snprintf(job->sm_from, sizeof(job->sm_from), "profile %s: %s", profile->key, need.sm_from);
    }
    if (job->memory_bytes == 0 && need.memory_bytes > 0) {
        job->memory_bytes = need.memory_bytes;
        snprintf(job->memory_from, sizeof(job->memory_from), "profile %s: its peak and a fifth",
                 profile->key);
    }
}

static void fill_job(struct bench_plan *plan, struct bench_job *job, struct profiles *profiles)
{
    CLEANUP_FREE struct profile *profile = calloc(1, sizeof(*profile));
    int r = profile ? find_profile(profiles, job, profile) : -ENOMEM;
    const char *key = job->profile ? job->profile : job->name;
    if (r == 0)
        take_profile(job, profile);
    if (job->sm_percent > 0 || plan->no_limits[0])
        return;
    if (r == -ENOENT)
        snprintf(plan->no_limits, sizeof(plan->no_limits),
                 "[%s] has no sm = … and no profile; run `rooftop profile --scaling --name %s -- "
                 "COMMAND`",
                 job->name, key);
    else if (r == 0)
        snprintf(plan->no_limits, sizeof(plan->no_limits),
                 "[%s] has no sm = …, and its profile tells of no SMs; run `rooftop profile "
                 "--scaling --name %s -- COMMAND`",
                 job->name, key);
    else
        snprintf(plan->no_limits, sizeof(plan->no_limits), "the profile of [%s]: %s", job->name,
                 strerror(-r));
}

void bench_limits_fill(struct bench_plan *plan)
{
    struct profiles *profiles = NULL;
    if (!bench_plan_has(plan, MODE_MPS_LIMITS))
        return;
    for (size_t i = 0; i < plan->job_count && !plan->no_limits[0]; i++) {
        struct bench_job *job = &plan->jobs[i];
        if (job->sm_percent > 0 && job->memory_bytes > 0)
            continue;
        if (profiles || profiles_open(&profiles, plan->no_limits, sizeof(plan->no_limits)) == 0)
            fill_job(plan, job, profiles);
    }
    profiles_close(profiles);
    if (!plan->no_limits[0])
        bench_limits_fit(plan);
}

static void put_source(const char *from, struct strbuf *out)
{
    if (from[0])
        strbuf_printf(out, " (%s)", from);
}

void bench_limits_describe_job(const struct bench_job *job, struct strbuf *out)
{
    if (job->sm_percent > 0)
        strbuf_printf(out, "%g %% of the SMs", job->sm_percent);
    put_source(job->sm_from, out);
    if (job->memory_bytes)
        strbuf_printf(out, "%s%.3g GiB", job->sm_percent > 0 ? ", " : "",
                      (double)job->memory_bytes / GIBI);
    put_source(job->memory_from, out);
}

void bench_limits_describe(const struct bench_plan *plan, struct strbuf *out)
{
    for (size_t i = 0; i < plan->job_count; i++) {
        strbuf_printf(out, "%s%s: ", i ? "\n" : "", plan->jobs[i].name);
        bench_limits_describe_job(&plan->jobs[i], out);
    }
}
