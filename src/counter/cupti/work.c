#include "counter/cupti/work.h"

#include <math.h>

#include "counter/cupti/plan.h"

enum { SIGN_GRAPHICS = 3, SIGN_CLOCK = 4, SIGN_POWER = 5 };

/* By how much each must move. While a load stays the same, NVML's clock moves by up to 8 % (the
 * recording of the known workloads on an H200). The averaged power would follow a change for a
 * second. */
static const struct {
    enum metric metric;
    double limit;
    bool relative;
} signs[WORK_SIGNS] = {
    {METRIC_SM_ACTIVE, 0.1, false},
    {METRIC_TENSOR_ACTIVE, 0.1, false},
    {METRIC_DRAM_ACTIVE, 0.1, false},
    [SIGN_GRAPHICS] = {METRIC_GRAPHICS_ACTIVE, 0.1, false},
    [SIGN_CLOCK] = {METRIC_SM_CLOCK, 0.08, true},
    [SIGN_POWER] = {METRIC_POWER, 0.2, true},
};

/* Looks are remembered so far apart, so that what came before a burst is still among them. */
static const double APART = 0.04;
/* A burst is not wished for before the work has looked the same for so long. What draws more power
 * than it may is first let be and then braked: on an H200 the clock dips by a fifth 0.8 s and 1.7 s
 * behind the start of such work, within a tenth of a second. */
static const double SETTLED_SECONDS = 0.5, SETTLED_AT_POWER_LIMIT = 2;
static const double NEAR_POWER_LIMIT = 0.98;
static const double IDLE_BELOW = 0.01;
/* What a burst saw is forgotten then. */
static const double LONGEST_MEMORY = 300;
/* While the work stays the same, in periods: 10 s from its first burst to the second, then 30 s. */
static const double SECOND_PERIODS = 2, NEXT_PERIODS = 6;
/* So many bursts tell together how the effective clock stands to NVML's, which wavers by a
 * hundredth from moment to moment. */
static const double BURSTS_TO_AVERAGE = 4;
static const double SLOW_SECONDS = 0.9;
/* Of so many bursts one is of what is counted apart. */
enum { BURSTS_FOR_ONE_APART = 4 };

/* What is not known on one side is no difference. */
static bool is_alike(const struct work_look *a, const struct work_look *b)
{
    for (size_t i = 0; i < WORK_SIGNS; i++) {
        double scale = signs[i].relative ? fabs(a->sign[i]) : 1;
        if (fabs(a->sign[i] - b->sign[i]) > signs[i].limit * scale)
            return false;
    }
    return true;
}

/* NVML's clock is that of a moment, the effective clock a mean over the time before it. The mean of
 * two moments is nearer to that, where the work has not changed between them. */
static struct work_look look(const struct work_watch *watch, const struct sample *sample,
                             double now)
{
    struct work_look work = {.time = now};
    for (size_t i = 0; i < WORK_SIGNS; i++)
        work.sign[i] = sample_get(sample, signs[i].metric, NAN);
    work.clock = work.sign[SIGN_CLOCK];
    work.at_power_limit = work.sign[SIGN_POWER] >=
                          NEAR_POWER_LIMIT * sample_get(sample, METRIC_POWER_LIMIT, INFINITY);
    if (watch->count > 0 && isfinite(watch->now.sign[SIGN_CLOCK]) && is_alike(&watch->now, &work))
        work.clock = (work.clock + watch->now.sign[SIGN_CLOCK]) / 2;
    return work;
}

/* The last look before `time`, else the first that is remembered, else NULL. */
static const struct work_look *look_before(const struct work_watch *watch, double time)
{
    const struct work_look *last = NULL;
    const struct work_look *first = NULL;
    for (size_t i = 0; i < WORK_REMEMBERED && i < watch->count; i++) {
        const struct work_look *one = &watch->recent[i];
        if (one->time <= time && (!last || one->time > last->time))
            last = one;
        if (!first || one->time < first->time)
            first = one;
    }
    return last ? last : first;
}

static void remember(struct work_watch *watch, const struct work_look *work)
{
    size_t last = (watch->count + WORK_REMEMBERED - 1) % WORK_REMEMBERED;
    watch->time_before = watch->now.time;
    watch->now = *work;
    if (watch->count == 0 || work->time - watch->recent[last].time >= APART)
        watch->recent[watch->count++ % WORK_REMEMBERED] = *work;
}

/* The look of now, with NVML's clock as it was on average while the burst lasted, if anybody looked
 * then. */
static struct work_look look_during(const struct work_watch *watch, const struct work_look *work,
                                    const struct work_burst *burst)
{
    double moments = 0, clocks = 0;
    unsigned count = 0;
    for (size_t i = 0; i < WORK_REMEMBERED && i < watch->count; i++) {
        const struct work_look *one = &watch->recent[i];
        if (one->time >= burst->begin && one->time <= burst->end && isfinite(one->clock)) {
            moments += one->sign[SIGN_CLOCK];
            clocks += one->clock;
            count++;
        }
    }
    struct work_look mean = *work;
    if (count > 0) {
        mean.sign[SIGN_CLOCK] = moments / count;
        mean.clock = clocks / count;
    }
    return mean;
}

/* The youngest that looks like it. */
static struct work_state *find(struct work_watch *watch, const struct work_look *work)
{
    struct work_state *found = NULL;
    for (size_t i = 0; i < WORK_STATES; i++) {
        struct work_state *state = &watch->states[i];
        if (state->seen > 0 && work->time - state->seen <= LONGEST_MEMORY &&
            is_alike(&state->look, work) && (!found || state->seen > found->seen))
            found = state;
    }
    return found;
}

static struct work_state *take_oldest(struct work_watch *watch)
{
    struct work_state *oldest = &watch->states[0];
    for (size_t i = 1; i < WORK_STATES; i++)
        if (watch->states[i].seen < oldest->seen)
            oldest = &watch->states[i];
    *oldest = (struct work_state){0};
    return oldest;
}

static void take_clock(struct work_state *state)
{
    double ratio = state->values.value[METRIC_EFFECTIVE_CLOCK] / state->look.clock;
    if (!isfinite(ratio))
        return;
    state->clocks++;
    state->clock_ratio += (ratio - state->clock_ratio) / fmin(state->clocks, BURSTS_TO_AVERAGE);
}

static void take_burst(struct work_watch *watch, const struct work_look *work,
                       const struct work_burst *burst)
{
    const struct work_look *before = look_before(watch, burst->begin);
    if (before && !is_alike(before, work))
        return;
    bool apart = !(burst->metrics & ~PLAN_APART);
    struct work_state *state = find(watch, work);
    if (!state && apart)
        return;
    if (!state)
        state = take_oldest(watch);
    for (size_t i = 0; i < WORK_METRICS; i++)
        if (burst->metrics >> i & 1) {
            state->values.value[i] = burst->values->value[i];
            state->values.when[i] = burst->values->when[i];
        }
    state->bursts++;
    if (apart)
        return;
    state->look = look_during(watch, work, burst);
    state->seen = burst->end;
    if (burst->metrics & METRIC_BIT(METRIC_EFFECTIVE_CLOCK))
        take_clock(state);
}

const struct work_state *work_look_at(struct work_watch *watch, const struct sample *sample,
                                      double now, const struct work_burst *last)
{
    struct work_look work = look(watch, sample, now);
    if (last->end > watch->seen_by) {
        watch->seen_by = last->end;
        take_burst(watch, &work, last);
    }
    remember(watch, &work);
    return find(watch, &work);
}

static bool was_at_power_limit(const struct work_watch *watch, double since)
{
    for (size_t i = 0; i < WORK_REMEMBERED && i < watch->count; i++)
        if (watch->recent[i].at_power_limit && watch->recent[i].time >= since)
            return true;
    return false;
}

static bool is_settled(const struct work_watch *watch)
{
    double now = watch->now.time;
    bool at_limit = was_at_power_limit(watch, now - SETTLED_SECONDS);
    double since = now - (at_limit ? SETTLED_AT_POWER_LIMIT : SETTLED_SECONDS);
    return is_alike(look_before(watch, since), &watch->now);
}

bool work_is_slow(const struct work_watch *watch)
{
    return watch->now.time - watch->time_before >= SLOW_SECONDS;
}

bool work_is_idle(const struct work_watch *watch)
{
    return watch->now.sign[SIGN_GRAPHICS] < IDLE_BELOW;
}

enum work_wish work_wish(const struct work_watch *watch, const struct work_state *state, double now,
                         double period)
{
    if (work_is_idle(watch) || !is_settled(watch))
        return WORK_NO_BURST;
    if (!state)
        return WORK_BURST;
    double wait = period * (state->bursts == 1 ? SECOND_PERIODS : NEXT_PERIODS);
    if (now - watch->seen_by < wait)
        return WORK_NO_BURST;
    return state->bursts % BURSTS_FOR_ONE_APART == 1 ? WORK_BURST_APART : WORK_BURST;
}

double work_clock(const struct work_watch *watch, const struct work_state *state)
{
    double clock = watch->now.clock * state->clock_ratio;
    return isfinite(clock) && state->clocks > 0 ? clock
                                                : state->values.value[METRIC_EFFECTIVE_CLOCK];
}
