#include "bench/verdict.h"

#include <math.h>
#include <stdbool.h>

/* Less is not worth a change of how jobs are run. */
static const double WORTH_IT = 1.05;
static const double HURTS = 1.5;

static const struct goal {
    const char *name;
    enum measure measure;
} goals[GOAL_COUNT] = {
    [GOAL_THROUGHPUT] = {"throughput", MEASURE_JOBS_PER_HOUR},
    [GOAL_LATENCY] = {"latency", MEASURE_COMPLETION},
    [GOAL_ENERGY] = {"energy", MEASURE_ENERGY_PER_JOB},
};

const char *bench_goal_name(enum bench_goal goal)
{
    return goals[goal].name;
}

enum measure bench_goal_measure(enum bench_goal goal)
{
    return goals[goal].measure;
}

static bool better(enum measure measure, double a, double b)
{
    return measure_info(measure)->better == MEASURE_LOWER ? a < b : a > b;
}

/* A mode in which jobs fail wins nothing. */
static bool competes(const struct bench_summary *summary, enum measure measure, int mode)
{
    return summary->failed_runs[mode] == 0 && measure_known(&summary->of[mode][measure]);
}

struct bench_winner bench_find_winner(const struct bench_summary *summary, enum bench_goal goal)
{
    enum measure measure = goals[goal].measure;
    struct bench_winner winner = {0};
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        if (!competes(summary, measure, mode))
            continue;
        double mean = summary->of[mode][measure].mean;
        if (!winner.known || better(measure, mean, summary->of[winner.best][measure].mean))
            winner.best = (enum bench_mode)mode;
        winner.known = true;
        winner.contenders++;
    }
    for (int mode = 0; winner.known && mode < MODE_COUNT; mode++) {
        if (mode == (int)winner.best || !competes(summary, measure, mode) ||
            measure_apart(&summary->of[winner.best][measure], &summary->of[mode][measure]))
            continue;
        winner.tied[mode] = true;
        winner.tie_count++;
    }
    return winner;
}

bool bench_winner_is_told(const struct bench_winner *winner)
{
    return winner->contenders > 1 && winner->tie_count == 0;
}

void bench_winner_words(const struct bench_summary *summary, enum bench_goal goal,
                        struct strbuf *out)
{
    struct bench_winner winner = bench_find_winner(summary, goal);
    enum measure measure = goals[goal].measure;
    if (!winner.known) {
        strbuf_puts(out, "not known: no mode has a figure");
        return;
    }
    strbuf_printf(out, "%s: ", bench_mode_info(winner.best)->title);
    measure_put_human(out, measure, summary->of[winner.best][measure].mean);
    if (winner.contenders == 1)
        strbuf_puts(out, "; there is no other to compare it with");
    if (winner.tie_count == 0)
        return;
    bool once = summary->of[winner.best][measure].count < 2;
    strbuf_printf(out, "; not told apart by %s: ", once ? "one repeat" : "the repeats");
    size_t left = winner.tie_count;
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (winner.tied[mode]) {
            strbuf_printf(out, "%s (", bench_mode_info((enum bench_mode)mode)->title);
            measure_put_human(out, measure, summary->of[mode][measure].mean);
            strbuf_puts(out, --left > 0 ? "), " : ")");
        }
}

/* By how much it beats the baseline; 0 where that is not known. */
static struct measure_ratio times_alone(const struct bench_summary *summary, int mode)
{
    const struct stats *alone = &summary->of[MODE_EXCLUSIVE][MEASURE_JOBS_PER_HOUR];
    const struct stats *shared = &summary->of[mode][MEASURE_JOBS_PER_HOUR];
    return measure_known(shared) && alone->mean > 0 ? measure_ratio(shared, alone)
                                                    : (struct measure_ratio){0, NAN, NAN};
}

static size_t sampled(const struct bench_summary *summary, int mode)
{
    return summary->of[mode][MEASURE_JOBS_PER_HOUR].count;
}

static bool compared(const struct bench_summary *summary)
{
    size_t shared = 0;
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (mode != MODE_EXCLUSIVE)
            shared += sampled(summary, mode) > 1;
    return shared > 0 && sampled(summary, MODE_EXCLUSIVE) > 1 &&
           summary->failed_runs[MODE_EXCLUSIVE] == 0;
}

/* Of a mode in which jobs failed fewer trials are left: what it promises is then told from the mean
 * alone. */
static enum bench_advice advise(const struct bench_summary *summary, int mode)
{
    if (times_alone(summary, mode).value < WORTH_IT)
        return ADVISE_NOT;
    if (summary->failed_runs[mode] > 0)
        return ADVISE_RISKY;
    return measure_apart(&summary->of[MODE_EXCLUSIVE][MEASURE_JOBS_PER_HOUR],
                         &summary->of[mode][MEASURE_JOBS_PER_HOUR])
               ? ADVISE_SHARE
               : ADVISE_UNSURE;
}

/* A simpler one must also come near by its mean: where repeats are few, much is not told apart. */
static bool as_good(const struct bench_summary *summary, int mode, enum bench_mode best)
{
    return mode != MODE_EXCLUSIVE && advise(summary, mode) == ADVISE_SHARE &&
           (mode > (int)best ||
            times_alone(summary, best).value < WORTH_IT * times_alone(summary, mode).value) &&
           !measure_apart(&summary->of[mode][MEASURE_JOBS_PER_HOUR],
                          &summary->of[best][MEASURE_JOBS_PER_HOUR]);
}

/* Of those whose throughput is not told apart from the best, the first in the table. */
static void choose_simplest(const struct bench_summary *summary, struct bench_decision *decision)
{
    enum bench_mode best = decision->mode;
    for (int mode = MODE_COUNT; mode-- > 0;)
        if (mode == (int)best || as_good(summary, mode, best)) {
            decision->alike[mode] = true;
            decision->alike_count++;
            decision->mode = (enum bench_mode)mode;
        }
}

/* The best of those of which the most can be said. */
static void choose_best(const struct bench_summary *summary, struct bench_decision *decision)
{
    for (int mode = MODE_EXCLUSIVE + 1; mode < MODE_COUNT; mode++) {
        enum bench_advice advice = advise(summary, mode);
        struct measure_ratio times = times_alone(summary, mode);
        if (advice < decision->advice ||
            (advice == decision->advice && times.value <= decision->throughput.value))
            continue;
        decision->advice = advice;
        decision->mode = (enum bench_mode)mode;
        decision->throughput = times;
    }
}

struct bench_decision bench_decide(const struct bench_summary *summary)
{
    struct bench_decision decision = {
        .advice = ADVISE_NOTHING, .throughput = {1, NAN, NAN}, .energy = NAN};
    if (!compared(summary))
        return decision;
    decision.advice = ADVISE_NOT;
    choose_best(summary, &decision);
    if (decision.advice != ADVISE_SHARE)
        return decision;
    choose_simplest(summary, &decision);
    decision.throughput = times_alone(summary, decision.mode);
    const struct stats *alone = &summary->of[MODE_EXCLUSIVE][MEASURE_ENERGY_PER_JOB];
    const struct stats *shared = &summary->of[decision.mode][MEASURE_ENERGY_PER_JOB];
    if (measure_known(alone) && measure_known(shared) && alone->mean > 0 &&
        measure_apart(alone, shared))
        decision.energy = shared->mean / alone->mean;
    return decision;
}

static void put_cost(const struct bench_summary *summary, enum bench_mode mode, struct strbuf *out)
{
    const struct stats *mean = &summary->of[mode][MEASURE_ANTT];
    const struct stats *worst = &summary->of[mode][MEASURE_WORST];
    if (!measure_known(mean) || !measure_known(worst))
        return;
    strbuf_printf(out,
                  " A job that has begun takes %.2f times as long as alone on average, the one "
                  "that loses most %.2f times%s.",
                  mean->mean, worst->mean,
                  worst->mean >= HURTS ? ": think twice where someone waits for a single job" : "");
}

static void put_why_simplest(const struct bench_decision *decision, struct strbuf *out)
{
    const struct bench_mode_info *chosen = bench_mode_info(decision->mode);
    size_t left = decision->alike_count - 1;
    if (left == 0)
        return;
    strbuf_putc(out, ' ');
    for (int mode = (int)decision->mode + 1; mode < MODE_COUNT; mode++)
        if (decision->alike[mode]) {
            strbuf_puts(out, bench_mode_info((enum bench_mode)mode)->title);
            left--;
            strbuf_puts(out, left > 1 ? "; " : left == 1 ? " and " : "");
        }
    strbuf_printf(out, " %s as well, within the spread; %s is simpler to run: %s.",
                  decision->alike_count == 2 ? "does" : "do", chosen->title, chosen->simpler);
}

/* Of a mode in which a job failed in every trial there is no figure. */
static void put_not_judged(const struct bench_summary *summary, struct strbuf *out)
{
    for (int mode = MODE_EXCLUSIVE + 1; mode < MODE_COUNT; mode++)
        if (summary->failed_runs[mode] > 0 && sampled(summary, mode) == 0)
            strbuf_printf(out, " Not judged: %s, in which jobs failed each time.",
                          bench_mode_info((enum bench_mode)mode)->title);
}

void bench_decision_words(const struct bench_summary *summary,
                          const struct bench_decision *decision, struct strbuf *out)
{
    switch (decision->advice) {
    case ADVISE_NOTHING:
        strbuf_puts(out, "The trials do not tell: it takes exclusive and another mode, at least "
                         "two repeats of each in which no job fails, and none that fails alone.");
        return;
    case ADVISE_NOT:
        strbuf_puts(out, "Do not share the GPU among these jobs: no mode that was tried does at "
                         "least 5 % more jobs per hour than one after the other.");
        put_not_judged(summary, out);
        return;
    case ADVISE_UNSURE:
        strbuf_printf(out,
                      "Do not decide yet: %s did %.2f times the jobs per hour of one after the "
                      "other, but the repeats differ so much that this may be chance. Run more of "
                      "them.",
                      bench_mode_info(decision->mode)->title, decision->throughput.value);
        put_not_judged(summary, out);
        return;
    case ADVISE_RISKY:
        strbuf_printf(out,
                      "Do not share yet: %s would do %.2f times the jobs per hour, but %zu "
                      "job%s failed in it",
                      bench_mode_info(decision->mode)->title, decision->throughput.value,
                      summary->failed_runs[decision->mode],
                      summary->failed_runs[decision->mode] == 1 ? "" : "s");
        if (summary->faulted[decision->mode] > 0)
            strbuf_puts(out, ": a GPU fault of one job took others down with it");
        strbuf_putc(out, '.');
        return;
    case ADVISE_SHARE:
        strbuf_printf(out,
                      "Share the GPU (%s): %.2f times the jobs per hour of one after the other",
                      bench_mode_info(decision->mode)->title, decision->throughput.value);
        if (isfinite(decision->energy))
            strbuf_printf(out, ", with %.0f %% %s energy per job", fabs(1 - decision->energy) * 100,
                          decision->energy <= 1 ? "less" : "more");
        strbuf_puts(out, ".");
        put_why_simplest(decision, out);
        put_cost(summary, decision->mode, out);
    }
}
