/* Faults, and daemons and servers that die, hang or do not start. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_test.h"
#include "mps_stage.h"

static const double PATIENCE = 10;

static void a_fault_is_seen_and_the_server_made_anew(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_view view;
    mps_stage_start(stage);
    pid_t victim = mps_stage_client(stage, "spin 30");
    mps_stage_await_client(stage, victim, &view);
    pid_t stubborn = mps_stage_client(stage, "sm sleep 30");
    mps_stage_await_client(stage, stubborn, &view);
    pid_t before = view.daemon;
    mps_stage_script(stage, "fault -> lasting\n");
    pid_t cause = mps_stage_client(stage, "fault");
    assert_int_equal(mps_stage_end_of(cause), 11);
    assert_int_equal(mps_stage_end_of(victim), 10);
    mps_look(&stage->mps, &view);
    assert_true(mps_has_fault(&view));
    struct mps_story story;
    mps_read_log(&stage->mps, 0, &victim, 1, &story);
    assert_int_equal(story.connected.own, 1);
    assert_int_equal(story.connected.others, 2);
    assert_int_equal(story.torn_down.own, 1);
    assert_int_equal(story.torn_down.others, 2);
    mps_stage_start(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_READY);
    assert_int_not_equal(view.daemon, before);
    assert_false(mps_has_fault(&view));
    kill(stubborn, SIGKILL);
    mps_stage_end_of(stubborn);
}

static void a_dead_server_is_made_anew(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_view view;
    mps_stage_start(stage);
    pid_t client = mps_stage_client(stage, "sm");
    assert_int_equal(mps_stage_end_of(client), 0);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.server_count, 1);
    assert_false(mps_has_fault(&view));
    pid_t dead = view.servers[0].pid;
    kill(dead, SIGKILL);
    double until = clock_monotonic() + PATIENCE;
    do
        mps_look(&stage->mps, &view);
    while (!mps_has_fault(&view) && clock_monotonic() < until);
    assert_true(mps_has_fault(&view));
    mps_stage_start(stage);
    client = mps_stage_client(stage, "spin 30");
    mps_stage_await_client(stage, client, &view);
    assert_false(mps_has_fault(&view));
    assert_int_not_equal(view.servers[0].pid, dead);
    assert_int_equal(mps_stop(&stage->mps), 0);
    assert_int_equal(mps_stage_end_of(client), 12);
}

static void a_dead_daemon_is_cleared_away(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_view view;
    mps_stage_start(stage);
    kill(mps_daemon_pid(&stage->mps), SIGKILL);
    mps_stage_await_daemon_end(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_STALE);
    mps_stage_start(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_READY);
}

static void a_daemon_that_dies_in_a_command(void **state)
{
    struct mps_stage *stage = *state;
    struct strbuf answer = {0};
    mps_stage_start(stage);
    mps_stage_script(stage, "ps -> die\n");
    assert_int_equal(mps_ask(&stage->mps, "ps", &answer), 0);
    assert_string_equal(strbuf_text(&answer), "");
    /* The kernel may close its socket for new connections behind that of the answer. */
    mps_stage_await_daemon_end(stage);
    assert_int_equal(mps_ask(&stage->mps, "ps", &answer), -ECONNREFUSED);
    strbuf_free(&answer);
}

static void a_silent_daemon_is_replaced(void **state)
{
    struct mps_stage *stage = *state;
    struct mps_view view;
    double patience = stage->mps.patience;
    stage->mps.patience = 0.3;
    mps_stage_script(stage, "start -> mute\n");
    assert_int_equal(mps_start(&stage->mps, &stage->failure), -ETIMEDOUT);
    assert_non_null(strstr(stage->failure.reason, "does not answer"));
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_SILENT);
    pid_t mute = view.daemon;
    mps_stage_script(stage, "");
    stage->mps.patience = patience;
    mps_stage_start(stage);
    mps_look(&stage->mps, &view);
    assert_int_not_equal(view.daemon, mute);
    mps_stage_assert_gone(mute);
}

static void a_daemon_that_fails_to_start(void **state)
{
    struct mps_stage *stage = *state;
    mps_stage_script(stage, "start -> \"Failed to start\"\n");
    assert_int_equal(mps_start(&stage->mps, &stage->failure), -EIO);
    assert_non_null(strstr(stage->failure.reason, "Failed to start"));
    /* One that does not know an option says so, and ends with 0. */
    char path[sizeof(stage->mps.program)];
    memcpy(path, stage->mps.program, sizeof(path));
    mps_stage_put(stage, "control", "#!/bin/sh\necho 'Unrecognized option'\n");
    snprintf(stage->mps.program, sizeof(stage->mps.program), "%s/control", stage->folder);
    assert_int_equal(chmod(stage->mps.program, 0700), 0);
    assert_int_equal(mps_start(&stage->mps, &stage->failure), -EIO);
    assert_non_null(strstr(stage->failure.reason, "Unrecognized option"));
    memcpy(stage->mps.program, path, sizeof(path));
    setenv("ROOFTOP_SHM", "/not/there", 1);
    assert_int_equal(mps_start(&stage->mps, &stage->failure), -ENOENT);
    assert_non_null(strstr(stage->failure.reason, "/dev/shm"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MPS_TEST(a_fault_is_seen_and_the_server_made_anew),
        MPS_TEST(a_dead_server_is_made_anew),
        MPS_TEST(a_dead_daemon_is_cleared_away),
        MPS_TEST(a_daemon_that_dies_in_a_command),
        MPS_TEST(a_silent_daemon_is_replaced),
        MPS_TEST(a_daemon_that_fails_to_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
