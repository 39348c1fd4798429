/* Link SOL. Part of src/sol. */
#pragma once

#include "metric/device.h"
#include "metric/sample.h"

void link_derive(const struct device *device, struct sample *sample);
