/* The waterfall: from the peak to the work done, as factors. Part of src/sol. */
#pragma once

#include "metric/device.h"
#include "metric/sample.h"

void waterfall_derive(const struct device *device, struct sample *sample);
