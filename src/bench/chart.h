/* Drawings for the page: SVG, with text that stays text. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"
#include "bench/mode.h"

/* Apart for colour-blind eyes, and in grey on paper. */
const char *chart_color(enum bench_mode mode);

struct chart_bar {
    const char *label;
    const char *color;
    double value;     /* NAN: not known */
    double spread;    /* half the width of its interval; not finite: none is drawn */
    const char *text; /* the value as a person reads it */
    bool strong;
};

/* Horizontal bars from 0, with whiskers where there is a spread. `reference`: a line across, at
 * that value; NAN: none. `limit`: the axis' end, 0 for as much as is needed. */
void chart_bars(struct strbuf *out, const char *title, const struct chart_bar *bars, size_t count,
                double limit, double reference);

struct chart_lane {
    const char *label;
    double begin;
    double end;
    const char *failure; /* how it ended, NULL where it ended well */
};

struct chart_curve {
    const char *color;
    const char *dash; /* as SVG has it, "" for none */
    size_t count;
    const double *time;
    const double *value; /* 0 to 1; NAN leaves a gap */
};

/* Jobs as lanes over curves on the same axis of time, which ends at `length` seconds. */
void chart_lanes(struct strbuf *out, const char *title, const char *color, double length,
                 const struct chart_lane *lanes, size_t lane_count,
                 const struct chart_curve *curves, size_t curve_count);
