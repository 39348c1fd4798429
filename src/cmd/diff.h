/* One side of `rooftop diff`: what a part of a recording says of each metric. */
#pragma once

#include "base/stats.h"
#include "cmd/options.h"
#include "counter/counter.h"

enum { DIFF_LABELS = LABEL_COUNT };

/* Of one GPU and metric, over the blocks of a second. */
struct diff_metric {
    struct stats blocks;
    double seconds[DIFF_LABELS]; /* with each word, where the unit is label */
    enum absence absence;        /* of the last sample, where there is no value at all */
};

struct diff_gpu {
    struct device device;
    struct diff_metric metric[METRIC_COUNT];
};

struct diff_side {
    double seconds; /* length of what is compared */
    size_t gpu_count;
    struct diff_gpu *gpus;
};

struct diff_part {
    const char *text; /* "FILE" or "FILE#MARK" */
    double from, to;  /* seconds from the begin, where no mark is named; to 0: the end */
    const char *gpus; /* as --gpu takes them, or NULL */
};

/* Returns EXIT_DONE, or another exit code with the reason on stderr. */
MUST_CHECK int diff_read(const struct command *command, const struct diff_part *part,
                         struct diff_side *ret);
void diff_free(struct diff_side *side);

/* Whether the metric can be averaged: words are counted, and times and flags say nothing so. */
bool diff_is_mean(enum metric metric);
