#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sol/fall.h"
#include "sol/sol.h"
#include "tui/format.h"
#include "tui/panel.h"

enum { NAME_WIDTH = 14, TEXT_WIDTH = 11, MIN_METER = 6, MIN_NAME = 7 };
static const double NO_BAR = -1; /* a number whose most is not known */
enum { MOST_LINKS = 7 };
enum { LOSS_LINES = 4, NARROW_LOSS_LINES = 5, NARROW = 56 };

void panel_meter(const struct panel_data *data, int x, int y, int width, const char *name,
                 double ratio, enum style style, const char *text)
{
    struct cells *cells = data->draw->cells;
    int name_width = width >= NAME_WIDTH + TEXT_WIDTH + MIN_METER ? NAME_WIDTH : MIN_NAME;
    int bar = width - name_width - TEXT_WIDTH - 1;
    cells_text(cells, x, y, name_width - 1, STYLE_TEXT, name);
    if (isnan(ratio)) {
        cells_text_cut(cells, x + name_width, y, width - name_width, style, text);
        return;
    }
    cells_text_right(cells, x + name_width, y, TEXT_WIDTH - 1, STYLE_TEXT, text);
    if (bar >= MIN_METER && ratio != NO_BAR)
        cells_bar(cells, x + name_width + TEXT_WIDTH, y, bar, ratio, style);
}

static double part_of(double value, double most)
{
    return most > 0 ? value / most : value > 0 ? NO_BAR : 0;
}

/* How the metric's curve is drawn, where the chart has one: behind the name. */
static void put_sign(const struct panel_data *data, int x, int y, int width, enum metric metric)
{
    enum style style;
    uint32_t sign = panel_curve_sign(data->draw, metric, &style);
    if (sign && sample_has(data->sample, metric) && width >= NAME_WIDTH + TEXT_WIDTH + MIN_METER)
        cells_put(data->draw->cells, x + NAME_WIDTH - 2, y, sign, style);
}

/* Why a metric is not known, in as many words as fit. */
static void missing_meter(const struct panel_data *data, struct rect row, const char *name,
                          enum metric metric)
{
    enum { REASON_MIN_WIDTH = 70 };
    const struct absence_info *info = absence_info((enum absence)data->sample->absent[metric]);
    char words[FORMAT_SIZE];
    snprintf(words, sizeof(words), "(%.30s)", info->word);
    for (char *c = words; *c; c++)
        if (*c == '_')
            *c = ' ';
    panel_meter(data, row.x, row.y, row.width, name, NAN, STYLE_DIM,
                row.width >= REASON_MIN_WIDTH ? info->reason : words);
}

/* A ratio with its bar, or why it is not known. */
static void ratio_meter(const struct panel_data *data, struct rect row, const char *name,
                        enum metric metric, enum style style)
{
    const struct sample *sample = data->sample;
    char text[FORMAT_SIZE];
    double value = sample_get(sample, metric, NAN);
    if (isnan(value))
        missing_meter(data, row, name, metric);
    else
        panel_meter(data, row.x, row.y, row.width, name, value, style,
                    format_value(metric, value, text));
}

struct meter {
    enum metric metric;
    const char *name;
    enum style style;
    int rank; /* where rows are short, the highest go first */
};

static const struct meter pipe_meters[] = {
    {METRIC_SM_ACTIVE, "SMs with work", STYLE_SMI, 1},
    {METRIC_SM_OCCUPANCY, "occupancy", STYLE_SMI, 3},
    {METRIC_TENSOR_ACTIVE, "tensor", STYLE_COMPUTE, 0},
    {METRIC_TENSOR_HMMA_ACTIVE, "  floating", STYLE_COMPUTE, 4},
    {METRIC_TENSOR_IMMA_ACTIVE, "  integer", STYLE_COMPUTE, 4},
    {METRIC_TENSOR_DFMA_ACTIVE, "  FP64", STYLE_COMPUTE, 4},
    {METRIC_FP64_ACTIVE, "FP64", STYLE_COMPUTE, 1},
    {METRIC_FP32_ACTIVE, "FP32", STYLE_COMPUTE, 0},
    {METRIC_FP16_ACTIVE, "FP16", STYLE_COMPUTE, 2},
    {METRIC_INT_ACTIVE, "INT", STYLE_COMPUTE, 2},
    {METRIC_XU_ACTIVE, "XU", STYLE_COMPUTE, 5},
    {METRIC_ISSUE_ACTIVE, "issue slots", STYLE_SMI, 5},
    {METRIC_DRAM_ACTIVE, "DRAM", STYLE_MEMORY, 0},
    {METRIC_L2_ACTIVE, "L2", STYLE_MEMORY, 5},
    {METRIC_L1_ACTIVE, "L1", STYLE_MEMORY, 5},
};

static size_t count_up_to(int rank)
{
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(pipe_meters); i++)
        count += pipe_meters[i].rank <= rank;
    return count;
}

int panel_pipes(const struct panel_data *data, struct rect rect)
{
    int columns = rect.width >= 2 * 50 ? 2 : 1;
    int rank = 5;
    while (rank > 0 && count_up_to(rank) > (size_t)(rect.height * columns))
        rank--;
    int width = (rect.width - 2 * (columns - 1)) / columns;
    int per_column = (int)(count_up_to(rank) + (size_t)columns - 1) / columns;
    int place = 0;
    for (size_t i = 0; i < ARRAY_SIZE(pipe_meters); i++) {
        const struct meter *meter = &pipe_meters[i];
        if (meter->rank > rank)
            continue;
        struct rect row = {rect.x + place / per_column * (width + 2), rect.y + place % per_column,
                           width, 1};
        place++;
        if (row.y < rect.y + rect.height)
            ratio_meter(data, row, meter->name, meter->metric, meter->style);
    }
    return per_column < rect.height ? per_column : rect.height;
}

static const struct step {
    enum metric metric;
    const char *name;
} steps[FALL_STEPS] = {
    [FALL_CLOCK] = {METRIC_WATERFALL_CLOCK, "× clock"},
    [FALL_BUSY] = {METRIC_WATERFALL_BUSY, "× busy"},
    [FALL_COVERAGE] = {METRIC_WATERFALL_COVERAGE, "× coverage"},
    [FALL_PIPE] = {METRIC_WATERFALL_PIPE, "× pipe"},
};

/* FALL_STEPS where nothing worth a word is lost. */
static enum fall_step largest_loss(const struct fall *fall)
{
    enum fall_step worst = FALL_STEPS;
    double most = 0.01;
    for (enum fall_step i = FALL_CLOCK; i < FALL_STEPS && fall->seconds > 0; i++)
        if (fall_lost(fall, i) > most) {
            most = fall_lost(fall, i);
            worst = i;
        }
    return worst;
}

/* The loss, and what helps, on as many lines as there are. */
static void put_loss(const struct panel_data *data, struct rect rect, const struct fall *fall,
                     enum fall_step step)
{
    struct cells *cells = data->draw->cells;
    struct strbuf advice = {0};
    char text[2 * FORMAT_SIZE];
    int y = rect.y, end = rect.y + rect.height;
    int x = rect.x + NAME_WIDTH, width = rect.width - NAME_WIDTH;
    snprintf(text, sizeof(text), "%s, %.0f points of the peak", fall_name(step),
             fall_lost(fall, step) * 100);
    panel_meter(data, rect.x, y++, rect.width, "largest loss", NAN, STYLE_WARNING, text);
    fall_advice(fall, step, &advice);
    const char *rest = strbuf_text(&advice);
    while (*rest && y < end) {
        size_t length = cells_text_break(cells, rest, width);
        cells_printf(cells, x, y++, width, STYLE_DIM, "%.*s", (int)length, rest);
        rest += length + (rest[length] == ' ');
    }
    strbuf_free(&advice);
}

/* Each step: its factor, and a bar of what is left of the peak behind it. */
static double waterfall_step(const struct panel_data *data, struct rect row, size_t i, double left,
                             bool worst)
{
    const struct sample *sample = data->sample;
    double factor = sample_get(sample, steps[i].metric, NAN);
    char text[FORMAT_SIZE];
    if (isnan(factor)) {
        missing_meter(data, row, steps[i].name, steps[i].metric);
        return left;
    }
    panel_meter(data, row.x, row.y, row.width, steps[i].name, left * factor,
                worst ? STYLE_MEMORY : STYLE_COMPUTE, format_value(steps[i].metric, factor, text));
    return left * factor;
}

int panel_waterfall(const struct panel_data *data, struct rect rect)
{
    const struct sample *sample = data->sample;
    char text[FORMAT_SIZE];
    struct fall fall = {0};
    fall_add(&fall, &data->device->device, sample, 1);
    enum fall_step worst = largest_loss(&fall);
    int y = rect.y, end = rect.y + rect.height;
    if (rect.height > (int)ARRAY_SIZE(steps) + 1)
        panel_meter(data, rect.x, y++, rect.width, "peak", NAN, STYLE_TEXT,
                    format_metric(sample, METRIC_PEAK_FLOPS, text));
    double left = 1;
    for (size_t i = 0; i < ARRAY_SIZE(steps) && y < end; i++)
        left = waterfall_step(data, (struct rect){rect.x, y++, rect.width, 1}, i, left, i == worst);
    bool known = sample_has(sample, METRIC_COMPUTE_SOL);
    if (y < end)
        panel_meter(data, rect.x, y++, rect.width, "= of the peak", known ? left : NAN,
                    STYLE_COMPUTE, known ? format_value(METRIC_COMPUTE_SOL, left, text) : "?");
    if (y < end)
        panel_meter(data, rect.x, y++, rect.width, "achieved", NAN, STYLE_TEXT,
                    format_metric(sample, METRIC_ACHIEVED_FLOPS, text));
    /* The chart below stays where it is when the advice changes. */
    int loss_end = y + (rect.width < NARROW ? NARROW_LOSS_LINES : LOSS_LINES);
    loss_end = loss_end < end ? loss_end : end;
    if (y < end && worst != FALL_STEPS)
        put_loss(data, (struct rect){rect.x, y, rect.width, loss_end - y}, &fall, worst);
    return loss_end - rect.y;
}

struct rate {
    enum metric metric;
    const char *name;
    const char *ascii;
    enum style style;
};

static void rate_meter(const struct panel_data *data, struct rect row, const struct rate *rate)
{
    const struct sample *sample = data->sample;
    char text[FORMAT_SIZE];
    bool ascii = data->draw->cells->charset == CHARSET_ASCII;
    const char *name = rate->metric == METRIC_ACHIEVED_DRAM ? sol_dram_name(&data->device->device)
                       : ascii                              ? rate->ascii
                                                            : rate->name;
    double value = sample_get(sample, rate->metric, NAN);
    double peak = panel_full_scale(data, rate->metric);
    if (isnan(value))
        missing_meter(data, row, name, rate->metric);
    else
        panel_meter(data, row.x, row.y, row.width, name, part_of(value, peak), rate->style,
                    format_value(rate->metric, value, text));
    put_sign(data, row.x, row.y, row.width, rate->metric);
}

int panel_links(const struct panel_data *data, struct rect rect)
{
    static const struct rate rates[] = {
        {METRIC_PCIE_RX, "PCIe ↓", "PCIe in", STYLE_LINK},
        {METRIC_PCIE_TX, "PCIe ↑", "PCIe out", STYLE_LINK},
        {METRIC_NVLINK_RX, "NVLink ↓", "NVLink in", STYLE_OTHER},
        {METRIC_NVLINK_TX, "NVLink ↑", "NVLink out", STYLE_OTHER},
        {METRIC_ACHIEVED_DRAM, "DRAM", "DRAM", STYLE_MEMORY},
        {METRIC_DRAM_READ, "  read", "  read", STYLE_MEMORY},
        {METRIC_DRAM_WRITE, "  write", "  write", STYLE_MEMORY},
    };
    int y = rect.y;
    for (size_t i = 0; i < ARRAY_SIZE(rates) && y < rect.y + rect.height; i++) {
        /* Read and write are worth a row only where they are known. */
        bool part = rates[i].name[0] == ' ';
        if (!part || sample_has(data->sample, rates[i].metric))
            rate_meter(data, (struct rect){rect.x, y++, rect.width, 1}, &rates[i]);
    }
    return y - rect.y;
}

static void amount_meter(const struct panel_data *data, struct rect row, const char *name,
                         enum metric metric, double most, enum style style)
{
    double value = sample_get(data->sample, metric, NAN);
    char text[FORMAT_SIZE];
    if (isnan(value))
        missing_meter(data, row, name, metric);
    else
        panel_meter(data, row.x, row.y, row.width, name, part_of(value, most), style,
                    metric == METRIC_MEMORY_USED ? format_bytes(value, text)
                                                 : format_value(metric, value, text));
}

bool panel_held_words(const struct sample *sample, struct strbuf *out)
{
    if (sample_has(sample, METRIC_THROTTLE_REASONS))
        flags_words(sample->value[METRIC_THROTTLE_REASONS], " ", out);
    return out->length > 0 && strcmp(out->text, "idle") != 0;
}

bool panel_has_vitals(const struct panel *panel)
{
    return panel->side.width > 0 && panel->side.height >= MOST_LINKS + VITALS;
}

void panel_vitals(const struct panel_data *data, struct rect rect)
{
    enum metric power = sample_power(data->sample);
    enum metric clock =
        sample_has(data->sample, METRIC_EFFECTIVE_CLOCK) ? METRIC_EFFECTIVE_CLOCK : METRIC_SM_CLOCK;
    const struct {
        enum metric metric;
        const char *name;
        enum style style;
    } vitals[VITALS] = {
        {METRIC_MEMORY_USED, "memory", STYLE_SMI},
        {power, power == METRIC_POWER ? "power" : "mean power", STYLE_OTHER},
        {clock, "clock", STYLE_COMPUTE},
        {METRIC_TEMPERATURE, "temperature", STYLE_MEMORY},
    };
    for (int i = 0; i < VITALS && i < rect.height; i++)
        amount_meter(data, (struct rect){rect.x, rect.y + i, rect.width, 1}, vitals[i].name,
                     vitals[i].metric, panel_full_scale(data, vitals[i].metric), vitals[i].style);
    struct strbuf held = {0};
    if (rect.height > VITALS && panel_held_words(data->sample, &held))
        panel_meter(data, rect.x, rect.y + VITALS, rect.width, "held by", NAN, STYLE_WARNING,
                    held.text);
    strbuf_free(&held);
}

static void put_line(const struct panel_data *data, struct rect rect, int *y, const char *name,
                     enum metric metric, const char *text)
{
    if (*y >= rect.y + rect.height || !text[0])
        return;
    panel_meter(data, rect.x, *y, rect.width, name, NAN, STYLE_TEXT, text);
    put_sign(data, rect.x, (*y)++, rect.width, metric);
}

static const char *pair(const struct sample *sample, enum metric first, const char *between,
                        const char *second, char *ret, size_t size)
{
    char number[FORMAT_SIZE];
    bool known = second[0] && strcmp(second, "?") != 0;
    snprintf(ret, size, "%s%s%s", format_metric(sample, first, number), known ? between : "",
             known ? second : "");
    return ret;
}

/* Between bursts of the counters it is of the last one. */
static const char *effective_clock(const struct sample *sample, char *ret, size_t size)
{
    char clock[FORMAT_SIZE], age[FORMAT_SIZE];
    double seconds = sample_get(sample, METRIC_COUNTERS_AGE, 0);
    format_metric(sample, METRIC_EFFECTIVE_CLOCK, clock);
    bool held = sample_has(sample, METRIC_EFFECTIVE_CLOCK) && seconds >= 1;
    snprintf(ret, size, "%s%s%s%s", clock, held ? ", " : "", held ? format_span(seconds, age) : "",
             held ? " ago" : "");
    return ret;
}

int panel_power(const struct panel_data *data, struct rect rect)
{
    const struct sample *sample = data->sample;
    char a[FORMAT_SIZE], text[3 * FORMAT_SIZE];
    int y = rect.y;
    put_line(data, rect, &y, "power", METRIC_POWER,
             pair(sample, METRIC_POWER, " of ", format_metric(sample, METRIC_POWER_LIMIT, a), text,
                  sizeof(text)));
    put_line(data, rect, &y, "average", METRIC_POWER_AVERAGE,
             format_metric(sample, METRIC_POWER_AVERAGE, a));
    put_line(data, rect, &y, "SM clock", METRIC_SM_CLOCK,
             pair(sample, METRIC_SM_CLOCK, " of ",
                  format_value(METRIC_SM_CLOCK,
                               device_number(&data->device->device, DEVICE_MAX_SM_CLOCK, NAN), a),
                  text, sizeof(text)));
    put_line(data, rect, &y, "effective", METRIC_EFFECTIVE_CLOCK,
             effective_clock(sample, text, sizeof(text)));
    put_line(data, rect, &y, "mem. clock", METRIC_MEMORY_CLOCK,
             format_metric(sample, METRIC_MEMORY_CLOCK, a));
    put_line(data, rect, &y, "temperature", METRIC_TEMPERATURE,
             pair(sample, METRIC_TEMPERATURE, ", memory ",
                  format_metric(sample, METRIC_MEMORY_TEMPERATURE, a), text, sizeof(text)));
    struct strbuf held = {0};
    bool is_held = panel_held_words(sample, &held);
    put_line(data, rect, &y, "held by", METRIC_THROTTLE_REASONS, is_held ? held.text : "nothing");
    strbuf_free(&held);
    put_line(data, rect, &y, "energy", METRIC_ENERGY, format_metric(sample, METRIC_ENERGY, a));
    put_line(data, rect, &y, "ECC errors", METRIC_ECC_UNCORRECTED,
             pair(sample, METRIC_ECC_UNCORRECTED, ", corrected ",
                  format_metric(sample, METRIC_ECC_CORRECTED, a), text, sizeof(text)));
    put_line(data, rect, &y, "Xid errors", METRIC_XID_ERRORS,
             pair(sample, METRIC_XID_ERRORS, ", last ",
                  format_metric(sample, METRIC_XID_LAST_CODE, a), text, sizeof(text)));
    return y - rect.y;
}
