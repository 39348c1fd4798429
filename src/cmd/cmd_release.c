#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/options.h"
#include "counter/cupti/release.h"

static const double USUAL_LENGTH = 60;
static const double LONGEST_LENGTH = 24 * 3600;

struct settings {
    double length;
};

static const struct option_row options[] = {
    {.name = "for",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, length),
     .argument = "TIME",
     .help = "How long (60 s)"},
    OPTIONS_END,
};

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.length = USUAL_LENGTH};
    int result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result;
    if (settings.length > LONGEST_LENGTH)
        return usage_error(command, "--for: %g s is more than a day", settings.length);
    unsigned asked, refused;
    unsigned seconds = (unsigned)ceil(settings.length);
    const char *root = secure_getenv("ROOFTOP_HOST_ROOT");
    int r = cupti_release(root ? root : "", seconds, &asked, &refused);
    if (r < 0)
        return run_error(command, "%s", strerror(-r));
    printf("asked %u rooftop process%s for the counters, for %u s\n", asked, asked == 1 ? "" : "es",
           seconds);
    if (refused == 0)
        return EXIT_DONE;
    return run_error(command, "%u more belong to other users: run it as root", refused);
}

const struct command command_release = {
    .name = "release",
    .summary = "Ask every rooftop here to leave the hardware counters to others for a while",
    .operands = "",
    .options = options,
    .more = "A profiler such as Nsight Compute can then have them. Rooftop goes on with what it\n"
            "reads without them, and takes them again by itself.\n\n"
            "  rooftop release --for 5m && ncu ./job\n",
    .run = run,
};
