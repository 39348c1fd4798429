/* What the commands that look at GPUs have in common: the options that say at which, and what is
 * said when that fails. */
#pragma once

#include "base/strbuf.h"
#include "cmd/options.h"
#include "monitor/monitor.h"

/* A member of the command's settings, filled by the rows below. */
struct watch_options {
    const char *source;
    const char *gpus;
    double interval; /* seconds; 0: not given */
    const char *clock;
};

#define OPTION_SOURCE(type, member)                                                                \
    {.name = "source",                                                                             \
     .letter = 's',                                                                                \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(type, member.source),                                                      \
     .argument = "SOURCE",                                                                         \
     .help = "auto, nvml, cupti, replay:FILE[@SPEED] or sim:FILE; SPEED is a factor or max",       \
     .choices = "auto|nvml|cupti|replay:|sim:"}
#define OPTION_LIVE_SOURCE(type, member)                                                           \
    {.name = "source",                                                                             \
     .letter = 's',                                                                                \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(type, member.source),                                                      \
     .argument = "SOURCE",                                                                         \
     .help = "auto, nvml or cupti",                                                                \
     .choices = "auto|nvml|cupti"}
#define OPTION_CLOCK(type, member)                                                                 \
    {.name = "clock",                                                                              \
     .kind = OPTION_CHOICE,                                                                        \
     .offset = offsetof(type, member.clock),                                                       \
     .argument = "WHEN",                                                                           \
     .help = "When CUPTI's counters run: burst, continuous or off",                                \
     .choices = "burst|continuous|off"}
#define OPTION_GPU(type, member)                                                                   \
    {.name = "gpu",                                                                                \
     .letter = 'g',                                                                                \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(type, member.gpus),                                                        \
     .argument = "GPU[,GPU]",                                                                      \
     .help = "Only these: index, UUID or its start, PCI address; MIG: 0/1 or UUID"}
/* `forms` as prose, and as OPTION_CHOICE has them. */
#define OPTION_FORMAT(type, member, forms, form_choices)                                           \
    {.name = "format",                                                                             \
     .letter = 'f',                                                                                \
     .kind = OPTION_CHOICE,                                                                        \
     .offset = offsetof(type, member),                                                             \
     .argument = "FORM",                                                                           \
     .help = forms " (text)",                                                                      \
     .choices = form_choices}
#define OPTION_FROM(type, member)                                                                  \
    {.name = "from",                                                                               \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(type, member),                                                             \
     .argument = "WHERE",                                                                          \
     .help = "Begin at this mark of the recording, or this time in it"}
#define OPTION_INTERVAL(type, member, usual)                                                       \
    {.name = "interval",                                                                           \
     .letter = 'i',                                                                                \
     .kind = OPTION_DURATION,                                                                      \
     .offset = offsetof(type, member.interval),                                                    \
     .argument = "TIME",                                                                           \
     .help = "Time between samples, 0.1 s or more; in a recording, of its own time (" usual ")"}

/* Opens what the options name; `usual_interval` counts where none was given (0: the source's own).
 * Returns EXIT_DONE, or another exit code with the reason and the advice on stderr. */
MUST_CHECK int watch_open(const struct command *command, const struct watch_options *options,
                          double usual_interval, struct monitor **ret);

/* Says on stderr why a source did not open; returns the exit code that goes with it. */
int watch_failed(const struct command *command, int error, const struct counter_failure *failure);

/* The same of one that was open, and with the file of a recording that turned out to be damaged. */
int watch_broken(const struct command *command, const struct monitor *monitor, int error);

/* The time, since 1970, of what --from names in a recording: a time from its beginning, such as
 * "30s", the mark of that name, or a time behind a mark, "NAME+5s". Returns EXIT_DONE, or another
 * exit code after saying why. */
MUST_CHECK int watch_find_place(const struct command *command, const struct monitor *monitor,
                                const char *where, double *ret_time);
/* Goes there. */
MUST_CHECK int watch_seek(const struct command *command, struct monitor *monitor,
                          const char *where);

/* The exit code for a source that did not open. */
int watch_exit_code(int error);

/* Writes all of it to standard output at once. Call output_start() before the first.
 * Returns 0, -ENOMEM (the text is not whole), -EPIPE (nobody reads it any more: end quietly with
 * EXIT_DONE) or another −errno. */
MUST_CHECK int output_write(const struct strbuf *text);
/* A reader that has gone shall end the command, not kill it. */
void output_start(void);
/* The exit code after output_write() returned `r`; says what went wrong. */
int output_result(const struct command *command, int r);
/* The three in one, for a command that prints once. */
int output_all(const struct command *command, const struct strbuf *text);
