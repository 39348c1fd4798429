/* Frames as text, JSON or CSV. Each form is one file, and walks the table of metrics. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "counter/frame.h"
#include "metric/device.h"
#include "metric/mark.h"
#include "metric/process.h"

struct view_gpu {
    const struct device *device;
    const struct reading *reading;
};

struct view_frame {
    double begin; /* seconds since 1970: the end of the frame before */
    double time;  /* and of this one */
    size_t count;
    const struct view_gpu *gpus;
    const struct mark *marks; /* all of the recording */
    size_t mark_count;
};

struct view {
    const struct view_form *form;
    const enum metric *metrics; /* those to show, in order; NULL: the form's usual ones */
    size_t metric_count;
    bool processes;
    /* Never NULL, needed where `processes` is set. */
    const struct process_description *(*describe)(void *context, pid_t pid);
    void *context;
    size_t columns; /* of the terminal, 0 where the output is none */
    size_t rows;

    size_t lines; /* the form's own: lines since its header, 0 before the first */
};

struct view_form {
    const char *name;
    /* Adds one frame to `out`, after the header where one is due. */
    void (*write)(struct view *view, const struct view_frame *frame, struct strbuf *out);
};

extern const struct view_form view_text;
extern const struct view_form view_json;
extern const struct view_form view_csv;

/* The form of that name, or NULL. */
const struct view_form *view_form_by_name(const char *name);

/* For the forms: the metrics that JSON and CSV show. */
size_t view_metric_count(const struct view *view);
enum metric view_metric(const struct view *view, size_t i);

/* For the forms: the numbers of a device that tell its MIG instance, in order. */
enum { VIEW_IDENTITY_COUNT = 3 };
extern const enum device_number view_identity[VIEW_IDENTITY_COUNT];

/* For the forms: the mark begins, or holds, between the frame's begin (with it) and
 * its time (without it). */
bool view_mark_begins(const struct view_frame *frame, const struct mark *mark);
bool view_mark_holds(const struct view_frame *frame, const struct mark *mark);

/* For the forms: the age of a reading, in whole milliseconds. */
double view_age(const struct reading *reading);
