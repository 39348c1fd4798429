/* GPM: the hardware counters that NVML reads on Hopper and newer, for a GPU or a MIG instance.
 *
 * The counters advance each 0.1 s. Two samples in between give only zeros, which would look like an
 * idle GPU; such an interval is "no new sample", and the next one then spans it. */
#pragma once

#include "base/util.h"
#include "counter/nvml_library.h"
#include "metric/sample.h"

struct gpm;

/* What the samples are taken of. */
struct gpm_target {
    nvml_handle gpu;
    bool is_mig;
    unsigned gpu_instance; /* of a MIG instance */
};

/* Returns ABSENT_NO, or the reason why there is no GPM here. */
MUST_CHECK enum absence gpm_open(struct gpm **ret, const struct nvml_functions *call,
                                 const struct gpm_target *target);
void gpm_free(struct gpm *gpm);

/* Forgets the counters so far: the next read gives a first sample. */
void gpm_restart(struct gpm *gpm, nvml_handle gpu);

/* Fills GPM's metrics and the sample's interval, `now` on the monotonic clock. Within 0.1 s of the
 * last read it leaves them as they are. Returns the driver's code where the sample failed. */
nvml_return gpm_read(struct gpm *gpm, double now, struct sample *sample);

/* Marks all of GPM's metrics as missing. */
void gpm_miss(struct sample *sample, enum absence reason);
