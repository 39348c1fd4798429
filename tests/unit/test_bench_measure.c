/* Every expected value is worked out by hand. */
#include "bench/measure.h"

#include <stdio.h>
#include <string.h>

#include "bench/verdict.h"
#include "cmocka_test.h"

enum { JOBS = 2 };

/* Two jobs, a and b, one of each. */
static void make_plan(struct bench_plan *plan)
{
    static const char text[] = "[a]\ncommand = x\n[b]\ncommand = y\n";
    struct ini_error error;
    assert_int_equal(bench_plan_parse(plan, "f", text, strlen(text), &error), 0);
}

static struct bench_trial trial_of(enum bench_mode mode, unsigned repeat, struct bench_run *runs,
                                   double joules)
{
    struct bench_trial trial = {
        .mode = mode, .repeat = repeat, .run_count = JOBS, .runs = runs, .time = 1};
    for (int i = 0; i < MEASURE_COUNT; i++)
        trial.seen[i] = NAN;
    trial.seen[MEASURE_ENERGY] = joules;
    return trial;
}

static void measures_of_one_trial(void **state)
{
    (void)state;
    struct bench_run runs[JOBS] = {{.begin = 0, .end = 20}, {.begin = 0, .end = 50}};
    const double alone[JOBS] = {10, 40};
    struct bench_trial trial = trial_of(MODE_MPS, 0, runs, 1000);
    trial.seen[MEASURE_COMPUTE_SOL] = 0.25;
    double values[MEASURE_COUNT];
    bench_measure(&trial, alone, values);
    assert_near(values[MEASURE_MAKESPAN], 50, 1e-12);
    assert_near(values[MEASURE_JOBS_PER_HOUR], 2 / 50.0 * 3600, 1e-9);
    assert_near(values[MEASURE_COMPLETION], 35, 1e-12);
    /* Progress 10/20 = 0.5 and 40/50 = 0.8. */
    assert_near(values[MEASURE_STP], 1.3, 1e-12);
    assert_near(values[MEASURE_ANTT], (2 + 1.25) / 2, 1e-12);
    assert_near(values[MEASURE_WORST], 2, 1e-12);
    assert_near(values[MEASURE_FAIRNESS], 0.5 / 0.8, 1e-12);
    assert_near(values[MEASURE_ENERGY_PER_JOB], 500, 1e-12);
    assert_near(values[MEASURE_POWER], 20, 1e-12);
    assert_near(values[MEASURE_COMPUTE_SOL], 0.25, 0);
    assert_true(isnan(values[MEASURE_MEMORY_SOL]));
}

static void one_after_the_other(void **state)
{
    (void)state;
    struct bench_run runs[JOBS] = {{.begin = 0, .end = 10}, {.begin = 10, .end = 50}};
    const double alone[JOBS] = {10, 40};
    struct bench_trial trial = trial_of(MODE_EXCLUSIVE, 0, runs, 5000);
    double values[MEASURE_COUNT];
    bench_measure(&trial, alone, values);
    assert_near(values[MEASURE_MAKESPAN], 50, 1e-12);
    assert_near(values[MEASURE_COMPLETION], 30, 1e-12); /* the second waits for the first */
    assert_near(values[MEASURE_STP], 1, 1e-12);
    assert_near(values[MEASURE_ANTT], 1, 1e-12);
    assert_near(values[MEASURE_POWER], 100, 1e-12);
}

static void jobs_of_hours_have_a_rate(void **state)
{
    (void)state;
    struct strbuf text = {0};
    measure_put_human(&text, MEASURE_JOBS_PER_HOUR, 0.0417); /* one a day */
    assert_string_equal(strbuf_text(&text), "0.042");
    strbuf_free(&text);
}

static void a_failed_job_makes_nothing_look_fast(void **state)
{
    (void)state;
    struct bench_run runs[JOBS] = {{.begin = 0, .end = 1, .outcome = BENCH_FAILED},
                                   {.begin = 0, .end = 40}};
    const double alone[JOBS] = {10, 40};
    struct bench_trial trial = trial_of(MODE_MPS, 0, runs, 800);
    double values[MEASURE_COUNT];
    bench_measure(&trial, alone, values);
    for (int i = 0; i < MEASURE_COUNT; i++)
        assert_true(isnan(values[i]));
}

/* `repeats` trials of a mode whose second job ends at end[i]; the first at half of it. */
struct series {
    struct bench_run runs[16][JOBS];
    struct bench_trial trials[16];
    struct bench_trials all;
};

static void add_series(struct series *series, enum bench_mode mode, const double *end, size_t count,
                       double joules)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = series->all.count++;
        struct bench_run *runs = series->runs[k];
        runs[0] = (struct bench_run){.end = end[i] / 2};
        runs[1] =
            (struct bench_run){.begin = mode == MODE_EXCLUSIVE ? end[i] / 2 : 0, .end = end[i]};
        series->trials[k] = trial_of(mode, (unsigned)i, runs, joules);
    }
    series->all.trials = series->trials;
}

static void summarizes_over_repeats(void **state)
{
    (void)state;
    struct bench_plan plan;
    make_plan(&plan);
    struct series series = {0};
    add_series(&series, MODE_EXCLUSIVE, (const double[]){98, 100, 102}, 3, 1000);
    add_series(&series, MODE_MPS, (const double[]){58, 60, 62}, 3, 600);
    struct bench_summary summary;
    assert_int_equal(bench_summarize(&plan, &series.all, &summary), 0);
    assert_int_equal(summary.trial_count[MODE_MPS], 3);
    const struct stats *makespan = &summary.of[MODE_MPS][MEASURE_MAKESPAN];
    assert_near(makespan->mean, 60, 1e-12);
    assert_near(stats_deviation(makespan), 2, 1e-12);
    /* 95 %, 2 degrees of freedom: t = 4.303. */
    assert_near(measure_interval(makespan), 4.303 * 2 / sqrt(3), 1e-3);
    /* Alone each takes 50 s on average; shared the first 30, the second 60. */
    assert_near(summary.slowdown[0 * MODE_COUNT + MODE_MPS].mean, 0.6, 1e-12);
    assert_near(summary.slowdown[1 * MODE_COUNT + MODE_MPS].mean, 1.2, 1e-12);
    assert_near(summary.seconds[1 * MODE_COUNT + MODE_EXCLUSIVE].mean, 50, 1e-12);
    bench_summary_free(&summary);
    bench_plan_free(&plan);
}

static void decide(const double *mps, size_t mps_count, const double *equal, size_t equal_count,
                   struct bench_decision *ret, struct bench_winner *ret_winner, char *ret_words)
{
    struct bench_plan plan;
    make_plan(&plan);
    struct series series = {0};
    add_series(&series, MODE_EXCLUSIVE, (const double[]){99, 100, 101}, 3, 1000);
    add_series(&series, MODE_MPS, mps, mps_count, 600);
    add_series(&series, MODE_MPS_EQUAL, equal, equal_count, 500);
    struct bench_summary summary;
    assert_int_equal(bench_summarize(&plan, &series.all, &summary), 0);
    *ret = bench_decide(&summary);
    *ret_winner = bench_find_winner(&summary, GOAL_THROUGHPUT);
    struct strbuf words = {0};
    bench_decision_words(&summary, ret, &words);
    snprintf(ret_words, 512, "%s", strbuf_text(&words));
    strbuf_free(&words);
    bench_summary_free(&summary);
    bench_plan_free(&plan);
}

static void a_clear_winner_is_named(void **state)
{
    (void)state;
    struct bench_decision decision;
    struct bench_winner winner;
    char words[512];
    decide((const double[]){69, 70, 71}, 3, (const double[]){39.6, 40, 40.4}, 3, &decision, &winner,
           words);
    assert_true(winner.known);
    assert_int_equal(winner.best, MODE_MPS_EQUAL);
    assert_int_equal(winner.tie_count, 0);
    assert_int_equal(decision.advice, ADVISE_SHARE);
    assert_int_equal(decision.mode, MODE_MPS_EQUAL);
    assert_near(decision.throughput.value, 2.5, 1e-3);
    assert_near(decision.energy, 0.5, 1e-9);
    assert_string_equal(
        words, "Share the GPU (MPS, equal limits): 2.50 times the jobs per hour of one "
               "after the other, with 50 % less energy per job. A job that has begun takes "
               "0.60 times as long as alone on average, the one that loses most 0.80 times.");
}

static void a_tie_goes_to_what_asks_for_least(void **state)
{
    (void)state;
    struct bench_decision decision;
    struct bench_winner winner;
    char words[512];
    decide((const double[]){40, 42, 44}, 3, (const double[]){39, 41, 43}, 3, &decision, &winner,
           words);
    assert_int_equal(winner.best, MODE_MPS_EQUAL);
    assert_int_equal(winner.tie_count, 1);
    assert_true(winner.tied[MODE_MPS]);
    assert_int_equal(decision.mode, MODE_MPS);
    assert_non_null(strstr(words,
                           " MPS, equal limits does as well, within the spread; MPS is simpler "
                           "to run: it needs no limits."));
}

static void modes_apart_are_no_tie(void **state)
{
    (void)state;
    struct bench_decision decision;
    struct bench_winner winner;
    char words[512];
    /* Welch's interval is 2.776 · sqrt(2/3) = 2.27 s at 95 %, and 3.76 s at 99 %. */
    decide((const double[]){42, 43, 44}, 3, (const double[]){39, 40, 41}, 3, &decision, &winner,
           words);
    assert_int_equal(decision.mode, MODE_MPS_EQUAL);
    assert_int_equal(winner.tie_count, 0);
    assert_null(strstr(words, "as well"));
}

static void says_not_to_share(void **state)
{
    (void)state;
    struct bench_decision decision;
    struct bench_winner winner;
    char words[512];
    decide((const double[]){97, 97.1, 97.2}, 3, (const double[]){120, 121, 122}, 3, &decision,
           &winner, words);
    assert_int_equal(decision.advice, ADVISE_NOT); /* 3 % is not worth it */
    assert_non_null(strstr(words, "Do not share"));
}

/* Twice as fast by the mean, and 2 repeats of a spread as large say nothing against sharing. */
static void a_gain_that_may_be_chance_is_no_refusal(void **state)
{
    (void)state;
    struct bench_decision decision;
    struct bench_winner winner;
    char words[512];
    decide((const double[]){40, 90}, 2, (const double[]){97, 97.1, 97.2}, 3, &decision, &winner,
           words);
    assert_int_equal(decision.advice, ADVISE_UNSURE);
    assert_int_equal(decision.mode, MODE_MPS);
    assert_non_null(strstr(words, "Do not decide yet: MPS did 1.81 times"));
}

static void a_tie_by_spread_alone_gives_nothing_away(void **state)
{
    (void)state;
    struct bench_decision decision;
    struct bench_winner winner;
    char words[512];
    decide((const double[]){42, 50, 58}, 3, (const double[]){39.9, 40, 40.1}, 3, &decision, &winner,
           words);
    assert_true(winner.tied[MODE_MPS]);
    assert_int_equal(decision.mode, MODE_MPS_EQUAL);
    assert_null(strstr(words, "as well"));
}

static void one_repeat_tells_nothing(void **state)
{
    (void)state;
    struct bench_decision decision;
    struct bench_winner winner;
    char words[512];
    decide((const double[]){40}, 1, (const double[]){40}, 0, &decision, &winner, words);
    assert_int_equal(decision.advice, ADVISE_NOTHING);
    assert_int_equal(winner.tie_count, 1);
}

static void failures_forbid(void **state)
{
    (void)state;
    struct bench_plan plan;
    make_plan(&plan);
    struct series series = {0};
    add_series(&series, MODE_EXCLUSIVE, (const double[]){99, 100, 101}, 3, 1000);
    add_series(&series, MODE_MPS, (const double[]){39, 40, 41}, 3, 600);
    series.runs[4][0].outcome = BENCH_FAILED;
    series.runs[4][1].end = 1; /* enters nothing */
    struct bench_summary summary;
    assert_int_equal(bench_summarize(&plan, &series.all, &summary), 0);
    assert_int_equal(summary.trial_count[MODE_MPS], 3);
    for (int i = 0; i < MEASURE_COUNT; i++)
        assert_true(summary.of[MODE_MPS][i].count == 0 || summary.of[MODE_MPS][i].count == 2);
    assert_near(summary.of[MODE_MPS][MEASURE_MAKESPAN].mean, 40, 1e-9);
    struct bench_decision decision = bench_decide(&summary);
    assert_int_equal(decision.advice, ADVISE_RISKY);
    assert_int_equal(bench_find_winner(&summary, GOAL_THROUGHPUT).best, MODE_EXCLUSIVE);
    struct strbuf words = {0};
    bench_decision_words(&summary, &decision, &words);
    assert_non_null(strstr(strbuf_text(&words), "1 job failed"));
    strbuf_free(&words);
    bench_summary_free(&summary);
    bench_plan_free(&plan);
}

static void what_only_fails_is_not_judged(void **state)
{
    (void)state;
    struct bench_plan plan;
    make_plan(&plan);
    struct series series = {0};
    add_series(&series, MODE_EXCLUSIVE, (const double[]){99, 100, 101}, 3, 1000);
    add_series(&series, MODE_TIME_SLICING, (const double[]){99, 100, 101}, 3, 1000);
    add_series(&series, MODE_MPS, (const double[]){39, 40}, 2, 600);
    series.runs[6][0].outcome = series.runs[7][0].outcome = BENCH_FAILED;
    struct bench_summary summary;
    assert_int_equal(bench_summarize(&plan, &series.all, &summary), 0);
    struct bench_decision decision = bench_decide(&summary);
    struct strbuf words = {0};
    bench_decision_words(&summary, &decision, &words);
    assert_int_equal(decision.advice, ADVISE_NOT);
    assert_non_null(strstr(strbuf_text(&words), "Not judged: MPS, in which jobs failed each time"));
    strbuf_free(&words);
    bench_summary_free(&summary);
    bench_plan_free(&plan);
}

static void one_mode_alone_wins_nothing(void **state)
{
    (void)state;
    struct bench_plan plan;
    make_plan(&plan);
    struct series series = {0};
    add_series(&series, MODE_EXCLUSIVE, (const double[]){99, 100, 101}, 3, 1000);
    struct bench_summary summary;
    assert_int_equal(bench_summarize(&plan, &series.all, &summary), 0);
    struct bench_winner winner = bench_find_winner(&summary, GOAL_THROUGHPUT);
    assert_true(winner.known);
    assert_false(bench_winner_is_told(&winner));
    bench_summary_free(&summary);
    bench_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_of_one_trial),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(jobs_of_hours_have_a_rate),
        cmocka_unit_test(a_failed_job_makes_nothing_look_fast),
        cmocka_unit_test(summarizes_over_repeats),
        cmocka_unit_test(a_clear_winner_is_named),
        cmocka_unit_test(a_tie_goes_to_what_asks_for_least),
        cmocka_unit_test(modes_apart_are_no_tie),
        cmocka_unit_test(says_not_to_share),
        cmocka_unit_test(a_gain_that_may_be_chance_is_no_refusal),
        cmocka_unit_test(a_tie_by_spread_alone_gives_nothing_away),
        cmocka_unit_test(one_repeat_tells_nothing),
        cmocka_unit_test(failures_forbid),
        cmocka_unit_test(what_only_fails_is_not_judged),
        cmocka_unit_test(one_mode_alone_wins_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
