/* What a client of MPS was started with, held against its slot. */
#include "share/verify.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
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
    GOOD(PIPE NEXT SMS "25" NEXT MEMORY "1G,1=2G");
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
    BAD(PIPE NEXT SMS "nan" NEXT MEMORY "2G", "THREAD_PERCENTAGE");
    BAD(PIPE NEXT SMS "25" NEXT MEMORY "2T", "MEM_LIMIT");
    BAD(PIPE NEXT SMS "25" NEXT MEMORY "1G,0=80G", "MEM_LIMIT");
    BAD(PIPE NEXT SMS "25" NEXT "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=1=1G", "MEM_LIMIT");
    BAD("X" PIPE NEXT SMS "25" NEXT MEMORY "2G", "PIPE_DIRECTORY");
}

/* ---- what is listed on the GPU ---- */

enum { NOBODY = 99999999 }; /* no PID is so high */
static const struct mps nowhere = {.pipe = "/run/pipe"};

/* A program with the slot's limits in its environment, which obeys a shell's lines. */
struct client {
    pid_t pid;
    int to, from;
};

static struct client client;

static void await_line(void)
{
    char c = 0;
    while (c != '\n')
        assert_int_equal(read(client.from, &c, 1), 1);
}

static void tell_client(const char *line)
{
    assert_int_equal(write(client.to, line, strlen(line)), (ssize_t)strlen(line));
    await_line();
}

static int start_client(void **state)
{
    (void)state;
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    client = (struct client){.pid = fork(), .to = in[1], .from = out[0]};
    if (client.pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        char *const environment[] = {PIPE, SMS "25", MEMORY "2G", NULL};
        execle("/bin/sh", "sh", (char *)NULL, environment);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    tell_client("echo\n");
    return 0;
}

static int end_client(void **state)
{
    (void)state;
    close(client.to);
    close(client.from);
    kill(client.pid, SIGKILL);
    return waitpid(client.pid, NULL, 0) == client.pid ? 0 : -1;
}

static enum verify_result look(struct verify *verify, pid_t pid, unsigned kinds, uint64_t bytes)
{
    static struct process_list list;
    const struct process_tree tree = {.count = 1, .pids = &pid};
    char why[256] = "";
    verify->mps = &nowhere;
    verify->limits = slot;
    list.count = 1;
    list.process[0] =
        (struct process){.pid = pid, .kinds = kinds, .memory_known = true, .memory_bytes = bytes};
    return verify_look(verify, &list, &tree, why, sizeof(why));
}

static enum verify_result look_at_client(struct verify *verify, uint64_t bytes)
{
    return look(verify, client.pid, PROCESS_COMPUTE | PROCESS_MPS_CLIENT, bytes);
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
    assert_int_equal(look(&verify, client.pid, PROCESS_COMPUTE, 1), VERIFY_NOTHING);
    assert_true(verify.outside_since > 0);
    verify.outside_since = clock_monotonic() + 1000;
    assert_int_equal(look(&verify, client.pid, PROCESS_COMPUTE, 1), VERIFY_NOTHING);
    verify.outside_since = clock_monotonic() - 0.51;
    assert_int_equal(look(&verify, client.pid, PROCESS_COMPUTE, 1), VERIFY_OUTSIDE);
    /* It has come in. */
    assert_int_equal(look_at_client(&verify, 1), VERIFY_GOOD);
    assert_true(verify.outside_since <= 0);
}

static void only_what_computes_and_is_the_jobs_counts(void **state)
{
    (void)state;
    struct verify verify = {.outside_since = clock_monotonic() - 1};
    assert_int_equal(look(&verify, client.pid, PROCESS_GRAPHICS, 1), VERIFY_NOTHING);
    assert_true(verify.outside_since <= 0);
    /* This test has no limits in its environment. */
    assert_int_equal(look(&verify, getpid(), PROCESS_COMPUTE | PROCESS_MPS_CLIENT, 1),
                     VERIFY_LIMITS);
}

static void what_has_ended_says_nothing(void **state)
{
    (void)state;
    struct verify verify = {0};
    assert_int_equal(look(&verify, NOBODY, PROCESS_COMPUTE | PROCESS_MPS_CLIENT, 1),
                     VERIFY_NOTHING);
}

static void a_client_that_becomes_another_program_is_looked_at_again(void **state)
{
    (void)state;
    struct verify verify = {0};
    assert_int_equal(look_at_client(&verify, 1), VERIFY_GOOD);
    /* What it does to its environment from within is not seen. */
    tell_client("unset CUDA_MPS_ACTIVE_THREAD_PERCENTAGE; echo\n");
    assert_int_equal(look_at_client(&verify, 1), VERIFY_GOOD);
    tell_client("exec sh -c 'echo; exec sh'\n");
    tell_client("echo\n");
    assert_int_equal(look_at_client(&verify, 1), VERIFY_LIMITS);
}

static void who_was_a_client_stays_one(void **state)
{
    (void)state;
    struct verify verify = {0};
    assert_int_equal(look_at_client(&verify, 1), VERIFY_GOOD);
    assert_int_equal(look(&verify, client.pid, PROCESS_COMPUTE, 1), VERIFY_GOOD);
    tell_client("exec sh -c 'echo; exec sh'\n");
    tell_client("echo\n");
    assert_int_equal(look(&verify, client.pid, PROCESS_COMPUTE, 1), VERIFY_NOTHING);
    verify.outside_since = clock_monotonic() - 0.51;
    assert_int_equal(look(&verify, client.pid, PROCESS_COMPUTE, 1), VERIFY_OUTSIDE);
}

#define WITH_CLIENT(test) cmocka_unit_test_setup_teardown(test, start_client, end_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_the_slot_or_less_are_good),
        cmocka_unit_test(more_than_the_slot_is_not),
        cmocka_unit_test(neither_is_what_says_nothing),
        WITH_CLIENT(memory_above_the_slot_counts_when_seen_twice_running),
        WITH_CLIENT(a_program_outside_has_half_a_second),
        WITH_CLIENT(only_what_computes_and_is_the_jobs_counts),
        cmocka_unit_test(what_has_ended_says_nothing),
        WITH_CLIENT(a_client_that_becomes_another_program_is_looked_at_again),
        WITH_CLIENT(who_was_a_client_stays_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
