#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sol/sol.h"
#include "tui/format.h"
#include "tui/panel.h"

enum { GAP = 2 };

/* One row that fills from the left; what no longer fits is left out with all behind it. */
struct line {
    const struct panel_data *data;
    int x;
    int y;
    int end;
};

/* `width` keeps the values of different GPUs below each other. */
static void put(struct line *line, int gap, const char *name, enum style style, int width,
                const char *value)
{
    struct cells *cells = line->data->draw->cells;
    int name_width = cells_text_width(cells, name), value_width = cells_text_width(cells, value);
    value_width = value_width > width ? value_width : width;
    if (line->x + gap + name_width + value_width > line->end) {
        line->x = line->end;
        return;
    }
    line->x += gap;
    line->x += cells_text(cells, line->x, line->y, name_width, style, name);
    cells_text_right(cells, line->x, line->y, value_width, STYLE_TEXT, value);
    line->x += value_width;
}

static void put_percent(struct line *line, int gap, const char *name, enum style style,
                        enum metric metric)
{
    char text[FORMAT_SIZE] = "?";
    double value = sample_get(line->data->sample, metric, NAN);
    if (!isnan(value))
        snprintf(text, sizeof(text), "%.0f%%", value * 100);
    put(line, gap, name, style, 5, text);
}

static void put_metric(struct line *line, int gap, const char *name, enum style style, int width,
                       enum metric metric)
{
    char text[FORMAT_SIZE];
    put(line, gap, name, style, width, format_metric(line->data->sample, metric, text));
}

static void put_pipes(struct line *line)
{
    static const struct {
        const char *name;
        enum metric metric;
        enum style style;
    } pipes[] = {
        {"SM", METRIC_SM_ACTIVE, STYLE_SMI},
        {"tensor", METRIC_TENSOR_ACTIVE, STYLE_COMPUTE},
        {"FP64", METRIC_FP64_ACTIVE, STYLE_COMPUTE},
        {"FP32", METRIC_FP32_ACTIVE, STYLE_COMPUTE},
        {"INT", METRIC_INT_ACTIVE, STYLE_COMPUTE},
        {"DRAM", METRIC_DRAM_ACTIVE, STYLE_MEMORY},
        {"FP16", METRIC_FP16_ACTIVE, STYLE_COMPUTE},
        {"L2", METRIC_L2_ACTIVE, STYLE_MEMORY},
        {"L1", METRIC_L1_ACTIVE, STYLE_MEMORY},
    };
    for (size_t i = 0; i < ARRAY_SIZE(pipes); i++)
        put_percent(line, i ? GAP : 0, pipes[i].name, pipes[i].style, pipes[i].metric);
}

static void put_links(struct line *line)
{
    enum { RATE_WIDTH = 9 };
    bool ascii = line->data->draw->cells->charset == CHARSET_ASCII;
    const char *in = ascii ? "<" : "↓", *out = ascii ? ">" : "↑";
    put(line, 0, "PCIe ", STYLE_LINK, 0, "");
    put_metric(line, 0, in, STYLE_LINK, RATE_WIDTH, METRIC_PCIE_RX);
    put_metric(line, 1, out, STYLE_LINK, RATE_WIDTH, METRIC_PCIE_TX);
    put(line, GAP, "NVLink ", STYLE_OTHER, 0, "");
    put_metric(line, 0, in, STYLE_OTHER, RATE_WIDTH, METRIC_NVLINK_RX);
    put_metric(line, 1, out, STYLE_OTHER, RATE_WIDTH, METRIC_NVLINK_TX);
    put_metric(line, GAP, sol_dram_name(&line->data->device->device), STYLE_MEMORY, RATE_WIDTH + 1,
               METRIC_ACHIEVED_DRAM);
}

static void put_waterfall(struct line *line)
{
    static const char times[] = "× ";
    put_percent(line, 0, "clock", STYLE_SMI, METRIC_WATERFALL_CLOCK);
    put(line, 1, times, STYLE_DIM, 0, "");
    put_percent(line, 0, "busy", STYLE_SMI, METRIC_WATERFALL_BUSY);
    put(line, 1, times, STYLE_DIM, 0, "");
    put_percent(line, 0, "coverage", STYLE_SMI, METRIC_WATERFALL_COVERAGE);
    put(line, 1, times, STYLE_DIM, 0, "");
    put_percent(line, 0, "pipe", STYLE_SMI, METRIC_WATERFALL_PIPE);
    put_percent(line, 1, "=", STYLE_COMPUTE, METRIC_COMPUTE_SOL);
    put_metric(line, 1, "of ", STYLE_DIM, 0, METRIC_PEAK_FLOPS);
}

static void put_power(struct line *line)
{
    const struct sample *sample = line->data->sample;
    char text[FORMAT_SIZE];
    put_metric(line, 0, "", STYLE_TEXT, 5, sample_power(sample));
    put_metric(line, 1, "of ", STYLE_DIM, 5, METRIC_POWER_LIMIT);
    bool effective = sample_has(sample, METRIC_EFFECTIVE_CLOCK);
    put_metric(line, GAP, "", STYLE_TEXT, 8, effective ? METRIC_EFFECTIVE_CLOCK : METRIC_SM_CLOCK);
    put(line, 1, "of ", STYLE_DIM, 8,
        format_value(METRIC_SM_CLOCK,
                     device_number(&line->data->device->device, DEVICE_MAX_SM_CLOCK, NAN), text));
    put_metric(line, GAP, "", STYLE_TEXT, 5, METRIC_TEMPERATURE);
    if (sample_has(sample, METRIC_MEMORY_TEMPERATURE))
        put_metric(line, GAP, "memory ", STYLE_DIM, 5, METRIC_MEMORY_TEMPERATURE);
    struct strbuf held = {0};
    if (panel_held_words(sample, &held))
        put(line, GAP, held.text, STYLE_WARNING, 0, "");
    strbuf_free(&held);
}

void panel_line(const struct panel_data *data, struct rect rect)
{
    struct line line = {data, rect.x, rect.y, rect.height > 0 ? rect.x + rect.width : rect.x};
    switch (data->draw->view->prefs.mode) {
    case MODE_WATERFALL:
        put_waterfall(&line);
        break;
    case MODE_PIPES:
        put_pipes(&line);
        break;
    case MODE_LINKS:
        put_links(&line);
        break;
    case MODE_POWER:
        put_power(&line);
        break;
    default:
        break;
    }
}
