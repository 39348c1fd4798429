/* What the GPU does, and what bursts of counters saw of it. Values that a burst measured stand for
 * later moments too while the work looks like what it saw, and again when such work comes back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metric/sample.h"

/* Signs are metrics that tell, all from the source beside CUPTI. */
enum { WORK_SIGNS = 6, WORK_REMEMBERED = 64, WORK_STATES = 16, WORK_METRICS = 64 };

struct work_look {
    double time;             /* monotonic */
    double sign[WORK_SIGNS]; /* NaN where not known */
    double clock;            /* NVML's, as it was on average since the look before */
    bool at_power_limit;
};

/* What counters gave. */
struct work_values {
    double value[WORK_METRICS]; /* NaN: nothing ran that could have had one */
    double when[WORK_METRICS];  /* monotonic; 0: never */
};

struct work_burst {
    double begin, end; /* monotonic; 0: there was none yet */
    uint64_t metrics;  /* that it measured, of what `values` hold */
    const struct work_values *values;
};

/* Work of one kind. */
struct work_state {
    struct work_look look; /* as the last burst saw it */
    struct work_values values;
    double seen;        /* the end of the last burst that measured the clock; 0: no state */
    unsigned bursts;    /* that saw it */
    double clock_ratio; /* the effective clock over NVML's, the mean of its last bursts */
    unsigned clocks;    /* bursts that have told it */
};

/* All zero to begin with. */
struct work_watch {
    struct work_look now;
    double time_before; /* of the look before */
    struct work_look recent[WORK_REMEMBERED];
    size_t count;
    struct work_state states[WORK_STATES];
    double seen_by; /* the end of the last burst that was looked at, believed or not */
};

enum work_wish {
    WORK_NO_BURST,
    WORK_BURST,       /* of the clock and what is counted beside it */
    WORK_BURST_APART, /* of what is counted apart */
};

/* Looks at a sample of now, and at the last burst, which is not believed where the work changed
 * while it lasted. Returns what is known of the present work, or NULL. */
const struct work_state *work_look_at(struct work_watch *watch, const struct sample *sample,
                                      double now, const struct work_burst *last);

/* What of a burst would be worth its price; `period` is the least time from one to the next. */
enum work_wish work_wish(const struct work_watch *watch, const struct work_state *state, double now,
                         double period);

/* Nothing runs, as far as the last sample tells. */
bool work_is_idle(const struct work_watch *watch);

/* What was looked at last comes a second behind the look before, or later. */
bool work_is_slow(const struct work_watch *watch);

/* The effective clock since the look before: what the bursts saw of it beside NVML's clock, times
 * that clock now. */
double work_clock(const struct work_watch *watch, const struct work_state *state);
