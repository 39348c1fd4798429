/* What a job is charged with, alone and beside others. */
#include "share/account.h"

#include "cmocka_test.h"

static const struct process_tree tree = {.count = 2, .pids = (pid_t[]){10, 11}};

struct account_fixture {
    struct account_gpu gpu;
    struct reading reading;
};

static int set_up(void **state)
{
    struct account_fixture *fixture = calloc(1, sizeof(*fixture));
    if (!fixture)
        return -1;
    fixture->reading.state = READING_OK;
    sample_reset(&fixture->reading.sample, ABSENT_NOT_PROVIDED);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void add(struct account_fixture *fixture, double seconds, double joules, unsigned jobs)
{
    sample_set(&fixture->reading.sample, METRIC_POWER, 600);
    sample_set(&fixture->reading.sample, METRIC_ENERGY, joules);
    account_add(&fixture->gpu, &fixture->reading, seconds, &tree, jobs);
}

static double energy(const struct account_fixture *fixture)
{
    double joules = -1;
    assert_true(account_energy(&fixture->gpu, &joules));
    return joules;
}

static void energy_is_shared_by_those_who_share_the_gpu(void **state)
{
    struct account_fixture *fixture = *state;
    double joules;
    assert_false(account_energy(&fixture->gpu, &joules));
    add(fixture, 2, 1e6, 1);
    assert_near(energy(fixture), 1200, 1e-9);
    add(fixture, 2, 1e6, 3);
    assert_near(energy(fixture), 1200 + 400, 1e-9);
    assert_int_equal(fixture->gpu.most_neighbours, 2);
}

/* The driver's counter is read every five seconds, before the job's start too. */
static void between_its_moves_the_drivers_counter_counts(void **state)
{
    struct account_fixture *fixture = *state;
    add(fixture, 1, 5e6, 1);
    add(fixture, 1, 5e6, 1);
    /* How much of this is from before the job is not known. */
    add(fixture, 1, 5e6 + 9000, 1);
    assert_near(energy(fixture), 1800, 1e-6);
    add(fixture, 4, 5e6 + 9000, 1);
    add(fixture, 1, 5e6 + 12500, 1);
    assert_near(energy(fixture), 1800 + 3500, 1e-6);
    /* What is behind its last move is power over time again. */
    add(fixture, 2, 5e6 + 12500, 1);
    assert_near(energy(fixture), 5300 + 1200, 1e-6);
}

static void what_the_counter_says_is_shared_as_the_power_was(void **state)
{
    struct account_fixture *fixture = *state;
    add(fixture, 1, 0, 1);
    add(fixture, 1, 100, 1);
    add(fixture, 3, 100, 1);
    add(fixture, 1, 100 + 2800, 2);
    assert_near(energy(fixture), 1200 + 2800 * 3.5 / 4, 1e-6);
}

/* It counts from 0 when the driver is loaded anew. */
static void a_counter_that_begins_anew_counts_nothing(void **state)
{
    struct account_fixture *fixture = *state;
    add(fixture, 1, 5e6, 1);
    add(fixture, 1, 5e6 + 600, 1);
    add(fixture, 1, 100, 1);
    assert_near(energy(fixture), 1800, 1e-6);
    add(fixture, 1, 800, 1);
    assert_near(energy(fixture), 1800 + 700, 1e-6);
}

/* Between two attempts of the job the GPU is another's. */
static void what_the_counter_says_of_a_pause_is_not_charged(void **state)
{
    struct account_fixture *fixture = *state;
    add(fixture, 1, 5e6, 1);
    add(fixture, 1, 5e6 + 700, 1);
    add(fixture, 1, 5e6 + 700, 1);
    account_pause(&fixture->gpu);
    assert_near(energy(fixture), 1800, 1e-6);
    add(fixture, 1, 9e6, 1);
    add(fixture, 1, 9e6 + 500, 1);
    assert_near(energy(fixture), 1800 + 1200, 1e-6);
    add(fixture, 1, 9e6 + 1200, 1);
    assert_near(energy(fixture), 3000 + 700, 1e-6);
}

static void the_first_frame_is_the_jobs_from_its_begin_on(void **state)
{
    struct account_fixture *fixture = *state;
    fixture->reading.age = .03;
    assert_near(account_interval(&fixture->reading, 10, 100, 100.05), .05, 1e-9);
    assert_near(account_interval(&fixture->reading, 10, 100, 100.02), 0, 0);
    assert_near(account_interval(&fixture->reading, .1, 100, 107), .1, 1e-9);
}

/* What is said of an attempt is not said of the next; what the GPUs did is of all. */
static void an_attempt_begins_without_what_was_seen_before(void **state)
{
    struct account_fixture *fixture = *state;
    struct account account = {.outcome = OUTCOME_VICTIM,
                              .verified_after = 1,
                              .mps_lost_after = 2,
                              .seen = true,
                              .was_client = true,
                              .note = "why",
                              .attempts = 1,
                              .gpu_count = 1,
                              .gpus = &fixture->gpu};
    add(fixture, 1, 0, 1);
    account_begin_attempt(&account);
    assert_int_equal(account.attempts, 2);
    assert_int_equal(account.outcome, OUTCOME_ENDED);
    assert_near(account.verified_after + account.mps_lost_after, 0, 0);
    assert_false(account.seen || account.was_client || account.note[0]);
    assert_near(energy(fixture), 600, 1e-9);
}

static void what_was_not_read_is_not_charged(void **state)
{
    struct account_fixture *fixture = *state;
    add(fixture, 1, 0, 1);
    fixture->reading.state = READING_STALE;
    add(fixture, 100, 0, 1);
    assert_near(fixture->gpu.seconds, 1, 0);
    double mean;
    assert_true(account_mean(&fixture->gpu, METRIC_POWER, &mean));
    assert_near(mean, 600, 1e-9);
    assert_false(account_mean(&fixture->gpu, METRIC_COMPUTE_SOL, &mean));
    assert_null(account_word(&fixture->gpu, METRIC_BOUND));
}

static void add_work(struct account_fixture *fixture, double seconds, double active)
{
    sample_set(&fixture->reading.sample, METRIC_GRAPHICS_ACTIVE, active);
    account_add(&fixture->gpu, &fixture->reading, seconds, &tree, 1);
}

static void busy_time_goes_by_the_share_that_was_seen(void **state)
{
    struct account_fixture *fixture = *state;
    add(fixture, 2, 0, 1); /* the counters have no value yet */
    assert_near(account_busy_seconds(&fixture->gpu), 0, 0);
    add_work(fixture, 3, 1);
    add_work(fixture, 5, 0.2);
    assert_near(account_busy_seconds(&fixture->gpu), 5, 1e-9);
}

static void the_span_is_from_the_first_work_to_the_last(void **state)
{
    struct account_fixture *fixture = *state;
    add_work(fixture, 8, 0);
    assert_near(account_span_seconds(&fixture->gpu), 0, 0);
    add_work(fixture, 1, 0.5);
    add_work(fixture, 2, 0); /* a gap of its own */
    add_work(fixture, 1, 0.02);
    add_work(fixture, 3, 0.001);
    assert_near(account_span_seconds(&fixture->gpu), 4, 1e-9);
    /* Where the driver has no such counter. */
    sample_reset(&fixture->reading.sample, ABSENT_NOT_PROVIDED);
    sample_set(&fixture->reading.sample, METRIC_NVML_UTILIZATION, 0.9);
    account_add(&fixture->gpu, &fixture->reading, 1, &tree, 1);
    assert_near(account_span_seconds(&fixture->gpu), 8, 1e-9);
}

static void memory_is_that_of_all_its_processes_at_once(void **state)
{
    struct account_fixture *fixture = *state;
    struct process_list *list = &fixture->reading.processes;
    list->count = 3;
    list->process[0] = (struct process){.pid = 10, .memory_known = true, .memory_bytes = 100};
    list->process[1] = (struct process){.pid = 11, .memory_known = true, .memory_bytes = 20};
    list->process[2] = (struct process){.pid = 12, .memory_known = true, .memory_bytes = 5000};
    add(fixture, 1, 0, 1);
    list->count = 1;
    add(fixture, 1, 0, 1);
    assert_int_equal(fixture->gpu.memory_peak, 120);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(energy_is_shared_by_those_who_share_the_gpu),
        TEST(between_its_moves_the_drivers_counter_counts),
        TEST(what_the_counter_says_is_shared_as_the_power_was),
        TEST(a_counter_that_begins_anew_counts_nothing),
        TEST(what_the_counter_says_of_a_pause_is_not_charged),
        TEST(the_first_frame_is_the_jobs_from_its_begin_on),
        TEST(an_attempt_begins_without_what_was_seen_before),
        TEST(what_was_not_read_is_not_charged),
        TEST(busy_time_goes_by_the_share_that_was_seen),
        TEST(the_span_is_from_the_first_work_to_the_last),
        TEST(memory_is_that_of_all_its_processes_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
