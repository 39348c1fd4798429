/* What `rooftop report` and `rooftop roi` have in common. */
#pragma once

#include "bench/report.h"
#include "cmd/options.h"

/* A member of the command's settings, filled by the rows below. NAN: not given. */
struct roi_options {
    double gpu_hours;
    double gpu_hour_cost;
    double power_cost;
    double pue;
    double adoption_cost;
    double operations_cost;
    double years;
    double idle_power;
    const char *currency;
    const char *mode;
};

#define ROI_OPTIONS_NONE                                                                           \
    {                                                                                              \
        .gpu_hours = NAN,                                                                          \
        .gpu_hour_cost = NAN,                                                                      \
        .power_cost = NAN,                                                                         \
        .pue = 1,                                                                                  \
        .adoption_cost = NAN,                                                                      \
        .operations_cost = NAN,                                                                    \
        .years = 1,                                                                                \
        .idle_power = NAN,                                                                         \
        .currency = "",                                                                            \
    }

#define OPTION_ROI(type, member, option, words, text)                                              \
    {.name = option,                                                                               \
     .kind = OPTION_NUMBER,                                                                        \
     .offset = offsetof(type, member),                                                             \
     .argument = words,                                                                            \
     .help = text}
#define OPTIONS_ROI(type, member)                                                                  \
    OPTION_ROI(type, member.gpu_hour_cost, "gpu-hour-cost", "MONEY", "What a GPU hour costs"),     \
        OPTION_ROI(type, member.power_cost, "power-cost", "MONEY", "What a kWh costs"),            \
        OPTION_ROI(type, member.adoption_cost, "adoption-cost", "MONEY",                           \
                   "What the change costs once: work, training"),                                  \
        OPTION_ROI(type, member.operations_cost, "operations-cost", "MONEY",                       \
                   "What it costs more to run, a year"),                                           \
        OPTION_ROI(type, member.gpu_hours, "gpu-hours", "HOURS",                                   \
                   "GPU hours a year that these jobs take now"),                                   \
        OPTION_ROI(type, member.pue, "pue", "FACTOR",                                              \
                   "Power of the data centre by that of its machines (1)"),                        \
        OPTION_ROI(type, member.years, "years", "N", "Over how many years (1)"),                   \
        OPTION_ROI(type, member.idle_power, "idle-power", "WATTS",                                 \
                   "Of an idle GPU (as it was measured)"),                                         \
        {.name = "currency",                                                                       \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(type, member.currency),                                                \
         .argument = "WORD",                                                                       \
         .help = "What the money is called"},                                                      \
        {.name = "mode",                                                                           \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(type, member.mode),                                                    \
         .argument = "MODE",                                                                       \
         .help = "Compare this mode (the one that is advised, or the fastest)",                    \
         .choices = "time-slicing|mps|mps-equal|mps-limits|mig"}

/* A result with what follows from it. */
struct bench_result {
    struct result result;
    struct bench_summary summary;
    struct roi_input roi;
    struct bench_report report;
};

/* Parses the arguments and loads the result that they name. False: *ret_code, EXIT_DONE or another,
 * is all that is left to return; else it is EXIT_DONE. */
MUST_CHECK bool bench_result_open(const struct command *command, int argc, char **argv,
                                  void *settings, struct bench_result *ret, int *ret_code);
void bench_result_free(struct bench_result *result);

/* Fills the return on investment, and the report with it. */
MUST_CHECK int bench_result_roi(const struct command *command, const struct roi_options *options,
                                struct bench_result *result);
