/* What a device's metrics were: a ring of the last samples, and coarser rings of means that reach
 * further back. Bounded: it never allocates after history_new(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"
#include "metric/sample.h"

struct history;

/* `bytes` bounds the memory, which is touched only as it fills. Returns 0 or -ENOMEM. */
MUST_CHECK int history_new(struct history **ret, size_t bytes);
void history_free(struct history *history);
void history_clear(struct history *history);

/* Samples come in order of time; one that is not later than the last is ignored. */
void history_add(struct history *history, double time, const struct sample *sample);

/* The span that is held; both 0 while empty. */
double history_begin(const struct history *history);
double history_end(const struct history *history);

/* The sample at or before `time`, missing metrics as ABSENT_NOT_RECORDED. False where there is
 * none. */
bool history_at(const struct history *history, double time, struct sample *ret);

/* Means of the metric over `count` equal spans from `begin` on, each `width` seconds long; NAN
 * where nothing is known. A sample covers the time since the one before it. */
void history_series(const struct history *history, enum metric metric, double begin, double width,
                    size_t count, float *ret);
