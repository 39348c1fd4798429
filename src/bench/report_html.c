#include "bench/report_html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/xml.h"

static const char STYLE[] =
    ":root{color-scheme:light dark;--ink:#222;--faint:#5a5a5a;--line:#ddd;--back:#fff;--panel:"
    "#f4f4f4}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--faint:#a6a6a6;--line:#3b4045;--back:"
    "#16191c;--panel:#22272b}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:"
    "760px;margin:32px auto;padding:0 20px;overflow-wrap:break-word}"
    "h1{font-size:26px;line-height:1.2;margin:0 0 4px}h2{font-size:19px;margin:36px 0 6px}"
    "h1,td,pre,figcaption{overflow-wrap:anywhere}"
    ".about,.note{color:var(--faint);font-size:13px;margin:2px 0 8px}"
    ".decision{border-left:8px solid #8a8a8a;background:var(--panel);padding:14px 18px;"
    "margin:20px 0;font-size:18px}"
    ".share{border-color:#009e73}.not{border-color:#d55e00}.risky{border-color:#e69f00}"
    ".tiles{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}"
    ".tile{flex:1 1 150px;border:1px solid var(--line);padding:10px 14px}"
    ".tile b{display:block;font-size:28px;line-height:1.2}"
    ".tile span{font-size:13px;color:var(--faint)}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(300px,100%),1fr));"
    "gap:14px 28px}figure{margin:0}figcaption{font-size:14px;font-weight:600;margin-bottom:4px}"
    "svg{display:block;width:100%;height:auto;font-size:12px}.lead{font-size:16px}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px;margin:8px 0}"
    "th,td{border-bottom:1px solid var(--line);padding:4px 8px;text-align:right;vertical-align:top}"
    "th:first-child,td:first-child,.words td,.words th{text-align:left}"
    "thead th{border-bottom:2px solid #8a8a8a}th{font-weight:600}"
    ".figures td+td{white-space:nowrap}td small{display:block;color:var(--faint)}"
    ".words td:first-child{min-width:90px}"
    "pre{font-size:12px;white-space:pre-wrap;background:var(--panel);padding:10px}"
    ".key{white-space:nowrap;margin-right:12px;border-bottom:3px solid}"
    "li{margin:3px 0}"
    "@media print{:root{color-scheme:light;--ink:#222;--faint:#5a5a5a;--line:#ddd;--back:#fff;"
    "--panel:#f4f4f4}body{margin:0;padding:0;max-width:none;font-size:12px}"
    "h2{margin-top:22px;break-after:avoid}figure,tr,li,.note,.tile,.decision{break-inside:avoid}"
    ".note{break-after:avoid}.wide{overflow:visible}table,pre{font-size:10.5px}th,td{padding:3px "
    "5px}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}"
    "@page{size:A4;margin:14mm}";

void report_put_tag(struct strbuf *out, const char *tag, const char *text)
{
    strbuf_printf(out, "<%s>", tag);
    xml_put_text(out, text);
    strbuf_printf(out, "</%s>", tag);
}

/* xml_put_text() makes spaces of line ends. */
void report_put_lines(struct strbuf *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        struct strbuf line = {0};
        strbuf_add(&line, text, length);
        xml_put_text(out, strbuf_text(&line));
        strbuf_putc(out, '\n');
        strbuf_free(&line);
        text += length + (text[length] == '\n');
    }
}

static void put_head(const struct bench_report *report, struct strbuf *out)
{
    const struct result *result = report->result;
    const char *title = result->plan.title[0] ? result->plan.title : result->facts[FACT_JOBS_NAME];
    strbuf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    strbuf_puts(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    report_put_tag(out, "title", title);
    strbuf_printf(out, "\n<style>%s</style></head><body>\n", STYLE);
    report_put_tag(out, "h1", title);
    strbuf_puts(out, "\n<p class=\"about\">");
    xml_put_text(out, result->facts[FACT_GPU]);
    strbuf_printf(out, " · %zu job%s · %zu of %zu trials", result->plan.instance_count,
                  result->plan.instance_count == 1 ? "" : "s", result->trials.count,
                  bench_plan_turns(&result->plan));
    if (result->trials.count > 0 && isfinite(result->trials.trials[0].time)) {
        char day[32];
        struct tm local;
        time_t begin = (time_t)result->trials.trials[0].time;
        strftime(day, sizeof(day), "%-d %B %Y", localtime_r(&begin, &local));
        strbuf_printf(out, " · %s", day);
    }
    strbuf_puts(out, "</p>\n");
}

static void put_tile(struct strbuf *out, const char *number, const char *what)
{
    strbuf_puts(out, "<div class=\"tile\">");
    report_put_tag(out, "b", number);
    report_put_tag(out, "span", what);
    strbuf_puts(out, "</div>\n");
}

static void put_tiles(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_decision *decision = &report->decision;
    if (decision->advice != ADVISE_SHARE)
        return;
    char text[32], what[64];
    strbuf_puts(out, "<div class=\"tiles\">\n");
    snprintf(text, sizeof(text), "%.2f ×", decision->throughput.value);
    snprintf(what, sizeof(what), "jobs per hour; %s: %.2f to %.2f", BENCH_CONFIDENCE,
             decision->throughput.low, decision->throughput.high);
    put_tile(out, text, what);
    if (isfinite(decision->energy)) {
        snprintf(text, sizeof(text), "%s%.0f %%", decision->energy <= 1 ? "−" : "+",
                 fabs(1 - decision->energy) * 100);
        put_tile(out, text, "energy per job");
    }
    const struct stats *slowdown = &report->summary->of[decision->mode][MEASURE_ANTT];
    if (measure_known(slowdown)) {
        snprintf(text, sizeof(text), "%.2f ×", slowdown->mean);
        put_tile(out, text, "time of a job that has begun, on average");
    }
    strbuf_puts(out, "</div>\n");
}

static void put_decision(const struct bench_report *report, struct strbuf *out)
{
    static const char *const classes[] = {
        [ADVISE_NOTHING] = "unknown", [ADVISE_NOT] = "not",     [ADVISE_UNSURE] = "unknown",
        [ADVISE_RISKY] = "risky",     [ADVISE_SHARE] = "share",
    };
    struct strbuf words = {0};
    bench_decision_words(report->summary, &report->decision, &words);
    strbuf_printf(out, "<p class=\"decision %s\">", classes[report->decision.advice]);
    xml_put_text(out, strbuf_text(&words));
    strbuf_puts(out, "</p>\n");
    strbuf_free(&words);
    put_tiles(report, out);
    strbuf_puts(out, "<table class=\"words\"><tbody>\n");
    for (int goal = 0; goal < GOAL_COUNT; goal++) {
        struct strbuf winner = {0};
        bench_winner_words(report->summary, (enum bench_goal)goal, &winner);
        strbuf_puts(out, "<tr>");
        strbuf_printf(out, "<td>Best for %s: %s</td><td>", bench_goal_name((enum bench_goal)goal),
                      measure_info(bench_goal_measure((enum bench_goal)goal))->title);
        xml_put_text(out, strbuf_text(&winner));
        strbuf_puts(out, "</td></tr>\n");
        strbuf_free(&winner);
    }
    strbuf_puts(out, "</tbody></table>\n");
}

/* ---- tables ---- */

static void put_figure(enum measure measure, const struct stats *stats, struct strbuf *out)
{
    strbuf_puts(out, "<td>");
    if (measure_known(stats))
        measure_put_human(out, measure, stats->mean);
    else
        strbuf_puts(out, "not known");
    if (stats->count > 1) {
        strbuf_puts(out, "<small>± ");
        measure_put_human(out, measure, measure_interval(stats));
        strbuf_puts(out, "</small>");
    }
    strbuf_puts(out, "</td>");
}

static void put_table(const struct bench_report *report, struct strbuf *out)
{
    const char *note = bench_report_clock_note(report);
    if (!bench_report_knows(report, MEASURE_MAKESPAN))
        return;
    strbuf_puts(out, "<section><h2>All figures</h2>\n<div class=\"wide\"><table class=\"figures\">"
                     "<thead><tr><th></th>");
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (bench_report_has(report, mode))
            report_put_tag(out, "th", bench_mode_info((enum bench_mode)mode)->title);
    strbuf_puts(out, "</tr></thead><tbody>\n");
    for (int i = 0; i < MEASURE_COUNT; i++) {
        if (!bench_report_knows(report, (enum measure)i))
            continue;
        strbuf_puts(out, "<tr>");
        report_put_tag(out, "td", measure_info((enum measure)i)->title);
        for (int mode = 0; mode < MODE_COUNT; mode++)
            if (bench_report_has(report, mode))
                put_figure((enum measure)i, &report->summary->of[mode][i], out);
        strbuf_puts(out, "</tr>\n");
    }
    strbuf_puts(out, "</tbody></table></div>\n");
    if (note) {
        strbuf_puts(out, "<p class=\"note\">");
        xml_put_text(out, note);
        strbuf_puts(out, "</p>");
    }
    strbuf_puts(out, "</section>\n");
}

static void put_fault_rows(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_trials *trials = &report->result->trials;
    for (size_t i = 0; i < trials->count; i++) {
        const struct bench_trial *trial = &trials->trials[i];
        if (bench_fault_count(trial) == 0)
            continue;
        struct strbuf words = {0};
        bench_report_put_fault(report, trial, &words);
        strbuf_printf(out, "<p>%s, repeat %u: ", bench_mode_info(trial->mode)->title,
                      trial->repeat + 1);
        xml_put_text(out, strbuf_text(&words));
        strbuf_puts(out, ".</p>\n");
        strbuf_free(&words);
    }
}

static void put_failures(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_trials *trials = &report->result->trials;
    if (!bench_report_has_failures(report))
        return;
    strbuf_puts(out, "<section><h2>Jobs that failed</h2>\n<p class=\"note\">A trial in which a job "
                     "failed enters no figure.</p>\n");
    put_fault_rows(report, out);
    strbuf_puts(out, "<table class=\"words\"><tbody>\n");
    for (size_t i = 0; i < trials->count; i++)
        for (size_t k = 0; k < trials->trials[i].run_count; k++) {
            const struct bench_run *run = &trials->trials[i].runs[k];
            if (run->outcome == BENCH_ENDED)
                continue;
            char name[INI_NAME_SIZE + 8];
            bench_plan_instance_name(&report->result->plan, k, name, sizeof(name));
            strbuf_puts(out, "<tr><td>");
            xml_put_text(out, name);
            strbuf_printf(out, "<small>%s, repeat %u</small></td><td>%s, exit code %d",
                          bench_mode_info(trials->trials[i].mode)->title,
                          trials->trials[i].repeat + 1, bench_outcome_word(run->outcome),
                          run->exit_code);
            report_put_tag(out, "small", run->output);
            strbuf_puts(out, "</td></tr>\n");
        }
    strbuf_puts(out, "</tbody></table></section>\n");
}

static void put_method(const struct bench_report *report, struct strbuf *out)
{
    const struct result *result = report->result;
    strbuf_puts(out, "<section><h2>How it was measured</h2>\n<p>");
    strbuf_printf(out,
                  "Each mode ran %u time%s, the repeats interleaved and each beginning with "
                  "another mode. What jobs take to warm up is in no figure. A mode is called "
                  "better only where the %s confidence interval of the difference (Welch's t) "
                  "does not hold 0. Each job runs once, so that late jobs have fewer "
                  "neighbours.</p>\n",
                  result->plan.repeats, result->plan.repeats == 1 ? "" : "s", BENCH_CONFIDENCE);
    strbuf_puts(out, "<table class=\"words\"><tbody>\n");
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (bench_report_has(report, mode)) {
            strbuf_puts(out, "<tr>");
            report_put_tag(out, "td", bench_mode_info((enum bench_mode)mode)->title);
            report_put_tag(out, "td", bench_mode_info((enum bench_mode)mode)->help);
            strbuf_puts(out, "</tr>\n");
        }
    for (int i = 0; i < MEASURE_COUNT; i++) {
        if (!bench_report_knows(report, (enum measure)i))
            continue;
        strbuf_puts(out, "<tr>");
        report_put_tag(out, "td", measure_info((enum measure)i)->title);
        report_put_tag(out, "td", measure_info((enum measure)i)->help);
        strbuf_puts(out, "</tr>\n");
    }
    strbuf_puts(out, "</tbody></table>\n<p class=\"note\">STP, ANTT and fairness: Eyerman and "
                     "Eeckhout, IEEE Micro 28(3), 2008.</p>\n<table class=\"words\"><tbody>\n");
    for (size_t i = 0; i < result->plan.job_count; i++) {
        const struct bench_job *job = &result->plan.jobs[i];
        strbuf_puts(out, "<tr>");
        strbuf_puts(out, "<td>");
        xml_put_text(out, job->name);
        if (job->count > 1)
            strbuf_printf(out, " × %u", job->count);
        strbuf_puts(out, "</td>");
        report_put_tag(out, "td", job->command);
        strbuf_puts(out, "</tr>\n");
    }
    strbuf_puts(out, "</tbody></table>\n");
    if (result->facts[FACT_LIMITS][0]) {
        strbuf_puts(out, "<p>The limits in the mode mps-limits:</p>\n<pre>");
        report_put_lines(out, result->facts[FACT_LIMITS]);
        strbuf_puts(out, "</pre>\n");
    }
    strbuf_puts(out, "<p class=\"note\">");
    xml_put_text(out, result->facts[FACT_COMMAND]);
    strbuf_puts(out, " · rooftop ");
    xml_put_text(out, result->facts[FACT_VERSION]);
    strbuf_puts(out, " · driver ");
    xml_put_text(out, result->facts[FACT_DRIVER]);
    strbuf_puts(out, " · ");
    xml_put_text(out, result->facts[FACT_HOST]);
    strbuf_puts(out, "</p></section>\n");
}

void bench_report_html(const struct bench_report *report, struct strbuf *out)
{
    put_head(report, out);
    put_decision(report, out);
    if (report->roi)
        roi_html(report->roi, out);
    report_put_conditions(report, out);
    put_failures(report, out);
    report_put_comparison(report, out);
    report_put_slowdowns(report, out);
    report_put_time_lines(report, out);
    report_put_utilisation(report, out);
    put_table(report, out);
    if (report->roi)
        roi_html_formula(report->roi, out);
    put_method(report, out);
    strbuf_puts(out, "</body></html>\n");
}
