/* Which mode to choose, only as far as the spread allows to say so. Pure functions. */
#pragma once

#include "bench/measure.h"

enum bench_goal { GOAL_THROUGHPUT, GOAL_LATENCY, GOAL_ENERGY, GOAL_COUNT };

const char *bench_goal_name(enum bench_goal goal);
/* The measure that it goes by: jobs per hour, mean time until a job is done, energy per job. */
enum measure bench_goal_measure(enum bench_goal goal);

struct bench_winner {
    bool known;           /* some mode has the measure */
    enum bench_mode best; /* by its mean */
    /* Modes that the spread does not tell apart from it: Welch's 99 % interval of the difference
     * (base/stats.h) holds 0. With one repeat that is all of them. */
    bool tied[MODE_COUNT];
    size_t tie_count;
};

struct bench_winner bench_find_winner(const struct bench_summary *summary, enum bench_goal goal);
/* "MPS, equal limits: 2.81 times …" or why nothing can be said. */
void bench_winner_words(const struct bench_summary *summary, enum bench_goal goal,
                        struct strbuf *out);

enum bench_advice {
    ADVISE_NOTHING, /* the trials do not tell */
    ADVISE_SHARE,
    ADVISE_NOT,   /* no mode is faster than one after the other by more than 5 % and the spread */
    ADVISE_RISKY, /* a mode is faster, but jobs failed in it */
};

struct bench_decision {
    enum bench_advice advice;
    enum bench_mode mode; /* where it is to share */
    double throughput;    /* times the jobs per hour of one after the other */
    double energy;        /* of it per job, NAN where the spread does not tell */
};

/* Where several modes win and cannot be told apart, the one that asks for least: time-slicing
 * before MPS, that before limits. */
struct bench_decision bench_decide(const struct bench_summary *summary);
/* One or two sentences for someone who has to decide. */
void bench_decision_words(const struct bench_summary *summary,
                          const struct bench_decision *decision, struct strbuf *out);
