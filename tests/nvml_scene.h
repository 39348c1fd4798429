/* For a test file of the nvml source with one stage. */
#pragma once

#include "nvml_stage.h"

static struct stage stage;

static inline int clean_up(void **state)
{
    (void)state;
    stage_close(&stage);
    return 0;
}

static inline void open_script(const char *library, const char *script)
{
    stage_open_or_fail(&stage, library, script);
}

static inline void expect(enum metric metric, double value)
{
    stage_expect(&stage, metric, value);
}

static inline void expect_missing(enum metric metric, enum absence reason)
{
    stage_expect_missing(&stage, metric, reason);
}

static inline void read_at(double seconds, size_t device)
{
    stage_read_at(&stage, seconds, device);
}
