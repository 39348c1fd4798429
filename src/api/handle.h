/* What is behind a handle of the public library. */
#pragma once

#include "base/strbuf.h"
#include "monitor/monitor.h"
#include "rooftop.h"

struct rooftop {
    struct monitor *monitor;
    struct strbuf verdict; /* what the functions that return pointers point to */
    struct rooftop_process process;
    struct rooftop_span mark;
};

/* Of a device that there is; NULL otherwise. */
static inline const struct reading *handle_reading(const struct rooftop *handle, size_t device)
{
    return device < monitor_count(handle->monitor) ? monitor_reading(handle->monitor, device)
                                                   : NULL;
}
