#include "view/waterfall.h"

#include <stdio.h>

#include "base/utf8.h"
#include "base/xml.h"

enum {
    WIDTH = 960,
    LABEL_WIDTH = 96,
    BAR_LEFT = LABEL_WIDTH + 12,
    BAR_WIDTH = 440,
    NUMBER_LEFT = BAR_LEFT + BAR_WIDTH + 12,
    ROW_HEIGHT = 42,
    BAR_HEIGHT = 18,
    TITLE_HEIGHT = 44,
    GAP = 24,
    ROWS = FALL_STEPS + 2, /* the peak, the steps, what was achieved */
    GPU_HEIGHT = TITLE_HEIGHT + ROWS * ROW_HEIGHT + GAP,
};

/* Dark enough on paper, and apart for colour-blind eyes too. */
static const char LEFT_COLOR[] = "#0072b2";
static const char LOST_COLOR[] = "#e8b07a";
static const char TEXT_COLOR[] = "#222222";
static const char FAINT_COLOR[] = "#595959";

static void put_text(int x, int y, int size, const char *color, const char *text,
                     struct strbuf *out)
{
    strbuf_printf(out, "<text x=\"%d\" y=\"%d\" font-size=\"%d\" fill=\"%s\">", x, y, size, color);
    xml_put_text(out, text);
    strbuf_puts(out, "</text>\n");
}

static void put_bar(double from, double to, int y, const char *color, struct strbuf *out)
{
    if (to > from)
        strbuf_printf(out, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
                      BAR_LEFT + from * BAR_WIDTH, y, (to - from) * BAR_WIDTH, BAR_HEIGHT, color);
}

static void put_row(const char *name, int y, double left, double before, const char *number,
                    const char *remark, struct strbuf *out)
{
    put_text(0, y + 14, 14, TEXT_COLOR, name, out);
    put_bar(0, left, y, LEFT_COLOR, out);
    put_bar(left, before, y, LOST_COLOR, out);
    put_text(NUMBER_LEFT, y + 14, 14, TEXT_COLOR, number, out);
    put_text(BAR_LEFT, y + BAR_HEIGHT + 13, 11, FAINT_COLOR, remark, out);
}

static void put_step(const struct fall *fall, enum fall_step step, int y, struct strbuf *out)
{
    struct strbuf number = {0};
    struct strbuf remark = {0};
    if (step == FALL_CLOCK && !fall_knows_clock(fall)) {
        strbuf_puts(&number, "not known");
        strbuf_puts(&remark, absence_info(fall->no_clock)->reason);
        put_row(fall_name(step), y, 0, 0, strbuf_text(&number), strbuf_text(&remark), out);
    } else {
        double left = fall_left(fall, step);
        double lost = fall_lost(fall, step);
        strbuf_printf(&number, "× %.1f %% → %.1f %%", fall_factor(fall, step) * 100, left * 100);
        strbuf_printf(&remark, "%.1f points: ", lost * 100);
        fall_advice(fall, step, &remark);
        put_row(fall_name(step), y, left, left + lost, strbuf_text(&number),
                lost < VIEW_WORTH_ADVICE ? fall_meaning(step) : strbuf_text(&remark), out);
    }
    strbuf_free(&number);
    strbuf_free(&remark);
}

static void put_gpu(const struct view_fall *view, struct strbuf *out)
{
    const struct fall *fall = view->fall;
    const struct device *device = view->device;
    struct strbuf title = {0};
    char name[4 * DEVICE_TEXT_SIZE];
    utf8_clean(name, sizeof(name), device->text[DEVICE_NAME]);
    strbuf_printf(&title, "GPU %u: %s, %.1f s", device->index, name, fall->seconds);
    put_text(0, 20, 18, TEXT_COLOR, strbuf_text(&title), out);
    strbuf_free(&title);
    if (fall->seconds <= 0) {
        put_text(0, TITLE_HEIGHT + 14, 14, TEXT_COLOR, absence_info(fall->no_step)->reason, out);
        return;
    }
    int y = TITLE_HEIGHT;
    put_row("peak", y, 1, 1, "100 %",
            fall_knows_clock(fall) ? "at the maximum clock" : "at the clock that there was", out);
    for (int step = 0; step < FALL_STEPS; step++)
        put_step(fall, (enum fall_step)step, y += ROW_HEIGHT, out);
    char achieved[32];
    double left = fall_left(fall, FALL_PIPE);
    snprintf(achieved, sizeof(achieved), "%.1f %%", left * 100);
    put_row("achieved", y + ROW_HEIGHT, left, left, achieved, "of the peak", out);
}

void view_falls_svg(const struct view_falls *falls, struct strbuf *out)
{
    int height = (int)falls->count * GPU_HEIGHT;
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"-16 -16 %d %d\" font-family=\"sans-serif\">\n"
                  "<rect x=\"-16\" y=\"-16\" width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
                  WIDTH + 32, height + 32, WIDTH + 32, height + 32, WIDTH + 32, height + 32);
    for (size_t i = 0; i < falls->count; i++) {
        strbuf_printf(out, "<g transform=\"translate(0 %d)\">\n", (int)i * GPU_HEIGHT);
        put_gpu(&falls->falls[i], out);
        strbuf_puts(out, "</g>\n");
    }
    strbuf_puts(out, "</svg>\n");
}
