#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/chart.h"
#include "bench/report_html.h"

static const char SOL_COLOR[] = "#0072b2", MEMORY_COLOR[] = "#e69f00", NVML_COLOR[] = "#8a8a8a";

static void begin_figure(const char *title, struct strbuf *out)
{
    strbuf_puts(out, "<figure>");
    report_put_tag(out, "figcaption", title);
    strbuf_putc(out, '\n');
}

/* One bar a mode. */
static void put_mode_bars(const struct bench_report *report, enum measure measure, double limit,
                          enum bench_mode best, struct strbuf *out)
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
            .spread = measure_interval(stats),
            .text = texts[count],
            .strong = mode == (int)best,
        };
        count++;
    }
    begin_figure(measure_info(measure)->title, out);
    chart_bars(out, measure_info(measure)->title, bars, count, limit, NAN);
    strbuf_puts(out, "</figure>\n");
}

/* MODE_COUNT where the spread allows none. */
static enum bench_mode find_best(const struct bench_report *report, enum bench_goal goal)
{
    struct bench_winner winner = bench_find_winner(report->summary, goal);
    return bench_winner_is_told(&winner) ? winner.best : MODE_COUNT;
}

void report_put_comparison(const struct bench_report *report, struct strbuf *out)
{
    strbuf_puts(out,
                "<section><h2>The modes compared</h2>\n<p class=\"note\">The whiskers are "
                "the " BENCH_CONFIDENCE
                " confidence interval of the mean over the repeats. The best is bold where the "
                "spread allows to say so.</p>\n<div class=\"charts\">\n");
    for (int goal = 0; goal < GOAL_COUNT; goal++)
        put_mode_bars(report, bench_goal_measure((enum bench_goal)goal), 0,
                      find_best(report, (enum bench_goal)goal), out);
    strbuf_puts(out, "</div></section>\n");
}

void report_put_utilisation(const struct bench_report *report, struct strbuf *out)
{
    static const enum measure shown[] = {MEASURE_COMPUTE_SOL, MEASURE_MEMORY_SOL,
                                         MEASURE_NVML_UTILIZATION};
    strbuf_puts(out, "<section><h2>How hard the GPU really worked</h2>\n<p class=\"note\">"
                     "nvidia-smi says that something was resident; Compute and Memory SOL say how "
                     "much of the arithmetic and of the memory bandwidth was used.</p>\n<div "
                     "class=\"charts\">\n");
    for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
        put_mode_bars(report, shown[i], 1, MODE_COUNT, out);
    strbuf_puts(out, "</div></section>\n");
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
            .spread = measure_interval(stats),
            .text = texts[count],
        };
        count++;
    }
    begin_figure(report->result->plan.jobs[job].name, out);
    chart_bars(out, report->result->plan.jobs[job].name, bars, count, limit, 1);
    strbuf_puts(out, "</figure>\n");
}

void report_put_slowdowns(const struct bench_report *report, struct strbuf *out)
{
    strbuf_puts(out, "<section><h2>What each job pays</h2>\n<p class=\"note\">Its time beside the "
                     "others, by its time alone (the dashed line). Waiting in turn does not "
                     "count.</p>\n<div class=\"charts\">\n");
    for (size_t job = 0; job < report->result->plan.job_count; job++)
        put_job_bars(report, job, worst_slowdown(report) * 1.1, out);
    strbuf_puts(out, "</div></section>\n");
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
        const struct bench_run *run = &trial->runs[k];
        lanes[k] = (struct chart_lane){
            names[k], run->begin, run->end,
            run->outcome == BENCH_ENDED ? NULL : bench_outcome_word(run->outcome)};
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
        {MEMORY_COLOR, "2 2", points->count, time, memory},
        {SOL_COLOR, "", points->count, time, compute},
    };
    const struct bench_mode_info *info = bench_mode_info(trial->mode);
    begin_figure(info->title, out);
    chart_lanes(out, info->title, chart_color(trial->mode), length, lanes, count, curves,
                ARRAY_SIZE(curves));
    strbuf_puts(out, "</figure>\n");
}

void report_put_time_lines(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_trials *trials = &report->result->trials;
    double length = 0;
    for (size_t i = 0; i < trials->count; i++)
        length = fmax(length, trial_length(&trials->trials[i]));
    strbuf_printf(
        out,
        "<section><h2>The jobs in time</h2>\n<p class=\"note\">The first trial of each "
        "mode, all on the same scale. Below the jobs: <span class=\"key\" "
        "style=\"border-color:%s\">Compute SOL</span> <span class=\"key\" "
        "style=\"border-color:%s;border-bottom-style:dotted\">Memory SOL</span> <span "
        "class=\"key\" "
        "style=\"border-color:%s;border-bottom-style:dashed\">nvidia-smi</span></p>\n<div "
        "class=\"charts\">\n",
        SOL_COLOR, MEMORY_COLOR, NVML_COLOR);
    for (int mode = 0; mode < MODE_COUNT; mode++)
        for (size_t i = 0; i < trials->count; i++)
            if ((int)trials->trials[i].mode == mode) {
                put_trial_lanes(report, i, length, out);
                break;
            }
    strbuf_puts(out, "</div></section>\n");
}
