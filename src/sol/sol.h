/* Speed of light: from counters to how hard a GPU works and what holds it back. Pure functions. */
#pragma once

#include "base/strbuf.h"
#include "metric/device.h"
#include "metric/sample.h"

/* Fills every DERIVED metric of the sample from its MEASURED ones, each with a value or a reason.
 * Formulas and thresholds: docs/METRICS.md. */
void sol_derive(const struct device *device, struct sample *sample);

/* One plain sentence on a derived sample, such as
 * "memory-bound: HBM at 64 %; nvidia-smi says 99 %". */
void sol_verdict(const struct device *device, const struct sample *sample, struct strbuf *out);
