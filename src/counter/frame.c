#include "counter/frame.h"

#include <errno.h>
#include <stdlib.h>

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
