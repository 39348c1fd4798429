#include "counter/cupti/plan.h"

const struct cupti_counter cupti_catalog[] = {
#define COUNTER(metric, scale, name)           {METRIC_##metric, scale, name, NULL},
#define QUOTIENT(metric, scale, name, divisor) {METRIC_##metric, scale, name, divisor},
#include "counter/cupti/catalog.def"
#undef COUNTER
#undef QUOTIENT
};

const size_t cupti_catalog_size = ARRAY_SIZE(cupti_catalog);

struct planner {
    struct plan *plan;
    size_t first_set; /* that counters may enter */
    size_t max_sets;
    plan_passes *passes;
    void *chip;
};

/* Behind the names of the set; returns how many. */
static size_t write_names(struct plan_set *set, const struct cupti_counter *counter)
{
    size_t count = counter->divisor ? 2 : 1;
    if (set->count + count > PLAN_MAX_COUNTERS)
        return 0;
    set->name[set->count] = counter->name;
    set->counter[set->count] = counter;
    if (counter->divisor) {
        set->name[set->count + 1] = counter->divisor;
        set->counter[set->count + 1] = NULL;
    }
    return count;
}

static bool add(const struct planner *planner, struct plan_set *set,
                const struct cupti_counter *counter)
{
    size_t count = write_names(set, counter);
    if (count == 0 || planner->passes(planner->chip, set->name, set->count + count) != 1)
        return false;
    set->count += count;
    return true;
}

/* Rows [first, last) of the catalogue are one metric's counters. */
static bool place_in(const struct planner *planner, struct plan_set *set, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++)
        if (add(planner, set, &cupti_catalog[i]))
            return true;
    return false;
}

static bool place(const struct planner *planner, size_t first, size_t last)
{
    struct plan *plan = planner->plan;
    for (size_t i = planner->first_set; i < plan->set_count; i++)
        if (place_in(planner, &plan->set[i], first, last))
            return true;
    if (plan->set_count == planner->max_sets)
        return false;
    if (!place_in(planner, &plan->set[plan->set_count], first, last))
        return false;
    plan->set_count++;
    return true;
}

void plan_add_apart(struct plan *plan, uint64_t wanted, size_t max_sets, plan_passes *passes,
                    void *chip)
{
    const struct planner planner = {plan, plan->set_count, util_min(max_sets, PLAN_MAX_SETS),
                                    passes, chip};
    size_t last;
    for (size_t first = 0; first < cupti_catalog_size; first = last) {
        enum metric metric = cupti_catalog[first].metric;
        for (last = first; last < cupti_catalog_size && cupti_catalog[last].metric == metric;)
            last++;
        if (!(wanted & METRIC_BIT(metric)))
            continue;
        if (place(&planner, first, last))
            plan->planned |= METRIC_BIT(metric);
        else
            plan->refused |= METRIC_BIT(metric);
    }
}

void plan_make(struct plan *ret, uint64_t wanted, size_t max_sets, plan_passes *passes, void *chip)
{
    *ret = (struct plan){0};
    plan_add_apart(ret, wanted, max_sets, passes, chip);
}
