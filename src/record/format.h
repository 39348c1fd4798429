/* The recording's format, as docs/FORMAT.md describes it: an SQLite file. */
#pragma once

#include <stddef.h>

#include "base/strbuf.h"
#include "metric/metric.h"

enum {
    RECORD_APPLICATION_ID = 0x524f4f46, /* "ROOF" */
    RECORD_VERSION = 1, /* grows only where an older reader would misunderstand the file */
    RECORD_DEVICE_LIMIT = 1024,
};

/* The metrics that a recording holds, in the order of the columns. */
struct record_columns {
    size_t count;
    enum metric metric[METRIC_COUNT];
};

struct record_columns record_columns(void);

/* The SQL that makes an empty recording. */
void record_schema(struct strbuf *out);

/* docs/FORMAT.md. */
void record_describe_format(struct strbuf *out);
