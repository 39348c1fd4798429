/* Curves over time, drawn with dots: 2 × 4 in a braille cell, 1 × 2 in a block cell, letters in
 * ASCII. */
#pragma once

#include <stddef.h>

#include "tui/cells.h"

enum { CHART_MAX_POINTS = 2048 };

enum chart_pattern { PATTERN_LINE, PATTERN_DASHED, PATTERN_DOTTED };

/* The look of a curve: colour, and what tells it from others where there is none. */
struct chart_look {
    enum style style;
    enum chart_pattern pattern;
    char letter;
};

/* Values that make a curve of that width, CHART_MAX_POINTS at most. */
size_t chart_points(const struct cells *cells, int width);

/* Draws values from 0 (bottom) to 1 (top), chart_points() of them, over what is there; NAN leaves a
 * gap. Where two curves meet in a cell, the later one gives it its colour. */
void chart_curve(struct cells *cells, struct rect rect, const struct chart_look *look,
                 const float *values);
