/* How much this work could get. Part of src/sol; docs/ATTAINABLE.md. */
#pragma once

#include "metric/sample.h"
#include "sol/ceilings.h"

/* To be called after the other derived metrics are there. `ceilings` may be NULL. */
void attainable_derive(const struct sol_ceilings *ceilings, struct sample *sample);
