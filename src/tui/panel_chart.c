#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sol/sol.h"
#include "tui/chart.h"
#include "tui/format.h"
#include "tui/panel.h"

enum { AXIS_WIDTH = 4, AXIS_MIN_CHART = 24, TIME_MIN_HEIGHT = 9, TIME_WIDTH = 8 };
enum { SIGN_WIDTH = 2, LEGEND_GAP = 2 };

/* The curves of a mode, the one on top last. */
struct curve {
    unsigned mode;
    enum metric metric;
    struct chart_look look;
    const char *name, *brief; /* where no meter beside the chart has it */
};

static const struct curve curves[] = {
    {MODE_SOL, METRIC_NVML_UTILIZATION, {STYLE_SMI, PATTERN_DOTTED, '.'}, "nvidia-smi", "smi"},
    {MODE_SOL, METRIC_ATTAINABLE, {STYLE_ATTAINABLE, PATTERN_DASHED, '-'}, "attainable", "attain."},
    {MODE_SOL, METRIC_MEMORY_SOL, {STYLE_MEMORY, PATTERN_LINE, 'm'}, "Memory", "M"},
    {MODE_SOL, METRIC_COMPUTE_SOL, {STYLE_COMPUTE, PATTERN_LINE, 'C'}, "Compute", "C"},
    {MODE_LINKS, METRIC_NVLINK_TX, {STYLE_OTHER, PATTERN_DASHED, 'n'}},
    {MODE_LINKS, METRIC_NVLINK_RX, {STYLE_OTHER, PATTERN_LINE, 'N'}},
    {MODE_LINKS, METRIC_PCIE_TX, {STYLE_LINK, PATTERN_DASHED, 'p'}},
    {MODE_LINKS, METRIC_PCIE_RX, {STYLE_LINK, PATTERN_LINE, 'P'}},
    {MODE_POWER, METRIC_TEMPERATURE, {STYLE_MEMORY, PATTERN_DOTTED, 't'}},
    {MODE_POWER, METRIC_SM_CLOCK, {STYLE_COMPUTE, PATTERN_DASHED, 'c'}},
    {MODE_POWER, METRIC_EFFECTIVE_CLOCK, {STYLE_COMPUTE, PATTERN_LINE, 'e'}},
    {MODE_POWER, METRIC_POWER, {STYLE_OTHER, PATTERN_LINE, 'P'}},
};

double panel_full_scale(const struct panel_data *data, enum metric metric)
{
    const struct device *device = &data->device->device;
    const struct sample *sample = data->sample;
    double peak;
    enum absence why;
    switch (metric) {
    case METRIC_PCIE_RX:
    case METRIC_PCIE_TX:
        return sol_peak_pcie(device_number(device, DEVICE_PCIE_MAX_GENERATION, 0),
                             device_number(device, DEVICE_PCIE_MAX_WIDTH, 0));
    case METRIC_NVLINK_RX:
    case METRIC_NVLINK_TX:
        return device_number(device, DEVICE_NVLINK_BANDWIDTH, 0);
    case METRIC_ACHIEVED_DRAM:
    case METRIC_DRAM_READ:
    case METRIC_DRAM_WRITE:
        return sol_peak_dram(device, &peak, &why) ? peak : 0;
    case METRIC_MEMORY_USED:
        return sample_get(sample, METRIC_MEMORY_TOTAL,
                          device_number(device, DEVICE_MEMORY_TOTAL, 0));
    case METRIC_POWER:
    case METRIC_POWER_AVERAGE:
        return sample_get(sample, METRIC_POWER_LIMIT, device_number(device, DEVICE_POWER_LIMIT, 0));
    case METRIC_SM_CLOCK:
    case METRIC_EFFECTIVE_CLOCK:
        return device_number(device, DEVICE_MAX_SM_CLOCK, 0);
    case METRIC_TEMPERATURE:
        return 100;
    default:
        return 1;
    }
}

struct window {
    double begin;
    double width; /* seconds a point */
    size_t points;
};

/* Points lie at multiples of their width, so that a curve moves by whole points and does not
 * change its form from frame to frame. */
static struct window choose_window(const struct panel_data *data, int width)
{
    const struct draw *draw = data->draw;
    double shown = draw->view->cursor > 0 ? draw->view->cursor : draw->model->time;
    struct window window = {.points = chart_points(draw->cells, width)};
    window.width = view_span(draw->view) / (double)(window.points ? window.points : 1);
    double end = ceil(shown / window.width - 1e-6) * window.width;
    window.begin = end - window.width * (double)window.points;
    return window;
}

static void draw_axis(const struct panel_data *data, struct rect rect)
{
    struct cells *cells = data->draw->cells;
    int bottom = rect.y + rect.height - 1;
    cells_text(cells, rect.x, rect.y, AXIS_WIDTH, STYLE_DIM, "100");
    cells_text(cells, rect.x, bottom, AXIS_WIDTH, STYLE_DIM, "  0");
    if (rect.height >= 5 && rect.height % 2 == 1)
        cells_text(cells, rect.x, rect.y + rect.height / 2, AXIS_WIDTH, STYLE_DIM, " 50");
}

static uint32_t sign_of(const struct cells *cells, const struct chart_look *look)
{
    if (cells->charset == CHARSET_ASCII)
        return (uint32_t)look->letter;
    return look->pattern == PATTERN_DOTTED ? cells_glyph(cells, GLYPH_DOT)
           : look->pattern == PATTERN_DASHED && cells->charset == CHARSET_BRAILLE ? 0x254C
           : look->pattern == PATTERN_DASHED                                      ? '-'
                                             : cells_glyph(cells, GLYPH_HORIZONTAL);
}

uint32_t panel_curve_sign(const struct draw *draw, enum metric metric, enum style *ret_style)
{
    for (size_t i = 0; i < ARRAY_SIZE(curves); i++)
        if (curves[i].mode == draw->view->prefs.mode && curves[i].metric == metric) {
            *ret_style = curves[i].look.style;
            return sign_of(draw->cells, &curves[i].look);
        }
    return 0;
}

static bool is_in_legend(const struct panel_data *data, const struct curve *curve, unsigned mode)
{
    return curve->mode == mode && curve->name && sample_has(data->sample, curve->metric);
}

static int legend_width(const struct panel_data *data, unsigned mode)
{
    int width = -LEGEND_GAP;
    for (size_t i = 0; i < ARRAY_SIZE(curves); i++)
        if (is_in_legend(data, &curves[i], mode))
            width += SIGN_WIDTH + (int)strlen(curves[i].name) + LEGEND_GAP;
    return width;
}

/* What the curves are, the one on top first; in short words where the room is short. */
static void draw_legend(const struct panel_data *data, struct rect rect, unsigned mode)
{
    struct cells *cells = data->draw->cells;
    bool brief = legend_width(data, mode) > rect.width;
    int x = rect.x, end = rect.x + rect.width;
    for (size_t i = ARRAY_SIZE(curves); i-- > 0;) {
        const struct curve *curve = &curves[i];
        if (!is_in_legend(data, curve, mode))
            continue;
        const char *name = brief ? curve->brief : curve->name;
        int width = SIGN_WIDTH + (int)strlen(name);
        if (x + width > end)
            return;
        cells_put(cells, x, rect.y, sign_of(cells, &curve->look), curve->look.style);
        cells_text(cells, x + SIGN_WIDTH, rect.y, width, STYLE_DIM, name);
        x += width + (brief ? 1 : LEGEND_GAP);
    }
}

static void draw_times(const struct panel_data *data, struct rect rect)
{
    struct cells *cells = data->draw->cells;
    char span[FORMAT_SIZE], text[FORMAT_SIZE + 8];
    bool past = data->draw->view->cursor > 0 || data->draw->model->recorded;
    snprintf(text, sizeof(text), "-%s", format_span(view_span(data->draw->view), span));
    cells_text(cells, rect.x, rect.y, rect.width, STYLE_DIM, text);
    cells_text_right(cells, rect.x, rect.y, rect.width, STYLE_DIM, past ? "here" : "now");
}

/* Bytes of the words that both names begin with. */
static size_t shared_words(const char *name, const char *before)
{
    size_t shared = 0;
    for (size_t i = 0; name[i] && name[i] == before[i]; i++)
        if (strchr("-_./: ", name[i]))
            shared = i + 1;
    return shared;
}

/* Cut where there is no room, and then without the words that the mark before it has too. */
static void draw_mark_name(struct cells *cells, int x, int y, int room, const struct mark *mark,
                           const struct mark *before)
{
    size_t shared = before ? shared_words(mark->name, before->name) : 0;
    if (shared > 0 && cells_text_width(cells, mark->name) > room) {
        cells_put(cells, x, y, cells_glyph(cells, GLYPH_ELLIPSIS), STYLE_DIM);
        x++;
        room--;
    } else
        shared = 0;
    cells_text_cut(cells, x, y, room, STYLE_DIM, &mark->name[shared]);
}

/* A line for each mark, and its name in the row of the times where there is room before the next
 * mark; the name of the span that the chart begins in stands first. Returns whether one is named.
 */
static bool draw_marks(const struct panel_data *data, struct rect rect, const struct window *window,
                       bool named)
{
    enum { SHORTEST_NAME = 4 };
    struct cells *cells = data->draw->cells;
    const struct model *model = data->draw->model;
    double span = window->width * (double)window->points;
    int end = rect.x + rect.width - TIME_WIDTH;
    bool any_named = false;
    for (size_t i = model->mark_count; i-- > 0;) {
        double part = (model->marks[i].time - window->begin) / span;
        if (part < 0 || part >= 1)
            continue;
        int x = rect.x + (int)(part * rect.width);
        cells_fill(cells, (struct rect){x, rect.y, 1, rect.height},
                   cells_glyph(cells, GLYPH_VERTICAL), STYLE_RULE);
        int start = x < rect.x + TIME_WIDTH ? rect.x + TIME_WIDTH : x;
        int room = end - start - 1;
        const struct mark *mark = &model->marks[i];
        bool follows = i > 0 && mark[-1].time >= window->begin;
        /* Two letters of a name are worth nothing. */
        if (named && (room > SHORTEST_NAME || cells_text_width(cells, mark->name) <= room)) {
            draw_mark_name(cells, start, rect.y + rect.height, room, mark,
                           follows ? mark - 1 : NULL);
            any_named = true;
        }
        end = x < end ? x : end;
    }
    return any_named;
}

static void draw_curve(const struct panel_data *data, struct rect rect, const struct window *window,
                       const struct curve *curve)
{
    float values[CHART_MAX_POINTS];
    enum metric metric = curve->metric == METRIC_POWER ? sample_power(data->sample) : curve->metric;
    double scale = panel_full_scale(data, metric);
    if (!(scale > 0))
        return;
    history_series(data->device->history, metric, window->begin, window->width, window->points,
                   values);
    for (size_t i = 0; i < window->points; i++)
        values[i] = (float)((double)values[i] / scale);
    chart_curve(data->draw->cells, rect, &curve->look, values);
}

void panel_chart(const struct panel_data *data, struct rect rect, unsigned mode)
{
    if (rect.width <= 0 || rect.height <= 0)
        return;
    struct rect plot = rect;
    if (rect.height >= TIME_MIN_HEIGHT)
        plot.height--;
    if (rect.width >= AXIS_WIDTH + AXIS_MIN_CHART && plot.height >= 3) {
        draw_axis(data, plot);
        plot.x += AXIS_WIDTH;
        plot.width -= AXIS_WIDTH;
    }
    bool times = rect.height >= TIME_MIN_HEIGHT;
    if (times)
        draw_times(data, (struct rect){plot.x, plot.y + plot.height, plot.width, 1});
    struct window window = choose_window(data, plot.width);
    bool named = draw_marks(data, plot, &window, times);
    if (times && !named)
        draw_legend(data,
                    (struct rect){plot.x + TIME_WIDTH, plot.y + plot.height,
                                  plot.width - 2 * TIME_WIDTH, 1},
                    mode);
    for (size_t i = 0; i < ARRAY_SIZE(curves); i++)
        if (curves[i].mode == mode)
            draw_curve(data, plot, &window, &curves[i]);
}
