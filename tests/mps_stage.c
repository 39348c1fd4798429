#include "mps_stage.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_test.h"
#include "jobs/describe.h"
#include "jobs/proc.h"
#include "share/place.h"

static const double PATIENCE = 10;

void mps_stage_put(const struct mps_stage *stage, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", stage->folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

void mps_stage_await(const struct mps_stage *stage, const char *name)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", stage->folder, name);
    double until = clock_monotonic() + PATIENCE;
    struct timespec pause = clock_timespec(0.005);
    while (access(path, F_OK) < 0) {
        assert_true(clock_monotonic() < until);
        nanosleep(&pause, NULL);
    }
}

void mps_stage_script(const struct mps_stage *stage, const char *text)
{
    mps_stage_put(stage, "script", text);
}

int mps_stage_set_up(void **state)
{
    struct mps_stage *stage = calloc(1, sizeof(*stage));
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
    mps_stage_put(stage, "devices", "GPU-00000000-0000-4000-8000-000000000001\n");
    mps_stage_put(stage, "base", "gpu h200\nfollow\n");
    assert_int_equal(mps_open(&stage->mps, stage->run, STAGE_UUID, &stage->failure), 0);
    assert_int_equal(mps_lock(&stage->mps), 0);
    *state = stage;
    return 0;
}

int mps_stage_tear_down(void **state)
{
    struct mps_stage *stage = *state;
    mps_stage_script(stage, "");
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

void mps_stage_assert_gone(pid_t pid)
{
    struct proc_identity identity;
    assert_true(jobs_read_identity("", pid, &identity) < 0 || proc_has_ended(&identity));
}

void mps_stage_start(struct mps_stage *stage)
{
    int r = mps_start(&stage->mps, &stage->failure);
    if (r < 0)
        print_message("%s\n", stage->failure.reason);
    assert_int_equal(r, 0);
}

pid_t mps_stage_client(const struct mps_stage *stage, const char *words)
{
    char command[512];
    snprintf(command, sizeof(command), "exec %s/fake_job %s >/dev/null", getenv("FAKE_ROOT"),
             words);
    pid_t pid = fork();
    if (pid == 0) {
        /* A test that is killed leaves no client behind. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("CUDA_MPS_PIPE_DIRECTORY", stage->mps.pipe, 1);
        setenv("CUDA_VISIBLE_DEVICES", STAGE_UUID, 1);
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    return pid;
}

int mps_stage_end_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void mps_stage_await_client(struct mps_stage *stage, pid_t pid, struct mps_view *view)
{
    double until = clock_monotonic() + PATIENCE;
    do {
        mps_look(&stage->mps, view);
        assert_true(clock_monotonic() < until);
    } while (!mps_has_client(view, pid));
}

void mps_stage_await_daemon_end(struct mps_stage *stage)
{
    struct timespec pause = clock_timespec(0.005);
    while (mps_daemon_pid(&stage->mps))
        nanosleep(&pause, NULL);
}
