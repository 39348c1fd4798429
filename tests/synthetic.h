/* A model of made-up GPUs with a past, for tests and benchmarks of the screen. */
#pragma once

#include "tui/model.h"
#include "tui/processes.h"

enum { SYNTHETIC_SAMPLES = 120 };

/* `count` GPUs, of which each fifth is cut into two MIG instances, each seventh is out of order,
 * and metrics are missing here and there. */
void synthetic_model(struct model *ret, size_t count);
/* One more frame. */
void synthetic_step(struct model *model);
/* Describes any process. */
struct process_lookup synthetic_lookup(void);
