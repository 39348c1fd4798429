#include "counter/cupti/overlay.h"
#include "counter/cupti/overlay_supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_test.h"
#include "counter/combined.h"
#include "counter/cupti/helper_device.h"

static char script_path[] = "/tmp/rooftop-cupti-XXXXXX";
static char log_path[sizeof(script_path) + 4];

static void write_script(const char *text)
{
    char fresh[sizeof(script_path) + 4];
    snprintf(fresh, sizeof(fresh), "%s.new", script_path);
    FILE *file = fopen(fresh, "w");
    assert_non_null(file);
    fprintf(file, "log %s\nvalue gpc__cycles 1.5e9\nvalue pct_of 40\n%s", log_path, text);
    fclose(file);
    assert_int_equal(rename(fresh, script_path), 0);
}

static size_t count_log(const char *word)
{
    FILE *file = fopen(log_path, "r");
    char line[64];
    size_t count = 0;
    while (file && fgets(line, sizeof(line), file))
        count += strncmp(line, word, strlen(word)) == 0;
    if (file)
        fclose(file);
    return count;
}

/* Only a broken overlay makes a test wait this long. */
static const double PATIENCE = 20;

struct fixture {
    double burst_period; /* 0: a short one */
    double burst_cpu;    /* 0: a large one */
    double patience;     /* 0: one that no machine exceeds */
    const char *program; /* NULL: the helper */
    struct device devices[2];
    struct overlay *overlay;
    struct sample samples[2];
};

static void make_device(struct device *device, unsigned index, double capability)
{
    char uuid[48];
    snprintf(uuid, sizeof(uuid), "GPU-00000000-0000-4000-8000-%012u", index + 1);
    *device = (struct device){.index = index};
    device_set_text(device, DEVICE_UUID, uuid);
    device_set_number(device, DEVICE_COMPUTE_CAPABILITY, capability);
}

static void open_overlay(struct fixture *fixture, enum clock_mode mode, double capability,
                         const char *script)
{
    static const struct overlay_config quick = {.interval = .02,
                                                .burst = .04,
                                                .burst_period = .1,
                                                .burst_cpu = 100,
                                                .patience = 20,
                                                .delay = .005};
    struct overlay_config config = quick;
    config.mode = mode;
    config.burst_period = fixture->burst_period > 0 ? fixture->burst_period : quick.burst_period;
    config.burst_cpu = fixture->burst_cpu > 0 ? fixture->burst_cpu : quick.burst_cpu;
    config.patience = fixture->patience > 0 ? fixture->patience : quick.patience;
    config.program = fixture->program ? fixture->program : getenv("ROOFTOP");
    write_script(script);
    unlink(log_path);
    for (unsigned i = 0; i < 2; i++) {
        make_device(&fixture->devices[i], i, capability);
        sample_reset(&fixture->samples[i], ABSENT_NOT_PROVIDED);
    }
    assert_int_equal(overlay_open(&fixture->overlay, fixture->devices, 2, &config), 0);
}

static void close_overlay(struct fixture *fixture)
{
    overlay_close(fixture->overlay);
    fixture->overlay = NULL;
}

/* Reads the device as its thread would, until the metric has a value (ABSENT_NO) or is missing for
 * that reason. */
static bool comes(struct fixture *fixture, size_t device, enum metric metric, enum absence absence)
{
    double until = clock_monotonic() + PATIENCE;
    while (clock_monotonic() < until) {
        overlay_read(fixture->overlay, device, &fixture->samples[device]);
        if (fixture->samples[device].absent[metric] == absence)
            return true;
        usleep(2000);
    }
    print_message("metric %s: %s\n", metric_info(metric)->name,
                  absence_info(fixture->samples[device].absent[metric])->word);
    return false;
}

/* Waits until the fake has logged the word, more often than `before` times. */
static bool logs_again(const char *word, size_t before)
{
    double until = clock_monotonic() + PATIENCE;
    while (count_log(word) <= before && clock_monotonic() < until)
        usleep(2000);
    return count_log(word) > before;
}

static pid_t helper_pid(void)
{
    char path[64];
    int pid = 0;
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    while (tasks && (task = readdir(tasks))) {
        snprintf(path, sizeof(path), "/proc/self/task/%.16s/children", task->d_name);
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%d", &pid) != 1)
            pid = pid ? pid : 0;
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return pid;
}

static const enum metric beside_the_clock[] = {METRIC_L2_ACTIVE, METRIC_ISSUE_ACTIVE,
                                               METRIC_DRAM_READ, METRIC_DRAM_WRITE};

static void adds_what_gpm_lacks_in_bursts(void **state)
{
    struct fixture *fixture = *state;
    double began = clock_monotonic();
    open_overlay(fixture, CLOCK_BURST, 9.0, "value dram__bytes_read 2e12\n");
    sample_set(&fixture->samples[0], METRIC_SM_ACTIVE, .9);
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    struct sample *sample = &fixture->samples[0];
    assert_float_equal(sample->value[METRIC_EFFECTIVE_CLOCK], 1.5e9, 1);
    assert_float_equal(sample->value[METRIC_L2_ACTIVE], .4, 1e-9);
    assert_float_equal(sample->value[METRIC_DRAM_READ], 2e12, 1);
    assert_float_equal(sample->value[METRIC_SM_ACTIVE], .9, 1e-9);
    assert_false(sample_has(sample, METRIC_TENSOR_ACTIVE));
    assert_float_equal(sample->value[METRIC_COUNTERS_SHARE], .4, 1e-6);
    assert_true(sample->value[METRIC_COUNTERS_AGE] >= 0);
    assert_true(sample->value[METRIC_COUNTERS_AGE] < clock_monotonic() - began);
    close_overlay(fixture);
    assert_true(count_log("enable") > 0);
    assert_int_equal(count_log("enable"), count_log("disable"));
}

static void counts_shared_loads_for_each_cycle_of_the_tensor_pipe(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 9.0, "value op_ld 9e10\nvalue pipe_tensor 8e11\n");
    struct sample *sample = &fixture->samples[0];
    assert_true(comes(fixture, 0, METRIC_TENSOR_SHARED_LOADS, ABSENT_NO));
    assert_float_equal(sample->value[METRIC_TENSOR_SHARED_LOADS], .45, 1e-9);
    assert_float_equal(sample->value[METRIC_XU_ACTIVE], .4, 1e-9);
    close_overlay(fixture);

    open_overlay(fixture, CLOCK_BURST, 9.0, "value pipe_tensor 0\n");
    assert_true(comes(fixture, 0, METRIC_TENSOR_SHARED_LOADS, ABSENT_NOTHING_RAN));
    assert_true(sample_has(sample, METRIC_EFFECTIVE_CLOCK));
    close_overlay(fixture);
}

static void counts_what_is_dear_in_bursts_only(void **state)
{
    static const struct {
        enum clock_mode mode;
        double capability;
        enum absence loads, xu;
    } cases[] = {
        {CLOCK_CONTINUOUS, 9.0, ABSENT_COUNTERS_IN_BURSTS, ABSENT_COUNTERS_IN_BURSTS},
        {CLOCK_BURST, 10.0, ABSENT_NOT_SUPPORTED, ABSENT_NO},
        {CLOCK_CONTINUOUS, 10.0, ABSENT_NOT_SUPPORTED, ABSENT_COUNTERS_IN_BURSTS},
        {CLOCK_CONTINUOUS, 8.0, ABSENT_NOT_SUPPORTED, ABSENT_NO},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        open_overlay(fixture, cases[i].mode, cases[i].capability, "passes 24\n");
        assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
        assert_true(comes(fixture, 0, METRIC_TENSOR_SHARED_LOADS, cases[i].loads));
        assert_true(comes(fixture, 0, METRIC_XU_ACTIVE, cases[i].xu));
        close_overlay(fixture);
    }
}

static void withdraws_what_the_work_has_outrun(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 9.0, "");
    struct sample *sample = &fixture->samples[0];
    sample_set(sample, METRIC_SM_ACTIVE, .9);
    assert_true(comes(fixture, 0, METRIC_L2_ACTIVE, ABSENT_NO));
    /* the next burst may come at any time, and then this is the work that it saw */
    for (int i = 0; i < 100 && sample_has(sample, METRIC_L2_ACTIVE); i++) {
        sample_set(sample, METRIC_SM_ACTIVE, i % 2 ? .9 : .1);
        overlay_read(fixture->overlay, 0, sample);
    }
    assert_int_equal(sample->absent[METRIC_L2_ACTIVE], ABSENT_COUNTERS_RESTING);
    assert_int_equal(sample->absent[METRIC_EFFECTIVE_CLOCK], ABSENT_COUNTERS_RESTING);
    close_overlay(fixture);
}

static void answers_a_change_of_the_work_at_once(void **state)
{
    struct fixture *fixture = *state;
    fixture->burst_period = 1000;
    open_overlay(fixture, CLOCK_BURST, 9.0, "");
    struct sample *sample = &fixture->samples[0];
    sample_set(sample, METRIC_SM_ACTIVE, .9);
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    assert_int_equal(count_log("enable"), 1);
    sample_set(sample, METRIC_SM_ACTIVE, .1);
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_COUNTERS_RESTING));
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    assert_true(count_log("enable") >= 2);
    close_overlay(fixture);
}

static void knows_work_again_without_a_burst(void **state)
{
    struct fixture *fixture = *state;
    fixture->burst_period = 1000;
    open_overlay(fixture, CLOCK_BURST, 9.0, "");
    struct sample *sample = &fixture->samples[0];
    sample_set(sample, METRIC_SM_ACTIVE, .9);
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    assert_float_equal(sample->value[METRIC_COUNTERS_SESSIONS], 1, 0);
    sample_set(sample, METRIC_SM_ACTIVE, .1);
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_COUNTERS_RESTING));
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    sample_set(sample, METRIC_SM_ACTIVE, .9);
    overlay_read(fixture->overlay, 0, sample);
    assert_true(sample_has(sample, METRIC_EFFECTIVE_CLOCK));
    assert_true(sample->value[METRIC_COUNTERS_AGE] > .5); /* the work between had to settle */
    assert_float_equal(sample->value[METRIC_COUNTERS_SESSIONS], 2, 0);
    assert_int_equal(count_log("enable"), 2);
    close_overlay(fixture);
}

/* For longer than it takes a wish to be made and heard. */
static void read_for_a_while(struct fixture *fixture)
{
    double until = clock_monotonic() + 1;
    for (; clock_monotonic() < until; usleep(2000))
        overlay_read(fixture->overlay, 0, &fixture->samples[0]);
}

static void makes_no_more_bursts_than_a_core_may_pay_for(void **state)
{
    struct fixture *fixture = *state;
    fixture->burst_cpu = 1e-6;
    open_overlay(fixture, CLOCK_BURST, 9.0, "");
    struct sample *sample = &fixture->samples[0];
    for (int i = 0; i < 3; i++) { /* some are free */
        sample_set(sample, METRIC_SM_ACTIVE, .2 + .2 * i);
        assert_true(comes(fixture, 0, METRIC_COUNTERS_AGE, ABSENT_NO));
    }
    assert_true(sample->value[METRIC_COUNTERS_CPU] > 0);
    sample_set(sample, METRIC_SM_ACTIVE, .9);
    read_for_a_while(fixture);
    assert_int_equal(sample->absent[METRIC_EFFECTIVE_CLOCK], ABSENT_COUNTERS_RESTING);
    assert_int_equal(count_log("enable"), 3);
    close_overlay(fixture);
}

/* A hundred seconds at 0.4 % of a core pay for a burst of 0.25 s, but not at a quarter of that. */
static void pays_less_where_nobody_looks_often(void **state)
{
    (void)state;
    static const struct cupti_helper_device wanted = {.bursts = true};
    static const struct cupti_helper_config config = {.burst_period = 5, .burst_cpu = .004};
    struct helper_device device = {
        .config = &config,
        .wanted = &wanted,
        .due = INFINITY,
        .burst_cost = .25,
        .paid_at = clock_monotonic() - 100,
    };
    struct helper_device other = device;
    helper_device_hasten(&device, &(struct cupti_wish){.slow = 1});
    assert_true(isinf(device.due));
    helper_device_hasten(&other, &(struct cupti_wish){0});
    assert_true(isfinite(other.due));
}

static void makes_no_bursts_while_nothing_runs(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 9.0, "");
    struct sample *sample = &fixture->samples[0];
    sample_set(sample, METRIC_GRAPHICS_ACTIVE, 1);
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    sample_set(sample, METRIC_GRAPHICS_ACTIVE, 0);
    overlay_read(fixture->overlay, 0, sample);
    assert_int_equal(sample->absent[METRIC_EFFECTIVE_CLOCK], ABSENT_COUNTERS_IDLE);
    size_t before = count_log("enable");
    read_for_a_while(fixture);
    assert_true(count_log("enable") <= before + 1); /* which was on its way */
    close_overlay(fixture);
}

static void counts_the_clock_without_what_may_spoil_it(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 9.0, "passes 5\n"); /* as many as the clock's set has */
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    for (size_t i = 0; i < ARRAY_SIZE(beside_the_clock); i++)
        assert_true(sample_has(&fixture->samples[0], beside_the_clock[i]));
    assert_int_equal(fixture->samples[0].absent[METRIC_XU_ACTIVE], ABSENT_COUNTERS_RESTING);
    assert_true(comes(fixture, 0, METRIC_XU_ACTIVE, ABSENT_NO));
    assert_true(comes(fixture, 0, METRIC_TENSOR_SHARED_LOADS, ABSENT_NOTHING_RAN));
    assert_true(sample_has(&fixture->samples[0], METRIC_EFFECTIVE_CLOCK));
    close_overlay(fixture);
}

static void sees_the_driver_throttle(void **state)
{
    struct fixture *fixture = *state;
    fixture->burst_period = 1000;
    open_overlay(fixture, CLOCK_BURST, 9.0, "");
    struct sample *sample = &fixture->samples[0];
    sample_set(sample, METRIC_SM_CLOCK, 1.98e9);
    sample_set(sample, METRIC_POWER, 600);
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    sample_set(sample, METRIC_SM_CLOCK, 1.9e9);
    sample_set(sample, METRIC_POWER, 630);
    overlay_read(fixture->overlay, 0, sample);
    assert_true(sample_has(sample, METRIC_EFFECTIVE_CLOCK));
    sample_set(sample, METRIC_SM_CLOCK, 1.5e9);
    overlay_read(fixture->overlay, 0, sample);
    assert_int_equal(sample->absent[METRIC_EFFECTIVE_CLOCK], ABSENT_COUNTERS_RESTING);
    assert_int_equal(sample->absent[METRIC_COUNTERS_AGE], ABSENT_COUNTERS_RESTING);
    close_overlay(fixture);
}

static void distrusts_a_burst_that_saw_two_loads(void **state)
{
    struct fixture *fixture = *state;
    fixture->burst_period = 1000;
    char hold[sizeof(script_path) + 4], script[sizeof(hold) + 16];
    snprintf(hold, sizeof(hold), "%s.go", script_path);
    snprintf(script, sizeof(script), "hold decode %s\n", hold);
    open_overlay(fixture, CLOCK_BURST, 9.0, script);
    struct sample *sample = &fixture->samples[0];
    sample_set(sample, METRIC_SM_ACTIVE, .9);
    overlay_read(fixture->overlay, 0, sample);
    /* the burst began under that load, and ends under another */
    assert_true(logs_again("decode", 0));
    sample_set(sample, METRIC_SM_ACTIVE, .1);
    assert_int_equal(close(open(hold, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    struct overlay_status status = {.state = CUPTI_STARTING};
    for (; status.state == CUPTI_STARTING; usleep(2000))
        overlay_status(fixture->overlay, 0, &status);
    overlay_read(fixture->overlay, 0, sample);
    assert_int_equal(sample->absent[METRIC_EFFECTIVE_CLOCK], ABSENT_COUNTERS_RESTING);
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    close_overlay(fixture);
    assert_int_equal(unlink(hold), 0);
}

static void measures_all_where_nothing_else_does(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 8.0, "passes 10\n");
    assert_true(comes(fixture, 0, METRIC_TENSOR_ACTIVE, ABSENT_NO));
    assert_float_equal(fixture->samples[0].value[METRIC_COUNTERS_AGE], 0, 0);
    assert_float_equal(fixture->samples[0].value[METRIC_COUNTERS_SHARE], .5, 1e-6);
    assert_true(comes(fixture, 0, METRIC_SM_OCCUPANCY, ABSENT_NO));
    close_overlay(fixture);
    assert_int_equal(count_log("enable"), count_log("disable"));
}

static void measures_all_where_the_driver_has_no_gpm(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 9.0, "");
    sample_miss(&fixture->samples[0], METRIC_SM_ACTIVE, ABSENT_NO_FUNCTION);
    assert_true(comes(fixture, 0, METRIC_TENSOR_ACTIVE, ABSENT_NO));
    assert_true(sample_has(&fixture->samples[0], METRIC_SM_ACTIVE));
    assert_float_equal(fixture->samples[0].value[METRIC_COUNTERS_AGE], 0, 0);
    close_overlay(fixture);
}

static void drops_only_what_the_chip_lacks(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 9.0, "lacks lts__\n");
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    assert_int_equal(fixture->samples[0].absent[METRIC_L2_ACTIVE], ABSENT_NOT_SUPPORTED);
    assert_true(sample_has(&fixture->samples[0], METRIC_ISSUE_ACTIVE));
    close_overlay(fixture);
}

static void leaves_out_what_cannot_be(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 9.0, "value lts__ 500\n");
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    assert_false(sample_has(&fixture->samples[0], METRIC_L2_ACTIVE));
    assert_true(sample_has(&fixture->samples[0], METRIC_ISSUE_ACTIVE));
}

static void is_silent_when_off(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_OFF, 9.0, "");
    overlay_read(fixture->overlay, 0, &fixture->samples[0]);
    assert_int_equal(fixture->samples[0].absent[METRIC_EFFECTIVE_CLOCK], ABSENT_COUNTERS_OFF);
    close_overlay(fixture);
    assert_int_equal(count_log("enable"), 0);
}

static void names_a_missing_permission(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 9.0, "result enable 35\n");
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_COUNTERS_FOR_ADMIN));
    struct overlay_status status;
    overlay_status(fixture->overlay, 0, &status);
    assert_int_equal(status.state, CUPTI_NO_PERMISSION);
    assert_non_null(strstr(status.text, "insufficient privileges"));
    close_overlay(fixture);
}

static void goes_on_when_the_holder_has_gone(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 9.0, "devices 2\nresult enable 26 0\n");
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_COUNTERS_HELD));
    assert_true(comes(fixture, 1, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    write_script("devices 2\n");
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    close_overlay(fixture);
}

static void restarts_after_an_overflow(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_CONTINUOUS, 9.0, "overflow 2\n");
    struct overlay_status status = {0};
    while (status.overflows < 2 && comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO))
        overlay_status(fixture->overlay, 0, &status);
    assert_true(status.overflows >= 2);
    overlay_read(fixture->overlay, 0, &fixture->samples[0]);
    assert_true(fixture->samples[0].value[METRIC_COUNTERS_OVERFLOWS] >= 2);
    close_overlay(fixture);
    assert_true(count_log("enable") >= 2); /* the second overflow came after a restart */
    assert_int_equal(count_log("enable"), count_log("disable"));
}

static void each_hang_costs_twice_as_long_up_to_an_hour(void **state)
{
    (void)state;
    static const double expected[] = {60, 120, 240, 480, 960, 1920, 3840, 3840};
    for (unsigned i = 0; i < ARRAY_SIZE(expected); i++)
        assert_float_equal(overlay_hang_penalty(i), expected[i], 0);
    assert_float_equal(overlay_hang_penalty(1000), 3840, 0);
}

static void leaves_out_a_device_that_hangs(void **state)
{
    struct fixture *fixture = *state;
    fixture->patience = 1;
    open_overlay(fixture, CLOCK_BURST, 9.0, "devices 2\nhang enable 1\n");
    overlay_read(fixture->overlay, 1, &fixture->samples[1]);
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    assert_true(comes(fixture, 1, METRIC_EFFECTIVE_CLOCK, ABSENT_COUNTERS_FAILED));
    struct overlay_status status;
    overlay_status(fixture->overlay, 1, &status);
    assert_int_equal(status.state, CUPTI_HUNG);
    size_t before = count_log("enable 0");
    while (count_log("enable 0") < before + 2)
        assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    close_overlay(fixture);
}

static void starts_a_killed_helper_again(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_BURST, 9.0, "");
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    pid_t pid = helper_pid();
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    size_t before = count_log("enable");
    assert_true(logs_again("enable", before));
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    assert_int_not_equal(helper_pid(), pid);
    assert_int_not_equal(helper_pid(), 0);
    close_overlay(fixture);
}

/* Another version that was installed meanwhile, say. */
static void does_without_a_helper_that_is_none(void **state)
{
    struct fixture *fixture = *state;
    char path[sizeof(script_path) + 8];
    snprintf(path, sizeof(path), "%s.helper", script_path);
    static const char *const writes[] = {"yes", "cat /dev/zero", "echo short"};
    fixture->program = path;
    for (size_t i = 0; i < ARRAY_SIZE(writes); i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "#!/bin/sh\nexec %s\n", writes[i]);
        fclose(file);
        assert_int_equal(chmod(path, 0755), 0);
        open_overlay(fixture, CLOCK_BURST, 9.0, "");
        bool endless = strcmp(writes[i], "cat /dev/zero") == 0; /* which are reports of nothing */
        assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK,
                          endless ? ABSENT_COUNTERS_STARTING : ABSENT_COUNTERS_FAILED));
        if (!endless) {
            struct overlay_status status;
            overlay_status(fixture->overlay, 0, &status);
            assert_string_equal(status.text,
                                "the helper process is not of this version of rooftop");
        }
        while (endless && helper_pid() == 0)
            usleep(2000);
        close_overlay(fixture);
    }
    unlink(path);
}

static void frees_the_counters_on_request(void **state)
{
    struct fixture *fixture = *state;
    open_overlay(fixture, CLOCK_CONTINUOUS, 9.0, "");
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    union sigval long_time = {.sival_int = 600}, short_time = {.sival_int = 1};
    assert_int_equal(sigqueue(helper_pid(), SIGUSR1, long_time), 0);
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_COUNTERS_RELEASED));
    assert_int_equal(count_log("enable"), count_log("disable"));
    assert_int_equal(sigqueue(helper_pid(), SIGUSR1, short_time), 0); /* the last one counts */
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO));
    close_overlay(fixture);
}

/* As a parent that Ctrl-Z has stopped: its pipe is full soon. */
static void frees_the_counters_while_nobody_reads(void **state)
{
    (void)state;
    struct cupti_helper_config config = {
        .interval = .02, .burst = .04, .burst_period = 1, .burst_cpu = 1, .patience = 20};
    config.device_count = 1;
    config.device[0].wanted = METRIC_BIT(METRIC_EFFECTIVE_CLOCK);
    snprintf(config.device[0].uuid, sizeof(config.device[0].uuid),
             "GPU-00000000-0000-4000-8000-000000000001");
    write_script("");
    unlink(log_path);
    struct cupti_child child;
    assert_int_equal(cupti_child_start(&child, getenv("ROOFTOP"), &config), 0);
    assert_true(fcntl(child.reports, F_SETPIPE_SZ, 4096) > 0);
    assert_true(logs_again("disable", 0));
    assert_int_equal(count_log("enable"), 1);
    size_t values = 0, most = 4096 / sizeof(struct cupti_report);
    struct cupti_report report;
    int r = 0;
    for (double until = clock_monotonic() + PATIENCE; values <= most && clock_monotonic() < until;
         r == 0 ? usleep(2000) : 0) {
        r = cupti_child_read(&child, &report);
        assert_true(r >= 0);
        values += r == 1 && report.metrics;
    }
    assert_true(values > most); /* more than had waited: it goes on */
    assert_true(count_log("enable") >= 2);
    assert_int_equal(cupti_child_stop(&child, PATIENCE), 0);
    assert_int_equal(count_log("enable"), count_log("disable"));
}

static void names_the_library_that_is_missing(void **state)
{
    char *real = strdup(getenv("ROOFTOP_CUPTI"));
    struct fixture *fixture = *state;
    setenv("ROOFTOP_CUPTI", "/nonexistent/libcupti.so", 1);
    open_overlay(fixture, CLOCK_BURST, 9.0, "");
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_NO_CUPTI));
    close_overlay(fixture);

    setenv("ROOFTOP_CUPTI", "libm.so.6", 1);
    open_overlay(fixture, CLOCK_BURST, 9.0, "");
    assert_true(comes(fixture, 0, METRIC_EFFECTIVE_CLOCK, ABSENT_CUPTI_OLD));
    struct overlay_status status;
    overlay_status(fixture->overlay, 0, &status);
    assert_non_null(strstr(status.text, "libm.so.6"));
    close_overlay(fixture);
    setenv("ROOFTOP_CUPTI", real, 1);
    free(real);
}

static int read_nothing(struct counter *counter, size_t device, struct sample *sample,
                        struct process_list *processes)
{
    (void)counter, (void)device, (void)sample, (void)processes;
    return 0;
}

static void close_nothing(struct counter *counter)
{
    (void)counter;
}

static void stays_as_it_is_once_somebody_reads(void **state)
{
    (void)state;
    static const struct counter_ops ops = {
        .name = "inner", .live = true, .read = read_nothing, .close = close_nothing};
    struct device device;
    make_device(&device, 0, 9.0);
    device_set_number(&device, DEVICE_MIG_ENABLED, 1); /* nothing to measure: no helper */
    struct counter inner = {.ops = &ops, .device_count = 1, .devices = &device};
    struct counter *counter;
    assert_int_equal(combined_wrap(&counter, &inner), 0);
    assert_int_equal(counter->ops->set_clock(counter, CLOCK_OFF), 0);
    struct sample sample;
    struct process_list processes;
    sample_reset(&sample, ABSENT_NOT_PROVIDED);
    assert_int_equal(counter->ops->read(counter, 0, &sample, &processes), 0);
    assert_int_equal(counter->ops->set_clock(counter, CLOCK_BURST), -EBUSY);
    counter->ops->close(counter);
}

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return *state ? 0 : -1;
}

/* A test that failed leaves no helper to the next. */
static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    overlay_close(fixture->overlay);
    free(fixture);
    return 0;
}

static int make_files(void **state)
{
    (void)state;
    int fd = mkstemp(script_path);
    snprintf(log_path, sizeof(log_path), "%s.log", script_path);
    setenv("ROOFTOP_FAKE_CUPTI", script_path, 1);
    return fd < 0 ? -1 : close(fd);
}

static int remove_files(void **state)
{
    (void)state;
    unlink(log_path);
    return unlink(script_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
        TEST(adds_what_gpm_lacks_in_bursts),
        TEST(counts_shared_loads_for_each_cycle_of_the_tensor_pipe),
        TEST(counts_what_is_dear_in_bursts_only),
        TEST(withdraws_what_the_work_has_outrun),
        TEST(answers_a_change_of_the_work_at_once),
        TEST(knows_work_again_without_a_burst),
        TEST(makes_no_more_bursts_than_a_core_may_pay_for),
        TEST(pays_less_where_nobody_looks_often),
        TEST(makes_no_bursts_while_nothing_runs),
        TEST(counts_the_clock_without_what_may_spoil_it),
        TEST(sees_the_driver_throttle),
        TEST(distrusts_a_burst_that_saw_two_loads),
        TEST(measures_all_where_nothing_else_does),
        TEST(measures_all_where_the_driver_has_no_gpm),
        TEST(drops_only_what_the_chip_lacks),
        TEST(leaves_out_what_cannot_be),
        TEST(is_silent_when_off),
        TEST(names_a_missing_permission),
        TEST(goes_on_when_the_holder_has_gone),
        TEST(restarts_after_an_overflow),
        TEST(leaves_out_a_device_that_hangs),
        cmocka_unit_test(each_hang_costs_twice_as_long_up_to_an_hour),
        TEST(starts_a_killed_helper_again),
        TEST(does_without_a_helper_that_is_none),
        TEST(frees_the_counters_on_request),
        TEST(frees_the_counters_while_nobody_reads),
        TEST(names_the_library_that_is_missing),
        TEST(stays_as_it_is_once_somebody_reads),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
