#include "bench/plan.h"

#include <errno.h>
#include <string.h>

#include "cmocka_test.h"

static int parse(struct bench_plan *plan, const char *text, struct ini_error *error)
{
    return bench_plan_parse(plan, "jobs.ini", text, strlen(text), error);
}

static void reads_everything(void **state)
{
    (void)state;
    struct bench_plan plan;
    struct ini_error error;
    assert_int_equal(
        parse(&plan,
              "[bench]\ntitle = Four jobs\nmodes = exclusive, mps mig\nrepeats = 5\n"
              "timeout = 10m\nsettle = 500ms\nwarm-up-timeout = 1m\n"
              "[train]\ncommand = python a.py 'x y' # z\ncount = 3\nready = file\n"
              "sm = 25%\nmemory = 4G\ntime = 20s\nprofile = big\nenv.A = 1\nenv.B_2 = two words\n"
              "folder = /tmp\n"
              "[serve]\ncommand = b\nready = line   ready to go\nhold = stop\n",
              &error),
        0);
    assert_string_equal(plan.title, "Four jobs");
    assert_int_equal(plan.mode_count, 3);
    assert_int_equal(plan.modes[2], MODE_MIG);
    assert_int_equal(plan.repeats, 5);
    assert_string_equal(plan.jobs[0].profile, "big");
    assert_null(plan.jobs[1].profile);
    assert_near(plan.timeout, 600, 0);
    assert_near(plan.settle, 0.5, 1e-12);
    assert_near(plan.warm_up_timeout, 60, 0);
    assert_int_equal(plan.job_count, 2);
    assert_int_equal(plan.instance_count, 4);
    const struct bench_job *train = &plan.jobs[0];
    assert_string_equal(train->command, "python a.py 'x y' # z");
    assert_int_equal(train->ready, READY_FILE);
    assert_int_equal(train->hold, HOLD_GO);
    assert_near(train->sm_percent, 25, 0);
    assert_int_equal(train->memory_bytes, 4ull << 30);
    assert_string_equal(train->environment[0], "A=1");
    assert_string_equal(train->environment[1], "B_2=two words");
    assert_null(train->environment[2]);
    assert_string_equal(train->folder, "/tmp");
    assert_int_equal(plan.jobs[1].ready, READY_LINE);
    assert_string_equal(plan.jobs[1].ready_line, "ready to go");
    assert_int_equal(plan.jobs[1].hold, HOLD_STOP);
    char name[INI_NAME_SIZE + 8];
    bench_plan_instance_name(&plan, 2, name, sizeof(name));
    assert_string_equal(name, "train.3");
    bench_plan_instance_name(&plan, 3, name, sizeof(name));
    assert_string_equal(name, "serve");
    bench_plan_free(&plan);
}

static void names_file_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "jobs.ini:0: there is no job; write [NAME] and command = …"},
        {"[a]\ncount = 2\n[b]\n", "jobs.ini:1: [a] has no command"},
        {"[bench]\n\n[a]\ncount = 2\n", "jobs.ini:3: [a] has no command"},
        {"[a]\ncommand = x\ncount = 0\n", "jobs.ini:3: count: '0' is no number from 1 to 256"},
        {"[a]\ncommand = x\nthreads = 1\n", "jobs.ini:3: [a] knows no key 'threads'"},
        {"[bench]\ncommand = x\n", "jobs.ini:2: [bench] knows no key 'command'"},
        {"[bench]\nmodes = mps, mps\n", "jobs.ini:2: modes: mps is named twice"},
        {"[bench]\nmodes = fast\n", "jobs.ini:2: modes: 'fast' is none; there are exclusive, "
                                    "time-slicing, mps, mps-equal, mps-limits and mig"},
        {"[bench]\nmodes = ,\n", "jobs.ini:2: modes: nothing is given"},
        {"[bench]\nrepeats = 101\n", "jobs.ini:2: repeats: '101' is no number from 1 to 100"},
        {"[bench]\nsettle = 0\n",
         "jobs.ini:2: settle: '0' is no time from 1ms to 7 days, such as 20s, 5m or 1h"},
        {"[bench]\nsettle = 1e-12\n",
         "jobs.ini:2: settle: '1e-12' is no time from 1ms to 7 days, such as 20s, 5m or 1h"},
        {"[a]\ncommand =\n", "jobs.ini:2: command: nothing is given"},
        {"[a]\nready = soon\n", "jobs.ini:2: ready: 'soon' is none of: exec, file, line TEXT"},
        {"[a]\nready = line \n", "jobs.ini:2: ready: 'line' is none of: exec, file, line TEXT"},
        {"[a]\nhold = on\n", "jobs.ini:2: hold: 'on' is none of: go, stop"},
        {"[a]\ncommand = x\nhold = go\n",
         "jobs.ini:1: [a]: hold needs ready = file or ready = line TEXT"},
        {"[a]\ncommand = x\nhold = stop\n",
         "jobs.ini:1: [a]: hold needs ready = file or ready = line TEXT"},
        {"[a]\nsm = 101%\n", "jobs.ini:2: sm: '101%' is no share; write 25%"},
        {"[a]\nsm = 25%%\n", "jobs.ini:2: sm: '25%%' is no share; write 25%"},
        {"[a]\nmemory = 3\n", "jobs.ini:2: memory: '3' is no size; write 4G or 512M"},
        {"[a]\nenv.1 = 3\n", "jobs.ini:2: 'env.1' names no variable; write env.NAME = VALUE"},
        {"[a]\ncommand = x\n[a]\n", "jobs.ini:3: [a] is there twice"},
        {"[bench]\n[a]\ncommand = x\n[bench]\n", "jobs.ini:4: [bench] is there twice"},
        {"[a]\ncommand = x\ncount = 200\n[b]\ncommand = x\ncount = 200\n",
         "jobs.ini:4: 400 jobs at once are more than 256"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bench_plan plan;
        struct ini_error error;
        assert_int_equal(parse(&plan, cases[i].text, &error), -EINVAL);
        assert_string_equal(error.text, cases[i].message);
    }
}

static void interleaves_and_rotates(void **state)
{
    (void)state;
    struct bench_plan plan;
    struct ini_error error;
    assert_int_equal(
        parse(&plan, "[bench]\nmodes = exclusive mps mig\nrepeats = 4\n[a]\ncommand = x\n", &error),
        0);
    assert_int_equal(bench_plan_turns(&plan), 12);
    static const enum bench_mode expected[] = {
        MODE_EXCLUSIVE, MODE_MPS,       MODE_MIG, MODE_MPS,       MODE_MIG, MODE_EXCLUSIVE,
        MODE_MIG,       MODE_EXCLUSIVE, MODE_MPS, MODE_EXCLUSIVE, MODE_MPS, MODE_MIG,
    };
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(bench_plan_turn(&plan, i).mode, expected[i]);
        assert_int_equal(bench_plan_turn(&plan, i).repeat, i / 3);
    }
    bench_plan_free(&plan);
}

static void divides_the_gpu(void **state)
{
    (void)state;
    struct bench_plan plan;
    struct ini_error error;
    double low, high;
    assert_int_equal(parse(&plan,
                           "[bench]\nmodes = exclusive mps-equal mps-limits\n"
                           "[a]\ncommand = x\ncount = 3\nsm = 10%\nmemory = 1G\ntime = 10\n"
                           "[b]\ncommand = y\nsm = 70%\ntime = 15\n",
                           &error),
                     0);
    struct mps_limits limits = bench_plan_limits(&plan, MODE_MPS_EQUAL, &plan.jobs[0], 4000);
    assert_near(limits.sm_percent, 25, 0);
    assert_int_equal(limits.memory_bytes, 1000);
    limits = bench_plan_limits(&plan, MODE_MPS_LIMITS, &plan.jobs[0], 4000);
    assert_near(limits.sm_percent, 10, 0);
    assert_int_equal(limits.memory_bytes, 1 << 30);
    limits = bench_plan_limits(&plan, MODE_MPS, &plan.jobs[1], 4000);
    assert_near(limits.sm_percent, 100, 0);
    assert_int_equal(limits.memory_bytes, 0);
    plan.instance_count = 3;
    limits = bench_plan_limits(&plan, MODE_MPS_EQUAL, &plan.jobs[0], 4000);
    assert_near(limits.sm_percent, 33, 0);
    plan.instance_count = 4;
    assert_true(bench_plan_expect(&plan, MODE_EXCLUSIVE, &low, &high));
    assert_near(low, 45, 0);
    assert_near(high, 45, 0);
    assert_true(bench_plan_expect(&plan, MODE_MPS, &low, &high));
    assert_near(low, 15, 0);
    assert_near(high, 45, 0);
    plan.jobs[1].seconds = 0;
    assert_false(bench_plan_expect(&plan, MODE_MPS, &low, &high));
    bench_plan_free(&plan);
}

static void writes_durations(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {
        {1.25, "1.2 s"}, {9.96, "10 s"}, {59.4, "59 s"}, {200, "3 min 20 s"}, {7260, "2 h 1 min"}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct strbuf out = {0};
        bench_put_duration(&out, cases[i].seconds);
        assert_string_equal(strbuf_text(&out), cases[i].text);
        strbuf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_everything),        cmocka_unit_test(names_file_and_line),
        cmocka_unit_test(interleaves_and_rotates), cmocka_unit_test(divides_the_gpu),
        cmocka_unit_test(writes_durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
