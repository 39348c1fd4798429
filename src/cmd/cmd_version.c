#include <stdio.h>

#include "cmd/options.h"
#include "version.h"

static const struct option_row options[] = {OPTIONS_END};

static int run(const struct command *command, int argc, char **argv)
{
    int result = options_parse_all(command, argc, argv, NULL);
    if (result != OPTIONS_GO)
        return result;
    printf("rooftop %s\n", ROOFTOP_VERSION);
    return EXIT_DONE;
}

const struct command command_version = {
    .name = "version",
    .summary = "Print the version",
    .operands = "",
    .options = options,
    .more = "",
    .run = run,
};
