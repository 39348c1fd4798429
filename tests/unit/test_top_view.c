#include "tui/view.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "cmocka_test.h"
#include "synthetic.h"

struct stage {
    struct model model;
    struct process_table table;
    struct layout layout;
    struct view view;
};

static void open_stage(struct stage *stage, size_t gpus)
{
    *stage = (struct stage){0};
    synthetic_model(&stage->model, gpus);
    view_init(&stage->view, &prefs_default);
    struct process_lookup lookup = synthetic_lookup();
    struct process_query query = {.sort = COLUMN_PID, .filter = "", .only_device = SIZE_MAX};
    assert_int_equal(process_table_fill(&stage->table, &stage->model, &query, &lookup), 0);
    struct layout_input input = {.width = 100,
                                 .height = 40,
                                 .device_count = stage->model.device_count,
                                 .process_rows = stage->table.count,
                                 .timeline = true};
    layout_compute(&input, &stage->layout);
}

static void close_stage(struct stage *stage)
{
    model_free(&stage->model);
    process_table_free(&stage->table);
}

static struct request handle(struct stage *stage, struct input input)
{
    struct view_context context = {&stage->model, &stage->table, &stage->layout, 1};
    return view_handle(&stage->view, &context, &input);
}

static struct request press(struct stage *stage, uint32_t code)
{
    return handle(stage, (struct input){.code = code});
}

static void type(struct stage *stage, const char *text)
{
    for (; *text; text++)
        press(stage, (uint32_t)*text);
}

static void settle(struct stage *stage)
{
    struct view_context context = {&stage->model, &stage->table, &stage->layout, 1};
    view_settle(&stage->view, &context);
}

static void every_key_has_one_action(void **state)
{
    (void)state;
    char keys[KEYS_TEXT_SIZE];
    for (int i = ACTION_NONE + 1; i < ACTION_COUNT; i++) {
        assert_true(action_keys((enum action)i, keys)[0] != '\0');
        assert_true(action_info((enum action)i)->help[0] != '\0');
    }
    assert_string_equal(action_keys(ACTION_SORT, keys), "F6, >, <");
    assert_int_equal(action_of(INPUT_F(10)), ACTION_QUIT);
    assert_int_equal(action_of('x'), ACTION_NONE);
}

static void the_present_pauses_and_scrolls_back(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 1);
    double now = stage.model.time;
    press(&stage, ' ');
    assert_true(stage.view.paused);
    assert_float_equal(view_time(&stage.view), now, 0);
    press(&stage, INPUT_LEFT);
    assert_float_equal(view_time(&stage.view), now - 5, 1e-6);
    press(&stage, INPUT_HOME);
    assert_float_equal(view_time(&stage.view), now - 0.1 * (SYNTHETIC_SAMPLES - 1), 1e-3);
    press(&stage, INPUT_END);
    assert_false(stage.view.paused);
    assert_float_equal(view_time(&stage.view), 0, 0);
    /* back a step pauses by itself; forward to the present goes on */
    press(&stage, INPUT_LEFT);
    assert_true(stage.view.paused);
    press(&stage, INPUT_RIGHT);
    assert_false(stage.view.paused);
    close_stage(&stage);
}

static void a_recording_asks_to_seek(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 1);
    stage.model.recorded = true;
    stage.model.begin = stage.model.time - 20;
    stage.model.end = stage.model.time + 100;
    stage.model.speed = 1;
    struct request request = press(&stage, INPUT_LEFT);
    assert_int_equal(request.kind, REQUEST_SEEK);
    assert_float_equal(request.number, stage.model.time - 5, 1e-6);
    request = press(&stage, INPUT_SHIFT_LEFT);
    assert_float_equal(request.number, stage.model.begin, 1e-6);
    request = press(&stage, ' ');
    assert_int_equal(request.kind, REQUEST_PAUSE);
    assert_float_equal(request.number, 1, 0);
    request = press(&stage, '}');
    assert_int_equal(request.kind, REQUEST_SPEED);
    assert_float_equal(request.number, 2, 0);
    const struct mark mark = {.time = stage.model.time + 30, .name = "there"};
    assert_int_equal(model_mark(&stage.model, &mark), 0);
    request = press(&stage, 'n');
    assert_int_equal(request.kind, REQUEST_SEEK);
    assert_float_equal(request.number, mark.time + stage.model.interval, 1e-6);
    assert_int_equal(press(&stage, 'b').kind, REQUEST_NONE);
    assert_string_equal(stage.view.message, "no mark before this");
    assert_int_equal(press(&stage, 'r').kind, REQUEST_NONE);
    close_stage(&stage);
}

static void a_mark_takes_its_name_from_the_keyboard(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 1);
    press(&stage, 'm');
    assert_int_equal(stage.view.dialog, DIALOG_MARK);
    assert_string_equal(stage.view.text, "mark 1");
    press(&stage, INPUT_BACKSPACE);
    type(&stage, "q5");
    struct request request = press(&stage, INPUT_ENTER);
    assert_int_equal(request.kind, REQUEST_MARK);
    assert_float_equal(request.number, stage.model.time, 0);
    assert_string_equal(stage.view.text, "mark q5");
    press(&stage, 'm');
    assert_int_equal(press(&stage, INPUT_ESCAPE).kind, REQUEST_NONE);
    assert_int_equal(stage.view.dialog, DIALOG_NONE);
    close_stage(&stage);
}

static void the_ends_of_the_processes_and_their_user(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 2);
    size_t last = stage.table.count - 1;
    assert_true(last > 0);
    press(&stage, 'u');
    assert_string_equal(stage.view.filter, ""); /* first one must be selected */
    assert_int_equal(stage.view.focus, FOCUS_PROCESSES);
    press(&stage, INPUT_END);
    assert_int_equal(stage.view.process, last);
    press(&stage, INPUT_HOME);
    assert_int_equal(stage.view.process, 0);
    press(&stage, 'u');
    assert_string_equal(stage.view.filter, stage.table.rows[0].user);
    press(&stage, 'u');
    assert_string_equal(stage.view.filter, "");
    close_stage(&stage);
}

static void a_filter_is_typed_and_dropped(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 2);
    press(&stage, '/');
    type(&stage, "train");
    press(&stage, 0xE9);
    assert_string_equal(stage.view.filter, "train\xC3\xA9");
    press(&stage, INPUT_BACKSPACE);
    assert_string_equal(stage.view.filter, "train");
    press(&stage, INPUT_ENTER);
    assert_int_equal(stage.view.dialog, DIALOG_NONE);
    assert_string_equal(stage.view.filter, "train");
    press(&stage, INPUT_ESCAPE);
    assert_string_equal(stage.view.filter, "");
    close_stage(&stage);
}

static void kill_asks_first_and_only_of_a_selected_process(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 4);
    assert_int_equal(press(&stage, 'k').kind, REQUEST_NONE);
    assert_int_equal(stage.view.focus, FOCUS_PROCESSES);
    assert_int_equal(press(&stage, 'k').kind, REQUEST_ASK_KILL);
    stage.view.dialog = DIALOG_KILL; /* as the program does where it may be killed */
    stage.view.item = 0;
    assert_int_equal(press(&stage, 'n').kind, REQUEST_NONE);
    assert_int_equal(stage.view.dialog, DIALOG_NONE);
    stage.view.dialog = DIALOG_KILL;
    press(&stage, INPUT_DOWN);
    struct request request = press(&stage, 'y');
    assert_int_equal(request.kind, REQUEST_KILL);
    assert_float_equal(request.number, SIGINT, 0);
    close_stage(&stage);
}

static void down_goes_from_the_gpus_to_the_processes(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 2);
    press(&stage, INPUT_DOWN);
    assert_int_equal(stage.view.device, 1);
    press(&stage, INPUT_DOWN);
    assert_int_equal(stage.view.focus, FOCUS_PROCESSES);
    assert_int_equal(stage.view.process, 0);
    press(&stage, INPUT_DOWN);
    assert_int_equal(stage.view.process, 1);
    stage.view.device = 0;
    stage.table.rows[1].device = 1;
    press(&stage, INPUT_ENTER);
    assert_true(stage.view.zoomed);
    assert_int_equal(stage.view.device, 1); /* that of the process */
    press(&stage, INPUT_ENTER);
    press(&stage, INPUT_UP);
    press(&stage, INPUT_UP);
    assert_int_equal(stage.view.focus, FOCUS_DEVICES);
    assert_int_equal(stage.view.device, 1);
    stage.table.count = 0;
    press(&stage, INPUT_DOWN);
    assert_int_equal(stage.view.focus, FOCUS_DEVICES);
    close_stage(&stage);
}

/* The row under the cursor stays that of its process when others come before it. */
static void the_selection_follows_its_process(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 4);
    press(&stage, INPUT_TAB);
    settle(&stage);
    for (size_t row = 0; row < 2; row++) {
        pid_t pid = stage.table.rows[row].pid;
        struct process_row first = stage.table.rows[0];
        stage.table.rows[0] = stage.table.rows[1];
        stage.table.rows[1] = first;
        settle(&stage);
        assert_int_equal(stage.view.process, 1 - row);
        assert_int_equal(stage.table.rows[stage.view.process].pid, pid);
    }
    stage.table.count = 0;
    settle(&stage);
    assert_int_equal(stage.view.process, 0);
    close_stage(&stage);
}

static void columns_sort_and_turn_round(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 1);
    press(&stage, 'N');
    assert_int_equal(stage.view.prefs.sort, COLUMN_PID);
    assert_int_equal(stage.view.prefs.descending, 0);
    press(&stage, 'N'); /* again: to be sure, and nothing changes */
    assert_int_equal(stage.view.prefs.descending, 0);
    press(&stage, 'I');
    assert_int_equal(stage.view.prefs.descending, 1);
    press(&stage, '-');
    assert_int_equal(stage.view.prefs.descending, 1);
    press(&stage, INPUT_F(6));
    press(&stage, INPUT_ENTER);
    assert_int_equal(stage.view.prefs.descending, 1);
    press(&stage, '+');
    assert_int_equal(stage.view.prefs.descending, 0);
    press(&stage, INPUT_F(6));
    press(&stage, INPUT_DOWN);
    press(&stage, INPUT_ENTER);
    assert_int_equal(stage.view.prefs.sort, COLUMN_USER);
    assert_int_equal(stage.view.dialog, DIALOG_NONE);
    close_stage(&stage);
}

static void setup_changes_and_saves(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 1);
    press(&stage, INPUT_F(2));
    press(&stage, INPUT_LEFT);
    assert_int_equal(stage.view.prefs.theme, THEME_MONO);
    press(&stage, INPUT_RIGHT);
    assert_int_equal(stage.view.prefs.theme, THEME_AUTO);
    assert_int_equal(press(&stage, INPUT_F(2)).kind, REQUEST_SAVE);
    close_stage(&stage);
}

static void the_mouse_selects_sorts_and_zooms(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage, 3);
    struct rect panel = stage.layout.panels[2].area;
    handle(&stage, (struct input){INPUT_CLICK, panel.x + 5, panel.y});
    assert_int_equal(stage.view.device, 2);
    handle(&stage, (struct input){INPUT_DOUBLE_CLICK, panel.x + 5, panel.y});
    assert_true(stage.view.zoomed);
    struct rect table = stage.layout.processes;
    handle(&stage, (struct input){INPUT_CLICK, 2, table.y});
    assert_int_equal(stage.view.prefs.sort, COLUMN_PID);
    handle(&stage, (struct input){INPUT_CLICK, 2, table.y});
    assert_int_equal(stage.view.prefs.descending, 1);
    handle(&stage, (struct input){INPUT_CLICK, 2, table.y + 2});
    assert_int_equal(stage.view.focus, FOCUS_PROCESSES);
    assert_int_equal(stage.view.process, 1);
    handle(&stage, (struct input){INPUT_CLICK, 17, 0});
    assert_int_equal(stage.view.prefs.mode, MODE_WATERFALL);
    /* the bar's first item is the help */
    handle(&stage, (struct input){INPUT_CLICK, 0, stage.layout.keys.y});
    assert_int_equal(stage.view.dialog, DIALOG_HELP);
    handle(&stage, (struct input){INPUT_CLICK, 0, 0});
    assert_int_equal(stage.view.dialog, DIALOG_NONE);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_one_action),
        cmocka_unit_test(the_present_pauses_and_scrolls_back),
        cmocka_unit_test(a_recording_asks_to_seek),
        cmocka_unit_test(a_mark_takes_its_name_from_the_keyboard),
        cmocka_unit_test(the_ends_of_the_processes_and_their_user),
        cmocka_unit_test(a_filter_is_typed_and_dropped),
        cmocka_unit_test(kill_asks_first_and_only_of_a_selected_process),
        cmocka_unit_test(down_goes_from_the_gpus_to_the_processes),
        cmocka_unit_test(the_selection_follows_its_process),
        cmocka_unit_test(columns_sort_and_turn_round),
        cmocka_unit_test(setup_changes_and_saves),
        cmocka_unit_test(the_mouse_selects_sorts_and_zooms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
