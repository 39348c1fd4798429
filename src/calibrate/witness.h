/* What the counters say while a kernel of known work runs. */
#pragma once

#include "base/stats.h"
#include "calibrate/calibrate.h"
#include "metric/sample.h"

struct witness {
    double begin; /* seconds since 1970; INFINITY: nothing counts */
    struct stats metrics[METRIC_COUNT];
    double last[METRIC_COUNT]; /* values, also from before the beginning */
};

/* What was seen before is forgotten, but for the last values. All zero at first. */
void witness_begin(struct witness *witness, double now);
/* A derived sample counts where its whole interval lies behind the beginning; what is held from a
 * burst of CUPTI's counters, where the burst does too; and of counters that take turns what is new.
 */
void witness_add(struct witness *witness, const struct sample *sample);

/* Fills in clock, temperature and power, and what the counter of this ceiling said. */
void witness_tell(const struct witness *witness, enum ceiling ceiling, struct ceiling_value *value);

/* One counter beside the truth. */
struct witness_row {
    enum ceiling ceiling;
    enum metric metric;
    size_t samples;
    double known, seen; /* in the metric's unit; `seen` is NAN where the counter is missing */
    bool nvml_clock;    /* the effective clock was not seen: `known` is at NVML's, so too low */
    bool old_tensor_path;
};

enum { WITNESS_ROWS = 4 }; /* at most, of one ceiling */

/* Compares what was seen with the work that was done at the rate `value`. Returns the number of
 * rows; 0 where nothing is known of the work but its time. */
size_t witness_compare(const struct witness *witness, const struct device *device,
                       const struct calibration_work *work, double value,
                       struct witness_row rows[WITNESS_ROWS]);
