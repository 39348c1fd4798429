#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/xml.h"
#include "bench/chart.h"
#include "bench/report.h"

static const char STYLE[] =
    "body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:760px;margin:32px auto;"
    "padding:0 20px}"
    "h1{font-size:26px;line-height:1.2;margin:0 0 4px}h2{font-size:19px;margin:36px 0 6px}"
    "h3{font-size:14px;margin:16px 0 2px;font-weight:600}"
    ".about,.note{color:#5a5a5a;font-size:13px;margin:2px 0}"
    ".decision{border-left:8px solid #8a8a8a;background:#f4f4f4;padding:14px 18px;margin:20px 0;"
    "font-size:18px}.share{border-color:#009e73}.not{border-color:#d55e00}.risky{border-color:"
    "#e69f00}"
    ".tiles{display:flex;gap:12px;margin:16px 0}.tile{flex:1;border:1px solid #ddd;padding:10px "
    "14px}.tile b{display:block;font-size:28px;line-height:1.2}.tile span{font-size:13px;"
    "color:#5a5a5a}"
    "svg{display:block;width:100%;height:auto;font-size:12px}.lead{font-size:16px}"
    "table{border-collapse:collapse;width:100%;font-size:13px;margin:8px 0}"
    "th,td{border-bottom:1px solid #ddd;padding:4px 8px;text-align:right;vertical-align:top}"
    "th:first-child,td:first-child{text-align:left}thead th{border-bottom:2px solid #8a8a8a}"
    "th{font-weight:600}pre{font-size:12px;white-space:pre-wrap;background:#f4f4f4;padding:10px}"
    ".key{white-space:nowrap;margin-right:12px}.key i{display:inline-block;width:18px;"
    "border-top:3px solid;vertical-align:middle;margin-right:4px}"
    "@media print{body{margin:0;max-width:none;font-size:12px}section,svg,table{break-inside:avoid}"
    "h2{break-after:avoid}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}"
    "@page{margin:15mm}";

static const char SOL_COLOR[] = "#0072b2", MEMORY_COLOR[] = "#e69f00", NVML_COLOR[] = "#8a8a8a";

static void put_tag(struct strbuf *out, const char *tag, const char *text)
{
    strbuf_printf(out, "<%s>", tag);
    xml_put_text(out, text);
    strbuf_printf(out, "</%s>", tag);
}

static void put_head(const struct bench_report *report, struct strbuf *out)
{
    const struct result *result = report->result;
    const char *title = result->plan.title[0] ? result->plan.title : result->facts[FACT_JOBS_NAME];
    strbuf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    strbuf_puts(out, "<meta name=\"viewport\" content=\"width=device-width\">\n");
    put_tag(out, "title", title);
    strbuf_printf(out, "\n<style>%s</style></head><body>\n", STYLE);
    put_tag(out, "h1", title);
    strbuf_puts(out, "\n<p class=\"about\">");
    xml_put_text(out, result->facts[FACT_GPU]);
    strbuf_printf(out, " · %zu job%s at once · %zu trial%s", result->plan.instance_count,
                  result->plan.instance_count == 1 ? "" : "s", result->trials.count,
                  result->trials.count == 1 ? "" : "s");
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
    put_tag(out, "b", number);
    put_tag(out, "span", what);
    strbuf_puts(out, "</div>\n");
}

static void put_tiles(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_decision *decision = &report->decision;
    if (decision->advice != ADVISE_SHARE)
        return;
    char text[32];
    strbuf_puts(out, "<div class=\"tiles\">\n");
    snprintf(text, sizeof(text), "%.2f ×", decision->throughput);
    put_tile(out, text, "jobs per hour");
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
    static const char *const classes[] = {"unknown", "share", "not", "risky"};
    struct strbuf words = {0};
    bench_decision_words(report->summary, &report->decision, &words);
    strbuf_printf(out, "<p class=\"decision %s\">", classes[report->decision.advice]);
    xml_put_text(out, strbuf_text(&words));
    strbuf_puts(out, "</p>\n");
    strbuf_free(&words);
    put_tiles(report, out);
    strbuf_puts(out, "<table><tbody>\n");
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

/* One bar a mode. */
static void put_mode_bars(const struct bench_report *report, enum measure measure, double limit,
                          struct strbuf *out)
{
    struct chart_bar bars[MODE_COUNT];
    char texts[MODE_COUNT][64];
    size_t count = 0;
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        if (!bench_report_has(report, mode))
            continue;
        const struct stats *stats = &report->summary->of[mode][measure];
        struct strbuf text = {0};
        if (measure_known(stats))
            measure_put_human(&text, measure, stats->mean);
        else
            strbuf_puts(&text, "not known");
        snprintf(texts[count], sizeof(texts[count]), "%s", strbuf_text(&text));
        strbuf_free(&text);
        bars[count] = (struct chart_bar){
            .label = bench_mode_info((enum bench_mode)mode)->title,
            .color = chart_color((enum bench_mode)mode),
            .value = measure_known(stats) ? stats->mean : NAN,
            .spread = stats_interval(stats),
            .text = texts[count],
        };
        count++;
    }
    put_tag(out, "h3", measure_info(measure)->title);
    strbuf_putc(out, '\n');
    chart_bars(out, measure_info(measure)->title, bars, count, limit, NAN);
}

static void put_comparison(const struct bench_report *report, struct strbuf *out)
{
    static const enum measure shown[] = {MEASURE_JOBS_PER_HOUR, MEASURE_COMPLETION,
                                         MEASURE_ENERGY_PER_JOB};
    strbuf_puts(out, "<section><h2>The modes compared</h2>\n");
    for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
        put_mode_bars(report, shown[i], 0, out);
    strbuf_puts(out, "<p class=\"note\">Whiskers: 99 % confidence interval of the mean over the "
                     "repeats.</p></section>\n");
    strbuf_puts(out, "<section><h2>How hard the GPU really worked</h2>\n<p class=\"note\">"
                     "nvidia-smi says that something was resident; the two above it say how much "
                     "of the arithmetic and of the memory bandwidth was used.</p>\n");
    put_mode_bars(report, MEASURE_COMPUTE_SOL, 1, out);
    put_mode_bars(report, MEASURE_MEMORY_SOL, 1, out);
    put_mode_bars(report, MEASURE_NVML_UTILIZATION, 1, out);
    strbuf_puts(out, "</section>\n");
}

static double worst_slowdown(const struct bench_report *report)
{
    double worst = 1;
    for (size_t i = 0; i < report->result->plan.job_count * MODE_COUNT; i++)
        worst = fmax(worst, report->summary->slowdown[i].mean);
    return worst;
}

static void put_job_bars(const struct bench_report *report, size_t job, double limit,
                         struct strbuf *out)
{
    struct chart_bar bars[MODE_COUNT];
    char texts[MODE_COUNT][32];
    size_t count = 0;
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        const struct stats *stats = &report->summary->slowdown[job * MODE_COUNT + (size_t)mode];
        if (mode == MODE_EXCLUSIVE || !bench_report_has(report, mode))
            continue;
        bool known = measure_known(stats);
        snprintf(texts[count], sizeof(texts[count]), known ? "%.2f times" : "not known",
                 stats->mean);
        bars[count] = (struct chart_bar){
            .label = bench_mode_info((enum bench_mode)mode)->title,
            .color = chart_color((enum bench_mode)mode),
            .value = known ? stats->mean : NAN,
            .spread = stats_interval(stats),
            .text = texts[count],
        };
        count++;
    }
    put_tag(out, "h3", report->result->plan.jobs[job].name);
    strbuf_putc(out, '\n');
    chart_bars(out, report->result->plan.jobs[job].name, bars, count, limit, 1);
}

static void put_slowdowns(const struct bench_report *report, struct strbuf *out)
{
    strbuf_puts(out, "<section><h2>What each job pays</h2>\n<p class=\"note\">Its time beside the "
                     "others, by its time alone (the dashed line). Waiting in turn does not "
                     "count.</p>\n");
    for (size_t job = 0; job < report->result->plan.job_count; job++)
        put_job_bars(report, job, worst_slowdown(report) * 1.1, out);
    strbuf_puts(out, "</section>\n");
}

/* ---- time lines ---- */

static double trial_length(const struct bench_trial *trial)
{
    double length = 0;
    for (size_t i = 0; i < trial->run_count; i++)
        length = fmax(length, trial->runs[i].end);
    return length;
}

static void put_trial_lanes(const struct bench_report *report, size_t i, double length,
                            struct strbuf *out)
{
    const struct bench_trial *trial = &report->result->trials.trials[i];
    const struct result_points *points = &report->result->points[i];
    size_t count = trial->run_count;
    CLEANUP_FREE struct chart_lane *lanes = calloc(count, sizeof(*lanes));
    CLEANUP_FREE char(*names)[INI_NAME_SIZE + 8] = calloc(count, sizeof(*names));
    CLEANUP_FREE double *numbers = calloc(points->count * 4 + 1, sizeof(*numbers));
    if (!lanes || !names || !numbers) {
        out->failed = true;
        return;
    }
    for (size_t k = 0; k < count; k++) {
        bench_plan_instance_name(&report->result->plan, k, names[k], sizeof(names[k]));
        lanes[k] = (struct chart_lane){names[k], trial->runs[k].begin, trial->runs[k].end,
                                       trial->runs[k].outcome != BENCH_ENDED};
    }
    double *time = numbers, *compute = time + points->count, *memory = compute + points->count,
           *nvml = memory + points->count;
    for (size_t k = 0; k < points->count; k++) {
        time[k] = points->points[k].time;
        compute[k] = points->points[k].compute_sol;
        memory[k] = points->points[k].memory_sol;
        nvml[k] = points->points[k].nvml_utilization;
    }
    const struct chart_curve curves[] = {
        {NVML_COLOR, "4 3", points->count, time, nvml},
        {MEMORY_COLOR, "", points->count, time, memory},
        {SOL_COLOR, "", points->count, time, compute},
    };
    const struct bench_mode_info *info = bench_mode_info(trial->mode);
    put_tag(out, "h3", info->title);
    strbuf_putc(out, '\n');
    chart_lanes(out, info->title, chart_color(trial->mode), length, lanes, count, curves,
                ARRAY_SIZE(curves));
}

static void put_time_lines(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_trials *trials = &report->result->trials;
    double length = 0;
    for (size_t i = 0; i < trials->count; i++)
        length = fmax(length, trial_length(&trials->trials[i]));
    strbuf_printf(out,
                  "<section><h2>The jobs in time</h2>\n<p class=\"note\">The first trial of each "
                  "mode, all on the same scale. Below the jobs: <span class=\"key\"><i "
                  "style=\"border-color:%s\"></i>Compute SOL</span> <span class=\"key\"><i "
                  "style=\"border-color:%s\"></i>Memory SOL</span> <span class=\"key\"><i "
                  "style=\"border-color:%s;border-top-style:dashed\"></i>nvidia-smi</span></p>\n",
                  SOL_COLOR, MEMORY_COLOR, NVML_COLOR);
    for (int mode = 0; mode < MODE_COUNT; mode++)
        for (size_t i = 0; i < trials->count; i++)
            if ((int)trials->trials[i].mode == mode) {
                put_trial_lanes(report, i, length, out);
                break;
            }
    strbuf_puts(out, "</section>\n");
}

/* ---- tables ---- */

static void put_table(const struct bench_report *report, struct strbuf *out)
{
    strbuf_puts(out, "<section><h2>All figures</h2>\n<table><thead><tr><th></th>");
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (bench_report_has(report, mode))
            put_tag(out, "th", bench_mode_info((enum bench_mode)mode)->title);
    strbuf_puts(out, "</tr></thead><tbody>\n");
    for (int i = 0; i < MEASURE_COUNT; i++) {
        strbuf_puts(out, "<tr>");
        put_tag(out, "td", measure_info((enum measure)i)->title);
        for (int mode = 0; mode < MODE_COUNT; mode++) {
            if (!bench_report_has(report, mode))
                continue;
            strbuf_puts(out, "<td>");
            bench_report_put_stats(out, (enum measure)i, &report->summary->of[mode][i]);
            strbuf_puts(out, "</td>");
        }
        strbuf_puts(out, "</tr>\n");
    }
    strbuf_puts(out, "</tbody></table></section>\n");
}

static void put_failures(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_trials *trials = &report->result->trials;
    size_t failed = 0;
    for (int mode = 0; mode < MODE_COUNT; mode++)
        failed += report->summary->failed_runs[mode];
    if (failed == 0)
        return;
    strbuf_puts(out, "<section><h2>Jobs that failed</h2>\n<table><tbody>\n");
    for (size_t i = 0; i < trials->count; i++)
        for (size_t k = 0; k < trials->trials[i].run_count; k++) {
            const struct bench_run *run = &trials->trials[i].runs[k];
            if (run->outcome == BENCH_ENDED)
                continue;
            char name[INI_NAME_SIZE + 8];
            bench_plan_instance_name(&report->result->plan, k, name, sizeof(name));
            strbuf_puts(out, "<tr>");
            put_tag(out, "td", name);
            strbuf_printf(out, "<td>%s, repeat %u</td><td>%s, exit code %d</td>",
                          bench_mode_info(trials->trials[i].mode)->title,
                          trials->trials[i].repeat + 1, bench_outcome_word(run->outcome),
                          run->exit_code);
            put_tag(out, "td", run->output);
            strbuf_puts(out, "</tr>\n");
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
                  "better only where the 99 %% confidence interval of the difference (Welch's t) "
                  "does not hold 0. Each job runs once, so that late jobs have fewer "
                  "neighbours.</p>\n",
                  result->plan.repeats, result->plan.repeats == 1 ? "" : "s");
    strbuf_puts(out, "<table><tbody>\n");
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (bench_report_has(report, mode)) {
            strbuf_puts(out, "<tr>");
            put_tag(out, "td", bench_mode_info((enum bench_mode)mode)->title);
            put_tag(out, "td", bench_mode_info((enum bench_mode)mode)->help);
            strbuf_puts(out, "</tr>\n");
        }
    for (int i = 0; i < MEASURE_COUNT; i++) {
        strbuf_puts(out, "<tr>");
        put_tag(out, "td", measure_info((enum measure)i)->title);
        put_tag(out, "td", measure_info((enum measure)i)->help);
        strbuf_puts(out, "</tr>\n");
    }
    strbuf_puts(out, "</tbody></table>\n<p class=\"note\">STP, ANTT and fairness: Eyerman and "
                     "Eeckhout, IEEE Micro 28(3), 2008.</p>\n<table><tbody>\n");
    for (size_t i = 0; i < result->plan.job_count; i++) {
        const struct bench_job *job = &result->plan.jobs[i];
        strbuf_puts(out, "<tr>");
        strbuf_puts(out, "<td>");
        xml_put_text(out, job->name);
        if (job->count > 1)
            strbuf_printf(out, " × %u", job->count);
        strbuf_puts(out, "</td>");
        put_tag(out, "td", job->command);
        strbuf_puts(out, "</tr>\n");
    }
    strbuf_puts(out, "</tbody></table>\n<p class=\"note\">");
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
    if (report->result->facts[FACT_SKIPPED][0]) {
        strbuf_puts(out, "<p class=\"note\">Left out: ");
        xml_put_text(out, report->result->facts[FACT_SKIPPED]);
        strbuf_puts(out, "</p>\n");
    }
    put_comparison(report, out);
    put_slowdowns(report, out);
    put_time_lines(report, out);
    if (report->roi)
        roi_html(report->roi, out);
    put_table(report, out);
    put_failures(report, out);
    put_method(report, out);
    strbuf_puts(out, "</body></html>\n");
}
