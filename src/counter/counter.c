#include "counter/counter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "counter/combined.h"
#include "counter/replay.h"
#include "counter/sim.h"

const struct counter_ops *const counter_sources[] = {
    &replay_counter, &sim_counter, &nvml_counter, &cupti_counter, NULL,
};

static int take_combined(struct counter **ret, struct counter *counter)
{
    int r = combined_wrap(ret, counter);
    if (r < 0)
        counter_close(counter);
    return r;
}

static int open_auto(struct counter **ret, struct counter_failure *failure)
{
    int r = -ENODEV;
    for (const struct counter_ops *const *ops = counter_sources; *ops; ops++) {
        if (!(*ops)->automatic)
            continue;
        struct counter *counter;
        r = (*ops)->open(&counter, NULL, failure);
        if (r == 0)
            return take_combined(ret, counter);
    }
    return r;
}

const struct counter_ops *counter_source(const char *source)
{
    size_t length = strcspn(source, ":");
    for (const struct counter_ops *const *ops = counter_sources; *ops; ops++)
        if (strlen((*ops)->name) == length && strncmp((*ops)->name, source, length) == 0)
            return *ops;
    return NULL;
}

int counter_open(struct counter **ret, const char *source, struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    if (strcmp(source, "auto") == 0)
        return open_auto(ret, failure);

    size_t length = strcspn(source, ":");
    const struct counter_ops *ops = counter_source(source);
    if (!ops) {
        snprintf(failure->reason, sizeof(failure->reason), "no source is called '%.*s'",
                 (int)util_min(length, 64), source);
        snprintf(failure->advice, sizeof(failure->advice),
                 "use auto, nvml, cupti, replay:FILE or sim:FILE");
        return -EINVAL;
    }
    const char *argument = source[length] == ':' ? source + length + 1 : NULL;
    if (!!argument != !!ops->argument) {
        snprintf(failure->reason, sizeof(failure->reason),
                 ops->argument ? "source %s needs an argument: %s:%s"
                               : "source %s takes no argument",
                 ops->name, ops->name, ops->argument);
        return -EINVAL;
    }
    return ops->open(ret, argument, failure);
}

void counter_close(struct counter *counter)
{
    if (counter)
        counter->ops->close(counter);
}
