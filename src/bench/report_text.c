#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "bench/report.h"

enum { LINE_WIDTH = 80, GAP = 2 };

static void put_padded(struct strbuf *out, const char *text, size_t width)
{
    strbuf_puts(out, text);
    for (size_t count = utf8_count(text); count < width; count++)
        strbuf_putc(out, ' ');
}

static void end_row(struct strbuf *out)
{
    size_t length = out->length;
    while (length > 0 && out->text[length - 1] == ' ')
        length--;
    strbuf_truncate(out, length);
    strbuf_putc(out, '\n');
}

/* Words in lines of the width; the first begins at `column`, the others are indented. */
static void put_wrapped(struct strbuf *out, const char *text, size_t column, size_t indent)
{
    bool begins = true;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        struct strbuf word = {0};
        strbuf_add(&word, text, strcspn(text, " "));
        text += word.length;
        size_t width = utf8_count(strbuf_text(&word));
        if (!begins && column + 1 + width > LINE_WIDTH) {
            strbuf_putc(out, '\n');
            put_padded(out, "", indent);
            column = indent;
        } else if (!begins) {
            strbuf_putc(out, ' ');
            column++;
        }
        strbuf_puts(out, strbuf_text(&word));
        column += width;
        begins = false;
        strbuf_free(&word);
    }
    strbuf_putc(out, '\n');
}

static void text_head(const struct bench_report *report, struct strbuf *out)
{
    const struct result *result = report->result;
    struct strbuf words = {0};
    strbuf_printf(out, "%s\n",
                  result->plan.title[0] ? result->plan.title : result->facts[FACT_JOBS_NAME]);
    strbuf_printf(out, "%s, driver %s; %zu job%s, %zu trial%s of %zu\n\n", result->facts[FACT_GPU],
                  result->facts[FACT_DRIVER], result->plan.instance_count,
                  result->plan.instance_count == 1 ? "" : "s", result->trials.count,
                  result->trials.count == 1 ? "" : "s", bench_plan_turns(&result->plan));
    bench_decision_words(report->summary, &report->decision, &words);
    put_wrapped(out, strbuf_text(&words), 0, 0);
    strbuf_putc(out, '\n');
    for (int goal = 0; goal < GOAL_COUNT; goal++) {
        enum { GOAL_WIDTH = 12 };
        strbuf_clear(&words);
        bench_winner_words(report->summary, (enum bench_goal)goal, &words);
        put_padded(out, bench_goal_name((enum bench_goal)goal), GOAL_WIDTH);
        put_wrapped(out, strbuf_text(&words), GOAL_WIDTH, GOAL_WIDTH);
    }
    strbuf_free(&words);
}

/* ---- the table: a row for each measure and each job, and below its values their spreads ---- */

struct row {
    const char *title;
    enum measure measure;
    size_t job; /* whose slow-down it is; of measures the number of jobs */
};

struct table {
    const struct bench_report *report;
    size_t row_count;
    struct row *rows;
    size_t title_width;
    size_t widths[MODE_COUNT]; /* 0: the mode did not run */
};

static const struct stats *stats_of(const struct table *table, const struct row *row, int mode)
{
    const struct bench_summary *summary = table->report->summary;
    return row->job < table->report->result->plan.job_count
               ? &summary->slowdown[row->job * MODE_COUNT + (size_t)mode]
               : &summary->of[mode][row->measure];
}

static void put_value(const struct table *table, const struct row *row, int mode,
                      struct strbuf *out)
{
    const struct stats *stats = stats_of(table, row, mode);
    if (measure_known(stats))
        measure_put_human(out, row->measure, stats->mean);
    else
        strbuf_puts(out, "-");
}

static void put_spread(const struct table *table, const struct row *row, int mode,
                       struct strbuf *out)
{
    const struct stats *stats = stats_of(table, row, mode);
    if (stats->count < 2)
        return;
    strbuf_puts(out, "± ");
    measure_put_number(out, row->measure, measure_interval(stats));
}

typedef void cell_writer(const struct table *, const struct row *, int mode, struct strbuf *);

static size_t cell_width(const struct table *table, const struct row *row, int mode,
                         cell_writer *put)
{
    struct strbuf cell = {0};
    put(table, row, mode, &cell);
    size_t width = utf8_count(strbuf_text(&cell));
    strbuf_free(&cell);
    return width;
}

static void measure_widths(struct table *table)
{
    for (size_t i = 0; i < table->row_count; i++)
        table->title_width = util_max(table->title_width, utf8_count(table->rows[i].title));
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        if (!bench_report_has(table->report, mode))
            continue;
        size_t width = strlen(bench_mode_info((enum bench_mode)mode)->name);
        for (size_t i = 0; i < table->row_count; i++) {
            width = util_max(width, cell_width(table, &table->rows[i], mode, put_value));
            width = util_max(width, cell_width(table, &table->rows[i], mode, put_spread));
        }
        table->widths[mode] = width;
    }
}

static void put_cells(const struct table *table, const struct row *row, const char *title,
                      int begin, int end, cell_writer *put, struct strbuf *out)
{
    put_padded(out, title, table->title_width);
    for (int mode = begin; mode < end; mode++) {
        if (table->widths[mode] == 0)
            continue;
        struct strbuf cell = {0};
        put(table, row, mode, &cell);
        put_padded(out, "", GAP);
        put_padded(out, strbuf_text(&cell), table->widths[mode]);
        strbuf_free(&cell);
    }
    end_row(out);
}

static void put_name(const struct table *table, const struct row *row, int mode, struct strbuf *out)
{
    (void)table;
    (void)row;
    strbuf_puts(out, bench_mode_info((enum bench_mode)mode)->name);
}

static void put_rows(const struct table *table, int begin, int end, struct strbuf *out)
{
    bool of_jobs = false;
    strbuf_putc(out, '\n');
    put_cells(table, NULL, "", begin, end, put_name, out);
    for (size_t i = 0; i < table->row_count; i++) {
        const struct row *row = &table->rows[i];
        bool spread = false;
        if (row->job < table->report->result->plan.job_count && !of_jobs)
            strbuf_puts(out, "\nSlow-down of each job\n");
        of_jobs = row->job < table->report->result->plan.job_count;
        put_cells(table, row, row->title, begin, end, put_value, out);
        for (int mode = begin; mode < end; mode++)
            spread = spread || stats_of(table, row, mode)->count > 1;
        if (spread)
            put_cells(table, row, "", begin, end, put_spread, out);
    }
}

/* As many modes beside each other as the line holds. */
static void put_table(const struct table *table, struct strbuf *out)
{
    for (int begin = 0, end; begin < MODE_COUNT; begin = end) {
        size_t width = table->title_width;
        size_t shown = 0;
        for (end = begin; end < MODE_COUNT; end++) {
            size_t more = table->widths[end] ? GAP + table->widths[end] : 0;
            if (shown > 0 && more > 0 && width + more > LINE_WIDTH)
                break;
            width += more;
            shown += more > 0;
        }
        if (shown > 0)
            put_rows(table, begin, end, out);
    }
}

static void text_table(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_plan *plan = &report->result->plan;
    CLEANUP_FREE struct row *rows = calloc(MEASURE_COUNT + plan->job_count, sizeof(*rows));
    struct table table = {.report = report, .rows = rows};
    if (!rows) {
        out->failed = true;
        return;
    }
    for (int i = 0; i < MEASURE_COUNT; i++)
        if (bench_report_knows(report, (enum measure)i))
            rows[table.row_count++] = (struct row){measure_info((enum measure)i)->title,
                                                   (enum measure)i, plan->job_count};
    if (table.row_count == 0)
        return;
    for (size_t job = 0; job < plan->job_count; job++)
        rows[table.row_count++] = (struct row){plan->jobs[job].name, MEASURE_ANTT, job};
    measure_widths(&table);
    put_table(&table, out);
    strbuf_puts(out, "\n± is half the width of the " BENCH_CONFIDENCE
                     " confidence interval over the repeats\n(Student's t).\n");
    if (bench_report_clock_note(report))
        put_wrapped(out, bench_report_clock_note(report), 0, 0);
}

/* ---- what is said below it ---- */

/* One job a line. */
static void text_limits(const char *limits, struct strbuf *out)
{
    if (!limits[0])
        return;
    strbuf_puts(out, "Limits in mps-limits:\n");
    while (*limits) {
        struct strbuf line = {0};
        strbuf_add(&line, limits, strcspn(limits, "\n"));
        limits += line.length + strspn(limits + line.length, "\n");
        strbuf_puts(out, "  ");
        put_wrapped(out, strbuf_text(&line), 2, 4);
        strbuf_free(&line);
    }
}

static void text_failures(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_trials *trials = &report->result->trials;
    if (bench_report_has_failures(report))
        strbuf_puts(out, "A trial in which a job failed enters no figure:\n");
    for (size_t i = 0; i < trials->count; i++) {
        const struct bench_trial *trial = &trials->trials[i];
        struct strbuf words = {0};
        strbuf_printf(&words, "%s, repeat %u: ", bench_mode_info(trial->mode)->name,
                      trial->repeat + 1);
        size_t length = words.length;
        bench_report_put_fault(report, trial, &words);
        if (words.length > length)
            put_wrapped(out, strbuf_text(&words), 0, 2);
        for (size_t k = 0; k < trial->run_count; k++) {
            const struct bench_run *run = &trial->runs[k];
            if (run->outcome == BENCH_ENDED)
                continue;
            char name[INI_NAME_SIZE + 8];
            bench_plan_instance_name(&report->result->plan, k, name, sizeof(name));
            strbuf_truncate(&words, length);
            strbuf_printf(&words, "%s: %s, exit code %d%s%.120s", name,
                          bench_outcome_word(run->outcome), run->exit_code,
                          run->output[0] ? ": " : "", run->output);
            put_wrapped(out, strbuf_text(&words), 0, 2);
        }
        strbuf_free(&words);
    }
}

void bench_report_text(const struct bench_report *report, struct strbuf *out)
{
    text_head(report, out);
    text_table(report, out);
    text_limits(report->result->facts[FACT_LIMITS], out);
    if (report->result->facts[FACT_SKIPPED][0]) {
        strbuf_puts(out, "Left out: ");
        put_wrapped(out, report->result->facts[FACT_SKIPPED], 10, 2);
    }
    text_failures(report, out);
    if (report->roi) {
        strbuf_putc(out, '\n');
        roi_text(report->roi, out);
    }
}
