/* What a client of MPS was started with, held against its slot. */
#include "share/verify.h"

#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_the_slot_or_less_are_good),
        cmocka_unit_test(more_than_the_slot_is_not),
        cmocka_unit_test(neither_is_what_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
