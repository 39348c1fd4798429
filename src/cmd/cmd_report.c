#include "cmd/bench_result.h"

static const struct option_row options[] = {
    {.name = "format",
     .letter = 'f',
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct bench_result_settings, format),
     .argument = "FORM",
     .help = "text, json, csv or html (text)",
     .choices = "text|json|csv|html"},
    OPTIONS_ROI,
    OPTIONS_END,
};

static void write_report(const struct bench_report *report, const char *format, struct strbuf *out)
{
    bench_report_form(format)->write(report, out);
}

static int run(const struct command *command, int argc, char **argv)
{
    return bench_result_print(command, argc, argv, false, write_report);
}

const struct command command_report = {
    .name = "report",
    .summary = "Show what a bench found: which mode, how sure, at what price",
    .operands = "RESULT",
    .options = options,
    .more = "With prices the return on them is in the text, in the JSON and on the page.\n\n"
            "  rooftop report jobs.bench\n"
            "  rooftop report --format html jobs.bench > jobs.html\n",
    .run = run,
};
