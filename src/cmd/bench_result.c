#include "cmd/bench_result.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "cmd/common.h"

/* A result with what follows from it. */
struct bench_result {
    struct result result;
    struct bench_summary summary;
    struct roi_input roi;
    struct bench_report report;
};

static int load(const struct command *command, const char *path, struct bench_result *ret)
{
    char why[512];
    *ret = (struct bench_result){0};
    int r = result_load(&ret->result, path, why, sizeof(why));
    if (r < 0)
        return r == -ENOENT || r == -EBADMSG || r == -EISDIR || r == -EINVAL || r == -ENOTSUP
                   ? usage_error(command, "%s", why)
                   : run_error(command, "%s", why);
    r = bench_summarize(&ret->result.plan, &ret->result.trials, &ret->summary);
    if (r < 0) {
        result_free(&ret->result);
        return run_error(command, "%s", strerror(-r));
    }
    ret->report = (struct bench_report){
        .result = &ret->result,
        .summary = &ret->summary,
        .decision = bench_decide(&ret->summary),
    };
    return EXIT_DONE;
}

/* The shared mode with the most jobs per hour, where none is advised; MODE_COUNT where no figure is
 * known. */
static enum bench_mode fastest(const struct bench_summary *summary)
{
    enum bench_mode best = MODE_COUNT;
    double most = 0;
    for (int mode = MODE_TIME_SLICING; mode < MODE_COUNT; mode++) {
        const struct stats *stats = &summary->of[mode][MEASURE_JOBS_PER_HOUR];
        if (!measure_known(stats) || stats->mean <= most)
            continue;
        best = (enum bench_mode)mode;
        most = stats->mean;
    }
    return best;
}

static const double MOST = 1e12;

static int check_numbers(const struct command *command, const struct roi_options *options)
{
    const struct {
        const char *name;
        double value;
        bool above; /* 0 is too little */
    } numbers[] = {
        {"gpu-hour-cost", options->gpu_hour_cost, false},
        {"power-cost", options->power_cost, false},
        {"adoption-cost", options->adoption_cost, false},
        {"operations-cost", options->operations_cost, false},
        {"gpu-hours", options->gpu_hours, true},
        {"pue", options->pue, true},
        {"years", options->years, true},
        {"idle-power", isnan(options->idle_power) ? 0 : options->idle_power, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (isnan(numbers[i].value))
            return usage_error(command, "give --%s: there are no hidden prices", numbers[i].name);
        if (numbers[i].value < 0 || (numbers[i].above && numbers[i].value == 0))
            return usage_error(command, "--%s: %g is too little", numbers[i].name,
                               numbers[i].value);
        if (numbers[i].value > MOST)
            return usage_error(command, "--%s: %g is too much", numbers[i].name, numbers[i].value);
    }
    return EXIT_DONE;
}

static int compute_roi(const struct command *command, const struct roi_options *options,
                       struct bench_result *result)
{
    int code = check_numbers(command, options);
    if (code != EXIT_DONE)
        return code;
    enum bench_mode mode = result->report.decision.advice == ADVISE_SHARE
                               ? result->report.decision.mode
                               : fastest(&result->summary);
    if (options->mode)
        mode = bench_mode_by_name(options->mode);
    else if (mode == MODE_COUNT)
        return run_error(command, "no trial of sharing without a failed job is in the result");
    if (mode == MODE_COUNT || mode == MODE_EXCLUSIVE)
        return usage_error(command, "--mode: '%s' is no mode of sharing", options->mode);
    result->roi = (struct roi_input){
        .mode = mode,
        .advised =
            result->report.decision.advice == ADVISE_SHARE && result->report.decision.alike[mode],
        .gpu_hours = options->gpu_hours,
        .gpu_hour_cost = options->gpu_hour_cost,
        .power_cost = options->power_cost,
        .pue = options->pue,
        .adoption_cost = options->adoption_cost,
        .operations_cost = options->operations_cost,
        .years = options->years,
        .currency = options->currency,
    };
    char why[256];
    double idle =
        isnan(options->idle_power) ? result_idle_watts(&result->result) : options->idle_power;
    if (roi_take(&result->roi, &result->summary, idle, why, sizeof(why)) < 0)
        return run_error(command, "%s", why);
    result->report.roi = &result->roi;
    return EXIT_DONE;
}

static bool asks_for_roi(const struct roi_options *roi)
{
    return !isnan(roi->gpu_hour_cost) || !isnan(roi->power_cost) || !isnan(roi->adoption_cost) ||
           !isnan(roi->operations_cost) || !isnan(roi->gpu_hours) || !isnan(roi->idle_power) ||
           roi->mode || roi->currency[0];
}

int bench_result_print(const struct command *command, int argc, char **argv, bool always,
                       void (*write)(const struct bench_report *report, const char *format,
                                     struct strbuf *out))
{
    struct bench_result_settings settings = {
        .format = "text",
        .roi = {.gpu_hours = NAN,
                .gpu_hour_cost = NAN,
                .power_cost = NAN,
                .pue = 1,
                .adoption_cost = NAN,
                .operations_cost = NAN,
                .years = 1,
                .idle_power = NAN,
                .currency = ""},
    };
    const char *path;
    struct bench_result result;
    int code =
        options_parse_one(command, argc, argv, &settings, "one result of rooftop bench", &path);
    if (code != OPTIONS_GO)
        return code;
    code = load(command, path, &result);
    if (code != EXIT_DONE)
        return code;
    if (always || asks_for_roi(&settings.roi))
        code = compute_roi(command, &settings.roi, &result);
    if (code == EXIT_DONE) {
        struct strbuf out = {0};
        write(&result.report, settings.format, &out);
        code = output_all(command, &out);
        strbuf_free(&out);
    }
    bench_summary_free(&result.summary);
    result_free(&result.result);
    return code;
}
