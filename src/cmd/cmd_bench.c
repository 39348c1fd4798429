#include <stdio.h>
#include <string.h>

#include "bench/plan.h"
#include "cmd/common.h"

struct settings {
    bool dry_run;
};

static const struct option_row options[] = {
    {.name = "dry-run",
     .letter = 'n',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, dry_run),
     .help = "Show what would be run, and how long it takes"},
    OPTIONS_END,
};

static int describe(const struct command *command, const struct bench_plan *plan)
{
    struct strbuf out = {0};
    bench_plan_describe(plan, &out);
    int code = output_all(command, &out);
    strbuf_free(&out);
    return code;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {0};
    int operands;
    enum options_result result = options_parse(command, argc, argv, &settings, &operands);
    if (result != OPTIONS_GO)
        return result == OPTIONS_STOP ? EXIT_DONE : EXIT_USAGE;
    if (argc - operands != 1)
        return usage_error(command, "name one file of jobs");
    if (!settings.dry_run)
        return usage_error(command, "this version only plans: use --dry-run");
    struct bench_plan plan;
    struct ini_error error;
    int r = bench_plan_read(&plan, argv[operands], &error);
    if (r < 0 && error.text[0])
        return usage_error(command, "%s", error.text);
    if (r < 0)
        return usage_error(command, "%s: %s", argv[operands], strerror(-r));
    int code = describe(command, &plan);
    bench_plan_free(&plan);
    return code;
}

const struct command command_bench = {
    .name = "bench",
    .summary = "Run your jobs exclusive, time-sliced, under MPS and MIG, and compare",
    .operands = "JOBS.ini",
    .options = options,
    .more = "",
    .run = run,
};
