/* Which mode to choose, only as far as the spread allows to say so. Pure functions. */
#pragma once

#include "bench/measure.h"

enum bench_goal { GOAL_THROUGHPUT, GOAL_LATENCY, GOAL_ENERGY, GOAL_COUNT };

const char *bench_goal_name(enum bench_goal goal);
/* The measure that it goes by: jobs per hour, mean time until a job is done, energy per job. */
enum measure bench_goal_measure(enum bench_goal goal);

struct bench_winner {
    bool known;           /* some mode has the measure */
    size_t contenders;    /* modes that have it, and in which no job failed */
    enum bench_mode best; /* by its mean */
    /* Modes that the repeats do not tell apart from it (measure_apart). With one repeat that is all
     * of them. */
    bool tied[MODE_COUNT];
    size_t tie_count;
};

struct bench_winner bench_find_winner(const struct bench_summary *summary, enum bench_goal goal);
/* It is better than another, and no other is as good. */
bool bench_winner_is_told(const struct bench_winner *winner);
/* "MPS, equal limits: 6467; not told apart by the repeats: MPS, own limits (6450)", or why nothing
 * can be said. */
void bench_winner_words(const struct bench_summary *summary, enum bench_goal goal,
                        struct strbuf *out);

/* From the one of which least can be said to the one of which most can. */
enum bench_advice {
    ADVISE_NOTHING, /* the trials do not tell */
    ADVISE_NOT,     /* no mode is faster than one after the other by 5 % */
    ADVISE_UNSURE,  /* a mode is, but the spread does not tell it from chance */
    ADVISE_RISKY,   /* a mode is, but jobs failed in it */
    ADVISE_SHARE,
};

struct bench_decision {
    enum bench_advice advice;
    enum bench_mode mode;            /* of which it speaks; none before ADVISE_UNSURE */
    struct measure_ratio throughput; /* the jobs per hour by those of one after the other */
    double energy;                   /* of it per job, NAN where the spread does not tell */
    /* Where it is to share: the modes whose throughput is not told apart from the best, `mode`
     * among them. */
    bool alike[MODE_COUNT];
    size_t alike_count;
};

/* Where several modes win and cannot be told apart, the one that asks for least: the first in
 * mode.def. */
struct bench_decision bench_decide(const struct bench_summary *summary);
/* One or two sentences for someone who has to decide. */
void bench_decision_words(const struct bench_summary *summary,
                          const struct bench_decision *decision, struct strbuf *out);
