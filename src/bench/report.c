#include "bench/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

enum { TITLE_WIDTH = 30, CELL_WIDTH = 22 };

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

void bench_report_put_stats(struct strbuf *out, enum measure measure, const struct stats *stats)
{
    if (!measure_known(stats)) {
        strbuf_puts(out, "not known");
        return;
    }
    measure_put_human(out, measure, stats->mean);
    if (stats->count < 2)
        return;
    strbuf_puts(out, " ± ");
    measure_put_human(out, measure, stats_interval(stats));
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
                   "(`rooftop doctor`). NVML's SM clock reads too high while tensor cores work.";
    return NULL;
}

/* ---- text ---- */

static void put_padded(struct strbuf *out, const char *text, size_t width)
{
    strbuf_puts(out, text);
    for (size_t count = utf8_count(text); count < width; count++)
        strbuf_putc(out, ' ');
}

static void put_cell(struct strbuf *out, enum measure measure, const struct stats *stats)
{
    struct strbuf cell = {0};
    bench_report_put_stats(&cell, measure, stats);
    strbuf_puts(out, "  ");
    put_padded(out, strbuf_text(&cell), CELL_WIDTH);
    strbuf_free(&cell);
}

static void end_row(struct strbuf *out)
{
    size_t length = out->length;
    while (length > 0 && out->text[length - 1] == ' ')
        length--;
    strbuf_truncate(out, length);
    strbuf_putc(out, '\n');
}

static void text_head(const struct bench_report *report, struct strbuf *out)
{
    const struct result *result = report->result;
    strbuf_printf(out, "%s\n",
                  result->plan.title[0] ? result->plan.title : result->facts[FACT_JOBS_NAME]);
    strbuf_printf(out, "%s, driver %s; %zu job%s, %zu trial%s of %zu\n\n", result->facts[FACT_GPU],
                  result->facts[FACT_DRIVER], result->plan.instance_count,
                  result->plan.instance_count == 1 ? "" : "s", result->trials.count,
                  result->trials.count == 1 ? "" : "s", bench_plan_turns(&result->plan));
    bench_decision_words(report->summary, &report->decision, out);
    strbuf_puts(out, "\n\n");
    for (int goal = 0; goal < GOAL_COUNT; goal++) {
        put_padded(out, bench_goal_name((enum bench_goal)goal), 12);
        bench_winner_words(report->summary, (enum bench_goal)goal, out);
        strbuf_putc(out, '\n');
    }
}

static void text_measures(const struct bench_report *report, struct strbuf *out)
{
    strbuf_putc(out, '\n');
    put_padded(out, "", TITLE_WIDTH);
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (bench_report_has(report, mode)) {
            strbuf_puts(out, "  ");
            put_padded(out, bench_mode_info((enum bench_mode)mode)->name, CELL_WIDTH);
        }
    end_row(out);
    for (int i = 0; i < MEASURE_COUNT; i++) {
        bool known = false;
        for (int mode = 0; mode < MODE_COUNT; mode++)
            known = known || measure_known(&report->summary->of[mode][i]);
        if (!known)
            continue;
        put_padded(out, measure_info((enum measure)i)->title, TITLE_WIDTH);
        for (int mode = 0; mode < MODE_COUNT; mode++)
            if (bench_report_has(report, mode))
                put_cell(out, (enum measure)i, &report->summary->of[mode][i]);
        end_row(out);
    }
}

static void text_jobs(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_plan *plan = &report->result->plan;
    strbuf_puts(out, "\nSlow-down of each job\n");
    for (size_t job = 0; job < plan->job_count; job++) {
        put_padded(out, plan->jobs[job].name, TITLE_WIDTH);
        for (int mode = 0; mode < MODE_COUNT; mode++)
            if (bench_report_has(report, mode))
                put_cell(out, MEASURE_ANTT,
                         &report->summary->slowdown[job * MODE_COUNT + (size_t)mode]);
        end_row(out);
    }
}

static void text_failures(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_trials *trials = &report->result->trials;
    for (size_t i = 0; i < trials->count; i++) {
        const struct bench_trial *trial = &trials->trials[i];
        if (bench_fault_count(trial) > 0) {
            strbuf_printf(out, "%s, repeat %u: ", bench_mode_info(trial->mode)->name,
                          trial->repeat + 1);
            bench_report_put_fault(report, trial, out);
            strbuf_putc(out, '\n');
        }
        for (size_t k = 0; k < trial->run_count; k++) {
            const struct bench_run *run = &trial->runs[k];
            if (run->outcome == BENCH_ENDED)
                continue;
            char name[INI_NAME_SIZE + 8];
            bench_plan_instance_name(&report->result->plan, k, name, sizeof(name));
            strbuf_printf(out, "%s, repeat %u: %s: %s, exit code %d%s%.120s\n",
                          bench_mode_info(trial->mode)->name, trial->repeat + 1, name,
                          bench_outcome_word(run->outcome), run->exit_code,
                          run->output[0] ? ": " : "", run->output);
        }
    }
}

/* One job a line. */
static void text_limits(const char *limits, struct strbuf *out)
{
    if (!limits[0])
        return;
    strbuf_puts(out, "Limits in mps-limits:\n");
    for (const char *line = limits; *line; line += strspn(line, "\n")) {
        size_t length = strcspn(line, "\n");
        strbuf_printf(out, "  %.*s\n", (int)length, line);
        line += length;
    }
}

void bench_report_text(const struct bench_report *report, struct strbuf *out)
{
    text_head(report, out);
    text_measures(report, out);
    text_jobs(report, out);
    strbuf_puts(out, "\n± is half the width of the 99 % confidence interval over the repeats "
                     "(Student's t).\n");
    if (bench_report_clock_note(report))
        strbuf_printf(out, "%s\n", bench_report_clock_note(report));
    text_limits(report->result->facts[FACT_LIMITS], out);
    if (report->result->facts[FACT_SKIPPED][0])
        strbuf_printf(out, "Left out: %s\n", report->result->facts[FACT_SKIPPED]);
    text_failures(report, out);
    if (report->roi) {
        strbuf_putc(out, '\n');
        roi_text(report->roi, out);
    }
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
    json_add_number_digits(json, stats_interval(stats), 9);
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
            json, winner.known && winner.tie_count == 0 ? bench_mode_info(winner.best)->name : "");
    }
    json_object_end(json);
}

static void json_decision(struct json *json, const struct bench_report *report)
{
    static const char *const words[] = {"not_known", "share", "do_not_share", "risky"};
    struct strbuf sentence = {0};
    bench_decision_words(report->summary, &report->decision, &sentence);
    json_key(json, "decision");
    json_object_begin(json);
    json_key(json, "advice");
    json_add_text(json, words[report->decision.advice]);
    json_key(json, "mode");
    json_add_text_or_null(json, report->decision.advice == ADVISE_SHARE
                                    ? bench_mode_info(report->decision.mode)->name
                                    : "");
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
    json_decision(&json, report);
    json_winners(&json, report);
    json_key(&json, "modes");
    json_array_begin(&json);
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (bench_report_has(report, mode))
            json_mode(&json, report, (enum bench_mode)mode);
    json_array_end(&json);
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
