/* The small parts of the screen: charts, bars, columns, the table of processes, numbers, cost. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tui/chart.h"
#include "tui/columns.h"
#include "tui/cost.h"
#include "tui/format.h"
#include "tui/processes.h"
#include "tui/victim.h"

#include "cmocka_test.h"
#include "synthetic.h"

static const char *text_of(const struct cells *cells)
{
    static struct strbuf text;
    strbuf_clear(&text);
    cells_to_text(cells, &text);
    return strbuf_text(&text);
}

static void a_curve_in_each_character_set(void **state)
{
    (void)state;
    const float values[] = {0, 0, 1, 1, NAN, NAN, 0.5F, 0.5F};
    struct cells cells = {.charset = CHARSET_BRAILLE};
    assert_int_equal(cells_resize(&cells, 4, 2), 0);
    struct chart_look look = {STYLE_COMPUTE, PATTERN_LINE, 'C'};
    assert_int_equal(chart_points(&cells, 4), 8);
    chart_curve(&cells, (struct rect){0, 0, 4, 2}, &look, values);
    assert_string_equal(text_of(&cells), " ⡏\n⣀⠇ ⠉\n");

    cells.charset = CHARSET_ASCII;
    assert_int_equal(cells_resize(&cells, 8, 3), 0);
    assert_int_equal(chart_points(&cells, 8), 8);
    chart_curve(&cells, (struct rect){0, 0, 8, 3}, &look, values);
    assert_string_equal(text_of(&cells), "  CC\n  C   CC\nCC\n");

    cells.charset = CHARSET_BLOCK;
    assert_int_equal(cells_resize(&cells, 8, 1), 0);
    chart_curve(&cells, (struct rect){0, 0, 8, 1}, &look, values);
    assert_string_equal(text_of(&cells), "▄▄▀▀  ▄▄\n");
    cells_free(&cells);
}

static void bars_fill_by_eighths(void **state)
{
    (void)state;
    struct cells cells = {.charset = CHARSET_BRAILLE};
    assert_int_equal(cells_resize(&cells, 4, 1), 0);
    static const struct {
        double value;
        const char *bar;
    } cases[] = {{0, "····\n"}, {0.5, "██··\n"}, {0.53125, "██▏·\n"},
                 {1, "████\n"}, {7, "████\n"},   {NAN, "····\n"}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cells_clear(&cells);
        cells_bar(&cells, 0, 0, 4, cases[i].value, STYLE_COMPUTE);
        assert_string_equal(text_of(&cells), cases[i].bar);
    }
    cells_free(&cells);
}

static void columns_give_way_to_the_command(void **state)
{
    (void)state;
    struct column_span spans[COLUMN_COUNT];
    for (int width = 1; width <= 250; width++) {
        size_t count = columns_place(&prefs_default, width, spans);
        for (size_t i = 0; i < count; i++) {
            assert_true(spans[i].width > 0);
            assert_true(spans[i].x + spans[i].width <= width);
            assert_true(i == 0 || spans[i].x > spans[i - 1].x + spans[i - 1].width);
        }
    }
    assert_int_equal(columns_place(&prefs_default, 200, spans), COLUMN_COUNT);
    size_t count = columns_place(&prefs_default, 30, spans);
    assert_int_equal(spans[count - 1].column, COLUMN_COMMAND);
}

static struct process_table filled(const struct model *model, struct process_query query)
{
    struct process_table table = {0};
    struct process_lookup lookup = synthetic_lookup();
    assert_int_equal(process_table_fill(&table, model, &query, &lookup), 0);
    return table;
}

static void processes_are_sorted_filtered_and_remarked(void **state)
{
    (void)state;
    struct model model;
    synthetic_model(&model, 4);
    struct process_query query = {
        .sort = COLUMN_MEMORY, .descending = true, .filter = "", .only_device = SIZE_MAX};
    struct process_table table = filled(&model, query);
    bool remarks = false;
    for (size_t i = 1; i < table.count; i++) {
        const struct process_row *before = &table.rows[i - 1], *row = &table.rows[i];
        assert_true(row->kind != ROW_PROCESS || before->kind == ROW_PROCESS);
        remarks |= row->kind != ROW_PROCESS;
        if (row->kind == ROW_PROCESS && row->memory_known)
            assert_true(before->memory_bytes >= row->memory_bytes);
    }
    assert_true(remarks);
    process_table_free(&table);

    query.filter = "rank 1021";
    table = filled(&model, query);
    assert_int_equal(table.count, 1);
    assert_int_equal(table.rows[0].pid, 1021);
    process_table_free(&table);

    query.filter = "";
    query.only_device = 1;
    table = filled(&model, query);
    for (size_t i = 0; i < table.count; i++)
        assert_int_equal(table.rows[i].device, 1);
    process_table_free(&table);
    model_free(&model);
}

static void children_stand_below_their_parents(void **state)
{
    (void)state;
    struct model model;
    synthetic_model(&model, 3);
    struct process_query query = {
        .sort = COLUMN_PID, .tree = true, .filter = "rank", .only_device = 2};
    struct process_table table = filled(&model, query);
    assert_int_equal(table.count, 2);
    assert_int_equal(table.rows[0].pid, 1020);
    assert_int_equal(table.rows[0].depth, 0);
    assert_int_equal(table.rows[1].pid, 1021);
    assert_int_equal(table.rows[1].depth, 1);
    assert_true(table.rows[1].last);
    process_table_free(&table);
    model_free(&model);
}

static void numbers_are_short(void **state)
{
    (void)state;
    char text[FORMAT_SIZE];
    assert_string_equal(format_bytes(45.1 * 0x1p30, text), "45.1G");
    assert_string_equal(format_bytes(0, text), "0B");
    assert_string_equal(format_bytes(NAN, text), "?");
    assert_true(strlen(format_bytes(1e300, text)) < FORMAT_SIZE);
    assert_string_equal(format_span(0.5, text), "0.5 s");
    assert_string_equal(format_span(60, text), "1 min");
    assert_string_equal(format_span(5400, text), "1.5 h");
    assert_string_equal(format_clock(83.44, text), "1:23.4");
    assert_string_equal(format_clock(59.97, text), "1:00.0");
    assert_string_equal(format_clock(3723, text), "1:02:03.0");
    assert_string_equal(format_clock(NAN, text), "?");
}

static void slows_down_above_the_budget_and_back_well_below(void **state)
{
    (void)state;
    double period = COST_SHORTEST_PERIOD;
    period = cost_next_period(period, 0.06, 0.05);
    assert_float_equal(period, 2 * COST_SHORTEST_PERIOD, 1e-9);
    period = cost_next_period(period, 0.03, 0.05);
    assert_float_equal(period, 2 * COST_SHORTEST_PERIOD, 1e-9);
    for (int i = 0; i < 10; i++)
        period = cost_next_period(period, 1, 0.05);
    assert_float_equal(period, COST_LONGEST_PERIOD, 1e-9);
    for (int i = 0; i < 10; i++)
        period = cost_next_period(period, 0.001, 0.05);
    assert_float_equal(period, COST_SHORTEST_PERIOD, 1e-9);
}

static pid_t start_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    return child;
}

static void a_signal_reaches_its_process_and_no_other(void **state)
{
    (void)state;
    pid_t child = start_child();
    assert_true(child > 0);
    struct victim victim = {.pidfd = -1};
    assert_int_equal(victim_open(&victim, child, 1), -ESRCH); /* it has not started in 1970 */
    assert_int_equal(victim_open(&victim, getpid(), 0), -ECHILD);
    assert_int_equal(victim_open(&victim, child, 0), 0);
    assert_int_equal(victim_signal(&victim, SIGTERM), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    /* The number may be somebody else's by now; the handle is not. */
    assert_int_equal(victim_signal(&victim, SIGTERM), -ESRCH);
    victim_close(&victim);
    assert_int_equal(victim_open(&victim, child, 0), -ESRCH);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_in_each_character_set),
        cmocka_unit_test(bars_fill_by_eighths),
        cmocka_unit_test(columns_give_way_to_the_command),
        cmocka_unit_test(processes_are_sorted_filtered_and_remarked),
        cmocka_unit_test(children_stand_below_their_parents),
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(slows_down_above_the_budget_and_back_well_below),
        cmocka_unit_test(a_signal_reaches_its_process_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
