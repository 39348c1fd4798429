#include <unistd.h>

#include "cmd/options.h"
#include "counter/cupti/helper.h"

static const struct option_row options[] = {OPTIONS_END};

static int run(const struct command *command, int argc, char **argv)
{
    int operands;
    int result = options_parse(command, argc, argv, NULL, &operands);
    if (result != OPTIONS_GO)
        return result;
    struct cupti_helper_config config;
    if (cupti_helper_parse(&config, argc - operands, argv + operands) < 0)
        return usage_error(command, "rooftop starts this command by itself");
    return cupti_helper_run(&config, STDIN_FILENO, STDOUT_FILENO);
}

const struct command command_counters = {
    .name = CUPTI_HELPER_COMMAND,
    .summary = "Read CUPTI's counters for another rooftop process",
    .operands = "INTERVAL BURST PERIOD CPU PATIENCE UUID=METRICS[,bursts]…",
    .options = options,
    .more = "",
    .hidden = true,
    .run = run,
};
