#include "share/guard.h"

#include "cmocka_test.h"

static void chooses_the_one_that_is_furthest_above_its_slot(void **state)
{
    (void)state;
    const struct guard_job jobs[] = {
        {.id = 1, .slot_bytes = 100, .held_bytes = 110},
        {.id = 2, .slot_bytes = 100, .held_bytes = 150},
        {.id = 3, .slot_bytes = 400, .held_bytes = 420},
        {.id = 4, .slot_bytes = 100, .held_bytes = 90},
    };
    assert_int_equal(guard_choose(jobs, 4)->id, 2);
    assert_int_equal(guard_choose(jobs, 1)->id, 1);
}

static void chooses_the_last_to_come_where_all_keep_to_their_slots(void **state)
{
    (void)state;
    const struct guard_job jobs[] = {
        {.id = 7, .slot_bytes = 100, .held_bytes = 100},
        {.id = 9, .slot_bytes = 100, .held_bytes = 10},
        {.id = 8, .slot_bytes = 100, .held_bytes = 99},
    };
    assert_int_equal(guard_choose(jobs, 3)->id, 9);
}

static const char GPU[] = "GPU-1";

/* Of these jobs, all within their slots, where so much of the memory is left and 500 are to stay
 * free. */
static bool has_to_end(struct guard *guard, uint64_t id, double left, const uint64_t *ids,
                       size_t count)
{
    struct slot_lease leases[4] = {{.id = 99, .uuid = "GPU-2"}};
    for (size_t i = 0; i < count; i++) {
        leases[i + 1] = (struct slot_lease){.id = ids[i], .memory_bytes = 100};
        memcpy(leases[i + 1].uuid, GPU, sizeof(GPU));
    }
    struct reading reading = {.state = READING_OK};
    sample_reset(&reading.sample, ABSENT_STALE);
    sample_set(&reading.sample, METRIC_MEMORY_FREE, left);
    char why[256];
    guard->reserve_bytes = 500;
    return guard_look(guard, &reading, leases, count + 1, GPU, id, why, sizeof(why));
}

/* How many such looks it takes until it has to end; 0: more than 50. */
static unsigned looks_until_its_end(struct guard *guard, uint64_t id, double left,
                                    const uint64_t *ids, size_t count)
{
    for (unsigned i = 1; i <= 50; i++)
        if (has_to_end(guard, id, left, ids, count))
            return i;
    return 0;
}

static void settle(struct guard *guard, uint64_t id, const uint64_t *ids, size_t count)
{
    assert_int_equal(looks_until_its_end(guard, id, 1000, ids, count), 0);
}

static void two_looks_in_a_row_decide(void **state)
{
    (void)state;
    const uint64_t jobs[] = {7, 9};
    struct guard seven = {0}, nine = {0};
    assert_false(has_to_end(&seven, 7, 1000, jobs, 2));
    assert_false(has_to_end(&nine, 9, 1000, jobs, 2));
    assert_false(has_to_end(&nine, 9, 499, jobs, 2));
    assert_false(has_to_end(&nine, 9, 500, jobs, 2));
    assert_int_equal(looks_until_its_end(&nine, 9, 499, jobs, 2), 2);
    assert_int_equal(looks_until_its_end(&seven, 7, 499, jobs, 2), 0);
}

/* On an H200 the memory of a job that had ended was not free yet, and the one beside it ended too.
 */
static void waits_for_the_memory_of_one_that_left(void **state)
{
    (void)state;
    const uint64_t both[] = {7, 9}, other[] = {7}, newcomer[] = {7, 10};
    struct guard guard = {0};
    settle(&guard, 7, both, 2);
    for (int i = 0; i < 4; i++)
        assert_false(has_to_end(&guard, 7, 499, both, 2));
    struct guard replaced = guard;
    for (int i = 0; i < 8; i++)
        assert_false(has_to_end(&guard, 7, 499, other, 1));
    settle(&guard, 7, other, 1);
    assert_int_equal(looks_until_its_end(&guard, 7, 499, other, 1), 2);

    /* Another came in the same moment: it is the last to come, by its own guard too. */
    struct guard of_newcomer = {0};
    for (int i = 0; i < 8; i++) {
        assert_false(has_to_end(&replaced, 7, 499, newcomer, 2));
        assert_false(has_to_end(&of_newcomer, 10, 499, newcomer, 2));
    }
    assert_int_equal(looks_until_its_end(&of_newcomer, 10, 499, newcomer, 2), 4);
    assert_int_equal(looks_until_its_end(&replaced, 7, 499, other, 1), 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_the_one_that_is_furthest_above_its_slot),
        cmocka_unit_test(chooses_the_last_to_come_where_all_keep_to_their_slots),
        cmocka_unit_test(two_looks_in_a_row_decide),
        cmocka_unit_test(waits_for_the_memory_of_one_that_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
