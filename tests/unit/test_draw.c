#include "tui/draw.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_test.h"
#include "synthetic.h"

struct screen {
    struct model model;
    struct view view;
    struct process_table table;
    struct layout layout;
    struct cells cells;
    struct strbuf text;
};

static void open_screen(struct screen *screen, size_t gpus)
{
    *screen = (struct screen){.cells.charset = CHARSET_BRAILLE};
    synthetic_model(&screen->model, gpus);
    view_init(&screen->view, &prefs_default);
}

static void close_screen(struct screen *screen)
{
    model_free(&screen->model);
    process_table_free(&screen->table);
    cells_free(&screen->cells);
    strbuf_free(&screen->text);
}

static const char *draw(struct screen *screen, int width, int height)
{
    struct process_lookup lookup = synthetic_lookup();
    struct process_query query = {
        .sort = COLUMN_MEMORY,
        .tree = screen->view.prefs.tree,
        .filter = screen->view.filter,
        .only_device = screen->view.zoomed ? screen->view.device : SIZE_MAX,
    };
    assert_int_equal(process_table_fill(&screen->table, &screen->model, &query, &lookup), 0);
    assert_int_equal(cells_resize(&screen->cells, width, height), 0);
    draw_screen(&screen->cells, &screen->model, &screen->view, &screen->table, &screen->layout, 0);
    strbuf_clear(&screen->text);
    cells_to_text(&screen->cells, &screen->text);
    return strbuf_text(&screen->text);
}

static void press(struct screen *screen, uint32_t code)
{
    struct view_context context = {&screen->model, &screen->table, &screen->layout, 0};
    struct input input = {.code = code};
    view_handle(&screen->view, &context, &input);
}

static void assert_shows(struct screen *screen, const char *text)
{
    if (!strstr(strbuf_text(&screen->text), text))
        fail_msg("'%s' is not in\n%s", text, strbuf_text(&screen->text));
}

/* Every character is one that the terminal was asked for; wide ones are whole. */
static void assert_drawable(const struct cells *cells)
{
    for (int i = 0; i < cells->width * cells->height; i++) {
        uint32_t character = cells->cell[i].character;
        bool half =
            character == 0 && i % cells->width > 0 && cells->cell[i - 1].character >= 0x1100;
        assert_true(half || character >= ' ');
        assert_true(cells->charset != CHARSET_ASCII || character < 0x7F);
        assert_true(cells->cell[i].style < STYLE_COUNT);
    }
}

static void draws_at_every_kind_of_size(void **state)
{
    (void)state;
    static const int sizes[][2] = {{1, 1},    {2, 3},    {7, 4},    {20, 5},   {33, 9},
                                   {40, 10},  {60, 15},  {80, 24},  {100, 30}, {132, 43},
                                   {184, 39}, {200, 60}, {250, 80}, {250, 5},  {12, 80}};
    static const size_t counts[] = {0, 1, 2, 8, 64};
    for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
        struct screen screen;
        open_screen(&screen, counts[c]);
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
            for (unsigned mode = 0; mode < MODE_COUNT; mode++) {
                screen.cells.charset = (enum charset)((i + mode) % CHARSET_COUNT);
                screen.view.prefs.mode = mode;
                screen.view.prefs.tree = mode % 2;
                screen.view.zoomed = i % 2;
                screen.view.dialog = (enum dialog)((i + mode) % (DIALOG_MARK + 1));
                draw(&screen, sizes[i][0], sizes[i][1]);
                assert_drawable(&screen.cells);
            }
        close_screen(&screen);
    }
}

static bool is_in(struct rect rect, int x, int y)
{
    return x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height;
}

static void assert_untouched_but(const struct cells *cells, struct rect rect)
{
    for (int y = 0; y < cells->height; y++)
        for (int x = 0; x < cells->width; x++)
            if (!is_in(rect, x, y) && cells->cell[y * cells->width + x].character != ' ')
                fail_msg("%d,%d of %dx%d is outside", x, y, cells->width, cells->height);
}

/* Each part alone on an empty screen, with columns of GPUs of every width. */
static void parts_stay_within_their_rectangles(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 8, 16};
    for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
        struct screen screen;
        open_screen(&screen, counts[c]);
        for (int width = 6; width <= 250; width += 7) {
            screen.view.prefs.mode = (unsigned)(width % MODE_COUNT);
            draw(&screen, width, 10 + width % 60);
            const struct layout *layout = &screen.layout;
            struct draw alone = {
                &screen.cells, &screen.model, &screen.view, &screen.table, &screen.layout, 0, {0}};
            for (size_t i = 0; i < layout->panel_count; i++) {
                cells_clear(&screen.cells);
                draw_device(&alone, &layout->panels[i]);
                assert_untouched_but(&screen.cells, layout->panels[i].area);
            }
            cells_clear(&screen.cells);
            draw_processes(&alone, layout->processes);
            assert_untouched_but(&screen.cells, layout->processes);
        }
        close_screen(&screen);
    }
}

static void shows_what_the_gpu_does(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 1);
    draw(&screen, 160, 40);
    assert_shows(&screen, "NVIDIA H200");
    assert_shows(&screen, "tensor");
    assert_shows(&screen, "nvidia-smi  99 %");
    assert_shows(&screen, "PCIe");
    assert_shows(&screen, "held by nobody visible");
    close_screen(&screen);
}

static void says_what_is_out_of_order(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 7);
    draw(&screen, 120, 50);
    assert_shows(&screen, "lost 12 s");
    assert_shows(&screen, "the GPU is lost; last seen 12 s ago");
    close_screen(&screen);
}

/* Where the column of the text is, in the line of the GPU. */
static long column_of(const struct screen *screen, unsigned gpu, const char *text)
{
    char begin[8];
    snprintf(begin, sizeof(begin), "\n%2u ", gpu);
    const char *line = strstr(strbuf_text(&screen->text), begin);
    assert_non_null(line);
    const char *found = strstr(line + 1, text), *end = strchr(line + 1, '\n');
    assert_true(found && found < end);
    long columns = 0;
    for (const char *c = line + 1; c < found; c++)
        columns += ((unsigned char)*c & 0xC0) != 0x80;
    return columns;
}

static void numbers_stand_below_each_other(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 4);
    for (size_t i = 0; i < 4; i++)
        screen.model.devices[i].reading.state = READING_OK;
    sample_set(&screen.model.devices[1].reading.sample, METRIC_THROTTLE_REASONS, 0);
    for (int width = 60; width < 200; width += 7) {
        draw(&screen, width, 8);
        bool words = strstr(strbuf_text(&screen.text), "nvidia-smi") != NULL;
        const char *smi = words ? "nvidia-smi" : "smi";
        assert_int_equal(column_of(&screen, 0, smi), column_of(&screen, 1, smi));
    }
    close_screen(&screen);
}

static void a_sentence_ends_with_a_clause(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 8);
    draw(&screen, 80, 26);
    assert_shows(&screen, "-bound");
    assert_null(strstr(strbuf_text(&screen.text), "budget"));
    assert_null(strstr(strbuf_text(&screen.text), "…\n"));
    close_screen(&screen);
}

static void a_held_clock_says_so(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 1);
    struct sample *sample = &screen.model.devices[0].reading.sample;
    screen.view.prefs.mode = MODE_POWER;
    sample_set(sample, METRIC_EFFECTIVE_CLOCK, 1.326e9);
    sample_set(sample, METRIC_COUNTERS_AGE, 0.1);
    draw(&screen, 160, 40);
    assert_null(strstr(strbuf_text(&screen.text), " ago"));
    sample_set(sample, METRIC_COUNTERS_AGE, 3);
    draw(&screen, 160, 40);
    assert_shows(&screen, "1326 MHz, 3.0 s ago");
    close_screen(&screen);
}

static void each_mode_has_its_numbers_on_a_small_screen(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 1);
    screen.view.prefs.mode = MODE_LINKS;
    draw(&screen, 80, 24);
    assert_shows(&screen, "PCIe");
    screen.view.prefs.mode = MODE_POWER;
    draw(&screen, 80, 24);
    assert_shows(&screen, "SM clock");
    close_screen(&screen);
}

static void processes_are_always_of_now(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 1);
    draw(&screen, 120, 40);
    assert_null(strstr(strbuf_text(&screen.text), "processes of now"));
    screen.view.paused = true;
    screen.view.cursor = screen.model.time - 1;
    draw(&screen, 120, 40);
    assert_shows(&screen, "processes of now");
    close_screen(&screen);
}

static void the_help_goes_no_further_than_its_end(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 1);
    press(&screen, 'h');
    for (int i = 0; i < 100; i++) {
        press(&screen, INPUT_PAGE_DOWN);
        draw(&screen, 80, 24);
    }
    assert_shows(&screen, "F10, q");
    press(&screen, INPUT_UP);
    draw(&screen, 80, 24);
    assert_false(strstr(strbuf_text(&screen.text), "F10, q"));
    close_screen(&screen);
}

static void a_setting_is_seen_on_the_smallest_screen(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 1);
    press(&screen, INPUT_F(2));
    draw(&screen, 20, 5);
    assert_shows(&screen, "theme      auto");
    draw(&screen, 80, 24);
    assert_shows(&screen, "screen theme          auto");
    close_screen(&screen);
}

/* Charts of two lines have nothing beside them. */
static void what_no_side_shows_is_in_the_header(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 2);
    draw(&screen, 120, 16);
    assert_int_equal(screen.layout.panels[0].form, FORM_FULL);
    assert_int_equal(screen.layout.panels[0].side.width, 0);
    assert_true(column_of(&screen, 0, "MHz") > 0);
    assert_true(column_of(&screen, 0, "°C") > 0);
    close_screen(&screen);
}

static void scrolls_to_the_selected_gpu(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 64);
    draw(&screen, 80, 24);
    assert_int_equal(screen.layout.first_device, 0);
    for (int i = 0; i < 70; i++) {
        press(&screen, INPUT_DOWN);
        draw(&screen, 80, 24);
        assert_true(screen.view.device >= screen.layout.first_device);
        assert_true(screen.view.device < screen.layout.end_device);
    }
    for (int i = 0; i < 100; i++)
        press(&screen, INPUT_UP);
    draw(&screen, 80, 24);
    assert_int_equal(screen.layout.first_device, 0);
    close_screen(&screen);
}

static void what_is_broken_in_a_command_is_shown_harmless(void **state)
{
    (void)state;
    struct cells cells = {.charset = CHARSET_BRAILLE};
    assert_int_equal(cells_resize(&cells, 12, 1), 0);
    assert_int_equal(cells_text(&cells, 0, 0, 12, STYLE_TEXT, "a\x1b[31m\xff\xc2\x85z"), 9);
    struct strbuf out = {0};
    cells_to_text(&cells, &out);
    assert_string_equal(strbuf_text(&out), "a?[31m??z\n");
    strbuf_free(&out);
    cells_free(&cells);
}

static void the_help_tells_what_the_counters_cost(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, 2);
    screen.view.dialog = DIALOG_HELP;
    screen.model.cost.known = true;
    struct sample *samples[] = {&screen.model.devices[0].reading.sample,
                                &screen.model.devices[1].reading.sample};
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        sample_set(samples[i], METRIC_COUNTERS_SESSIONS, 3);
        sample_set(samples[i], METRIC_COUNTERS_CPU, .25);
        sample_set(samples[i], METRIC_COUNTERS_OVERFLOWS, 0);
    }
    draw(&screen, 100, 80);
    assert_shows(&screen, "set up 6 times, 0.5 s of a core in all");
    assert_null(strstr(strbuf_text(&screen.text), "overflowed"));
    sample_set(samples[1], METRIC_COUNTERS_OVERFLOWS, 2);
    draw(&screen, 100, 80);
    assert_shows(&screen, "their buffer overflowed 2 times");
    close_screen(&screen);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_at_every_kind_of_size),
        cmocka_unit_test(parts_stay_within_their_rectangles),
        cmocka_unit_test(shows_what_the_gpu_does),
        cmocka_unit_test(says_what_is_out_of_order),
        cmocka_unit_test(numbers_stand_below_each_other),
        cmocka_unit_test(a_sentence_ends_with_a_clause),
        cmocka_unit_test(a_held_clock_says_so),
        cmocka_unit_test(each_mode_has_its_numbers_on_a_small_screen),
        cmocka_unit_test(processes_are_always_of_now),
        cmocka_unit_test(the_help_goes_no_further_than_its_end),
        cmocka_unit_test(a_setting_is_seen_on_the_smallest_screen),
        cmocka_unit_test(what_no_side_shows_is_in_the_header),
        cmocka_unit_test(scrolls_to_the_selected_gpu),
        cmocka_unit_test(what_is_broken_in_a_command_is_shown_harmless),
        cmocka_unit_test(the_help_tells_what_the_counters_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
