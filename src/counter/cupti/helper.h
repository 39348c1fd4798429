/* The process that holds CUPTI: 100 MB, calls that can hang, and the GPU's counters, all of which
 * end with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "counter/cupti/plan.h"
#include "counter/cupti/report.h"

enum { CUPTI_MAX_DEVICES = 64 };

/* How the process is known: its name, and its command. */
#define CUPTI_HELPER_NAME    "rooftop-counter"
#define CUPTI_HELPER_COMMAND "counters"

/* Argument vectors of `rooftop counters`, which a person has no need to call:
 * INTERVAL BURST PERIOD CPU PATIENCE UUID=METRICS[,bursts]…, where METRICS are the bits of the
 * wanted metrics in hexadecimal and ",bursts" asks for them instead of sampling all the time. */
enum { CUPTI_HELPER_NUMBERS = 5 };

struct cupti_helper_device {
    char uuid[48];
    uint64_t wanted;
    bool bursts;
};

struct cupti_helper_config {
    double interval;     /* between reports of a device that is sampled all the time */
    double burst;        /* seconds that a burst lasts */
    double burst_period; /* seconds from one burst to the next on average, at least, */
    double burst_cpu;    /* and the part of a core that those of a device take at most */
    double patience;     /* seconds after which a call into the driver hangs */
    size_t device_count;
    struct cupti_helper_device device[CUPTI_MAX_DEVICES];
};

/* Reads the words after the command's name. Returns 0 or -EINVAL. */
MUST_CHECK int cupti_helper_parse(struct cupti_helper_config *ret, int argc, char **argv);

/* Asks for a burst. */
struct cupti_wish {
    uint8_t device;
    uint8_t apart; /* 1: of what is counted apart */
    uint8_t slow;  /* 1: the GPU is looked at each second or more rarely: a quarter of burst_cpu */
    uint8_t sessions; /* the last eight bits of the number of those that the asker knows of: a wish
                         that crosses a burst's report is no wish for another */
};

/* Reports to `out` until `in` ends. After the first, bursts come as wishes on `in`, if they are
 * paid for; a wish is forgotten soon, so it is made again while it holds. SIGUSR1
 * frees the counters for the seconds that come with it (60 where none do). A call that hangs ends
 * the process with CUPTI_HUNG_EXIT + device. Returns the exit code. */
int cupti_helper_run(const struct cupti_helper_config *config, int in, int out);

enum { CUPTI_HUNG_EXIT = 64 };
