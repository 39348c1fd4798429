#include "bench/plan.h"

#include <math.h>

#include "bench/limits.h"

void bench_put_duration(struct strbuf *out, double seconds)
{
    if (seconds < 9.95) {
        strbuf_printf(out, "%.1f s", seconds);
        return;
    }
    unsigned long whole = (unsigned long)lround(seconds);
    if (whole < 60)
        strbuf_printf(out, "%lu s", whole);
    else if (whole < 3600)
        strbuf_printf(out, "%lu min %lu s", whole / 60, whole % 60);
    else
        strbuf_printf(out, "%lu h %lu min", whole / 3600, whole % 3600 / 60);
}

static void describe_job(const struct bench_job *job, struct strbuf *out)
{
    strbuf_printf(out, "  %s", job->name);
    if (job->count > 1)
        strbuf_printf(out, " × %u", job->count);
    strbuf_printf(out, ": %s\n    ", job->command);
    if (job->ready == READY_EXEC)
        strbuf_puts(out, "timed from its start");
    else if (job->ready == READY_FILE)
        strbuf_puts(out, "has warmed up when it makes $ROOFTOP_READY");
    else
        strbuf_printf(out, "has warmed up when it prints \"%s\"", job->ready_line);
    if (job->ready != READY_EXEC)
        strbuf_puts(out, job->hold == HOLD_STOP ? ", is stopped until the start"
                                                : ", waits for $ROOFTOP_GO");
    if (job->seconds > 0) {
        strbuf_puts(out, "; expected to take ");
        bench_put_duration(out, job->seconds);
    }
    if (job->sm_percent > 0 || job->memory_bytes) {
        strbuf_puts(out, "\n    in mps-limits: ");
        bench_limits_describe_job(job, out);
    }
    strbuf_putc(out, '\n');
}

static void describe_length(const struct bench_plan *plan, struct strbuf *out)
{
    double low = 0, high = 0;
    for (size_t i = 0; i < plan->mode_count; i++) {
        double least, most;
        if (!bench_plan_expect(plan, plan->modes[i], &least, &most)) {
            strbuf_puts(out, "How long: not known before the first trials have run; give each job "
                             "its time = … to see it here.\n");
            return;
        }
        low += least + plan->settle;
        high += most + plan->settle;
    }
    strbuf_puts(out, "How long: between ");
    bench_put_duration(out, low * plan->repeats);
    strbuf_puts(out, " and ");
    bench_put_duration(out, high * plan->repeats);
    strbuf_puts(out, ", and the time that the jobs take to warm up.\n");
}

void bench_plan_describe(const struct bench_plan *plan, struct strbuf *out)
{
    if (plan->title[0])
        strbuf_printf(out, "%s\n", plan->title);
    strbuf_printf(out, "%zu job%s at once:\n", plan->instance_count,
                  plan->instance_count == 1 ? "" : "s");
    for (size_t i = 0; i < plan->job_count; i++)
        describe_job(&plan->jobs[i], out);
    strbuf_printf(out, "%zu mode%s, %u repeat%s of each:\n", plan->mode_count,
                  plan->mode_count == 1 ? "" : "s", plan->repeats, plan->repeats == 1 ? "" : "s");
    for (size_t i = 0; i < plan->mode_count; i++) {
        enum bench_mode mode = plan->modes[i];
        bool left_out = mode == MODE_MPS_LIMITS && plan->no_limits[0];
        strbuf_printf(out, "  %s: %s%s\n", bench_mode_info(mode)->name,
                      left_out ? "left out: " : "",
                      left_out ? plan->no_limits : bench_mode_info(mode)->help);
    }
    strbuf_puts(out, "In this order:\n");
    for (size_t i = 0; i < bench_plan_turns(plan); i++)
        strbuf_printf(out, "%s%s%s", i % plan->mode_count == 0 ? "  " : "",
                      bench_mode_info(bench_plan_turn(plan, i).mode)->name,
                      i % plan->mode_count == plan->mode_count - 1 ? "\n" : ", ");
    describe_length(plan, out);
}
