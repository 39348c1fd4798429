/* Values as people write them in a sim file. Part of the sim source. */
#pragma once

#include "base/util.h"
#include "metric/metric.h"

/* "8G" for bytes, "1980MHz" for hertz, "93%" or "0.93" for a ratio, "power_cap+thermal" for flags,
 * a number for all others. Returns 0, -EINVAL or -ERANGE. */
MUST_CHECK int sim_value_parse(enum metric_unit unit, const char *text, double *ret);
/* That form in words, for messages. */
const char *sim_value_form(enum metric_unit unit);
