/* What drawing a frame of the screen costs: the layout and all cells, without a terminal.
 *
 * usage: bench_frame; prints lines of name, value and unit. */
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "tui/draw.h"

#include "synthetic.h"

enum { FRAMES = 300, WIDTH = 200, HEIGHT = 60 };

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int draw_frames(size_t gpus)
{
    struct model model;
    struct view view;
    struct process_table table = {0};
    static struct layout layout;
    struct cells cells = {.charset = CHARSET_BRAILLE};
    struct process_lookup lookup = synthetic_lookup();
    struct process_query query = {.sort = COLUMN_MEMORY, .filter = "", .only_device = SIZE_MAX};
    synthetic_model(&model, gpus);
    view_init(&view, &prefs_default);
    double drawing = 0;
    int r = cells_resize(&cells, WIDTH, HEIGHT);
    for (int i = 0; i < FRAMES && r == 0; i++) {
        synthetic_step(&model);
        double start = cpu_seconds();
        if (i % 5 == 0) /* the program fills the table twice a second */
            r = process_table_fill(&table, &model, &query, &lookup);
        draw_screen(&cells, &model, &view, &table, &layout, 0);
        drawing += cpu_seconds() - start;
    }
    printf("drawing a frame of %dx%d, GPUs: %zu\t%.3f\tms\n", WIDTH, HEIGHT, gpus,
           drawing / FRAMES * 1e3);
    model_free(&model);
    process_table_free(&table);
    cells_free(&cells);
    return r;
}

int main(void)
{
    static const size_t counts[] = {1, 8, 64};
    setlocale(LC_CTYPE, "C.UTF-8");
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        if (draw_frames(counts[i]) < 0)
            return 1;
    return 0;
}
