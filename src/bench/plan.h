/* JOBS.ini: the jobs that `rooftop bench` runs, in which modes, and how often. */
#pragma once

#include <stdint.h>

#include "base/ini.h"
#include "base/strbuf.h"
#include "bench/mode.h"
#include "share/mps.h"

enum { BENCH_MOST_JOBS = 64, BENCH_MOST_INSTANCES = 256, BENCH_MOST_REPEATS = 100 };

/* How a job says that it has warmed up. */
enum bench_ready {
    READY_EXEC, /* not at all: its time runs from its start */
    READY_FILE, /* it makes the file that $ROOFTOP_READY names */
    READY_LINE, /* it prints a line that holds a text */
};

/* What keeps a job that has warmed up from going on. */
enum bench_hold {
    HOLD_UNSAID,
    HOLD_GO,   /* it waits itself until the file that $ROOFTOP_GO names is there */
    HOLD_STOP, /* it is stopped, and continued at the start */
};

struct bench_job {
    char name[INI_NAME_SIZE];
    char *command;      /* for /bin/sh */
    char *folder;       /* NULL: where bench was started */
    char **environment; /* "NAME=VALUE", NULL-terminated, or NULL */
    size_t environment_count;
    unsigned count; /* how many of it at once */
    enum bench_ready ready;
    char *ready_line;
    enum bench_hold hold;
    char *done_line;   /* it is done when it prints a line that holds this; NULL: when it ends */
    char *profile;     /* the key of its profile where it is not its name, or NULL */
    double sm_percent; /* 0: not known */
    uint64_t memory_bytes;               /* 0: not known */
    char sm_from[160], memory_from[128]; /* where they come from; "": JOBS.ini */
    double seconds;                      /* that one is expected to take alone; 0: not given */
};

struct bench_plan {
    char title[128];
    enum bench_mode modes[MODE_COUNT];
    size_t mode_count;
    unsigned repeats;
    double timeout;         /* seconds, of each job */
    double warm_up_timeout; /* seconds */
    double settle;          /* seconds of rest before each trial */
    size_t job_count;
    struct bench_job *jobs;
    size_t instance_count; /* jobs × their counts */
    char no_limits[640];   /* why the mode mps-limits cannot be run; "": it can */
};

/* One run of all jobs in one mode. */
struct bench_turn {
    enum bench_mode mode;
    unsigned repeat; /* from 0 */
};

/* `file` is what messages call the text. Returns 0; -EINVAL with `error` naming file and line; or
 * -ENOMEM. */
MUST_CHECK int bench_plan_parse(struct bench_plan *ret, const char *file, const char *text,
                                size_t length, struct ini_error *error);
void bench_plan_free(struct bench_plan *plan);

bool bench_plan_has(const struct bench_plan *plan, enum bench_mode mode);
size_t bench_plan_turns(const struct bench_plan *plan);
/* Repeats are interleaved over the modes, and each repeat begins with another mode: what changes
 * slowly, such as the temperature, falls on all of them alike. */
struct bench_turn bench_plan_turn(const struct bench_plan *plan, size_t i);

/* The job of an instance, instances being counted through; `ret_number` is its number from 1. */
const struct bench_job *bench_plan_instance(const struct bench_plan *plan, size_t instance,
                                            unsigned *ret_number);

/* "train.2", or "train" where there is one of it. */
void bench_plan_instance_name(const struct bench_plan *plan, size_t instance, char *ret,
                              size_t size);

/* Seconds that the jobs of a trial take in that mode, from what JOBS.ini expects of them, between
 * these; false where it does not say so of each job. */
bool bench_plan_expect(const struct bench_plan *plan, enum bench_mode mode, double *ret_low,
                       double *ret_high);

/* What a job gets in that mode of a GPU with so many bytes: whole percents, since MPS grants no
 * more, 100 where nothing limits it; 0 bytes: no limit. */
struct mps_limits bench_plan_limits(const struct bench_plan *plan, enum bench_mode mode,
                                    const struct bench_job *job, uint64_t device_bytes);

/* What would be run, and how long it takes. */
void bench_plan_describe(const struct bench_plan *plan, struct strbuf *out);
/* "3 min 20 s" */
void bench_put_duration(struct strbuf *out, double seconds);
