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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_the_one_that_is_furthest_above_its_slot),
        cmocka_unit_test(chooses_the_last_to_come_where_all_keep_to_their_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
