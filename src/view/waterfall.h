/* Waterfalls of some GPUs as text, JSON, or a drawing. */
#pragma once

#include "metric/device.h"
#include "sol/fall.h"

/* A step that loses less than this part of the peak gets no advice from text and drawing. */
static const double VIEW_WORTH_ADVICE = 0.05;

struct view_fall {
    const struct device *device;
    const struct fall *fall;
};

struct view_falls {
    double begin; /* seconds since 1970 */
    double end;
    size_t count;
    const struct view_fall *falls;
};

void view_falls_text(const struct view_falls *falls, struct strbuf *out);
void view_falls_json(const struct view_falls *falls, struct strbuf *out);
void view_falls_svg(const struct view_falls *falls, struct strbuf *out);
