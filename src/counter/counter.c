#include "counter/counter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Where none opens, the first one's reason counts. */
static int open_auto(struct counter **ret, struct counter_failure *failure)
{
    int first = 0;
    for (const struct counter_ops *const *ops = counter_sources; *ops; ops++) {
        if (!(*ops)->automatic)
            continue;
        struct counter *counter;
        struct counter_failure why = {0};
        int r = (*ops)->open(&counter, NULL, &why);
        if (r == 0)
            return take_combined(ret, counter);
        if (first == 0) {
            first = r;
            *failure = why;
        }
    }
    return first ? first : -ENODEV;
}

const char *counter_usual_source(const char *named)
{
    const char *source = named ? named : secure_getenv("ROOFTOP_SOURCE");
    return source && source[0] ? source : "auto";
}

const struct counter_ops *counter_source(const char *source)
{
    size_t length = strcspn(source, ":");
    for (const struct counter_ops *const *ops = counter_sources; *ops; ops++)
        if (strlen((*ops)->name) == length && strncmp((*ops)->name, source, length) == 0)
            return *ops;
    return NULL;
}

static void advise_sources(struct counter_failure *failure)
{
    size_t size = sizeof(failure->advice);
    size_t length = (size_t)snprintf(failure->advice, size, "use auto");
    for (const struct counter_ops *const *ops = counter_sources; *ops && length < size; ops++) {
        const char *argument = (*ops)->argument;
        length += (size_t)snprintf(failure->advice + length, size - length, "%s%s%s%s",
                                   ops[1] ? ", " : " or ", (*ops)->name, argument ? ":" : "",
                                   argument ? argument : "");
    }
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
        advise_sources(failure);
        return -EINVAL;
    }
    const char *argument = source[length] == ':' ? source + length + 1 : NULL;
    if (!!argument != !!ops->argument || (argument && !argument[0])) {
        snprintf(failure->reason, sizeof(failure->reason),
                 ops->argument ? "source %s needs an argument: %s:%s"
                               : "source %s takes no argument",
                 ops->name, ops->name, ops->argument);
        return -EINVAL;
    }
    return ops->open(ret, argument, failure);
}

const char *counter_cuda_version(struct counter *counter)
{
    if (!counter->cuda_version[0] && counter->ops->read_cuda_version)
        counter->ops->read_cuda_version(counter);
    return counter->cuda_version;
}

void counter_tell_failure(struct counter *counter, size_t device, char *ret, size_t size)
{
    ret[0] = '\0';
    if (counter->ops->tell_failure)
        counter->ops->tell_failure(counter, device, ret, size);
}

void counter_close(struct counter *counter)
{
    if (counter)
        counter->ops->close(counter);
}
