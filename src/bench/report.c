#include "bench/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

static const struct bench_report_form forms[] = {
    {"text", bench_report_text},
    {"json", bench_report_json},
    {"csv", bench_report_csv},
    {"html", bench_report_html},
};

const struct bench_report_form *bench_report_form(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (strcmp(forms[i].name, name) == 0)
            return &forms[i];
    return NULL;
}

bool bench_report_has(const struct bench_report *report, int mode)
{
    return report->summary->trial_count[mode] > 0;
}

bool bench_report_knows(const struct bench_report *report, enum measure measure)
{
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (measure_known(&report->summary->of[mode][measure]))
            return true;
    return false;
}

bool bench_report_has_failures(const struct bench_report *report)
{
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (report->summary->failed_runs[mode] > 0)
            return true;
    return false;
}

void bench_report_put_fault(const struct bench_report *report, const struct bench_trial *trial,
                            struct strbuf *out)
{
    size_t left = bench_fault_count(trial);
    if (left == 1)
        strbuf_puts(out, "a GPU fault of its own took down ");
    else if (left > 0)
        strbuf_puts(out, "a GPU fault of one of them took down ");
    for (size_t k = 0; k < trial->run_count && left > 0; k++) {
        char name[INI_NAME_SIZE + 8];
        if (trial->runs[k].outcome != BENCH_FAULT)
            continue;
        bench_plan_instance_name(&report->result->plan, k, name, sizeof(name));
        left--;
        strbuf_printf(out, "%s%s", name, left > 1 ? ", " : left == 1 ? " and " : "");
    }
    if (bench_fault_count(trial) > 1)
        strbuf_puts(out, "; MPS does not say whose it was");
}

const char *bench_report_clock_note(const struct bench_report *report)
{
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (bench_report_has(report, mode) &&
            !measure_known(&report->summary->of[mode][MEASURE_EFFECTIVE_CLOCK]))
            return "The effective clock is not known of every mode: it takes CUPTI's counters "
                   "(`rooftop doctor`), in bursts that short trials may go without (--clock "
                   "continuous). NVML's SM clock reads too high while tensor cores work.";
    return NULL;
}

/* ---- JSON ---- */

static void json_stats(struct json *json, const char *key, const struct stats *stats)
{
    json_key(json, key);
    if (!measure_known(stats)) {
        json_add_null(json);
        return;
    }
    json_object_begin(json);
    json_key(json, "mean");
    json_add_number_digits(json, stats->mean, 9);
    json_key(json, "interval");
    json_add_number_digits(json, measure_interval(stats), 9);
    json_key(json, "deviation");
    json_add_number_digits(json, stats->count < 2 ? NAN : stats_deviation(stats), 9);
    json_key(json, "count");
    json_add_integer(json, (int64_t)stats->count);
    json_object_end(json);
}

static void json_mode(struct json *json, const struct bench_report *report, enum bench_mode mode)
{
    const struct bench_plan *plan = &report->result->plan;
    json_object_begin(json);
    json_key(json, "mode");
    json_add_text(json, bench_mode_info(mode)->name);
    json_key(json, "trials");
    json_add_integer(json, (int64_t)report->summary->trial_count[mode]);
    json_key(json, "faulted_trials");
    json_add_integer(json, (int64_t)report->summary->faulted[mode]);
    json_key(json, "failed_jobs");
    json_add_integer(json, (int64_t)report->summary->failed_runs[mode]);
    for (int i = 0; i < MEASURE_COUNT; i++)
        json_stats(json, measure_info((enum measure)i)->name, &report->summary->of[mode][i]);
    json_key(json, "jobs");
    json_array_begin(json);
    for (size_t job = 0; job < plan->job_count; job++) {
        json_object_begin(json);
        json_key(json, "name");
        json_add_text(json, plan->jobs[job].name);
        json_stats(json, "seconds", &report->summary->seconds[job * MODE_COUNT + mode]);
        json_stats(json, "slowdown", &report->summary->slowdown[job * MODE_COUNT + mode]);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void json_winners(struct json *json, const struct bench_report *report)
{
    json_key(json, "winners");
    json_object_begin(json);
    for (int goal = 0; goal < GOAL_COUNT; goal++) {
        struct bench_winner winner = bench_find_winner(report->summary, (enum bench_goal)goal);
        json_key(json, bench_goal_name((enum bench_goal)goal));
        json_add_text_or_null(
            json, bench_winner_is_told(&winner) ? bench_mode_info(winner.best)->name : "");
    }
    json_object_end(json);
}

static void json_decision(struct json *json, const struct bench_report *report)
{
    static const char *const words[] = {
        [ADVISE_NOTHING] = "not_known", [ADVISE_NOT] = "do_not_share", [ADVISE_UNSURE] = "unsure",
        [ADVISE_RISKY] = "risky",       [ADVISE_SHARE] = "share",
    };
    bool shares = report->decision.advice == ADVISE_SHARE;
    struct strbuf sentence = {0};
    bench_decision_words(report->summary, &report->decision, &sentence);
    json_key(json, "decision");
    json_object_begin(json);
    json_key(json, "advice");
    json_add_text(json, words[report->decision.advice]);
    json_key(json, "mode");
    json_add_text_or_null(json, shares ? bench_mode_info(report->decision.mode)->name : "");
    json_key(json, "jobs_per_hour_ratio");
    json_add_number_digits(json, shares ? report->decision.throughput.value : NAN, 6);
    json_key(json, "jobs_per_hour_ratio_low");
    json_add_number_digits(json, shares ? report->decision.throughput.low : NAN, 6);
    json_key(json, "jobs_per_hour_ratio_high");
    json_add_number_digits(json, shares ? report->decision.throughput.high : NAN, 6);
    json_key(json, "energy_per_job_ratio");
    json_add_number_digits(json, shares ? report->decision.energy : NAN, 6);
    json_key(json, "sentence");
    json_add_text(json, strbuf_text(&sentence));
    json_object_end(json);
    strbuf_free(&sentence);
}

void bench_report_json(const struct bench_report *report, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    for (int fact = 0; fact < FACT_COUNT; fact++) {
        json_key(&json, result_fact_name((enum result_fact)fact));
        json_add_text_or_null(&json, report->result->facts[fact]);
    }
    json_key(&json, "trials");
    json_add_integer(&json, (int64_t)report->result->trials.count);
    json_key(&json, "trials_planned");
    json_add_integer(&json, (int64_t)bench_plan_turns(&report->result->plan));
    json_decision(&json, report);
    json_winners(&json, report);
    json_key(&json, "modes");
    json_array_begin(&json);
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (bench_report_has(report, mode))
            json_mode(&json, report, (enum bench_mode)mode);
    json_array_end(&json);
    if (report->roi) {
        json_key(&json, "roi");
        roi_put_json(report->roi, &json);
    }
    json_object_end(&json);
    strbuf_putc(out, '\n');
}

/* ---- CSV ---- */

void bench_report_csv(const struct bench_report *report, struct strbuf *out)
{
    const struct result *result = report->result;
    strbuf_puts(out, "mode,repeat,job,measure,value\n");
    for (size_t i = 0; i < result->trials.count; i++) {
        const struct bench_trial *trial = &result->trials.trials[i];
        const char *mode = bench_mode_info(trial->mode)->name;
        const double *values = report->summary->values[i];
        for (int k = 0; k < MEASURE_COUNT; k++)
            if (isfinite(values[k]))
                strbuf_printf(out, "%s,%u,,%s,%.9g\n", mode, trial->repeat + 1,
                              measure_info((enum measure)k)->name, values[k]);
        for (size_t k = 0; k < trial->run_count; k++) {
            const struct bench_run *run = &trial->runs[k];
            char name[INI_NAME_SIZE + 8];
            bench_plan_instance_name(&result->plan, k, name, sizeof(name));
            strbuf_printf(out, "%s,%u,%s,seconds,%.9g\n", mode, trial->repeat + 1, name,
                          run->end - run->begin);
            strbuf_printf(out, "%s,%u,%s,outcome,%s\n", mode, trial->repeat + 1, name,
                          bench_outcome_word(run->outcome));
        }
    }
}
