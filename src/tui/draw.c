#include "tui/draw.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tui/format.h"
#include "tui/panel.h"

static double shown_time(const struct draw *draw)
{
    return draw->view->cursor > 0 ? draw->view->cursor : draw->model->time;
}

/* Which GPUs are shown, by the numbers of their rows, where not all are. */
static void part_words(const struct draw *draw, struct strbuf *out)
{
    const struct model *model = draw->model;
    size_t first = draw->layout->first_device, end = draw->layout->end_device;
    char from[DEVICE_PLACE_SIZE], to[DEVICE_PLACE_SIZE];
    if (draw->view->zoomed || end == first || model->device_count == end - first)
        return;
    strbuf_printf(out, "GPUs %s-%s of %zu  ", device_place(&model->devices[first].device, from),
                  device_place(&model->devices[end - 1].device, to), model->device_count);
}

/* What the person must know of the time: the right end of the title. */
static void status_words(const struct draw *draw, struct strbuf *out)
{
    const struct model *model = draw->model;
    char behind[FORMAT_SIZE];
    if (model->recording[0])
        strbuf_puts(out, "REC  ");
    if (model->cost.slowed)
        strbuf_puts(out, "slowed down  ");
    if (draw->view->paused)
        strbuf_puts(out, "PAUSED  ");
    if (draw->view->cursor > 0)
        strbuf_printf(out, "-%s  ", format_span(model->time - draw->view->cursor, behind));
    part_words(draw, out);
}

/* The time of day goes where there is no room for it beside the mode. */
static void add_time(const struct draw *draw, int width, struct strbuf *out)
{
    char time[16] = "--:--:--";
    if (draw->model->time > 0)
        clock_format_time(shown_time(draw), time, sizeof(time));
    if (cells_text_width(draw->cells, strbuf_text(out)) + (int)strlen(time) <= width)
        strbuf_puts(out, time);
}

void draw_title(const struct draw *draw, struct rect rect)
{
    if (rect.height <= 0)
        return;
    struct cells *cells = draw->cells;
    cells_fill(cells, rect, ' ', STYLE_BAR);
    static const char name[] = "rooftop";
    struct strbuf status = {0};
    status_words(draw, &status);
    int mode_width = VIEW_TABS_X + (int)strlen(mode_titles[draw->view->prefs.mode]) + 2;
    add_time(draw, rect.width - 2 - mode_width, &status);
    int right = cells_text_width(cells, strbuf_text(&status));
    int end = rect.x + rect.width - right - 2;
    int x = rect.x + 1;
    if (x + (int)strlen(name) <= end) {
        cells_text(cells, x, rect.y, end - x, STYLE_BAR_STRONG, name);
        x = VIEW_TABS_X;
    }
    for (unsigned i = 0; i < MODE_COUNT && x + 2 < end; i++) {
        bool present = i == draw->view->prefs.mode;
        if (!present && rect.width < VIEW_TABS_MIN_WIDTH)
            continue;
        x += cells_printf(cells, x, rect.y, end - x, present ? STYLE_BAR_STRONG : STYLE_BAR,
                          present ? "[%s]" : " %s ", mode_titles[i]);
    }
    if (x + 12 < end)
        cells_text_cut(cells, x + 2, rect.y, end - x - 2, STYLE_BAR, draw->model->source);
    cells_text_right(cells, rect.x, rect.y, rect.width - 1,
                     draw->view->paused || draw->model->recording[0] ? STYLE_BAR_STRONG : STYLE_BAR,
                     strbuf_text(&status));
    strbuf_free(&status);
}

enum { CHART_MIN_HEIGHT = 5, LINE_INDENT = 3, LINE_GAP = 2 };

static void draw_side(const struct panel_data *data, struct rect rect)
{
    enum { MARGIN = 2 };
    rect.x += MARGIN;
    rect.width -= MARGIN;
    if (data->draw->view->prefs.mode == MODE_POWER) {
        panel_power(data, rect);
        return;
    }
    int links = panel_links(data, rect);
    if (rect.height - links != VITALS) /* else they just fit without an empty row between */
        links++;
    panel_vitals(data, (struct rect){rect.x, rect.y + links, rect.width, rect.height - links});
}

static void draw_body(const struct panel_data *data, const struct panel *panel)
{
    unsigned mode = data->draw->view->prefs.mode;
    /* Where the room is ample, the chart stands below the mode's meters. */
    struct rect meters = panel->chart, chart = panel->chart;
    int taken = 0;
    bool alone = panel->side.width == 0; /* there is no side for their numbers */
    if (alone && (mode == MODE_LINKS || mode == MODE_POWER) && chart.height > 2 * CHART_MIN_HEIGHT)
        meters.height -= CHART_MIN_HEIGHT + 1;
    if (mode == MODE_PIPES)
        taken = panel_pipes(data, meters);
    else if (mode == MODE_WATERFALL)
        taken = panel_waterfall(data, meters);
    else if (mode == MODE_LINKS && alone)
        taken = panel_links(data, meters);
    else if (mode == MODE_POWER && alone)
        taken = panel_power(data, meters);
    if (taken > 0) {
        chart.y += taken + 1;
        chart.height -= taken + 1;
        if (mode == MODE_PIPES || mode == MODE_WATERFALL)
            mode = MODE_SOL;
    }
    if (chart.height >= CHART_MIN_HEIGHT || taken == 0)
        panel_chart(data, chart, mode);

    if (!alone)
        draw_side(data, panel->side);
}

static struct panel_data data_of(const struct draw *draw, const struct panel *panel,
                                 struct sample *sample)
{
    model_sample(draw->model, panel->device, draw->view->cursor, sample);
    return (struct panel_data){
        .draw = draw,
        .device = &draw->model->devices[panel->device],
        .sample = sample,
        .index = panel->device,
        .selected = panel->device == draw->view->device && draw->model->device_count > 1 &&
                    draw->view->focus == FOCUS_DEVICES,
        .nested = draw->model->nested[panel->device],
    };
}

/* What fits all headers. */
static struct header_form common_form(const struct draw *draw)
{
    struct header_form common = {.length = draw->header.length, .bar = draw->cells->width};
    for (size_t i = 0; i < draw->layout->panel_count; i++) {
        const struct panel *panel = &draw->layout->panels[i];
        struct sample sample;
        struct panel_data data = data_of(draw, panel, &sample);
        struct header_form form = panel_header_form(&data, panel);
        common.length = form.length > common.length ? form.length : common.length;
        common.bar = form.bar < common.bar ? form.bar : common.bar;
    }
    return common;
}

void draw_device(const struct draw *draw, const struct panel *panel)
{
    struct sample sample;
    struct panel_data data = data_of(draw, panel, &sample);
    bool line = draw->view->prefs.mode != MODE_SOL && data.device->reading.state <= READING_OK;
    struct rect rest = panel->header;
    if (panel->form == FORM_ROW && line) {
        rest.x += panel_name(&data, rest) + LINE_GAP;
        rest.width = panel->header.x + panel->header.width - rest.x;
        panel_line(&data, rest);
        return;
    }
    panel_header(&data, panel);
    rest = panel->verdict;
    if (panel->form == FORM_BRIEF && line)
        panel_line(&data, (struct rect){rest.x + LINE_INDENT, rest.y, rest.width - LINE_INDENT,
                                        rest.height});
    else if (rest.height > 0)
        panel_verdict(&data, rest);
    if (panel->chart.height > 0)
        draw_body(&data, panel);
}

static void draw_typing(const struct draw *draw, struct rect rect)
{
    bool filter = draw->view->dialog == DIALOG_FILTER;
    const char *label = filter ? "Filter: " : "Name of the mark: ";
    int x = rect.x + cells_text(draw->cells, rect.x, rect.y, rect.width, STYLE_STRONG, label);
    x += cells_text(draw->cells, x, rect.y, rect.x + rect.width - x, STYLE_TEXT, draw->view->text);
    if (x < rect.x + rect.width)
        cells_put(draw->cells, x++, rect.y, ' ', STYLE_BAR);
    cells_text(draw->cells, x + 2, rect.y, rect.x + rect.width - x - 2, STYLE_DIM,
               filter ? "Enter: keep   Esc: clear" : "Enter: set   Esc: leave");
}

void draw_bar(const struct draw *draw, struct rect rect)
{
    if (rect.height <= 0)
        return;
    const struct view *view = draw->view;
    struct cells *cells = draw->cells;
    if (view->dialog == DIALOG_FILTER || view->dialog == DIALOG_MARK) {
        draw_typing(draw, rect);
        return;
    }
    if (view_has_message(view, draw->now)) {
        cells_text(cells, rect.x + 1, rect.y, rect.width - 1, STYLE_WARNING, view->message);
        return;
    }
    int x = rect.x, end = rect.x + rect.width;
    for (size_t i = 0; i < bar_item_count; i++) {
        const struct bar_item *item = &bar_items[i];
        if (!bar_item_shown(item, draw->model))
            continue;
        if (x + bar_item_width(item) - 1 > end)
            break;
        int key = cells_text(cells, x, rect.y, end - x, STYLE_STRONG, item->key);
        cells_text(cells, x + key, rect.y, end - x - key, STYLE_BAR, item->word);
        x += bar_item_width(item);
    }
}

static void draw_empty(const struct draw *draw, struct rect rect)
{
    const char *text = draw->model->trouble[0] ? draw->model->trouble : "waiting for the GPUs";
    cells_text(draw->cells, rect.x + 1, rect.y + rect.height / 2, rect.width - 2, STYLE_WARNING,
               text);
}

static void compute_layout(const struct cells *cells, const struct model *model,
                           const struct view *view, const struct process_table *table,
                           struct layout *layout)
{
    struct layout_input input = {
        .width = cells->width,
        .height = cells->height,
        .device_count = model->device_count,
        .nested = model->nested,
        .first_device = view->first_device,
        .zoomed = view->zoomed,
        .process_rows = table->count,
        .processes_hidden = !view->prefs.processes,
        .timeline = model->recorded || view->cursor > 0,
    };
    layout_compute(&input, layout);
}

/* Scrolls until the selected device is among those that are shown. */
static void show_selected(const struct cells *cells, const struct model *model, struct view *view,
                          const struct process_table *table, struct layout *layout)
{
    compute_layout(cells, model, view, table, layout);
    if (view->zoomed || model->device_count == 0)
        return;
    view->first_device = layout->first_device;
    while (view->device < layout->first_device && view->first_device > 0) {
        view->first_device = view->device;
        compute_layout(cells, model, view, table, layout);
    }
    while (view->device >= layout->end_device && layout->end_device < model->device_count) {
        view->first_device++;
        compute_layout(cells, model, view, table, layout);
    }
    view->first_device = layout->first_device;
}

void draw_screen(struct cells *cells, const struct model *model, struct view *view,
                 const struct process_table *table, struct layout *layout, double now)
{
    struct view_context context = {model, table, layout, now};
    cells_clear(cells);
    compute_layout(cells, model, view, table, layout);
    view_settle(view, &context);
    show_selected(cells, model, view, table, layout);
    view_settle(view, &context);

    struct draw draw = {cells, model, view, table, layout, now, {0}};
    draw.header = common_form(&draw);
    draw.header = common_form(&draw); /* bars of the length that all have now */
    draw_title(&draw, layout->title);
    for (size_t i = 0; i < layout->panel_count; i++)
        draw_device(&draw, &layout->panels[i]);
    if (model->device_count == 0)
        draw_empty(&draw, layout->devices);
    draw_processes(&draw, layout->processes);
    draw_timeline(&draw, layout->timeline);
    draw_bar(&draw, layout->keys);
    view->item = draw_dialog(&draw);
}
