/* What holds the work back. Part of src/sol. */
#pragma once

#include "metric/sample.h"

/* Below it a counter shows nothing but the monitor itself and a driver that keeps house: an idle
 * H200 shows 0.006 % of its graphics engine and 0.0005 % of its DRAM. */
static const double BOUND_IDLE = 0.01;

/* A resource this busy names the bound. Most loads that people call compute- or memory-bound lie
 * far above; the measured loads whose limit is elsewhere all lie below 0.13, and none between that
 * and 0.34, so that the line is not drawn through any of them. */
static const double BOUND_NEAR_LIMIT = 0.3;

/* Copies reach 0.89 to 0.93 of a PCIe link's peak, an all-reduce 0.70 of NVLink's. Below one half
 * it is rather what feeds the link that limits: pageable memory, small messages. */
static const double BOUND_LINK_NEAR_PEAK = 0.5;

void bound_derive(struct sample *sample);
