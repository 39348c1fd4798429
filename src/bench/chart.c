#include "bench/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"
#include "base/xml.h"

/* Two stand side by side on a page, and one on a telephone. */
enum {
    WIDTH = 400,
    LABEL_WIDTH = 118,
    NUMBER_WIDTH = 78,
    PLOT_WIDTH = WIDTH - LABEL_WIDTH - NUMBER_WIDTH,
    BAR_HEIGHT = 16,
    BAR_ROW = 23,
    LANE_LABEL_WIDTH = 84,
    LANE_HEIGHT = 12,
    LANE_ROW = 17,
    LANES_TOP = 6,
    LANES_HEIGHT = 60 * LANE_ROW, /* a sheet of A4 holds the chart */
    LANES_WIDTH = WIDTH - LANE_LABEL_WIDTH - 14,
    CURVES_HEIGHT = 60,
    AXIS_HEIGHT = 24,
};
/* report_html.c's style has it. */
static const double FONT_SIZE = 12;

/* As the page has them, which may be light or dark. */
static const char TEXT[] = "var(--ink)", FAINT[] = "var(--faint)", GRID[] = "var(--line)",
                  BAD[] = "#d55e00";

const char *chart_color(enum bench_mode mode)
{
    static const char *const colors[MODE_COUNT] = {
        [MODE_EXCLUSIVE] = "#8a8a8a", [MODE_TIME_SLICING] = "#56b4e9", [MODE_MPS] = "#0072b2",
        [MODE_MPS_EQUAL] = "#009e73", [MODE_MPS_LIMITS] = "#cc79a7",   [MODE_MIG] = "#e69f00",
    };
    return colors[mode];
}

static void begin(struct strbuf *out, const char *title, int height)
{
    strbuf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, height);
    xml_put_text(out, title);
    strbuf_puts(out, "</title>\n");
}

static void put_text(struct strbuf *out, double x, double y, const char *anchor, const char *color,
                     const char *text)
{
    strbuf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor,
                  color);
    xml_put_text(out, text);
    strbuf_puts(out, "</text>\n");
}

/* In em, of DejaVu Sans, which is wider than most. */
static double character_width(const char *sequence)
{
    uint32_t character = utf8_character(sequence, utf8_sequence_length(sequence));
    if (character >= 0x1100)
        return 1;
    if (character < 0x80 && strchr("mwMW@%", (int)character))
        return 1;
    return character >= 'A' && character <= 'Z' ? 0.7 : 0.62;
}

/* The longest beginning that fits into the width, which it is taken from. */
static const char *fitting_end(const char *text, double *width)
{
    while (*text && *width >= character_width(text)) {
        *width -= character_width(text);
        text += utf8_sequence_length(text);
    }
    return text;
}

/* Of a name that is too long both ends: its number is at the end. */
static void put_label(struct strbuf *out, double x, double y, const char *text)
{
    enum { TAIL = 4 };
    const double room = (LANE_LABEL_WIDTH - 8) / FONT_SIZE;
    double left = room;
    struct strbuf cut = {0};
    if (*fitting_end(text, &left) == '\0') {
        strbuf_puts(&cut, text);
    } else {
        const char *tail = text;
        for (size_t count = utf8_count(text); count > TAIL; count--)
            tail += utf8_sequence_length(tail);
        left = room - character_width("…");
        fitting_end(tail, &left);
        strbuf_add(&cut, text, (size_t)(fitting_end(text, &left) - text));
        strbuf_printf(&cut, "…%s", tail);
    }
    put_text(out, x, y, "end", TEXT, strbuf_text(&cut));
    strbuf_free(&cut);
}

static void put_line(struct strbuf *out, double x1, double y1, double x2, double y2,
                     const char *color, const char *dash)
{
    strbuf_printf(out,
                  "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                  "stroke-dasharray=\"%s\"/>\n",
                  x1, y1, x2, y2, color, dash);
}

static double bars_limit(const struct chart_bar *bars, size_t count)
{
    double limit = 0;
    for (size_t i = 0; i < count; i++) {
        double end = bars[i].value + (isfinite(bars[i].spread) ? bars[i].spread : 0);
        /* A whisker that would squeeze the bars is cut. */
        if (isfinite(end))
            limit = fmax(limit, fmin(end, 2 * bars[i].value));
    }
    return limit > 0 ? limit * 1.02 : 1;
}

static void put_whisker(struct strbuf *out, const struct chart_bar *bar, double y, double limit)
{
    if (!isfinite(bar->spread) || bar->spread <= 0)
        return;
    double low = LABEL_WIDTH + fmax(bar->value - bar->spread, 0) / limit * PLOT_WIDTH;
    double high = LABEL_WIDTH + fmin((bar->value + bar->spread) / limit, 1) * PLOT_WIDTH;
    double middle = y + BAR_HEIGHT / 2.0;
    put_line(out, low, middle, high, middle, TEXT, "");
    put_line(out, low, middle - 4, low, middle + 4, TEXT, "");
    /* One that is cut has no end. */
    if (bar->value + bar->spread <= limit)
        put_line(out, high, middle - 4, high, middle + 4, TEXT, "");
}

void chart_bars(struct strbuf *out, const char *title, const struct chart_bar *bars, size_t count,
                double limit, double reference)
{
    int height = (int)count * BAR_ROW + 8;
    if (limit <= 0)
        limit = bars_limit(bars, count);
    begin(out, title, height);
    put_line(out, LABEL_WIDTH, 0, LABEL_WIDTH, height - 4, FAINT, "");
    for (size_t i = 0; i < count; i++) {
        const struct chart_bar *bar = &bars[i];
        double y = 4 + (double)i * BAR_ROW;
        put_text(out, LABEL_WIDTH - 8, y + 12, "end", TEXT, bar->label);
        strbuf_puts(out, bar->strong ? "<g font-weight=\"700\">" : "<g>");
        put_text(out, WIDTH - NUMBER_WIDTH + 8, y + 12, "start", TEXT, bar->text);
        strbuf_puts(out, "</g>");
        if (!isfinite(bar->value))
            continue;
        strbuf_printf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
                      LABEL_WIDTH, y, fmax(fmin(bar->value / limit, 1), 0) * PLOT_WIDTH, BAR_HEIGHT,
                      bar->color);
        put_whisker(out, bar, y, limit);
    }
    if (isfinite(reference) && reference <= limit)
        put_line(out, LABEL_WIDTH + reference / limit * PLOT_WIDTH, 0,
                 LABEL_WIDTH + reference / limit * PLOT_WIDTH, height - 4, TEXT, "3 3");
    strbuf_puts(out, "</svg>\n");
}

/* 1, 2 or 5 times a power of ten, about a fifth of the length. */
static double tick_of(double length)
{
    double rough = length / 5, power = pow(10, floor(log10(rough)));
    double times = rough / power;
    return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

/* Each as long as the labels of its ticks stay apart. */
static const struct time_unit {
    const char *name;
    double seconds, from;
} time_units[] = {{"h", 3600, 3600}, {"min", 60, 300}, {"s", 1, 0}};

static double lane_x(double time, double length)
{
    return LANE_LABEL_WIDTH + time / length * LANES_WIDTH;
}

static void put_axis(struct strbuf *out, double length, double top, double bottom)
{
    const struct time_unit *unit = time_units;
    while (length < unit->from)
        unit++;
    double tick = tick_of(length / unit->seconds) * unit->seconds;
    for (double time = 0; time <= length * 1.0001; time += tick) {
        char text[32];
        double x = lane_x(time, length);
        put_line(out, x, top, x, bottom, GRID, "");
        snprintf(text, sizeof(text), "%g %s", time / unit->seconds, unit->name);
        put_text(out, x, bottom + 15, "middle", FAINT, text);
    }
}

static void put_curve(struct strbuf *out, const struct chart_curve *curve, double length,
                      double top)
{
    bool is_open = false;
    for (size_t i = 0; i < curve->count; i++) {
        if (!isfinite(curve->value[i])) {
            strbuf_puts(out, is_open ? "\"/>\n" : "");
            is_open = false;
            continue;
        }
        if (!is_open)
            strbuf_printf(out,
                          "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" "
                          "stroke-dasharray=\"%s\" points=\"",
                          curve->color, curve->dash);
        is_open = true;
        strbuf_printf(out, "%.1f,%.1f ", lane_x(fmin(curve->time[i], length), length),
                      top + (1 - fmin(curve->value[i], 1)) * CURVES_HEIGHT);
    }
    strbuf_puts(out, is_open ? "\"/>\n" : "");
}

/* One that failed has an empty bar: colour alone is lost on paper. */
static void put_lane(struct strbuf *out, const struct chart_lane *lane, const char *color,
                     double length, double y, double height)
{
    double begin = lane_x(lane->begin, length);
    double width = fmax(lane_x(lane->end, length) - begin, 1);
    strbuf_printf(out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%g\" rx=\"2\" "
                  "fill=\"%s\" stroke=\"%s\"/>\n",
                  begin, y, width, height, lane->failure ? "none" : color,
                  lane->failure ? BAD : "none");
}

static void put_failure(struct strbuf *out, const struct chart_lane *lane, double length, double y)
{
    double end = lane_x(lane->end, length);
    bool fits_behind = lane->end < 0.8 * length;
    put_text(out, fits_behind ? end + 4 : end - 4, y + 10, fits_behind ? "start" : "end", TEXT,
             lane->failure);
}

static double lane_row(size_t count)
{
    return fmin(LANE_ROW, (double)LANES_HEIGHT / (double)count);
}

/* Where there are too many, rows shrink, and only as many have a name as there is room for. */
static void put_lanes(struct strbuf *out, const struct chart_lane *lanes, size_t count,
                      const char *color, double length)
{
    double row = lane_row(count);
    size_t step = (size_t)ceil(LANE_ROW / row);
    for (size_t i = 0; i < count; i++) {
        double y = LANES_TOP + (double)i * row;
        if (i % step == 0 && i + step <= count)
            put_label(out, LANE_LABEL_WIDTH - 8, y + 10, lanes[i].label);
        put_lane(out, &lanes[i], color, length, y, row * LANE_HEIGHT / LANE_ROW);
        if (lanes[i].failure && step == 1)
            put_failure(out, &lanes[i], length, y);
    }
}

void chart_lanes(struct strbuf *out, const char *title, const char *color, double length,
                 const struct chart_lane *lanes, size_t lane_count,
                 const struct chart_curve *curves, size_t curve_count)
{
    if (!(length > 0))
        return;
    double top = LANES_TOP + lane_row(lane_count) * (double)lane_count + 6;
    double bottom = top + CURVES_HEIGHT;
    begin(out, title, (int)bottom + AXIS_HEIGHT);
    put_axis(out, length, 2, bottom);
    put_lanes(out, lanes, lane_count, color, length);
    put_line(out, LANE_LABEL_WIDTH, bottom, WIDTH - 14, bottom, FAINT, "");
    put_line(out, LANE_LABEL_WIDTH, top, WIDTH - 14, top, GRID, "");
    put_text(out, LANE_LABEL_WIDTH - 8, top + 10, "end", FAINT, "100 %");
    put_text(out, LANE_LABEL_WIDTH - 8, bottom, "end", FAINT, "0 %");
    for (size_t i = 0; i < curve_count; i++)
        put_curve(out, &curves[i], length, top);
    strbuf_puts(out, "</svg>\n");
}
