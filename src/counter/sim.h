/* A source that plays a text file of devices and moments, for tests and demonstrations. */
#pragma once

#include "counter/counter.h"

extern const struct counter_ops sim_counter;
