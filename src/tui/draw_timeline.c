#include <math.h>
#include <stdio.h>

#include "tui/draw.h"
#include "tui/format.h"

static int place_on_track(const struct draw *draw, struct rect track, double time)
{
    double begin = model_begin(draw->model);
    double span = model_end(draw->model) - begin;
    double part = span > 0 ? (time - begin) / span : 1;
    return track.x + (int)lround(fmin(fmax(part, 0), 1) * (track.width - 1));
}

static void put_position(const struct draw *draw, struct rect rect, double time)
{
    const struct model *model = draw->model;
    double begin = model_begin(model), end = model_end(model); /* the last frame ends behind it */
    char here[FORMAT_SIZE], all[FORMAT_SIZE], speed[24] = "";
    if (model->recorded && model->speed != 1)
        snprintf(speed, sizeof(speed), model->speed > 0 ? " x%g" : " max", model->speed);
    cells_put(draw->cells, rect.x, rect.y,
              cells_glyph(draw->cells, draw->view->paused ? GLYPH_PAUSE : GLYPH_PLAY),
              STYLE_STRONG);
    cells_printf(draw->cells, rect.x + 2, rect.y, rect.width - 2, STYLE_TEXT, "%s/%s%s",
                 format_clock(fmin(time, end) - begin, here), format_clock(end - begin, all),
                 speed);
}

void draw_timeline(const struct draw *draw, struct rect rect)
{
    if (rect.height <= 0)
        return;
    const struct model *model = draw->model;
    struct cells *cells = draw->cells;
    double time = draw->view->cursor > 0 ? draw->view->cursor : model->time;
    struct rect track = layout_track(rect);
    if (track.x > rect.x)
        put_position(draw, (struct rect){rect.x, rect.y, track.x - rect.x - 1, 1}, time);
    cells_fill(cells, track, cells_glyph(cells, GLYPH_HORIZONTAL), STYLE_RULE);
    for (size_t i = 0; i < model->mark_count; i++)
        cells_put(cells, place_on_track(draw, track, model->marks[i].time), rect.y,
                  cells_glyph(cells, GLYPH_TICK), STYLE_TEXT);
    cells_put(cells, place_on_track(draw, track, time), rect.y, cells_glyph(cells, GLYPH_KNOB),
              STYLE_STRONG);
    const struct mark *mark = model_mark_at(model, time);
    int name = track.x + track.width + 1;
    if (mark)
        cells_text(cells, name, rect.y, rect.x + rect.width - name, STYLE_TEXT, mark->name);
}
