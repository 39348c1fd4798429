/* Does the GPU still do what it did when the last burst of counters saw it? */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "metric/sample.h"

/* Metrics that tell, all from the source beside CUPTI. */
enum { WORK_SIGNS = 6, WORK_REMEMBERED = 64 };

struct work_look {
    double time;             /* monotonic */
    double sign[WORK_SIGNS]; /* NaN where not known */
};

/* All zero to begin with. */
struct work_watch {
    struct work_look recent[WORK_REMEMBERED];
    size_t count;
    struct work_look seen; /* when the last burst saw it */
    double seen_by;        /* the end of that burst; 0: none yet */
    bool changing;         /* it changed while the burst lasted, whose values are a mixture */
};

/* Looks at a sample of now. The last burst lasted from `begin` to `end`, 0 where there was none
 * yet. False where the work is not what that burst saw. */
bool work_is_same(struct work_watch *watch, const struct sample *sample, double now, double begin,
                  double end);
