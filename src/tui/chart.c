#include "tui/chart.h"

#include <math.h>
#include <stdbool.h>

enum { BRAILLE = 0x2800, UPPER_HALF = 0x2580, LOWER_HALF = 0x2584, FULL_BLOCK = 0x2588 };

static int dots_across(const struct cells *cells)
{
    return cells->charset == CHARSET_BRAILLE ? 2 : 1;
}

static int dots_down(const struct cells *cells)
{
    static const int dots[] = {[CHARSET_ASCII] = 1, [CHARSET_BLOCK] = 2, [CHARSET_BRAILLE] = 4};
    return dots[cells->charset];
}

size_t chart_points(const struct cells *cells, int width)
{
    size_t points = width > 0 ? (size_t)width * (size_t)dots_across(cells) : 0;
    return points < CHART_MAX_POINTS ? points : CHART_MAX_POINTS;
}

static uint32_t character_at(const struct cells *cells, int x, int y)
{
    return cells->cell[(size_t)y * (size_t)cells->width + (size_t)x].character;
}

static uint32_t with_braille(uint32_t there, int column, int row)
{
    static const uint8_t bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    uint32_t old = there >= BRAILLE && there <= BRAILLE + 0xFF ? there : BRAILLE;
    return old | bits[column][row];
}

static uint32_t with_half(uint32_t there, int row)
{
    uint32_t half = row == 0 ? UPPER_HALF : LOWER_HALF;
    bool other = there == FULL_BLOCK || there == (row == 0 ? LOWER_HALF : UPPER_HALF);
    return other ? FULL_BLOCK : half;
}

/* `x` and `y` count dots from the rectangle's upper left corner. */
static void put_dot(struct cells *cells, struct rect rect, const struct chart_look *look, int x,
                    int y)
{
    int column = rect.x + x / dots_across(cells);
    int line = rect.y + y / dots_down(cells);
    if (column < 0 || line < 0 || column >= cells->width || line >= cells->height)
        return;
    uint32_t there = character_at(cells, column, line);
    int row = y % dots_down(cells);
    uint32_t character = cells->charset == CHARSET_BRAILLE
                             ? with_braille(there, x % dots_across(cells), row)
                         : cells->charset == CHARSET_BLOCK ? with_half(there, row)
                                                           : (uint32_t)look->letter;
    cells_put(cells, column, line, character, look->style);
}

static bool is_drawn(const struct cells *cells, enum chart_pattern pattern, int x)
{
    int cell = 2 * x / dots_across(cells); /* in half cells */
    switch (pattern) {
    case PATTERN_DASHED:
        return cell % 8 < 6;
    case PATTERN_DOTTED:
        return cell % 4 == 0;
    default:
        return true;
    }
}

void chart_curve(struct cells *cells, struct rect rect, const struct chart_look *look,
                 const float *values)
{
    int height = rect.height * dots_down(cells);
    int points = (int)chart_points(cells, rect.width);
    if (height <= 0)
        return;
    int before = -1;
    for (int x = 0; x < points; x++) {
        if (isnan(values[x])) {
            before = -1;
            continue;
        }
        double value = fmin(fmax((double)values[x], 0), 1);
        int y = (int)lround((1 - value) * (height - 1));
        if (is_drawn(cells, look->pattern, x)) {
            int from = before < 0 || look->pattern == PATTERN_DOTTED ? y
                       : before < y                                  ? before + 1
                       : before > y                                  ? before - 1
                                                                     : y;
            int step = from <= y ? 1 : -1;
            for (int dot = from; dot != y; dot += step)
                put_dot(cells, rect, look, x, dot);
            put_dot(cells, rect, look, x, y);
        }
        before = y;
    }
}
