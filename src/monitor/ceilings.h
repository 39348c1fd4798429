/* From the ceilings of the store to those that src/sol reckons with. Part of the monitor. */
#pragma once

#include "metric/device.h"
#include "sol/ceilings.h"
#include "sol/served.h"
#include "store/ceiling.h"

/* As parts of the peaks. Where neither the counters nor a known peak tell the part, the resource
 * has no ceiling. */
void ceilings_to_sol(const struct device *device, const struct ceilings *ceilings,
                     struct sol_ceilings *ret);

/* What is known of this GPU: measured, else shipped for its kind. */
void ceilings_load(const struct device *device, struct sol_ceilings *ret);

/* What one GPU can do for a served model whose products are of a type: its ceilings, and the peaks
 * where these are not known. `ret_source` is LABEL_CEILING_…, the weaker of the two. False where
 * neither is known. */
bool ceilings_rates(const struct device *device, const struct ceilings *ceilings, enum label type,
                    struct served_rates *ret, enum label *ret_source);
