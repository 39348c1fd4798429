#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tui/columns.h"
#include "tui/draw.h"
#include "tui/format.h"

static const char *type_word(unsigned kinds)
{
    if (kinds & PROCESS_MPS_SERVER)
        return "mps srv";
    if (kinds & PROCESS_MPS_CLIENT)
        return "mps";
    if ((kinds & PROCESS_COMPUTE) && (kinds & PROCESS_GRAPHICS))
        return "comp+gfx";
    return kinds & PROCESS_GRAPHICS ? "graphics" : "compute";
}

static void format_age(const struct draw *draw, const struct process_row *row, char *ret)
{
    double age = draw->model->time - row->start_time;
    if (row->start_time <= 0 || age < 0)
        snprintf(ret, FORMAT_SIZE, "-");
    else if (age < 60)
        snprintf(ret, FORMAT_SIZE, "%.0fs", floor(age));
    else if (age < 3600)
        snprintf(ret, FORMAT_SIZE, "%.0f:%02.0f", floor(age / 60), floor(fmod(age, 60)));
    else if (age < 86400)
        snprintf(ret, FORMAT_SIZE, "%.0fh%02.0f", floor(age / 3600), floor(fmod(age, 3600) / 60));
    else
        snprintf(ret, FORMAT_SIZE, "%.0fd%02.0fh", floor(age / 86400),
                 floor(fmod(age, 86400) / 3600));
}

/* A command without the path of its program; htop's users know it so. */
static const char *base_command(const char *command)
{
    size_t program = strcspn(command, " ");
    const char *base = command;
    for (size_t i = 0; i < program; i++)
        if (command[i] == '/' && command[i + 1] != ' ' && command[i + 1] != '\0')
            base = &command[i + 1];
    return base;
}

static void put_command(const struct draw *draw, const struct process_row *row, int x, int y,
                        int width, enum style style)
{
    struct cells *cells = draw->cells;
    int used = 0;
    for (int i = 1; i < row->depth && used < width; i++)
        used += cells_text(cells, x + used, y, width - used, style, "  ");
    if (row->depth > 0 && used + 2 < width) {
        cells_put(cells, x + used, y,
                  cells_glyph(cells, row->last ? GLYPH_LAST_BRANCH : GLYPH_BRANCH), style);
        used += 2;
    }
    if (row->outside)
        cells_text(cells, x + used, y, width - used, style == STYLE_TEXT ? STYLE_DIM : style,
                   row->command[0] ? row->command : "(of another container or host)");
    else
        cells_text(cells, x + used, y, width - used, style,
                   row->command[0] ? base_command(row->command) : "-");
}

static void put_cell(const struct draw *draw, const struct process_row *row,
                     const struct column_span *span, int y, enum style style)
{
    char text[FORMAT_SIZE] = "";
    switch (span->column) {
    case COLUMN_PID:
        snprintf(text, sizeof(text), "%d", (int)row->pid);
        break;
    case COLUMN_USER:
        snprintf(text, sizeof(text), "%s", row->user[0] ? row->user : "-");
        break;
    case COLUMN_GPU:
        device_place(&draw->model->devices[row->device].device, text);
        break;
    case COLUMN_TYPE:
        snprintf(text, sizeof(text), "%s", type_word(row->kinds));
        break;
    case COLUMN_MEMORY:
        if (row->memory_known)
            format_bytes(row->memory_bytes, text);
        else
            snprintf(text, sizeof(text), "-");
        break;
    case COLUMN_SM:
        if (row->sm_known)
            snprintf(text, sizeof(text), "%.0f", row->sm_ratio * 100);
        else
            snprintf(text, sizeof(text), "-");
        break;
    case COLUMN_TIME:
        format_age(draw, row, text);
        break;
    case COLUMN_CONTAINER:
        cells_text(draw->cells, span->x, y, span->width, style, row->container);
        return;
    default:
        put_command(draw, row, span->x, y, span->width, style);
        return;
    }
    if (column_is_number(span->column))
        cells_text_right(draw->cells, span->x, y, span->width, style, text);
    else
        cells_text(draw->cells, span->x, y, span->width, style, text);
}

/* A remark stands in the command's place, with the device and the memory in theirs. */
static void put_remark(const struct draw *draw, const struct process_row *row,
                       const struct column_span *spans, size_t count, int y)
{
    const char *text =
        row->kind == ROW_HELD ? "held by nobody visible" : "the processes cannot be listed";
    for (size_t i = 0; i < count; i++) {
        if (spans[i].column == COLUMN_COMMAND)
            cells_text(draw->cells, spans[i].x, y, spans[i].width, STYLE_WARNING, text);
        else if (spans[i].column == COLUMN_GPU ||
                 (spans[i].column == COLUMN_MEMORY && row->memory_known))
            put_cell(draw, row, &spans[i], y, STYLE_WARNING);
    }
}

static void put_head(const struct draw *draw, struct rect rect, const struct column_span *spans,
                     size_t count)
{
    const struct prefs *prefs = &draw->view->prefs;
    cells_fill(draw->cells, (struct rect){rect.x, rect.y, rect.width, 1}, ' ', STYLE_TABLE_HEAD);
    for (size_t i = 0; i < count; i++) {
        char title[32];
        bool sorted = prefs->sort == (unsigned)spans[i].column;
        snprintf(title, sizeof(title), "%s", column_title(spans[i].column));
        enum style style = sorted ? STYLE_BAR_STRONG : STYLE_TABLE_HEAD;
        if (column_is_number(spans[i].column))
            cells_text_right(draw->cells, spans[i].x, rect.y, spans[i].width, style, title);
        else
            cells_text(draw->cells, spans[i].x, rect.y, spans[i].width, style, title);
        if (sorted)
            cells_put(
                draw->cells, spans[i].x + spans[i].width, rect.y,
                cells_glyph(draw->cells, prefs->descending ? GLYPH_ARROW_DOWN : GLYPH_ARROW_UP),
                style);
    }
    char note[VIEW_TEXT_SIZE + 48] = "";
    /* Their past is not kept. */
    const char *now = draw->view->cursor > 0 ? " processes of now " : "";
    if (draw->view->filter[0])
        snprintf(note, sizeof(note), "%s filter: %s ", now, draw->view->filter);
    else
        snprintf(note, sizeof(note), "%s", now);
    cells_text_right(draw->cells, rect.x + rect.width / 2, rect.y, rect.width - rect.width / 2,
                     STYLE_BAR_STRONG, note);
}

static void put_row(const struct draw *draw, struct rect rect, size_t index, int y,
                    const struct column_span *spans, size_t count)
{
    const struct process_row *row = &draw->table->rows[index];
    if (row->kind == ROW_PROCESS)
        for (size_t i = 0; i < count; i++)
            put_cell(draw, row, &spans[i], y, STYLE_TEXT);
    else
        put_remark(draw, row, spans, count, y);
    if (index == draw->view->process && draw->view->focus == FOCUS_PROCESSES)
        cells_restyle(draw->cells, (struct rect){rect.x, y, rect.width, 1}, STYLE_SELECTED);
}

void draw_processes(const struct draw *draw, struct rect rect)
{
    if (rect.height <= 0)
        return;
    struct column_span spans[COLUMN_COUNT];
    size_t count = columns_place(&draw->view->prefs, rect.width, spans);
    put_head(draw, rect, spans, count);
    size_t first = draw->view->first_process;
    for (int y = 1; y < rect.height && first + (size_t)y - 1 < draw->table->count; y++)
        put_row(draw, rect, first + (size_t)y - 1, rect.y + y, spans, count);
    if (draw->table->count == 0 && rect.height > 1)
        cells_text(draw->cells, rect.x + 1, rect.y + 1, rect.width - 1, STYLE_DIM,
                   draw->view->filter[0] ? "no process matches the filter"
                                         : "no process holds a GPU");
}
