/* What is behind a handle of the public library. */
#pragma once

#include <locale.h>

#include "base/strbuf.h"
#include "monitor/monitor.h"
#include "rooftop.h"

struct rooftop {
    struct monitor *monitor;
    struct strbuf verdict; /* what the functions that return pointers point to */
    struct rooftop_process process;
    struct rooftop_span mark;
};

/* Numbers are read and written with a point, whatever locale the program has chosen. Ends where the
 * variable's scope ends. */
#define WITH_PLAIN_NUMBERS                                                                         \
    locale_t handle_locale __attribute__((unused, cleanup(handle_restore_locale))) =               \
        uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0))

static inline void handle_restore_locale(locale_t *before)
{
    locale_t own = uselocale(*before);
    if (own != *before)
        freelocale(own);
}

/* Of a device that there is; NULL otherwise. */
static inline const struct reading *handle_reading(const struct rooftop *handle, size_t device)
{
    return device < monitor_count(handle->monitor) ? monitor_reading(handle->monitor, device)
                                                   : NULL;
}
