/* All devices at one tick. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "metric/process.h"
#include "metric/sample.h"

enum reading_state {
    READING_NONE,   /* nothing read yet */
    READING_OK,     /* of this tick, or where the read was slow of the one before: see age */
    READING_STALE,  /* the driver has not answered in time: the values are of an earlier tick */
    READING_LOST,   /* the device is gone: the values are its last */
    READING_FAILED, /* the source failed on this device: the values are its last */
};

const char *reading_state_name(enum reading_state state);
/* Why a device in that state, other than OK, gives no values. */
enum absence reading_absence(enum reading_state state);

struct reading {
    enum reading_state state;
    int error;  /* −errno of the last read where the state is LOST or FAILED */
    double age; /* seconds from the sample's time to the frame's */
    struct sample sample;
    struct process_list processes;
};

/* Where the reading is neither of this tick nor the first: every value becomes absent, with the
 * state as the reason, and its processes unknown. */
void reading_withdraw(struct reading *reading);

/* Bytes in use that the processes, which are known, do not account for; 0 where that cannot be
 * told. Of a GPU that is cut into instances it means nothing: their processes are not the GPU's. */
double reading_unowned_memory(const struct reading *reading);

struct frame {
    double time;     /* seconds since 1970 */
    double interval; /* seconds since the tick before */
    size_t count;
    struct reading *readings; /* one for each device of the source, in its order */
};

/* Returns 0 or -ENOMEM. */
MUST_CHECK int frame_init(struct frame *frame, size_t count);
void frame_free(struct frame *frame);
