/* The waterfall over a stretch of time: from the peak to the work done, step by step, each loss
 * with its name and what to do about it. */
#pragma once

#include "base/strbuf.h"
#include "metric/device.h"
#include "metric/sample.h"

enum { FALL_CAUSES = 8 };
enum fall_step { FALL_CLOCK, FALL_BUSY, FALL_COVERAGE, FALL_PIPE, FALL_STEPS };

/* Sums of seconds × value; all zero to begin with. */
struct fall {
    double seconds;           /* that count: the samples had what the steps need */
    double missed;            /* others */
    double level[FALL_STEPS]; /* product of the factors up to this step, without the clock's */

    double clock_seconds;           /* of those that count: the effective clock was known too; */
    double known_level[FALL_STEPS]; /* the same level in these, */
    double clock_level[FALL_STEPS]; /* and with the clock's factor */
    enum absence no_clock;          /* of the last sample that lacked it */
    enum absence no_step;           /* of the last that did not count */

    double memory, link;      /* Memory and Link SOL; */
    double caches;            /* the former where it was of a cache */
    double held[FALL_CAUSES]; /* seconds in which that held the clock down */
    double achieved_flops, flops_seconds;
    double peak_flops, peak_seconds; /* while something ran */
    double old_path_seconds;         /* of these: looked like mma.sync (sol/tensor_path.h) */
};

/* Adds a derived sample that stands for `seconds`. */
void fall_add(struct fall *fall, const struct device *device, const struct sample *sample,
              double seconds);

static inline bool fall_knows_clock(const struct fall *fall)
{
    return fall->clock_seconds > 0;
}

/* What is left of the peak after a step, 0 to 1. Where the clock is not known, of the peak at the
 * clock that there was, and the first step loses nothing. The product of the factors up to a step
 * is exact: it is the mean of the samples' products. Where the clock is known for a part of the
 * time, that part's stands for all. */
double fall_left(const struct fall *fall, enum fall_step step);
/* The step's factor; 0 where nothing was left before it. */
double fall_factor(const struct fall *fall, enum fall_step step);
/* Points of the peak that the step loses, 0 to 1. */
double fall_lost(const struct fall *fall, enum fall_step step);

const char *fall_name(enum fall_step step);
/* What the step means: "time in which the engine was busy". */
const char *fall_meaning(enum fall_step step);
/* Adds a line on why the step loses what it loses and what helps. */
void fall_advice(const struct fall *fall, enum fall_step step, struct strbuf *out);
