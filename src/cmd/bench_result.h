/* What `rooftop report` and `rooftop roi` have in common: all but what they write. */
#pragma once

#include "bench/report.h"
#include "cmd/options.h"

/* NAN: not given. */
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

/* The settings of both commands, filled by their options. */
struct bench_result_settings {
    const char *format;
    struct roi_options roi;
};

#define OPTION_ROI(member, option, words, text)                                                    \
    {.name = option,                                                                               \
     .kind = OPTION_NUMBER,                                                                        \
     .offset = offsetof(struct bench_result_settings, roi.member),                                 \
     .argument = words,                                                                            \
     .help = text}
#define OPTIONS_ROI                                                                                \
    OPTION_ROI(gpu_hour_cost, "gpu-hour-cost", "MONEY", "What a GPU hour costs"),                  \
        OPTION_ROI(power_cost, "power-cost", "MONEY", "What a kWh costs"),                         \
        OPTION_ROI(adoption_cost, "adoption-cost", "MONEY",                                        \
                   "What the change costs once: work, training"),                                  \
        OPTION_ROI(operations_cost, "operations-cost", "MONEY",                                    \
                   "What it costs more to run, a year"),                                           \
        OPTION_ROI(gpu_hours, "gpu-hours", "HOURS", "GPU hours a year that these jobs take now"),  \
        OPTION_ROI(pue, "pue", "FACTOR", "Power of the data centre by that of its machines (1)"),  \
        OPTION_ROI(years, "years", "N", "Over how many years (1)"),                                \
        OPTION_ROI(idle_power, "idle-power", "WATTS", "Of an idle GPU (as it was measured)"),      \
        {.name = "currency",                                                                       \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(struct bench_result_settings, roi.currency),                           \
         .argument = "WORD",                                                                       \
         .help = "What the money is called"},                                                      \
        {.name = "mode",                                                                           \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(struct bench_result_settings, roi.mode),                               \
         .argument = "MODE",                                                                       \
         .help = "Compare this mode (the one that is advised, or the fastest)",                    \
         .choices = "time-slicing|mps|mps-equal|mps-limits|mig"}

/* Parses the arguments, loads the result that they name, and prints what `write` makes of it; with
 * the return where that is `always` wanted or prices are given. Returns the exit code. */
int bench_result_print(const struct command *command, int argc, char **argv, bool always,
                       void (*write)(const struct bench_report *report, const char *format,
                                     struct strbuf *out));
