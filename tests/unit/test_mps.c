/* The control of MPS over the fake daemon, which is a process of its own here. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_test.h"
#include "jobs/describe.h"
#include "jobs/proc.h"
#include "share/mps_internal.h"
#include "share/place.h"

static const char UUID[] = "GPU-00000000-0000-4000-8000-000000000001";
static const double PATIENCE = 10;

struct stage {
    char folder[64];
    char run[80];
    struct mps mps;
    struct counter_failure failure;
};

static void put(const struct stage *stage, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", stage->folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void script(const struct stage *stage, const char *text)
{
    put(stage, "script", text);
}

static int set_up(void **state)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    strcpy(stage->folder, "/tmp/mps-XXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->run, sizeof(stage->run), "%s/rooftop", stage->folder);
    assert_int_equal(place_make_folder(stage->run), 0);
    char path[256];
    snprintf(path, sizeof(path), "%s/nvidia-cuda-mps-control", getenv("FAKE_ROOT"));
    setenv("ROOFTOP_MPS_CONTROL", path, 1);
    snprintf(path, sizeof(path), "%s/script", stage->folder);
    setenv("FAKE_MPS_SCRIPT", path, 1);
    setenv("FAKE_GPU", stage->folder, 1);
    setenv("ROOFTOP_SHM", stage->folder, 1);
    put(stage, "devices", "GPU-00000000-0000-4000-8000-000000000001\n");
    put(stage, "base", "gpu h200\nfollow\n");
    assert_int_equal(mps_open(&stage->mps, stage->run, UUID, &stage->failure), 0);
    assert_int_equal(mps_lock(&stage->mps), 0);
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;
    script(stage, "");
    pid_t daemon = mps_daemon_pid(&stage->mps);
    if (mps_stop(&stage->mps) < 0 && daemon)
        kill(daemon, SIGKILL);
    mps_close(&stage->mps);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", stage->folder);
    assert_int_equal(system(command), 0);
    free(stage);
    return 0;
}

/* It has ended; whoever has to reap it may be slow. */
static void assert_gone(pid_t pid)
{
    struct proc_identity identity;
    assert_true(jobs_read_identity("", pid, &identity) < 0 || proc_has_ended(&identity));
}

static void assert_started(struct stage *stage)
{
    int r = mps_start(&stage->mps, &stage->failure);
    if (r < 0)
        print_message("%s\n", stage->failure.reason);
    assert_int_equal(r, 0);
}

/* A program under the daemon; `words` are those of tests/fake/cuda_job.c. */
static pid_t start_client(const struct stage *stage, const char *words)
{
    char command[512];
    snprintf(command, sizeof(command), "exec %s/fake_job %s >/dev/null", getenv("FAKE_ROOT"),
             words);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("CUDA_MPS_PIPE_DIRECTORY", stage->mps.pipe, 1);
        setenv("CUDA_VISIBLE_DEVICES", UUID, 1);
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    return pid;
}

static int end_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void await_client(struct stage *stage, pid_t pid, struct mps_view *view)
{
    double until = clock_monotonic() + PATIENCE;
    do {
        mps_look(&stage->mps, view);
        assert_true(clock_monotonic() < until);
    } while (!mps_has_client(view, pid));
}

static void await_daemon_end(struct stage *stage)
{
    struct timespec pause = clock_timespec(0.005);
    while (mps_daemon_pid(&stage->mps))
        nanosleep(&pause, NULL);
}

static void starts_once_and_stops(void **state)
{
    struct stage *stage = *state;
    struct mps_view view;
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_ABSENT);
    assert_started(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_READY);
    assert_int_equal(view.server_count, 0);
    pid_t daemon = view.daemon;
    assert_started(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.daemon, daemon);
    assert_int_equal(mps_stop(&stage->mps), 0);
    assert_gone(daemon);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_ABSENT);
}

static void sees_clients_and_drops_them(void **state)
{
    struct stage *stage = *state;
    struct mps_view view;
    assert_started(stage);
    pid_t one = start_client(stage, "spin 30");
    pid_t two = start_client(stage, "spin 30");
    await_client(stage, one, &view);
    await_client(stage, two, &view);
    assert_int_equal(view.server_count, 1);
    assert_string_equal(view.servers[0].status, "ACTIVE");
    assert_false(mps_has_fault(&view));
    assert_int_equal(mps_terminate(&stage->mps, one), 0);
    assert_int_equal(end_of(one), 12);
    mps_look(&stage->mps, &view);
    assert_false(mps_has_client(&view, one));
    assert_true(mps_has_client(&view, two));
    assert_int_equal(mps_terminate(&stage->mps, one), -ESRCH);
    assert_int_equal(mps_stop(&stage->mps), 0);
    assert_int_equal(end_of(two), 12);
    assert_gone(view.servers[0].pid);
}

static void limits_hold_for_later_clients(void **state)
{
    struct stage *stage = *state;
    struct mps_view view;
    const struct mps_limits first = {.sm_percent = 50, .memory_bytes = 4ULL << 30};
    assert_started(stage);
    assert_int_equal(mps_limit(&stage->mps, &first, &stage->failure), 0);
    pid_t one = start_client(stage, "alloc 3G spin 30");
    await_client(stage, one, &view);
    struct strbuf answer = {0};
    char command[64];
    const struct mps_limits second = {.sm_percent = 75, .memory_bytes = 6ULL << 30};
    assert_int_equal(mps_limit(&stage->mps, &second, &stage->failure), 0);
    snprintf(command, sizeof(command), "get_active_thread_percentage %d", (int)view.servers[0].pid);
    assert_int_equal(mps_ask(&stage->mps, command, &answer), 0);
    assert_string_equal(strbuf_text(&answer), "75.0\n");
    strbuf_free(&answer);
    kill(one, SIGKILL);
    end_of(one);
}

static void a_limit_counts_only_when_read_back(void **state)
{
    struct stage *stage = *state;
    const struct mps_limits limits = {.sm_percent = 50, .memory_bytes = 4ULL << 30};
    assert_started(stage);
    script(stage, "set_default_active_thread_percentage -> \"50.0\"\n");
    assert_int_equal(mps_limit(&stage->mps, &limits, &stage->failure), -EPROTO);
    assert_non_null(strstr(stage->failure.reason, "SM limit"));
    script(stage, "set_default_device_pinned_mem_limit -> \"\"\n");
    assert_int_equal(mps_limit(&stage->mps, &limits, &stage->failure), -EPROTO);
    assert_non_null(strstr(stage->failure.reason, "memory limit"));
}

static void a_fault_is_seen_and_the_server_made_anew(void **state)
{
    struct stage *stage = *state;
    struct mps_view view;
    assert_started(stage);
    pid_t victim = start_client(stage, "spin 30");
    await_client(stage, victim, &view);
    pid_t stubborn = start_client(stage, "sm sleep 30");
    await_client(stage, stubborn, &view);
    pid_t before = view.daemon;
    script(stage, "fault -> lasting\n");
    pid_t cause = start_client(stage, "fault");
    assert_int_equal(end_of(cause), 11);
    assert_int_equal(end_of(victim), 10);
    mps_look(&stage->mps, &view);
    assert_true(mps_has_fault(&view));
    assert_true(mps_was_torn_down(&stage->mps, 0, &victim, 1));
    pid_t stranger = getpid();
    assert_false(mps_was_torn_down(&stage->mps, 0, &stranger, 1));
    assert_started(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_READY);
    assert_int_not_equal(view.daemon, before);
    assert_false(mps_has_fault(&view));
    kill(stubborn, SIGKILL);
    end_of(stubborn);
}

static void a_dead_server_is_made_anew(void **state)
{
    struct stage *stage = *state;
    struct mps_view view;
    assert_started(stage);
    pid_t client = start_client(stage, "sm");
    assert_int_equal(end_of(client), 0);
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
    assert_started(stage);
    client = start_client(stage, "spin 30");
    await_client(stage, client, &view);
    assert_false(mps_has_fault(&view));
    assert_int_not_equal(view.servers[0].pid, dead);
    assert_int_equal(mps_stop(&stage->mps), 0);
    assert_int_equal(end_of(client), 12);
}

static void a_dead_daemon_is_cleared_away(void **state)
{
    struct stage *stage = *state;
    struct mps_view view;
    assert_started(stage);
    kill(mps_daemon_pid(&stage->mps), SIGKILL);
    await_daemon_end(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_STALE);
    assert_started(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_READY);
}

static void a_daemon_that_dies_in_a_command(void **state)
{
    struct stage *stage = *state;
    struct strbuf answer = {0};
    assert_started(stage);
    script(stage, "ps -> die\n");
    assert_int_equal(mps_ask(&stage->mps, "ps", &answer), 0);
    assert_string_equal(strbuf_text(&answer), "");
    /* The kernel may close its socket for new connections behind that of the answer. */
    await_daemon_end(stage);
    assert_int_equal(mps_ask(&stage->mps, "ps", &answer), -ECONNREFUSED);
    strbuf_free(&answer);
}

static void a_silent_daemon_is_replaced(void **state)
{
    struct stage *stage = *state;
    struct mps_view view;
    stage->mps.patience = 0.3;
    script(stage, "start -> mute\n");
    assert_int_equal(mps_start(&stage->mps, &stage->failure), -ETIMEDOUT);
    assert_non_null(strstr(stage->failure.reason, "does not answer"));
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_SILENT);
    pid_t mute = view.daemon;
    script(stage, "");
    assert_started(stage);
    mps_look(&stage->mps, &view);
    assert_int_not_equal(view.daemon, mute);
    assert_gone(mute);
}

static void a_daemon_that_fails_to_start(void **state)
{
    struct stage *stage = *state;
    script(stage, "start -> \"Failed to start\"\n");
    assert_int_equal(mps_start(&stage->mps, &stage->failure), -EIO);
    assert_non_null(strstr(stage->failure.reason, "Failed to start"));
    /* One that does not know an option says so, and ends with 0. */
    char path[sizeof(stage->mps.program)];
    memcpy(path, stage->mps.program, sizeof(path));
    put(stage, "control", "#!/bin/sh\necho 'Unrecognized option'\n");
    snprintf(stage->mps.program, sizeof(stage->mps.program), "%s/control", stage->folder);
    assert_int_equal(chmod(stage->mps.program, 0700), 0);
    assert_int_equal(mps_start(&stage->mps, &stage->failure), -EIO);
    assert_non_null(strstr(stage->failure.reason, "Unrecognized option"));
    memcpy(stage->mps.program, path, sizeof(path));
    setenv("ROOFTOP_SHM", "/not/there", 1);
    assert_int_equal(mps_start(&stage->mps, &stage->failure), -ENOENT);
    assert_non_null(strstr(stage->failure.reason, "/dev/shm"));
}

static void folders_that_cannot_serve(void **state)
{
    struct stage *stage = *state;
    struct mps mps;
    char deep[160];
    memset(deep, 'x', sizeof(deep));
    memcpy(deep, "/tmp/", 5);
    deep[100] = '\0';
    assert_int_equal(mps_open(&mps, deep, UUID, &stage->failure), -ENAMETOOLONG);
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
    assert_int_equal(mps_open(&mps, stage->run, UUID, &stage->failure), -ENOENT);
    assert_non_null(strstr(stage->failure.reason, "nvidia-cuda-mps-control"));
}

static void static_partitions_where_the_version_has_them(void **state)
{
    static const char *const versions[] = {"13010", "13020"}; /* a name alone, and in a sentence */
    struct stage *stage = *state;
    stage->mps.want_partitions = true;
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct mps_limits limits = {.sm_percent = 25, .memory_bytes = 1ULL << 30};
        struct mps_limits second = {.sm_percent = 80}, third = {.sm_percent = 4};
        setenv("FAKE_MPS_VERSION", versions[i], 1);
        assert_started(stage);
        assert_true(stage->mps.has_partitions);
        assert_int_equal(mps_take_partition(&stage->mps, 7, &limits, &stage->failure), 0);
        assert_memory_equal(limits.partition, UUID, strlen(UUID));
        assert_int_equal(limits.partition[strlen(UUID)], '/');
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
    assert_started(stage);
    assert_false(stage->mps.has_partitions);
}

static void a_partition_in_use_is_given_back_later(void **state)
{
    struct stage *stage = *state;
    struct mps_limits limits = {.sm_percent = 100}, next = {.sm_percent = 100};
    struct mps_view view;
    setenv("FAKE_MPS_VERSION", "13010", 1);
    stage->mps.want_partitions = true;
    assert_started(stage);
    assert_int_equal(mps_take_partition(&stage->mps, 1, &limits, &stage->failure), 0);
    setenv("CUDA_MPS_SM_PARTITION", limits.partition, 1);
    pid_t client = start_client(stage, "spin 30");
    unsetenv("CUDA_MPS_SM_PARTITION");
    await_client(stage, client, &view);
    mps_sweep_partitions(&stage->mps, NULL, 0);
    assert_int_equal(mps_take_partition(&stage->mps, 2, &next, &stage->failure), -EBUSY);
    kill(client, SIGKILL);
    end_of(client);
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
    struct stage *stage = *state;
    struct mps_limits limits = {.sm_percent = 25};
    setenv("FAKE_MPS_VERSION", "13010", 1);
    stage->mps.want_partitions = true;
    /* A daemon that takes -S and knows nothing of it. */
    script(stage, "lspart -> \"Unknown command \\\"lspart\\\"\"\n");
    assert_started(stage);
    assert_false(stage->mps.has_partitions);
    assert_int_equal(mps_stop(&stage->mps), 0);
    script(stage, "");
    assert_started(stage);
    assert_true(stage->mps.has_partitions);
    script(stage, "sm_partition add -> \"GPU-1/Never\"\n");
    assert_int_equal(mps_take_partition(&stage->mps, 1, &limits, &stage->failure), -EPROTO);
    assert_string_equal(limits.partition, "");
    script(stage, "sm_partition add -> \"Failed to fulfill the requested SM partition\"\n");
    assert_int_equal(mps_take_partition(&stage->mps, 1, &limits, &stage->failure), -EPROTO);
    assert_non_null(strstr(stage->failure.reason, "Failed to fulfill"));
    unsetenv("FAKE_MPS_VERSION");
}

static void speaks_protocol_2_whatever_the_environment_says(void **state)
{
    struct stage *stage = *state;
    struct mps_view view;
    char command[512];
    setenv("FAKE_MPS_VERSION", "13030", 1);
    setenv("CUDA_MPS_PROTOCOL_VERSION", "3", 1);
    assert_started(stage);
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
    assert_started(stage);
    mps_look(&stage->mps, &view);
    assert_int_equal(view.state, MPS_READY);
    assert_gone(foreign);
    unsetenv("CUDA_MPS_PROTOCOL_VERSION");
    unsetenv("FAKE_MPS_VERSION");
}

/* Whoever starts a daemon may be the one that has to reap it: a daemon's parent leaves it. */
static void leaves_no_zombies(void **state)
{
    struct stage *stage = *state;
    struct mps_view view;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    assert_started(stage);
    pid_t client = start_client(stage, "spin 30");
    await_client(stage, client, &view);
    assert_int_equal(mps_stop(&stage->mps), 0);
    assert_int_equal(end_of(client), 12);
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
        cmocka_unit_test_setup_teardown(starts_once_and_stops, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sees_clients_and_drops_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_hold_for_later_clients, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_limit_counts_only_when_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fault_is_seen_and_the_server_made_anew, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_dead_server_is_made_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dead_daemon_is_cleared_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_that_dies_in_a_command, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_daemon_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_that_fails_to_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folders_that_cannot_serve, set_up, tear_down),
        cmocka_unit_test_setup_teardown(static_partitions_where_the_version_has_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_partition_in_use_is_given_back_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_partition_counts_only_when_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(speaks_protocol_2_whatever_the_environment_says, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(leaves_no_zombies, set_up, tear_down),
        cmocka_unit_test(only_whole_lines_are_pids),
        cmocka_unit_test(sizes_are_read_in_every_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
