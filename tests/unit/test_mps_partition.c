/* Static partitions, over the fake daemon. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_test.h"
#include "mps_stage.h"

static const double PATIENCE = 10;

static void static_partitions_where_the_version_has_them(void **state)
{
    static const char *const versions[] = {"13010", "13020"}; /* a name alone, and in a sentence */
    struct mps_stage *stage = *state;
    stage->mps.want_partitions = true;
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct mps_limits limits = {.sm_percent = 25, .memory_bytes = 1ULL << 30};
        struct mps_limits second = {.sm_percent = 80}, third = {.sm_percent = 4};
        setenv("FAKE_MPS_VERSION", versions[i], 1);
        mps_stage_start(stage);
        assert_true(stage->mps.has_partitions);
        assert_int_equal(mps_take_partition(&stage->mps, 7, &limits, &stage->failure), 0);
        assert_memory_equal(limits.partition, STAGE_UUID, strlen(STAGE_UUID));
        assert_int_equal(limits.partition[strlen(STAGE_UUID)], '/');
        assert_int_equal(mps_limit(&stage->mps, &limits, &stage->failure), 0);
        assert_int_equal(mps_take_partition(&stage->mps, 8, &second, &stage->failure), 0);
        assert_string_not_equal(limits.partition, second.partition);
        assert_int_equal(mps_take_partition(&stage->mps, 9, &third, &stage->failure), -EBUSY);
        assert_non_null(strstr(stage->failure.reason, "1 of its 16 parts, and 0 are left"));
        /* Lease 7 has gone. */
        mps_sweep_partitions(&stage->mps, (const uint64_t[]){8}, 1);
        assert_int_equal(mps_take_partition(&stage->mps, 9, &third, &stage->failure), 0);
        assert_int_equal(mps_stop(&stage->mps), 0);
    }
    unsetenv("FAKE_MPS_VERSION");
    mps_stage_start(stage);
    assert_false(stage->mps.has_partitions);
}

static void a_partition_in_use_is_given_back_later(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_limits limits = {.sm_percent = 100}, next = {.sm_percent = 100};
    struct mps_view view;
    setenv("FAKE_MPS_VERSION", "13010", 1);
    stage->mps.want_partitions = true;
    mps_stage_start(stage);
    assert_int_equal(mps_take_partition(&stage->mps, 1, &limits, &stage->failure), 0);
    setenv("CUDA_MPS_SM_PARTITION", limits.partition, 1);
    pid_t client = mps_stage_client(stage, "spin 30");
    unsetenv("CUDA_MPS_SM_PARTITION");
    mps_stage_await_client(stage, client, &view);
    mps_sweep_partitions(&stage->mps, NULL, 0);
    assert_int_equal(mps_take_partition(&stage->mps, 2, &next, &stage->failure), -EBUSY);
    kill(client, SIGKILL);
    mps_stage_end_of(client);
    double until = clock_monotonic() + PATIENCE;
    int r;
    do {
        mps_sweep_partitions(&stage->mps, NULL, 0);
        r = mps_take_partition(&stage->mps, 2, &next, &stage->failure);
    } while (r == -EBUSY && clock_monotonic() < until);
    assert_int_equal(r, 0);
    unsetenv("FAKE_MPS_VERSION");
}

static void a_partition_counts_only_when_read_back(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_limits limits = {.sm_percent = 25};
    setenv("FAKE_MPS_VERSION", "13010", 1);
    stage->mps.want_partitions = true;
    /* A daemon that takes -S and knows nothing of it. */
    mps_stage_script(stage, "lspart -> \"Unknown command \\\"lspart\\\"\"\n");
    mps_stage_start(stage);
    assert_false(stage->mps.has_partitions);
    assert_int_equal(mps_stop(&stage->mps), 0);
    mps_stage_script(stage, "");
    mps_stage_start(stage);
    assert_true(stage->mps.has_partitions);
    mps_stage_script(stage, "sm_partition add -> \"GPU-1/Never\"\n");
    assert_int_equal(mps_take_partition(&stage->mps, 1, &limits, &stage->failure), -EPROTO);
    assert_string_equal(limits.partition, "");
    mps_stage_script(stage,
                     "sm_partition add -> \"Failed to fulfill the requested SM partition\"\n");
    assert_int_equal(mps_take_partition(&stage->mps, 1, &limits, &stage->failure), -EPROTO);
    assert_non_null(strstr(stage->failure.reason, "Failed to fulfill"));
    unsetenv("FAKE_MPS_VERSION");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MPS_TEST(static_partitions_where_the_version_has_them),
        MPS_TEST(a_partition_in_use_is_given_back_later),
        MPS_TEST(a_partition_counts_only_when_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
