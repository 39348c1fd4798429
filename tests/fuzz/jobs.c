/* Any bytes as JOBS.ini. */
#include "bench/plan.h"
#include "fuzz.h"

static void check(const struct bench_plan *plan)
{
    MUST(plan->job_count > 0 && plan->job_count <= BENCH_MOST_JOBS);
    MUST(plan->instance_count > 0 && plan->instance_count <= BENCH_MOST_INSTANCES);
    MUST(plan->mode_count > 0 && plan->repeats > 0);
    for (size_t i = 0; i < bench_plan_turns(plan); i++)
        MUST(bench_plan_turn(plan, i).mode < MODE_COUNT);
    for (size_t i = 0; i < plan->instance_count; i++) {
        char name[INI_NAME_SIZE + 8];
        bench_plan_instance_name(plan, i, name, sizeof(name));
        MUST(name[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bench_plan plan;
    struct ini_error error = {0};
    if (bench_plan_parse(&plan, "file", (const char *)data, size, &error) < 0) {
        MUST(strncmp(error.text, "file:", 5) == 0);
        return 0;
    }
    check(&plan);
    struct strbuf out = {0};
    bench_plan_describe(&plan, &out);
    MUST(out.length > 0);
    strbuf_free(&out);
    bench_plan_free(&plan);
    return 0;
}
