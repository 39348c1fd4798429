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
