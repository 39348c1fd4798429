/* What is known, and shown: devices with their past, processes, marks, and Rooftop's own cost. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"
#include "counter/counter.h"
#include "tui/history.h"

/* All histories together stay below this. */
enum { MODEL_HISTORY_BYTES = 8 << 20, MODEL_MAX_MARKS = 1024 };

struct model_device {
    struct device device;
    size_t source; /* its index in the monitor */
    struct history *history;
    struct reading reading;          /* the last */
    double value_time[METRIC_COUNT]; /* when its values were measured */
};

/* Rooftop's own, over the last seconds. */
struct model_cost {
    bool known;
    double cpu;            /* of one core */
    double budget;         /* of one core */
    double resident_bytes; /* of memory */
    unsigned long frames;  /* drawn so far */
    double frame_period;   /* seconds, at least, from one frame to the next */
    bool slowed;
};

struct model {
    char source[96]; /* what is watched, in words */
    char driver[96];
    bool recorded;
    bool ended;          /* a recording has been played to its end */
    double begin, end;   /* of the recording */
    double speed;        /* of the recording, 0 for as fast as possible */
    char recording[256]; /* the file that is being written, or "" */
    char trouble[256];   /* why there are no devices, or "" */

    double time; /* of the last frame, seconds since 1970 */
    double interval;
    size_t device_count;
    struct model_device *devices; /* MIG instances behind their GPU */
    bool *nested;                 /* one a device: it is a MIG instance behind its GPU */

    size_t mark_count;
    struct mark *marks; /* in order of time */

    struct model_cost cost;
};

void model_free(struct model *model);

/* Takes over the list of devices, `count` of them in the source's order. Those that were there
 * before, by UUID, keep their past. Returns 0 or -ENOMEM; the model is of no use then. */
MUST_CHECK int model_set_devices(struct model *model, const struct device *const *devices,
                                 size_t count);
/* A reading of the device `source` of the source's order, at the model's time. A value that is
 * missing because the counters have not advanced since the frame before keeps its last one for half
 * a second: at 10 Hz that happens often, and means nothing. */
void model_add(struct model *model, size_t source, const struct reading *reading);
/* A device was not read in time, or not yet at all. */
bool model_awaits_devices(const struct model *model);
/* A device's counters have not advanced, and none of their values is held. */
bool model_awaits_counters(const struct model *model);
/* Forgets the past: what follows is of another time. */
void model_forget(struct model *model);

/* Sets a mark in its place; returns 0, -ENOMEM, or -ENOSPC at MODEL_MAX_MARKS. */
MUST_CHECK int model_mark(struct model *model, const struct mark *mark);
/* The last mark that begins at or before `time`, or NULL; also where its span has ended by then. */
const struct mark *model_mark_at(const struct model *model, double time);

/* The span that there is something to see of: the recording, or the histories. */
double model_begin(const struct model *model);
double model_end(const struct model *model);

/* The device's sample at `time`; 0 and later than the last: the last. */
void model_sample(const struct model *model, size_t device, double time, struct sample *ret);
