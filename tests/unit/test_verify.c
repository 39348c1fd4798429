/* What a client of MPS was started with, held against its slot. */
#include "share/verify.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_test.h"

#define PIPE   "CUDA_MPS_PIPE_DIRECTORY=/run/pipe"
#define SMS    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="
#define MEMORY "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0="
#define NEXT   "\0"

static const struct mps_limits slot = {.sm_percent = 25, .memory_bytes = 2ULL << 30};

#define GOOD(environment)     expect(environment, sizeof(environment), NULL)
#define BAD(environment, why) expect(environment, sizeof(environment), why)

static void expect(const char *environment, size_t length, const char *expected)
{
    char why[160] = "";
    bool good = verify_environment(environment, length, "/run/pipe", &slot, why, sizeof(why));
    if (good != !expected || (expected && !strstr(why, expected)))
        fail_msg("'%s': %s", environment, why);
}

static void limits_of_the_slot_or_less_are_good(void **state)
{
    (void)state;
    GOOD(PIPE NEXT SMS "25" NEXT MEMORY "2G");
    GOOD("A=1" NEXT MEMORY "2048M" NEXT SMS "12.5" NEXT PIPE NEXT "Z=2");
}

static void more_than_the_slot_is_not(void **state)
{
    (void)state;
    BAD(PIPE NEXT SMS "26" NEXT MEMORY "2G", "THREAD_PERCENTAGE");
    BAD(PIPE NEXT SMS "25" NEXT MEMORY "2049M", "MEM_LIMIT is not the slot's 2.00 GiB");
    BAD("CUDA_MPS_PIPE_DIRECTORY=/run/pipe2" NEXT SMS "25" NEXT MEMORY "2G", "PIPE_DIRECTORY");
}

/* Such a value would leave the client with the largest slot's. */
static void neither_is_what_says_nothing(void **state)
{
    (void)state;
    BAD("", "PIPE_DIRECTORY");
    BAD(PIPE NEXT MEMORY "2G", "THREAD_PERCENTAGE");
    BAD(PIPE NEXT SMS NEXT MEMORY "2G", "THREAD_PERCENTAGE");
    BAD(PIPE NEXT SMS "0" NEXT MEMORY "2G", "THREAD_PERCENTAGE");
    BAD(PIPE NEXT SMS "all" NEXT MEMORY "2G", "THREAD_PERCENTAGE");
    BAD(PIPE NEXT SMS "25", "MEM_LIMIT");
    BAD(PIPE NEXT SMS "25" NEXT MEMORY "much", "MEM_LIMIT");
    BAD("X" PIPE NEXT SMS "25" NEXT MEMORY "2G", "PIPE_DIRECTORY");
}

/* ---- what is listed on the GPU ---- */

enum { NOBODY = 99999999 }; /* no PID is so high: its environment cannot be looked at */
static const struct mps nowhere = {.pipe = "/not/there"};

static enum verify_result look(struct verify *verify, pid_t pid, unsigned kinds, uint64_t bytes)
{
    static struct process_list list;
    static struct process_tree tree;
    char why[256] = "";
    verify->mps = &nowhere;
    verify->limits = slot;
    tree = (struct process_tree){.count = 1, .pids = {pid}};
    list.count = 1;
    list.process[0] =
        (struct process){.pid = pid, .kinds = kinds, .memory_known = true, .memory_bytes = bytes};
    return verify_look(verify, &list, &tree, why, sizeof(why));
}

static enum verify_result look_at_client(struct verify *verify, uint64_t bytes)
{
    return look(verify, NOBODY, PROCESS_COMPUTE | PROCESS_MPS_CLIENT, bytes);
}

static void memory_above_the_slot_counts_when_seen_twice_running(void **state)
{
    (void)state;
    struct verify verify = {0};
    uint64_t most = slot.memory_bytes;
    assert_int_equal(look_at_client(&verify, most), VERIFY_GOOD);
    assert_int_equal(look_at_client(&verify, most), VERIFY_GOOD);
    assert_int_equal(look_at_client(&verify, most + 1), VERIFY_GOOD);
    assert_int_equal(look_at_client(&verify, most), VERIFY_GOOD);
    assert_int_equal(look_at_client(&verify, most + 1), VERIFY_GOOD);
    assert_int_equal(look_at_client(&verify, most + 1), VERIFY_MEMORY);
    assert_int_equal(look_at_client(&verify, most + 1), VERIFY_MEMORY);
}

static void a_program_outside_has_half_a_second(void **state)
{
    (void)state;
    struct verify verify = {0};
    assert_int_equal(look(&verify, NOBODY, PROCESS_COMPUTE, 1), VERIFY_NOTHING);
    assert_true(verify.outside_since > 0);
    verify.outside_since = clock_monotonic() + 1000;
    assert_int_equal(look(&verify, NOBODY, PROCESS_COMPUTE, 1), VERIFY_NOTHING);
    verify.outside_since = clock_monotonic() - 0.51;
    assert_int_equal(look(&verify, NOBODY, PROCESS_COMPUTE, 1), VERIFY_OUTSIDE);
    /* It has come in. */
    assert_int_equal(look_at_client(&verify, 1), VERIFY_GOOD);
    assert_int_equal(look(&verify, NOBODY, PROCESS_COMPUTE, 1), VERIFY_NOTHING);
}

static void only_what_computes_and_is_the_jobs_counts(void **state)
{
    (void)state;
    struct verify verify = {.outside_since = clock_monotonic() - 1};
    assert_int_equal(look(&verify, NOBODY, PROCESS_GRAPHICS, 1), VERIFY_NOTHING);
    assert_true(verify.outside_since <= 0);
    /* This test has no limits in its environment. */
    assert_int_equal(look(&verify, getpid(), PROCESS_COMPUTE | PROCESS_MPS_CLIENT, 1),
                     VERIFY_LIMITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_the_slot_or_less_are_good),
        cmocka_unit_test(more_than_the_slot_is_not),
        cmocka_unit_test(neither_is_what_says_nothing),
        cmocka_unit_test(memory_above_the_slot_counts_when_seen_twice_running),
        cmocka_unit_test(a_program_outside_has_half_a_second),
        cmocka_unit_test(only_what_computes_and_is_the_jobs_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
