#include "counter/cupti/work.h"

#include <math.h>

/* By how much each must move. While a load stays the same, NVML's clock moves by up to 8 % and the
 * averaged power by less than 10 % (the recording of the known workloads on an H200). */
static const struct {
    enum metric metric;
    double limit;
    bool relative;
} signs[WORK_SIGNS] = {
    {METRIC_SM_ACTIVE, 0.1, false},   {METRIC_TENSOR_ACTIVE, 0.1, false},
    {METRIC_DRAM_ACTIVE, 0.1, false}, {METRIC_GRAPHICS_ACTIVE, 0.1, false},
    {METRIC_SM_CLOCK, 0.08, true},    {METRIC_POWER_AVERAGE, 0.1, true},
};

/* Looks are remembered so far apart, so that what came before a burst is still among them. */
static const double APART = 0.01;

static struct work_look look(const struct sample *sample, double now)
{
    struct work_look work = {.time = now};
    for (size_t i = 0; i < WORK_SIGNS; i++)
        work.sign[i] = sample_get(sample, signs[i].metric, NAN);
    return work;
}

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
    if (watch->count == 0 || work->time - watch->recent[last].time >= APART)
        watch->recent[watch->count++ % WORK_REMEMBERED] = *work;
}

bool work_is_same(struct work_watch *watch, const struct sample *sample, double now, double begin,
                  double end)
{
    struct work_look work = look(sample, now);
    if (end > watch->seen_by) {
        const struct work_look *before = look_before(watch, begin);
        watch->seen = work;
        watch->seen_by = end;
        watch->changing = before && !is_alike(before, &work);
    }
    remember(watch, &work);
    return watch->seen_by == 0 || (!watch->changing && is_alike(&watch->seen, &work));
}
