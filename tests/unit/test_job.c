/* How the processes of a job are ended, over the fake MPS daemon. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "mps_stage.h"
#include "share/job.h"

static const double EVER = 1e6;

/* A job and its processes: at first a client that dies of SIGTERM, and leaves when it is dropped
 * and may. */
struct scene {
    struct mps_stage *stage;
    struct process_tree tree;
    struct job job;
    pid_t client;
};

static struct scene begin(void **state)
{
    struct scene scene = {.stage = *state};
    struct mps_view view;
    char words[192];
    mps_stage_start(scene.stage);
    snprintf(words, sizeof(words), "linger %s/over touch %s/up spin 1000", scene.stage->folder,
             scene.stage->folder);
    scene.client = mps_stage_client(scene.stage, words);
    mps_stage_await(scene.stage, "up");
    mps_stage_await_client(scene.stage, scene.client, &view);
    scene.job = (struct job){.pid = scene.client, .patience = EVER};
    assert_int_equal(process_tree_add(&scene.tree, scene.client), 0);
    return scene;
}

static void end_all(struct scene *scene, int signal)
{
    job_end_all(&scene->job, &scene->tree, &scene->stage->mps, signal);
}

static bool pass_on(struct scene *scene)
{
    return job_pass_on(&scene->job, &scene->tree);
}

static void let_client_leave(struct scene *scene)
{
    mps_stage_put(scene->stage, "over", "");
    assert_int_equal(mps_stage_end_of(scene->client), 12);
}

static pid_t start_shell(const struct mps_stage *stage, struct process_tree *tree, const char *line)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (chdir(stage->folder) < 0)
            _exit(127);
        execl("/bin/sh", "sh", "-c", line, NULL);
        _exit(127);
    }
    assert_int_equal(process_tree_add(tree, pid), 0);
    return pid;
}

static void a_client_leaves_before_it_is_told(void **state)
{
    struct scene scene = begin(state);
    end_all(&scene, SIGTERM);
    end_all(&scene, SIGKILL);
    assert_false(pass_on(&scene));
    assert_true(scene.job.dropped);
    let_client_leave(&scene);
    assert_true(pass_on(&scene));
    process_tree_free(&scene.tree);
}

static void one_that_does_not_leave_is_told(void **state)
{
    struct scene scene = begin(state);
    scene.job.patience = 1e-9;
    end_all(&scene, SIGTERM);
    assert_true(pass_on(&scene));
    assert_int_equal(mps_stage_end_of(scene.client), 128 + SIGTERM);
    process_tree_free(&scene.tree);
}

static void one_that_is_stopped_leaves_too(void **state)
{
    struct scene scene = begin(state);
    int status;
    kill(scene.client, SIGSTOP);
    assert_int_equal(waitpid(scene.client, &status, WUNTRACED), scene.client);
    end_all(&scene, SIGTERM);
    let_client_leave(&scene);
    process_tree_free(&scene.tree);
}

static void a_shell_does_not_go_on_meanwhile(void **state)
{
    struct scene scene = begin(state);
    pid_t shell =
        start_shell(scene.stage, &scene.tree, "touch shell; while :; do sleep 0.01; done");
    pid_t handler = start_shell(scene.stage, &scene.tree,
                                "trap 'exit 7' TERM; touch handler; while :; do sleep 0.01; done");
    mps_stage_await(scene.stage, "shell");
    mps_stage_await(scene.stage, "handler");
    end_all(&scene, SIGTERM);
    assert_int_equal(mps_stage_end_of(shell), 128 + SIGTERM);
    assert_int_equal(kill(handler, 0), 0);
    let_client_leave(&scene);
    assert_true(pass_on(&scene));
    assert_int_equal(mps_stage_end_of(handler), 7);
    process_tree_free(&scene.tree);
}

static void without_clients_nothing_waits(void **state)
{
    struct mps_stage *stage = *state;
    struct process_tree tree = {0};
    pid_t shell = start_shell(stage, &tree, "while :; do sleep 0.01; done");
    struct job job = {.pid = shell, .patience = EVER};
    job_end_all(&job, &tree, NULL, SIGTERM);
    assert_false(job.dropped);
    assert_true(job_pass_on(&job, &tree));
    assert_int_equal(mps_stage_end_of(shell), 128 + SIGTERM);
    process_tree_free(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MPS_TEST(a_client_leaves_before_it_is_told), MPS_TEST(one_that_does_not_leave_is_told),
        MPS_TEST(one_that_is_stopped_leaves_too),    MPS_TEST(a_shell_does_not_go_on_meanwhile),
        MPS_TEST(without_clients_nothing_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
