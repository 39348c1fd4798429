#include "metric/sample.h"

#include <string.h>

void sample_reset(struct sample *sample, enum absence reason)
{
    *sample = (struct sample){0};
    memset(sample->absent, reason, sizeof(sample->absent));
}

void sample_withdraw(struct sample *sample, enum absence reason)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (sample->absent[i] == ABSENT_NO)
            sample->absent[i] = (uint8_t)reason;
}

/* Counters give the metrics up to the effective clock, which is no activity. */
bool metric_rests(enum metric metric, enum absence absence)
{
    enum metric_unit unit = metric_info(metric)->unit;
    return absence == ABSENT_COUNTERS_IDLE && metric < METRIC_EFFECTIVE_CLOCK &&
           (unit == UNIT_RATIO || unit == UNIT_BYTES_PER_SECOND);
}
