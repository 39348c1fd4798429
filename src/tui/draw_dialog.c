#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tui/columns.h"
#include "tui/draw.h"
#include "tui/format.h"

/* A box in the middle of the screen, with lines of text that scroll. */
struct box {
    const struct draw *draw;
    struct rect inner;
    size_t first; /* line at the top */
    size_t line;  /* next to be put */
};

static struct box open_box(const struct draw *draw, int width, int height, const char *title)
{
    struct cells *cells = draw->cells;
    width = width + 4 < cells->width ? width + 4 : cells->width;
    height = height + 2 < cells->height ? height + 2 : cells->height;
    struct rect outer = {(cells->width - width) / 2, (cells->height - height) / 2, width, height};
    cells_fill(cells, outer, ' ', STYLE_TEXT);
    struct rect head = {outer.x, outer.y, outer.width, 1};
    struct rect foot = {outer.x, outer.y + outer.height - 1, outer.width, outer.height > 1};
    cells_fill(cells, head, ' ', STYLE_BAR);
    cells_fill(cells, foot, cells_glyph(cells, GLYPH_HORIZONTAL), STYLE_RULE);
    cells_text(cells, outer.x + 2, outer.y, outer.width - 4, STYLE_BAR_STRONG, title);
    for (int y = outer.y + 1; y < outer.y + outer.height - 1; y++) {
        cells_put(cells, outer.x, y, cells_glyph(cells, GLYPH_VERTICAL), STYLE_RULE);
        cells_put(cells, outer.x + outer.width - 1, y, cells_glyph(cells, GLYPH_VERTICAL),
                  STYLE_RULE);
    }
    return (struct box){
        .draw = draw,
        .inner = {outer.x + 2, outer.y + 1, outer.width - 4, outer.height - 2},
    };
}

/* The row of the next line, or −1 where it is scrolled away. */
static int next_row(struct box *box)
{
    size_t line = box->line++;
    if (line < box->first ||
        line >= box->first + (size_t)(box->inner.height > 0 ? box->inner.height : 0))
        return -1;
    return box->inner.y + (int)(line - box->first);
}

static void put_line(struct box *box, enum style style, const char *text)
{
    int y = next_row(box);
    if (y >= 0)
        cells_text(box->draw->cells, box->inner.x, y, box->inner.width, style, text);
}

/* Too narrow for long words on the left beside anything on the right. */
static bool is_narrow(const struct box *box)
{
    return box->inner.width < 34;
}

static void put_pair(struct box *box, bool selected, int column, const char *left,
                     const char *right)
{
    int y = next_row(box);
    if (y < 0)
        return;
    struct cells *cells = box->draw->cells;
    struct rect inner = box->inner;
    cells_text(cells, inner.x, y, column - 1, STYLE_STRONG, left);
    cells_text_cut(cells, inner.x + column, y, inner.width - column, STYLE_TEXT, right);
    if (selected)
        cells_restyle(cells, (struct rect){inner.x, y, inner.width, 1}, STYLE_SELECTED);
}

/* Scrolls so that the selected item, on line `line`, is seen. */
static void scroll_to(struct box *box, size_t line)
{
    size_t rows = box->inner.height > 0 ? (size_t)box->inner.height : 1;
    box->first = line >= rows ? line - rows + 1 : 0;
}

/* Their helper process takes this beside Rooftop's own. */
static void draw_cost_of_counters(struct box *box)
{
    const struct model *model = box->draw->model;
    double sessions = 0, cpu = 0, overflows = 0;
    for (size_t i = 0; i < model->device_count; i++) {
        const struct sample *sample = &model->devices[i].reading.sample;
        sessions += sample_get(sample, METRIC_COUNTERS_SESSIONS, 0);
        cpu += sample_get(sample, METRIC_COUNTERS_CPU, 0);
        overflows += sample_get(sample, METRIC_COUNTERS_OVERFLOWS, 0);
    }
    char text[160] = "  no counters of CUPTI";
    if (sessions > 0)
        snprintf(text, sizeof(text),
                 "  CUPTI's counters, besides: set up %.0f times, %.3g s of a core in all",
                 sessions, cpu);
    put_line(box, STYLE_TEXT, text);
    if (overflows == 0)
        return;
    snprintf(text, sizeof(text), "  their buffer overflowed %.0f times: each lost some samples",
             overflows);
    put_line(box, STYLE_WARNING, text);
}

static void draw_cost(struct box *box)
{
    const struct model_cost *cost = &box->draw->model->cost;
    char text[160], memory[FORMAT_SIZE];
    put_line(box, STYLE_STRONG, "What Rooftop costs");
    if (!cost->known) {
        put_line(box, STYLE_TEXT, "  measured after half a second");
        return;
    }
    snprintf(text, sizeof(text), "  %.1f %% of a core (budget %.0f %%), %s of memory",
             cost->cpu * 100, cost->budget * 100, format_bytes(cost->resident_bytes, memory));
    put_line(box, STYLE_TEXT, text);
    snprintf(text, sizeof(text), "  at most %.0f frames a second%s, %lu drawn",
             1 / cost->frame_period, cost->slowed ? " (slowed down to keep the budget)" : "",
             cost->frames);
    put_line(box, STYLE_TEXT, text);
    draw_cost_of_counters(box);
}

static void draw_source(struct box *box)
{
    const struct model *model = box->draw->model;
    double period = model->cost.slowed ? model->cost.frame_period : 0;
    char text[300];
    put_line(box, STYLE_STRONG, "What is watched");
    snprintf(text, sizeof(text), "  %s%s%s, every %.3g s", model->source,
             model->driver[0] ? ", driver " : "", model->driver,
             fmax(model->interval, model->recorded ? 0 : period));
    put_line(box, STYLE_TEXT, text);
    if (model->recording[0]) {
        snprintf(text, sizeof(text), "  recording to %s", model->recording);
        put_line(box, STYLE_TEXT, text);
    }
}

static void put_help(struct box *box)
{
    draw_source(box);
    put_line(box, STYLE_TEXT, "");
    draw_cost(box);
    const char *section = "";
    int column = is_narrow(box) ? 9 : 18;
    for (int i = 1; i < ACTION_COUNT; i++) {
        const struct action_info *info = action_info((enum action)i);
        char keys[KEYS_TEXT_SIZE];
        if (strcmp(section, info->section) != 0) {
            put_line(box, STYLE_TEXT, "");
            put_line(box, STYLE_STRONG, section = info->section);
        }
        put_pair(box, false, column, action_keys((enum action)i, keys), info->help);
    }
}

/* Returns the line at the top: there are no lines behind the last to go to. */
static size_t draw_help(const struct draw *draw)
{
    struct box counting = {.draw = draw}; /* has no rows, so nothing is drawn */
    put_help(&counting);
    size_t lines = counting.line;
    struct box box = open_box(draw, 96, (int)lines, "Help: Up and Down scroll, Esc closes");
    size_t rows = box.inner.height > 0 ? (size_t)box.inner.height : 0;
    box.first = util_min(draw->view->item, lines > rows ? lines - rows : 0);
    put_help(&box);
    return box.first;
}

static void draw_setup(const struct draw *draw)
{
    struct box box =
        open_box(draw, 72, (int)pref_count, "Setup: Left and Right change, Esc closes and saves");
    struct prefs prefs = draw->view->prefs;
    bool narrow = is_narrow(&box);
    scroll_to(&box, draw->view->item);
    for (size_t i = 0; i < pref_count; i++) {
        const struct pref *pref = &pref_table[i];
        char left[96], right[160];
        snprintf(left, sizeof(left), "%s%s%s", narrow ? "" : pref->section, narrow ? "" : " ",
                 pref->key);
        snprintf(right, sizeof(right), "%-10s %s", pref->words[*pref_value(&prefs, pref)],
                 pref->help);
        put_pair(&box, i == draw->view->item, narrow ? 11 : 22, left, right);
    }
}

static void draw_sort(const struct draw *draw)
{
    struct box box = open_box(draw, 34, COLUMN_COUNT, "Sort by: Enter chooses, Esc closes");
    scroll_to(&box, draw->view->item);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        put_pair(&box, i == draw->view->item, 4, "", column_title((enum process_column)i));
}

static void draw_kill(const struct draw *draw)
{
    const struct view_victim *victim = &draw->view->victim;
    char text[256];
    struct box box = open_box(draw, 64, (int)kill_choice_count + 4, "Send a signal to");
    scroll_to(&box, draw->view->item + 3);
    snprintf(text, sizeof(text), "%d of %s: %s", (int)victim->pid, victim->user, victim->command);
    put_line(&box, STYLE_STRONG, text);
    put_line(&box, STYLE_DIM, "Enter or y: send it.  Esc or n: leave it.");
    put_line(&box, STYLE_TEXT, "");
    for (size_t i = 0; i < kill_choice_count; i++)
        put_pair(&box, i == draw->view->item, 12, kill_choices[i].name, kill_choices[i].help);
}

size_t draw_dialog(const struct draw *draw)
{
    switch (draw->view->dialog) {
    case DIALOG_HELP:
        return draw_help(draw);
    case DIALOG_SETUP:
        draw_setup(draw);
        break;
    case DIALOG_SORT:
        draw_sort(draw);
        break;
    case DIALOG_KILL:
        draw_kill(draw);
        break;
    default:
        break;
    }
    return draw->view->item;
}
