#include "view/view.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cmocka_test.h"
#include "metric/units.h"

struct scene {
    struct device devices[2];
    struct reading readings[2];
    struct view_gpu gpus[2];
    struct view_frame frame;
};

static struct scene scene;

/* GPU 0 answers, MIG instance 1 of it is lost. */
static void set_scene(void)
{
    scene = (struct scene){0};
    device_set_text(&scene.devices[0], DEVICE_UUID, "GPU-1");
    device_set_text(&scene.devices[0], DEVICE_NAME, "A \"B\", C");
    scene.devices[1].index = 1;
    device_set_number(&scene.devices[1], DEVICE_PARENT, 0);
    for (size_t i = 0; i < 2; i++) {
        sample_reset(&scene.readings[i].sample, ABSENT_NOT_PROVIDED);
        scene.gpus[i] = (struct view_gpu){&scene.devices[i], &scene.readings[i]};
    }
    struct sample *sample = &scene.readings[0].sample;
    scene.readings[0].state = READING_OK;
    sample_set(sample, METRIC_COMPUTE_SOL, 0.934);
    sample_set(sample, METRIC_COMPUTE_SOL_PIPE, LABEL_PIPE_TENSOR);
    sample_set(sample, METRIC_SM_CLOCK, 1.98e9);
    sample_set(sample, METRIC_THROTTLE_REASONS, 5);
    sample_set(sample, METRIC_ENERGY, 123456789.25);
    scene.readings[1].state = READING_LOST;
    scene.readings[1].age = 12.50004;
    /* A span that is over, one that goes on, a moment, and one that comes. */
    static const struct mark marks[] = {
        {1699999990, 1699999999.125, "one"},
        {1699999990, 1700000001, "two"},
        {1699999999.125, 1699999999.125, "three"},
        {1700000000.125, 1700000001, "four"},
    };
    scene.frame = (struct view_frame){.begin = 1699999999.125,
                                      .time = 1700000000.125,
                                      .count = 2,
                                      .gpus = scene.gpus,
                                      .marks = marks,
                                      .mark_count = ARRAY_SIZE(marks)};
}

static const struct process_description *describe(void *context, pid_t pid)
{
    static struct process_description description;
    (void)context;
    description = (struct process_description){.outside = pid == 8};
    snprintf(description.user, sizeof(description.user), "ann");
    snprintf(description.command, sizeof(description.command), "python a\"b");
    return &description;
}

static void add_processes(void)
{
    scene.readings[0].processes.known = true;
    scene.readings[0].processes.count = 2;
    scene.readings[0].processes.process[0] = (struct process){
        .pid = 7,
        .kinds = PROCESS_COMPUTE | PROCESS_MPS_CLIENT,
        .memory_known = true,
        .memory_bytes = UINT64_C(3) << 30,
        .sm_known = true,
        .sm_ratio = 0.35,
    };
    scene.readings[0].processes.process[1] = (struct process){.pid = 8};
}

static const enum metric chosen[] = {METRIC_COMPUTE_SOL, METRIC_COMPUTE_SOL_PIPE,
                                     METRIC_THROTTLE_REASONS, METRIC_ENERGY, METRIC_SM_ACTIVE};

/* The form's output for the scene; the caller frees it. */
static char *output(struct view *view)
{
    struct strbuf out = {0};
    view->form->write(view, &scene.frame, &out);
    assert_false(strbuf_failed(&out));
    return out.text;
}

static void assert_starts(const char *text, const char *start)
{
    assert_non_null(text);
    char *head = strndup(text, strlen(start));
    assert_string_equal(head, start);
    free(head);
}

/* The text from its line `n` on, counted from 0. */
static const char *line(const char *text, size_t n)
{
    while (n-- > 0) {
        text = strchr(text, '\n');
        assert_non_null(text);
        text++;
    }
    return text;
}

static void csv_has_one_header_and_quotes(void **state)
{
    (void)state;
    set_scene();
    struct view view = {.form = &view_csv, .metrics = chosen, .metric_count = 5};
    char *first = output(&view);
    assert_starts(first, "time,index,uuid,name,parent_index,gpu_instance_id,compute_instance_id,"
                         "state,age_seconds,compute_sol_ratio,compute_sol_pipe,throttle_reasons,"
                         "energy_joules_total,sm_active_ratio,marks,verdict\n");
    const char with_values[] = "1700000000.125,0,GPU-1,\"A \"\"B\"\", C\",,,,ok,0,0.934,tensor,"
                               "idle power_cap,123456789.25,,two; three,";
    assert_starts(line(first, 1), with_values);
    assert_string_equal(line(first, 2), "1700000000.125,1,,,0,,,lost,12.5,,,,,,two; three,\n");
    char *second = output(&view);
    assert_starts(second, with_values);
    free(first);
    free(second);
}

static json_t *parse(struct view *view)
{
    char *text = output(view);
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

static json_t *gpu(json_t *root, size_t i)
{
    return json_array_get(json_object_get(root, "gpus"), i);
}

static const char *text_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void json_has_every_metric_once(void **state)
{
    (void)state;
    set_scene();
    struct view view = {.form = &view_json};
    json_t *root = parse(&view);
    assert_float_equal(json_number_value(json_object_get(root, "time")), 1700000000.125, 1e-6);
    json_t *marks = json_object_get(root, "marks");
    assert_int_equal(json_array_size(marks), 2);
    assert_string_equal(json_string_value(json_array_get(marks, 1)), "three");
    json_t *first = gpu(root, 0);
    assert_int_equal(json_integer_value(json_object_get(first, "index")), 0);
    assert_string_equal(text_of(first, "name"), "A \"B\", C");
    assert_true(json_is_null(json_object_get(first, "parent_index")));
    assert_string_equal(text_of(first, "state"), "ok");
    for (size_t i = 0; i < METRIC_COUNT; i++)
        assert_non_null(json_object_get(first, metric_info((enum metric)i)->name));
    assert_float_equal(json_number_value(json_object_get(first, "compute_sol_ratio")), 0.934, 1e-9);
    assert_string_equal(text_of(first, "compute_sol_pipe"), "tensor");
    assert_true(json_is_null(json_object_get(first, "sm_active_ratio")));
    json_t *reasons = json_object_get(first, "throttle_reasons");
    assert_int_equal(json_array_size(reasons), 2);
    assert_string_equal(json_string_value(json_array_get(reasons, 1)), "power_cap");
    assert_null(json_object_get(first, "processes"));

    json_t *second = gpu(root, 1);
    assert_int_equal(json_integer_value(json_object_get(second, "parent_index")), 0);
    assert_string_equal(text_of(second, "state"), "lost");
    assert_float_equal(json_number_value(json_object_get(second, "age_seconds")), 12.5, 1e-9);
    assert_true(json_is_null(json_object_get(second, "verdict")));
    json_decref(root);
}

static void json_shows_processes_when_asked(void **state)
{
    (void)state;
    set_scene();
    add_processes();
    struct view view = {.form = &view_json, .processes = true, .describe = describe};
    json_t *root = parse(&view);
    json_t *list = json_object_get(gpu(root, 0), "processes");
    assert_int_equal(json_array_size(list), 2);
    json_t *process = json_array_get(list, 0);
    assert_int_equal(json_integer_value(json_object_get(process, "pid")), 7);
    assert_int_equal(json_integer_value(json_object_get(process, "memory_bytes")), INT64_C(3)
                                                                                       << 30);
    assert_string_equal(text_of(process, "command"), "python a\"b");
    assert_float_equal(json_number_value(json_object_get(process, "sm_ratio")), 0.35, 1e-9);
    assert_string_equal(json_string_value(json_array_get(json_object_get(process, "kinds"), 1)),
                        "mps_client");
    process = json_array_get(list, 1);
    assert_true(json_is_true(json_object_get(process, "outside")));
    assert_true(json_is_null(json_object_get(process, "memory_bytes")));
    assert_true(json_is_null(json_object_get(process, "sm_ratio")));
    assert_true(json_is_null(json_object_get(gpu(root, 1), "processes")));
    json_decref(root);
}

static void text_says_what_is_lost(void **state)
{
    (void)state;
    set_scene();
    struct view view = {.form = &view_text};
    char *text = output(&view);
    assert_starts(text, "TIME       GPU COMPUTE %   MEMORY %  BOUND");
    assert_starts(line(text, 1), "-- three\n");
    assert_starts(line(text, 2) + 10,
                  "   0 93.4 tensor    -      -           -     - 1980*    -     -");
    assert_string_equal(line(text, 3) + 10, " 0/1 lost for 12.5 s: the GPU is lost\n");
    free(text);
}

static void text_fits_a_terminal(void **state)
{
    (void)state;
    set_scene();
    for (size_t columns = 1; columns < 130; columns++) {
        struct view view = {.form = &view_text, .columns = columns, .rows = 24};
        char *text = output(&view);
        for (char *rest = text, *one; (one = strsep(&rest, "\n")) && rest;)
            assert_in_range(utf8_count(one), 1, columns);
        free(text);
    }
}

/* Half a number is a wrong one. */
static void text_cuts_no_number(void **state)
{
    (void)state;
    set_scene();
    struct view whole = {.form = &view_text};
    char *all = output(&whole);
    const char *wide = line(all, 2);
    for (size_t columns = 14; columns < 14 + 78; columns++) {
        struct view view = {.form = &view_text, .columns = columns, .rows = 24};
        char *text = output(&view);
        const char *narrow = line(text, 2);
        size_t length = strcspn(narrow, "\n");
        assert_int_equal(strncmp(narrow, wide, length), 0);
        assert_non_null(strchr(" \n", wide[length]));
        free(text);
    }
    free(all);
}

static size_t count_headers(const char *text)
{
    size_t count = 0;
    while ((text = strstr(text, "TIME"))) {
        count++;
        text++;
    }
    return count;
}

static void text_repeats_the_header_on_a_terminal(void **state)
{
    (void)state;
    set_scene();
    struct view terminal = {.form = &view_text, .columns = 100, .rows = 8};
    struct view pipe = {.form = &view_text};
    struct strbuf on_terminal = {0};
    struct strbuf in_pipe = {0};
    for (size_t i = 0; i < 4; i++) {
        terminal.form->write(&terminal, &scene.frame, &on_terminal);
        pipe.form->write(&pipe, &scene.frame, &in_pipe);
    }
    assert_int_equal(count_headers(strbuf_text(&on_terminal)), 2);
    assert_int_equal(count_headers(strbuf_text(&in_pipe)), 1);
    strbuf_free(&on_terminal);
    strbuf_free(&in_pipe);
}

static void text_shows_chosen_metrics_and_processes(void **state)
{
    (void)state;
    set_scene();
    add_processes();
    struct view view = {.form = &view_text,
                        .metrics = chosen,
                        .metric_count = 2,
                        .processes = true,
                        .describe = describe};
    char *text = output(&view);
    assert_starts(text, "TIME       GPU compute_sol_ratio compute_sol_pipe\n");
    assert_starts(line(text, 2) + 10, "   0            93.4 %           tensor\n");
    assert_starts(line(text, 3),
                  "               pid 7          3.00 GiB  SM 35 %  ann        python a\"b\n");
    assert_starts(line(text, 4),
                  "               pid 8                 -           not visible here");
    assert_non_null(strstr(line(text, 5), "processes are not known"));
    assert_null(strstr(text, "not listed"));
    free(text);
}

static void text_says_what_nobody_here_holds(void **state)
{
    (void)state;
    set_scene();
    scene.readings[0].processes.known = true;
    sample_set(&scene.readings[0].sample, METRIC_MEMORY_USED, 0x1p31);
    struct view view = {.form = &view_text, .processes = true, .describe = describe};
    char *text = output(&view);
    assert_starts(line(text, 3),
                  "               held by processes that are not listed: 2.00 GiB\n");
    free(text);
    device_set_number(&scene.devices[0], DEVICE_MIG_ENABLED, 1); /* its instances hold it */
    text = output(&view);
    assert_null(strstr(text, "not listed"));
    free(text);
}

static void assert_human(enum metric metric, double value, const char *expected)
{
    struct strbuf out = {0};
    metric_put_human(&out, metric, value);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_free(&out);
}

static void people_read_about_three_digits(void **state)
{
    (void)state;
    assert_human(METRIC_COMPUTE_SOL, 0.0214, "2.1 %");
    assert_human(METRIC_COMPUTE_SOL, 1, "100 %");
    assert_human(METRIC_MEMORY_USED, 0, "0 B");
    assert_human(METRIC_MEMORY_USED, 0x1.8p33, "12.0 GiB");
    assert_human(METRIC_PCIE_RX, 52.3e9, "52.3 GB/s");
    assert_human(METRIC_PCIE_RX, 999.96e6, "1.00 GB/s");
    assert_human(METRIC_ACHIEVED_FLOPS, 670.7e12, "671 TFLOP/s");
    assert_human(METRIC_SM_CLOCK, 1.326e9, "1326 MHz");
    assert_human(METRIC_THROTTLE_REASONS, 0, "");
}

static void cleans_foreign_text(void **state)
{
    (void)state;
    char clean[16];
    assert_int_equal(utf8_clean(clean, sizeof(clean),
                                "a\tb\x1b"
                                "c\xff"),
                     10);
    assert_string_equal(clean, "a b\xEF\xBF\xBD"
                               "c\xEF\xBF\xBD");
    assert_int_equal(utf8_clean(clean, 5, "ab\xC3\xA9\xC3\xA9"), 4);
    assert_string_equal(clean, "ab\xC3\xA9");
    assert_int_equal(utf8_clean(clean, 4, "ab\xC3\xA9"), 2);
    assert_int_equal(utf8_count("ab\xC3\xA9"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_one_header_and_quotes),
        cmocka_unit_test(json_has_every_metric_once),
        cmocka_unit_test(json_shows_processes_when_asked),
        cmocka_unit_test(text_says_what_is_lost),
        cmocka_unit_test(text_fits_a_terminal),
        cmocka_unit_test(text_cuts_no_number),
        cmocka_unit_test(text_repeats_the_header_on_a_terminal),
        cmocka_unit_test(text_shows_chosen_metrics_and_processes),
        cmocka_unit_test(text_says_what_nobody_here_holds),
        cmocka_unit_test(people_read_about_three_digits),
        cmocka_unit_test(cleans_foreign_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
