/* What a job used, from the frames that came while it ran. */
#pragma once

#include "base/json.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "counter/frame.h"
#include "metric/device.h"
#include "share/process.h"

enum account_outcome {
    OUTCOME_ENDED, /* by itself, or by a signal that was sent to it */
    OUTCOME_TIMEOUT,
    OUTCOME_OUTSIDE, /* stopped: it used a GPU without MPS, or without its limits */
    OUTCOME_MEMORY,  /* stopped: its processes held more than its slot, or the device was full */
    OUTCOME_FAULT,   /* it caused a GPU fault, alone on the GPU */
    OUTCOME_VICTIM,  /* a fault on a shared GPU took it down, its own or another's */
    OUTCOME_COUNT,
};

/* "timeout" and so on. */
const char *account_outcome_word(enum account_outcome outcome);

struct account_gpu {
    struct device device;
    double seconds;              /* that frames covered */
    double sum[METRIC_COUNT];    /* of value × seconds */
    double weight[METRIC_COUNT]; /* seconds with a value */
    double label[LABEL_COUNT];   /* seconds with each word */
    bool l2_seen;
    double pending;              /* joules, since the driver's counter moved: power over time */
    double pending_share;        /* the job's part of these */
    double settled_share;        /* and of those before */
    uint64_t memory_peak;        /* of all its processes together; 0: never seen */
    double work_begin, work_end; /* the first and the last work on the GPU, in its `seconds` */
    double neighbours;           /* jobs beside it × seconds */
    unsigned most_neighbours;
    bool has_counter, has_moved; /* of energy */
    double last_count, moved_to;
};

struct account {
    double begin; /* of the job, on the monotonic clock; 0: it was not run */
    double wall_seconds;
    double waited_seconds; /* for a slot, MPS and the first reading */
    bool shared;
    double sm_percent;
    uint64_t memory_bytes; /* the slot; 0: none */
    enum account_outcome outcome;
    int exit_code; /* that `run` returns */
    unsigned attempts;
    /* Of the last attempt. */
    double verified_after; /* seconds until the first process was seen to be an MPS client within
                              its limits; 0: never */
    bool seen;             /* a process of it was seen on a GPU */
    bool was_client;       /* the log of MPS has it as a client */
    double mps_lost_after; /* seconds until the MPS daemon ended under it; 0: it did not */
    char note[512];        /* why it was stopped, or "" */
    const char *const *command;
    size_t gpu_count;
    struct account_gpu *gpus;
};

/* What was said of an attempt before is of that only. */
void account_begin_attempt(struct account *account);

/* Seconds of a frame's `interval` that are the job's, which began then on the monotonic clock: the
 * first covers the start of MPS too. 0 where all of the reading is of before. */
double account_interval(const struct reading *reading, double interval, double begin, double now);

/* Takes one reading of the job's GPU. `jobs` is how many share the GPU, itself included; programs
 * without a slot are one together. Returns whether a process of the job holds memory there. */
bool account_add(struct account_gpu *gpu, const struct reading *reading, double interval,
                 const struct process_tree *tree, unsigned jobs);

/* Behind an attempt of the job: what the driver counts until the next one begins is not its. */
void account_pause(struct account_gpu *gpu);

/* The job's share of what the GPU used, in joules; false where that is not known. */
bool account_energy(const struct account_gpu *gpu, double *ret);

/* How long the GPU worked of its `seconds`, by those in which that was seen; 0: not known. */
double account_busy_seconds(const struct account_gpu *gpu);
/* From the first work on the GPU to the last, to a reading's length; 0: none was seen. What a job
 * does before and after is its start and its end; gaps in between are its own. */
double account_span_seconds(const struct account_gpu *gpu);

/* The mean, false where there was no value. */
bool account_mean(const struct account_gpu *gpu, enum metric metric, double *ret);
/* The word of a LABEL metric that held longest, or NULL. */
const char *account_word(const struct account_gpu *gpu, enum metric metric);

void account_write_text(const struct account *account, struct strbuf *out);
void account_write_json(const struct account *account, struct strbuf *out);
