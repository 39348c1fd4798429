
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
     .help = "text or json (text)",
     .choices = "text|json"},
    OPTIONS_ROI(struct settings, roi),
    OPTIONS_END,
};

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text", .roi = ROI_OPTIONS_NONE};
    struct bench_result result;
    int code;
    if (!bench_result_open(command, argc, argv, &settings, &result, &code))
        return code;
    code = bench_result_roi(command, &settings.roi, &result);
    if (code == EXIT_DONE) {
        struct strbuf out = {0};
        if (settings.format[0] == 'j')
            roi_json(&result.roi, &out);
        else
            roi_text(&result.roi, &out);
        code = output_all(command, &out);
        strbuf_free(&out);
    }
    bench_result_free(&result);
    return code;
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
