#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sol/sol.h"
#include "tui/format.h"
#include "tui/panel.h"

/* How much a part of the header says. */
enum length { LONG, SHORT, TINY };

/* Where the room is short, the highest go first; RANK_NAME stays. */
enum rank {
    RANK_NAME,
    RANK_SOL,
    RANK_SMI,
    RANK_MEMORY,
    RANK_BOUND,
    RANK_POWER,
    RANK_REASON,
    RANK_CLOCK,
    RANK_TEMPERATURE,
};

enum { MAX_SEGMENTS = 14, SEGMENT_SIZE = 64, GAP = 2, MAX_BAR = 24, MIN_BAR = 6 };
enum { NESTED_INDENT = 3 };
enum { REASON_ROOM = GAP + (int)sizeof("power_cap") - 1 };

struct segment {
    enum style style;
    enum rank rank;
    double bar; /* in rows: a bar for this value may follow; NAN for none */
    int width;  /* of the text, in columns */
    char text[SEGMENT_SIZE];
};

struct header {
    const struct panel_data *data;
    enum length length;
    size_t count;
    struct segment segments[MAX_SEGMENTS];
};

static struct segment *add(struct header *header, enum rank rank, enum style style)
{
    struct segment *segment = &header->segments[header->count++];
    *segment = (struct segment){.style = style, .rank = rank, .bar = NAN};
    return segment;
}

static const char *short_name(const char *name)
{
    return strncmp(name, "NVIDIA ", 7) == 0 ? name + 7 : name;
}

/* "3g.71gb" of "NVIDIA H200 MIG 3g.71gb". */
static const char *instance_name(const char *name)
{
    const char *mig = strstr(name, "MIG ");
    return mig ? mig : short_name(name);
}

/* Names take the same room in each header, so that numbers stand below each other. */
static int name_width(const struct model *model, enum length length)
{
    size_t widest = 0;
    for (size_t i = 0; i < model->device_count; i++) {
        const char *name = model->devices[i].device.text[DEVICE_NAME];
        size_t width = model->nested[i]  ? strlen(instance_name(name)) + NESTED_INDENT
                       : length == SHORT ? strlen(short_name(name))
                                         : strlen(name);
        widest = width > widest ? width : widest;
    }
    size_t most = length == SHORT ? 14 : 26;
    return (int)(widest < most ? widest : most);
}

static void add_name(struct header *header)
{
    const struct panel_data *data = header->data;
    const struct model *model = data->draw->model;
    const char *name = data->device->device.text[DEVICE_NAME];
    struct segment *segment = add(header, RANK_NAME, data->selected ? STYLE_CURSOR : STYLE_NAME);
    char place[DEVICE_PLACE_SIZE];
    int width = header->length == TINY ? 0 : name_width(model, header->length);
    int place_width = 2 + (data->nested && width > 0 ? NESTED_INDENT : 0);
    device_place(&data->device->device, place);
    if (width == 0)
        snprintf(segment->text, SEGMENT_SIZE, "%2s", place);
    else {
        width -= data->nested ? NESTED_INDENT : 0;
        const char *words = data->nested              ? instance_name(name)
                            : header->length == SHORT ? short_name(name)
                                                      : name;
        snprintf(segment->text, SEGMENT_SIZE, "%*s %-*.*s", place_width, place, width, width,
                 words);
    }
}

static void put_percent(char *text, enum length length, const struct sample *sample,
                        enum metric metric)
{
    double value = sample_get(sample, metric, NAN);
    if (isnan(value))
        snprintf(text, 16, length == LONG ? "    ? %%" : length == SHORT ? "  ?%%" : "  ?");
    else if (length == LONG)
        snprintf(text, 16, "%5.1f %%", value * 100);
    else
        snprintf(text, 16, length == SHORT ? "%3.0f%%" : "%3.0f", value * 100);
}

static void add_sol(struct header *header, enum metric metric, const char *const names[3],
                    const char *what, int what_width, enum style style)
{
    const struct sample *sample = header->data->sample;
    struct segment *segment = add(header, RANK_SOL, style);
    char percent[16];
    put_percent(percent, header->length, sample, metric);
    segment->bar = sample_get(sample, metric, NAN);
    if (header->length == TINY)
        snprintf(segment->text, SEGMENT_SIZE, "%s%s", names[TINY], percent);
    else
        snprintf(segment->text, SEGMENT_SIZE, "%s %s %-*.*s", names[header->length], percent,
                 what_width, what_width, what);
}

static void add_sols(struct header *header)
{
    static const char *const compute[] = {"Compute", "C", "C"};
    static const char *const memory[] = {"Memory", "M", "M"};
    const struct panel_data *data = header->data;
    struct strbuf words = {0};
    sol_pipe_words(data->sample, &words);
    add_sol(header, METRIC_COMPUTE_SOL, compute, strbuf_text(&words), 7, STYLE_COMPUTE_STRONG);
    strbuf_clear(&words);
    sol_level_words(&data->device->device, data->sample, &words);
    add_sol(header, METRIC_MEMORY_SOL, memory, strbuf_text(&words), header->length == LONG ? 8 : 4,
            STYLE_MEMORY_STRONG);
    strbuf_free(&words);
}

static void add_bound(struct header *header)
{
    const struct sample *sample = header->data->sample;
    const char *word = label_word(METRIC_BOUND, sample_get(sample, METRIC_BOUND, -1));
    snprintf(add(header, RANK_BOUND, STYLE_STRONG)->text, SEGMENT_SIZE, "%-7s", word ? word : "?");
}

static void add_smi(struct header *header)
{
    static const char *const names[] = {"nvidia-smi", "smi", "s"};
    char percent[16];
    double value = sample_get(header->data->sample, METRIC_NVML_UTILIZATION, NAN);
    if (isnan(value))
        snprintf(percent, sizeof(percent), "  ?");
    else
        snprintf(percent, sizeof(percent), "%3.0f", value * 100);
    snprintf(add(header, RANK_SMI, STYLE_SMI)->text, SEGMENT_SIZE,
             header->length == LONG    ? "%s %s %%"
             : header->length == SHORT ? "%s %s%%"
                                       : "%s%s",
             names[header->length], percent);
}

static void add_memory(struct header *header)
{
    const struct panel_data *data = header->data;
    char used[FORMAT_SIZE], total[FORMAT_SIZE];
    double total_bytes = sample_get(data->sample, METRIC_MEMORY_TOTAL,
                                    device_number(&data->device->device, DEVICE_MEMORY_TOTAL, NAN));
    format_bytes(sample_get(data->sample, METRIC_MEMORY_USED, NAN), used);
    format_bytes(total_bytes, total);
    snprintf(add(header, RANK_MEMORY, STYLE_TEXT)->text, SEGMENT_SIZE, "%5.8s/%-4.8s", used, total);
}

static void add_electrical(struct header *header)
{
    const struct sample *sample = header->data->sample;
    double power = sample_get(sample, sample_power(sample), NAN);
    const char *mark = sample_power(sample) == METRIC_POWER ? "" : "~"; /* a mean */
    double limit =
        sample_get(sample, METRIC_POWER_LIMIT,
                   device_number(&header->data->device->device, DEVICE_POWER_LIMIT, NAN));
    char *text = add(header, RANK_POWER, STYLE_TEXT)->text;
    if (isnan(power))
        snprintf(text, SEGMENT_SIZE, header->length == LONG ? "  ?/?   W" : "  ?W");
    else if (header->length == LONG && !isnan(limit))
        snprintf(text, SEGMENT_SIZE, "%s%3.0f/%3.0f W", mark, power, limit);
    else
        snprintf(text, SEGMENT_SIZE, "%s%3.0fW", mark, power);

    double effective = sample_get(sample, METRIC_EFFECTIVE_CLOCK, NAN);
    double clock = isnan(effective) ? sample_get(sample, METRIC_SM_CLOCK, NAN) : effective;
    text = add(header, RANK_CLOCK, STYLE_TEXT)->text;
    if (isnan(clock))
        snprintf(text, SEGMENT_SIZE, "   ? MHz");
    else
        snprintf(text, SEGMENT_SIZE, "%4.0f MHz", clock / 1e6);

    double temperature = sample_get(sample, METRIC_TEMPERATURE, NAN);
    text = add(header, RANK_TEMPERATURE, STYLE_TEXT)->text;
    const char *degree = header->data->draw->cells->charset == CHARSET_ASCII ? "" : "°";
    if (isnan(temperature))
        snprintf(text, SEGMENT_SIZE, " ? %sC", degree);
    else
        snprintf(text, SEGMENT_SIZE, "%2.0f %sC", temperature, degree);
}

static void add_reason(void *context, const char *word)
{
    struct header *header = context;
    if (header->count < MAX_SEGMENTS && strcmp(word, "idle") != 0)
        snprintf(add(header, RANK_REASON, STYLE_WARNING)->text, SEGMENT_SIZE, "%s", word);
}

/* Instead of numbers: since when there are none. */
static bool add_state(struct header *header)
{
    const struct reading *reading = &header->data->device->reading;
    if (reading->state <= READING_OK || header->data->draw->view->cursor > 0)
        return false;
    char age[FORMAT_SIZE];
    char *text = add(header, RANK_NAME, STYLE_ALARM)->text;
    snprintf(text, SEGMENT_SIZE, " %s %s ", reading_state_name(reading->state),
             format_span(reading->age, age));
    return true;
}

static void add_all(struct header *header)
{
    header->count = 0;
    add_name(header);
    if (add_state(header))
        return;
    add_sols(header);
    if (header->length != TINY)
        add_bound(header);
    /* An instance has neither, but its GPU above it. */
    bool whole = !header->data->nested;
    if (whole)
        add_smi(header);
    if (header->length == TINY) {
        add_bound(header);
        return;
    }
    add_memory(header);
    if (whole)
        add_electrical(header);
    flags_each(sample_get(header->data->sample, METRIC_THROTTLE_REASONS, 0), add_reason, header);
}

static void build(struct header *header)
{
    add_all(header);
    for (size_t i = 0; i < header->count; i++)
        header->segments[i].width =
            cells_text_width(header->data->draw->cells, header->segments[i].text);
}

static int total_width(const struct header *header, int gap)
{
    int width = 0;
    for (size_t i = 0; i < header->count; i++)
        width += header->segments[i].width + (i > 0 ? gap : 0);
    return width;
}

static void drop_highest_rank(struct header *header)
{
    size_t highest = 0;
    for (size_t i = 1; i < header->count; i++)
        if (header->segments[i].rank >= header->segments[highest].rank)
            highest = i;
    header->count--;
    memmove(&header->segments[highest], &header->segments[highest + 1],
            (header->count - highest) * sizeof(header->segments[0]));
}

static int highest_rank(const struct header *header)
{
    int rank = RANK_NAME;
    for (size_t i = 0; i < header->count; i++)
        rank = (int)header->segments[i].rank > rank ? (int)header->segments[i].rank : rank;
    return rank;
}

/* Room that the header asks for: what a throttle reason takes is kept free, so that nothing moves
 * when one comes or goes. */
static int wanted_width(const struct header *header, bool beside_vitals)
{
    int most = beside_vitals ? RANK_POWER : RANK_TEMPERATURE;
    int width = beside_vitals || header->data->nested ? 0 : REASON_ROOM;
    for (size_t i = 0; i < header->count; i++) {
        const struct segment *segment = &header->segments[i];
        if ((int)segment->rank <= most && segment->rank != RANK_REASON)
            width += segment->width + (i > 0 ? GAP : 0);
    }
    return width;
}

/* Words are shortened before a number goes; then the least important go, as far as they must. With
 * the vitals at the chart's side, clock and temperature need not be here. */
static void fit(struct header *header, int width, bool beside_vitals)
{
    for (int length = header->data->draw->header.length; length <= TINY; length++) {
        header->length = (enum length)length;
        build(header);
        if (length == LONG && wanted_width(header, beside_vitals) > width)
            continue;
        int gap = length == TINY ? 1 : GAP;
        int kept = length == TINY ? 0 : RANK_SMI;
        while (total_width(header, gap) > width && highest_rank(header) > kept)
            drop_highest_rank(header);
        if (total_width(header, gap) <= width)
            return;
    }
}

/* What is left of the row goes to the two bars, up to a length. */
static int bar_width(const struct header *header, int width)
{
    int wanted = wanted_width(header, false), total = total_width(header, GAP);
    int left = (width - (wanted > total ? wanted : total)) / 2 - 1;
    if (header->length == TINY || left < MIN_BAR)
        return 0;
    return left < MAX_BAR ? left : MAX_BAR;
}

struct header_form panel_header_form(const struct panel_data *data, const struct panel *panel)
{
    struct header header = {.data = data};
    struct rect rect = panel->header;
    fit(&header, rect.width, panel_has_vitals(panel));
    return (struct header_form){(int)header.length, bar_width(&header, rect.width)};
}

void panel_header(const struct panel_data *data, const struct panel *panel)
{
    struct cells *cells = data->draw->cells;
    struct header header = {.data = data};
    struct rect rect = panel->header;
    fit(&header, rect.width, panel_has_vitals(panel));
    int gap = header.length == TINY ? 1 : GAP;
    int bar = panel->form == FORM_ROW ? data->draw->header.bar : 0;
    int x = rect.x, end = rect.x + rect.width;
    for (size_t i = 0; i < header.count; i++) {
        const struct segment *segment = &header.segments[i];
        if (bar > 0 && segment->rank == RANK_SOL) {
            double value = isnan(segment->bar) ? 0 : segment->bar;
            cells_bar(cells, x, rect.y, bar, value,
                      segment->style == STYLE_COMPUTE_STRONG ? STYLE_COMPUTE : STYLE_MEMORY);
            x += bar + 1;
        }
        x += cells_text(cells, x, rect.y, end - x, segment->style, segment->text) + gap;
    }
    if (panel->form != FORM_FULL || x >= end)
        return;
    struct rect rule = {x, rect.y, end - x, 1};
    cells_fill(cells, rule, cells_glyph(cells, GLYPH_HORIZONTAL), STYLE_RULE);
}

int panel_name(const struct panel_data *data, struct rect rect)
{
    enum { SHORT_MIN_WIDTH = 40 };
    struct header header = {.data = data, .length = rect.width < SHORT_MIN_WIDTH ? TINY : SHORT};
    add_name(&header);
    return cells_text(data->draw->cells, rect.x, rect.y, rect.width, header.segments[0].style,
                      header.segments[0].text);
}

static enum absence absence_of(enum reading_state state)
{
    return state == READING_LOST    ? ABSENT_LOST
           : state == READING_STALE ? ABSENT_STALE
                                    : ABSENT_DRIVER_ERROR;
}

static void state_words(const struct reading *reading, struct strbuf *out)
{
    const struct absence_info *info = absence_info(absence_of(reading->state));
    char age[FORMAT_SIZE];
    strbuf_printf(out, "%s; last seen %s ago", info->reason, format_span(reading->age, age));
    if (reading->error < 0 && reading->state == READING_FAILED)
        strbuf_printf(out, " (%s)", strerror(-reading->error));
    if (info->advice[0])
        strbuf_printf(out, "; %s", info->advice);
}

/* Work done, flush right, where the sentence leaves room. */
static void put_achieved(const struct panel_data *data, struct rect rect, int used)
{
    const struct sample *sample = data->sample;
    char text[4 * FORMAT_SIZE] = "", number[FORMAT_SIZE];
    const char *type = label_word(METRIC_ASSUMED_TYPE, sample_get(sample, METRIC_ASSUMED_TYPE, -1));
    if (sample_get(sample, METRIC_ACHIEVED_FLOPS, 0) >= 1e9 && type)
        snprintf(text, sizeof(text), "%s if %s",
                 format_metric(sample, METRIC_ACHIEVED_FLOPS, number), type);
    if (sample_get(sample, METRIC_ACHIEVED_DRAM, 0) >= 1e9) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof(text) - length, "%s%s %s", length ? ", " : "",
                 sol_dram_name(&data->device->device),
                 format_metric(sample, METRIC_ACHIEVED_DRAM, number));
    }
    if (cells_text_width(data->draw->cells, text) + used + GAP <= rect.width)
        cells_text_right(data->draw->cells, rect.x + used, rect.y, rect.width - used, STYLE_DIM,
                         text);
}

/* Columns for the sentence: up to the last clause that fits, where one does. */
static int clause_width(const struct cells *cells, const char *text, int width)
{
    char part[256];
    int fit = width;
    if (cells_text_width(cells, text) <= width)
        return width;
    for (const char *end = strpbrk(text, ";,"); end; end = strpbrk(end + 1, ";,")) {
        snprintf(part, sizeof(part), "%.*s", (int)(end - text), text);
        int part_width = cells_text_width(cells, part);
        if (part_width > width || end[1] != ' ')
            break;
        fit = part_width;
    }
    return fit;
}

void panel_verdict(const struct panel_data *data, struct rect rect)
{
    enum { INDENT = 3 };
    struct cells *cells = data->draw->cells;
    struct strbuf sentence = {0};
    const struct reading *reading = &data->device->reading;
    bool out_of_order = reading->state > READING_OK && data->draw->view->cursor == 0;
    if (out_of_order)
        state_words(reading, &sentence);
    else
        sol_judgement(&data->device->device, data->sample, &sentence);
    const char *text = strbuf_text(&sentence);
    enum style style = out_of_order ? STYLE_WARNING : STYLE_TEXT;
    int width = rect.width - INDENT, y = rect.y;
    if (rect.height > 1) {
        size_t first = cells_text_break(cells, text, width);
        cells_printf(cells, rect.x + INDENT, y++, width, style, "%.*s", (int)first, text);
        text += first + (text[first] == ' ');
    }
    int clause = clause_width(cells, text, width);
    int used = clause < width ? cells_text(cells, rect.x + INDENT, y, clause, style, text)
                              : cells_text_cut(cells, rect.x + INDENT, y, width, style, text);
    if (!out_of_order)
        put_achieved(data, (struct rect){rect.x, y, rect.width, 1}, used + INDENT);
    strbuf_free(&sentence);
}
