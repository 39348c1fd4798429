#include "counter/frame.h"

#include <errno.h>
#include <stdlib.h>

/* Less than this is the driver's own, not somebody's. */
static const double DRIVERS_OWN_BYTES = 256.0 * 1024 * 1024;

const char *reading_state_name(enum reading_state state)
{
    static const char *const names[] = {
        [READING_NONE] = "none", [READING_OK] = "ok",         [READING_STALE] = "stale",
        [READING_LOST] = "lost", [READING_FAILED] = "failed",
    };
    return names[state];
}

enum absence reading_absence(enum reading_state state)
{
    switch (state) {
    case READING_LOST:
        return ABSENT_LOST;
    case READING_FAILED:
        return ABSENT_DRIVER_ERROR;
    default:
        return ABSENT_STALE;
    }
}

void reading_withdraw(struct reading *reading)
{
    if (reading->state <= READING_OK)
        return;
    sample_withdraw(&reading->sample, reading_absence(reading->state));
    reading->processes.known = false;
    reading->processes.count = 0;
}

double reading_unowned_memory(const struct reading *reading)
{
    const struct process_list *list = &reading->processes;
    if (!sample_has(&reading->sample, METRIC_MEMORY_USED) || !list->known || list->truncated)
        return 0;
    double left = reading->sample.value[METRIC_MEMORY_USED];
    for (size_t i = 0; i < list->count; i++) {
        if (!list->process[i].memory_known)
            return 0;
        left -= (double)list->process[i].memory_bytes;
    }
    return left >= DRIVERS_OWN_BYTES ? left : 0;
}

int frame_init(struct frame *frame, size_t count)
{
    struct reading *readings = calloc(count ? count : 1, sizeof(*readings));
    if (!readings)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        sample_reset(&readings[i].sample, ABSENT_FIRST_SAMPLE);
    *frame = (struct frame){.count = count, .readings = readings};
    return 0;
}

void frame_free(struct frame *frame)
{
    free(frame->readings);
    *frame = (struct frame){0};
}
