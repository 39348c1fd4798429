#include "cmd/job.h"

#include <stdio.h>

void job_apply(const struct job_options *options, struct run_options *ret)
{
    ret->source = options->source;
    ret->gpus = options->gpus;
    ret->name = options->name;
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
