#include <math.h>

#include "cmd/bench_result.h"
#include "cmd/common.h"

struct settings {
    const char *format;
    struct roi_options roi;
};

static const struct option_row options[] = {
    {.name = "format",
     .letter = 'f',
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, format),
     .argument = "FORM",
     .help = "text, json, csv or html (text)",
     .choices = "text|json|csv|html"},
    OPTIONS_ROI(struct settings, roi),
    OPTIONS_END,
};

static bool asks_for_roi(const struct roi_options *roi)
{
    return !isnan(roi->gpu_hour_cost) || !isnan(roi->power_cost) || !isnan(roi->adoption_cost) ||
           !isnan(roi->operations_cost) || !isnan(roi->gpu_hours) || !isnan(roi->idle_power) ||
           roi->mode || roi->currency[0];
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text", .roi = ROI_OPTIONS_NONE};
    struct bench_result result;
    int code;
    if (!bench_result_open(command, argc, argv, &settings, &result, &code))
        return code;
    if (asks_for_roi(&settings.roi))
        code = bench_result_roi(command, &settings.roi, &result);
    if (code == EXIT_DONE) {
        struct strbuf out = {0};
        bench_report_form(settings.format)->write(&result.report, &out);
        code = output_all(command, &out);
        strbuf_free(&out);
    }
    bench_result_free(&result);
    return code;
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
