
#include "cmd/bench_result.h"

static const struct option_row options[] = {
    {.name = "format",
     .letter = 'f',
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct bench_result_settings, format),
     .argument = "FORM",
     .help = "text or json (text)",
     .choices = "text|json"},
    OPTIONS_ROI,
    OPTIONS_END,
};

static void write_roi(const struct bench_report *report, const char *format, struct strbuf *out)
{
    if (strcmp(format, "json") == 0)
        roi_json(report->roi, out);
    else
        roi_text(report->roi, out);
}

static int run(const struct command *command, int argc, char **argv)
{
    return bench_result_print(command, argc, argv, true, write_roi);
}

const struct command command_roi = {
    .name = "roi",
    .summary = "Compute what sharing returns, from a bench and your prices",
    .operands = "RESULT",
    .options = options,
    .more =
        "For freed GPU hours that nobody uses and for ones that are all used, with the formula,\n"
        "the payback and what changes it. Every price is yours to give.\n\n"
        "  rooftop roi jobs.bench --gpu-hours 8000 --gpu-hour-cost 3 --power-cost 0.25 \\\n"
        "    --adoption-cost 5000 --operations-cost 1000 --currency EUR\n",
    .run = run,
};
