#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cmd/common.h"
#include "record/mark_socket.h"

static const struct option_row options[] = {OPTIONS_END};

static int run(const struct command *command, int argc, char **argv)
{
    int operands;
    int result = options_parse(command, argc, argv, NULL, &operands);
    if (result != OPTIONS_GO)
        return result;
    if (argc - operands != 1)
        return usage_error(command, argc == operands
                                        ? "give the name of the mark"
                                        : "give one name, in quotes where it has blanks");
    struct mark mark = {.time = clock_realtime()};
    mark.end = mark.time;
    utf8_clean(mark.name, sizeof(mark.name), argv[operands]);
    if (!mark.name[0])
        return usage_error(command, "the name is empty");
    unsigned taken, silent;
    int r = mark_send(&mark, &taken, &silent);
    if (r < 0)
        return run_error(command, "%s", strerror(-r));
    if (silent)
        run_error(command, "%u recorder%s did not answer", silent, silent == 1 ? "" : "s");
    if (taken == 0)
        return silent ? EXIT_FAILED
                      : run_error(command, "no recorder of yours is running here: begin with "
                                           "`rooftop record`, or r in `rooftop top`");
    printf("%u recorder%s took the mark '%s'\n", taken, taken == 1 ? "" : "s", mark.name);
    return silent ? EXIT_FAILED : EXIT_DONE;
}

const struct command command_mark = {
    .name = "mark",
    .summary = "Set a mark in the recordings that are being made",
    .operands = "NAME",
    .options = options,
    .more = "Reaches every rooftop of this user on this host that is recording.\n\n"
            "  rooftop record -o run.roof -- ./train.sh &\n"
            "  rooftop mark 'epoch 2'\n",
    .run = run,
};
