/* What the commands that run a job have in common: the options that say where, and what is said
 * when it could not be run. */
#pragma once

#include "cmd/options.h"
#include "share/run.h"

/* A member of the command's settings, filled by the rows below. */
struct job_options {
    const char *source;
    const char *gpus;
    const char *name;
    const char *clock;
    double wait;
    bool beside;
};

/* "burst" where the source is chosen by itself; NULL, which is off, where it is not. */
const char *job_usual_clock(const char *source);

#define OPTION_JOB_GPU(type, member)                                                               \
    {.name = "gpu",                                                                                \
     .letter = 'g',                                                                                \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(type, member.gpus),                                                        \
     .argument = "GPU[,GPU]",                                                                      \
     .help = "On these only: index, UUID or its start, PCI address, MIG UUID"}
#define OPTION_JOB_NAME(type, member, what)                                                        \
    {.name = "name",                                                                               \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(type, member.name),                                                        \
     .argument = "NAME",                                                                           \
     .help = what}
#define OPTION_JOB_WAIT(type, member)                                                              \
    {.name = "wait",                                                                               \
     .letter = 'w',                                                                                \
     .kind = OPTION_DURATION,                                                                      \
     .offset = offsetof(type, member.wait),                                                        \
     .argument = "TIME",                                                                           \
     .help = "Wait so long for a GPU, or for room on one"}
#define OPTION_JOB_BESIDE(type, member)                                                            \
    {.name = "beside",                                                                             \
     .kind = OPTION_FLAG,                                                                          \
     .offset = offsetof(type, member.beside),                                                      \
     .help = "Also on GPUs that programs without a slot use"}
#define OPTION_JOB_SOURCE(type, member)                                                            \
    {.name = "source",                                                                             \
     .letter = 's',                                                                                \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(type, member.source),                                                      \
     .argument = "SOURCE",                                                                         \
     .help = "What measures it: auto or nvml",                                                     \
     .choices = "auto|nvml"}

#define OPTION_JOB_CLOCK(type, member, usual)                                                      \
    {.name = "clock",                                                                              \
     .kind = OPTION_CHOICE,                                                                        \
     .offset = offsetof(type, member.clock),                                                       \
     .argument = "WHEN",                                                                           \
     .help = "CUPTI's counters, for the effective clock: burst or off (" usual ")",                \
     .choices = "burst|off"}

/* Fills what these options say. */
void job_apply(const struct job_options *options, struct run_options *ret);

/* Runs it to its end; run_free() the account in any case. Returns EXIT_DONE, whatever the job's own
 * exit code is, or another exit code after saying why it was not run. */
MUST_CHECK int job_run(const struct command *command, const struct run_options *options,
                       struct account *ret);
