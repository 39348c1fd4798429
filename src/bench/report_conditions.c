#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/xml.h"
#include "bench/report_html.h"

static void put_item(struct strbuf *out, const char *format, ...) PRINTF_LIKE(2, 3);

static void put_item(struct strbuf *out, const char *format, ...)
{
    struct strbuf words = {0};
    va_list arguments;
    va_start(arguments, format);
    strbuf_vprintf(&words, format, arguments);
    va_end(arguments);
    report_put_tag(out, "li", strbuf_text(&words));
    strbuf_putc(out, '\n');
    strbuf_free(&words);
}

/* The jobs, and how long one takes alone: what was measured says nothing of others. */
static void put_jobs(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_plan *plan = &report->result->plan;
    struct strbuf names = {0};
    double least = INFINITY, most = 0;
    for (size_t job = 0; job < plan->job_count; job++) {
        const struct stats *seconds = &report->summary->seconds[job * MODE_COUNT + MODE_EXCLUSIVE];
        strbuf_printf(&names, "%s%s", job > 0 ? ", " : "", plan->jobs[job].name);
        if (plan->jobs[job].count > 1)
            strbuf_printf(&names, " × %u", plan->jobs[job].count);
        if (measure_known(seconds)) {
            least = fmin(least, seconds->mean);
            most = fmax(most, seconds->mean);
        }
    }
    strbuf_puts(&names, ". ");
    if (most > 0) {
        strbuf_puts(&names, "Alone one takes ");
        measure_put_human(&names, MEASURE_MAKESPAN, least);
        if (most > least) {
            strbuf_puts(&names, " to ");
            measure_put_human(&names, MEASURE_MAKESPAN, most);
        }
        strbuf_puts(&names, " from its warm state. ");
    }
    put_item(out, "It holds for these jobs on one %s: %sOther jobs, another GPU: measure anew.",
             report->result->facts[FACT_GPU], strbuf_text(&names));
    strbuf_free(&names);
}

static void put_slowest(const struct bench_report *report, struct strbuf *out)
{
    const struct bench_plan *plan = &report->result->plan;
    const struct stats *most = NULL;
    const char *name = NULL;
    for (size_t job = 0; job < plan->job_count; job++) {
        const struct stats *slowdown =
            &report->summary->slowdown[job * MODE_COUNT + report->decision.mode];
        if (measure_known(slowdown) && (!most || slowdown->mean > most->mean)) {
            most = slowdown;
            name = plan->jobs[job].name;
        }
    }
    if (most && most->mean > 1)
        put_item(out,
                 "%s pays most: once begun, it takes %.2f times as long as alone. Its owner must "
                 "be able to live with that.",
                 name, most->mean);
}

static void put_of_mode(const struct bench_report *report, struct strbuf *out)
{
    enum bench_mode mode = report->decision.mode;
    const struct stats *memory = &report->summary->of[mode][MEASURE_MEMORY_PEAK];
    put_slowest(report, out);
    if (bench_mode_is_mps(mode))
        put_item(out, "Under MPS a GPU fault of one job takes down all jobs that share the GPU.");
    if (measure_known(memory))
        put_item(
            out,
            "All jobs must fit into the GPU's memory together: %.2f GiB were in use at the peak.",
            memory->mean / (1 << 30));
}

void report_put_conditions(const struct bench_report *report, struct strbuf *out)
{
    size_t planned = bench_plan_turns(&report->result->plan);
    strbuf_puts(out, "<section><h2>Before you decide</h2>\n<ul>\n");
    put_jobs(report, out);
    if (report->decision.advice == ADVISE_SHARE)
        put_of_mode(report, out);
    if (report->result->trials.count < planned)
        put_item(out, "Only %zu of %zu trials have run.", report->result->trials.count, planned);
    if (report->result->facts[FACT_SKIPPED][0])
        put_item(out, "Left out: %s", report->result->facts[FACT_SKIPPED]);
    put_item(out, "The energy is that of the GPU, not of the machine around it.");
    strbuf_puts(out, "</ul></section>\n");
}
