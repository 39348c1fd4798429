#include "cmd/job.h"

#include <stdio.h>
#include <string.h>

#include "counter/counter.h"

const char *job_usual_clock(const char *source)
{
    return strcmp(counter_usual_source(source), "auto") == 0 ? "burst" : NULL;
}

/* Not where counters were never asked for, and not beside other jobs' work. */
static const char *usual_clock(const struct job_options *options, enum run_mode mode)
{
    return mode == RUN_EXCLUSIVE ? job_usual_clock(options->source) : NULL;
}

void job_apply(const struct job_options *options, struct run_options *ret)
{
    ret->source = options->source;
    ret->gpus = options->gpus;
    ret->name = options->name;
    ret->clock = options->clock ? options->clock : usual_clock(options, ret->mode);
    ret->wait = options->wait;
    ret->beside = options->beside;
}

int job_run(const struct command *command, const struct run_options *options, struct account *ret)
{
    struct counter_failure failure;
    enum run_result result = run_job(options, ret, &failure);
    if (result == RUN_DONE)
        return EXIT_DONE;
    run_error(command, "%s", failure.reason[0] ? failure.reason : "it failed");
    if (failure.advice[0])
        fprintf(stderr, "%s\n", failure.advice);
    switch (result) {
    case RUN_WRONG:
        return EXIT_USAGE;
    case RUN_NO_GPU:
        return EXIT_NO_GPU;
    case RUN_INTERRUPTED:
        return ret->exit_code;
    default:
        return EXIT_FAILED;
    }
}
