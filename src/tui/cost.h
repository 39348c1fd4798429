/* What Rooftop itself costs, and slowing down where that is too much. */
#pragma once

#include "tui/model.h"

/* Frames are at least this far apart, in seconds. */
#define COST_SHORTEST_PERIOD 0.1
#define COST_LONGEST_PERIOD  1.6

struct cost_meter {
    double began; /* of the present stretch, monotonic */
    double cpu;   /* seconds used when it began */
};

void cost_start(struct cost_meter *meter, struct model_cost *cost, double budget, double now);
/* Call it with each frame: every few seconds it measures, and halves or doubles the frames' rate.
 * Returns true where it measured. */
bool cost_update(struct cost_meter *meter, struct model_cost *cost, double now);
/* The rule alone: the next period, for a share of a core `cpu`. */
double cost_next_period(double period, double cpu, double budget);
