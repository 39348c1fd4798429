/* The control of MPS over the fake daemon, which is a process of its own here. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cmocka_test.h"
#include "mps_stage.h"
#include "share/mps_internal.h"
#include "share/place.h"

static void starts_once_and_stops(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_view view;
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_ABSENT);
    mps_stage_start(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_READY);
    assert_int_equal(view.server_count, 0);
    pid_t daemon = view.daemon;
    mps_stage_start(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.daemon, daemon);
    assert_int_equal(mps_stop(&stage->mps), 0);
    mps_stage_assert_gone(daemon);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_ABSENT);
}

static void sees_clients_and_drops_them(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_view view;
    mps_stage_start(stage);
    pid_t one = mps_stage_client(stage, "spin 30");
    pid_t two = mps_stage_client(stage, "spin 30");
    mps_stage_await_client(stage, one, &view);
    mps_stage_await_client(stage, two, &view);
    assert_int_equal(view.server_count, 1);
    assert_string_equal(view.servers[0].status, "ACTIVE");
    assert_false(mps_has_fault(&view));
    const struct mps_client first = view.clients[view.clients[1].pid == one];
    assert_int_equal(mps_terminate(&stage->mps, &first), 0);
    assert_int_equal(mps_stage_end_of(one), 12);
    mps_look(&stage->mps, &view);
    assert_false(mps_has_client(&view, one));
    assert_true(mps_has_client(&view, two));
    assert_int_equal(mps_terminate(&stage->mps, &first), -ESRCH);
    assert_int_equal(mps_stop(&stage->mps), 0);
    assert_int_equal(mps_stage_end_of(two), 12);
    mps_stage_assert_gone(view.servers[0].pid);
}

static void limits_hold_for_later_clients(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_view view;
    const struct mps_limits first = {.sm_percent = 50, .memory_bytes = 4ULL << 30};
    mps_stage_start(stage);
    assert_int_equal(mps_limit(&stage->mps, &first, &stage->failure), 0);
    pid_t one = mps_stage_client(stage, "alloc 3G spin 30");
    mps_stage_await_client(stage, one, &view);
    struct strbuf answer = {0};
    char command[64];
    const struct mps_limits second = {.sm_percent = 75, .memory_bytes = 6ULL << 30};
    assert_int_equal(mps_limit(&stage->mps, &second, &stage->failure), 0);
    snprintf(command, sizeof(command), "get_active_thread_percentage %d", (int)view.servers[0].pid);
    assert_int_equal(mps_ask(&stage->mps, command, &answer), 0);
    assert_string_equal(strbuf_text(&answer), "75.0\n");
    strbuf_free(&answer);
    kill(one, SIGKILL);
    mps_stage_end_of(one);
}

static void a_limit_counts_only_when_read_back(void **state)
{
    struct mps_stage *stage = *state;
    const struct mps_limits limits = {.sm_percent = 50, .memory_bytes = 4ULL << 30};
    mps_stage_start(stage);
    mps_stage_script(stage, "set_default_active_thread_percentage -> \"50.0\"\n");
    assert_int_equal(mps_limit(&stage->mps, &limits, &stage->failure), -EPROTO);
    assert_non_null(strstr(stage->failure.reason, "SM limit"));
    mps_stage_script(stage, "set_default_device_pinned_mem_limit -> \"\"\n");
    assert_int_equal(mps_limit(&stage->mps, &limits, &stage->failure), -EPROTO);
    assert_non_null(strstr(stage->failure.reason, "memory limit"));
}

static void folders_that_cannot_serve(void **state)
{
    struct mps_stage *stage = *state;
    struct mps mps;
    char deep[160];
    memset(deep, 'x', sizeof(deep));
    memcpy(deep, "/tmp/", 5);
    deep[100] = '\0';
    assert_int_equal(mps_open(&mps, deep, STAGE_UUID, &stage->failure), -ENAMETOOLONG);
    assert_non_null(strstr(stage->failure.reason, "too deep"));

    chmod(stage->run, 0777);
    setenv("ROOFTOP_RUNTIME_DIR", stage->folder, 1);
    assert_int_equal(place_open(deep, sizeof(deep), &stage->failure), -EPERM);
    unsetenv("ROOFTOP_RUNTIME_DIR");
    chmod(stage->run, 0700);

    char closed[256];
    assert_true(place_find_closed(stage->mps.pipe, true, closed, sizeof(closed)));
    assert_string_equal(closed, stage->folder);
    assert_false(place_find_closed(stage->mps.pipe, false, closed, sizeof(closed)));

    setenv("ROOFTOP_MPS_CONTROL", "/not/there", 1);
    assert_int_equal(mps_open(&mps, stage->run, STAGE_UUID, &stage->failure), -ENOENT);
    assert_non_null(strstr(stage->failure.reason, "nvidia-cuda-mps-control"));
}

static void speaks_protocol_2_whatever_the_environment_says(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_view view;
    char command[512];
    setenv("FAKE_MPS_VERSION", "13030", 1);
    setenv("CUDA_MPS_PROTOCOL_VERSION", "3", 1);
    mps_stage_start(stage);
    assert_int_equal(mps_stop(&stage->mps), 0);
    /* One that somebody has started so in our folder. */
    snprintf(command, sizeof(command),
             "CUDA_MPS_PIPE_DIRECTORY=%s CUDA_MPS_LOG_DIRECTORY=%s %s -d -p 3", stage->mps.pipe,
             stage->mps.log, getenv("ROOFTOP_MPS_CONTROL"));
    assert_int_equal(system(command), 0);
    do
        mps_look(&stage->mps, &view);
    while (view.daemon == 0);
    pid_t foreign = view.daemon;
    assert_int_equal(view.state, MPS_SILENT);
    mps_stage_start(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_READY);
    mps_stage_assert_gone(foreign);
    unsetenv("CUDA_MPS_PROTOCOL_VERSION");
    unsetenv("FAKE_MPS_VERSION");
}

/* Whoever starts a daemon may be the one that has to reap it: a daemon's parent leaves it. */
static void leaves_no_zombies(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_view view;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    mps_stage_start(stage);
    pid_t client = mps_stage_client(stage, "spin 30");
    mps_stage_await_client(stage, client, &view);
    assert_int_equal(mps_stop(&stage->mps), 0);
    assert_int_equal(mps_stage_end_of(client), 12);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void only_whole_lines_are_pids(void **state)
{
    (void)state;
    const char *text = "Server 1 not found\n624\n\n 7\n503.1\n697";
    pid_t pid = 0;
    assert_true(mps_next_pid(&text, &pid));
    assert_int_equal(pid, 624);
    assert_true(mps_next_pid(&text, &pid));
    assert_int_equal(pid, 697);
    assert_false(mps_next_pid(&text, &pid));
}

static void sizes_are_read_in_every_form(void **state)
{
    (void)state;
    uint64_t size = 7;
    assert_true(mps_find_size("2G\n", &size));
    assert_int_equal(size, 2ULL << 30);
    assert_true(mps_find_size("0=2500M", &size));
    assert_int_equal(size, 2500ULL << 20);
    assert_true(mps_find_size("2147483648", &size));
    assert_int_equal(size, 1ULL << 31);
    size = 7;
    assert_false(mps_find_size("", &size));
    assert_false(mps_find_size("none", &size));
    assert_false(mps_find_size("99999999999999999999999999G", &size));
    assert_int_equal(size, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MPS_TEST(starts_once_and_stops),
        MPS_TEST(sees_clients_and_drops_them),
        MPS_TEST(limits_hold_for_later_clients),
        MPS_TEST(a_limit_counts_only_when_read_back),
        MPS_TEST(folders_that_cannot_serve),
        MPS_TEST(speaks_protocol_2_whatever_the_environment_says),
        MPS_TEST(leaves_no_zombies),
        cmocka_unit_test(only_whole_lines_are_pids),
        cmocka_unit_test(sizes_are_read_in_every_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
