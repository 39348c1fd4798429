/* How the processes of a job are ended, over the fake MPS daemon. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "mps_stage.h"
#include "share/job.h"

static const double EVER = 1e6;

/* A client that dies of SIGTERM, and leaves when it is dropped and may. */
static pid_t start_client(struct mps_stage *stage, struct job *job, struct process_tree *tree)
{
    struct mps_view view;
    char words[192];
    mps_stage_start(stage);
    snprintf(words, sizeof(words), "linger %s/over touch %s/up spin 1000", stage->folder,
             stage->folder);
    pid_t pid = mps_stage_client(stage, words);
    mps_stage_await(stage, "up");
    mps_stage_await_client(stage, pid, &view);
    *job = (struct job){.pid = pid, .patience = EVER};
    assert_int_equal(process_tree_add(tree, pid), 0);
    return pid;
}

static pid_t start_shell(const struct mps_stage *stage, struct process_tree *tree, const char *line)
{
    pid_t pid = fork();
    if (pid == 0) {
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
    struct mps_stage *stage = *state;
    struct process_tree tree = {0};
    struct job job;
    pid_t client = start_client(stage, &job, &tree);
    job_end_all(&job, &tree, &stage->mps, SIGTERM);
    job_end_all(&job, &tree, &stage->mps, SIGKILL);
    assert_false(job_pass_on(&job, &tree));
    assert_true(job.dropped);
    mps_stage_put(stage, "over", "");
    assert_int_equal(mps_stage_end_of(client), 12);
    assert_true(job_pass_on(&job, &tree));
    process_tree_free(&tree);
}

static void one_that_does_not_leave_is_told(void **state)
{
    struct mps_stage *stage = *state;
    struct process_tree tree = {0};
    struct job job;
    pid_t client = start_client(stage, &job, &tree);
    job.patience = 1e-9;
    job_end_all(&job, &tree, &stage->mps, SIGTERM);
    assert_true(job_pass_on(&job, &tree));
    assert_int_equal(mps_stage_end_of(client), 128 + SIGTERM);
    process_tree_free(&tree);
}

static void one_that_is_stopped_leaves_too(void **state)
{
    struct mps_stage *stage = *state;
    struct process_tree tree = {0};
    struct job job;
    pid_t client = start_client(stage, &job, &tree);
    int status;
    kill(client, SIGSTOP);
    assert_int_equal(waitpid(client, &status, WUNTRACED), client);
    mps_stage_put(stage, "over", "");
    job_end_all(&job, &tree, &stage->mps, SIGTERM);
    assert_int_equal(mps_stage_end_of(client), 12);
    process_tree_free(&tree);
}

static void a_shell_does_not_go_on_meanwhile(void **state)
{
    struct mps_stage *stage = *state;
    struct process_tree tree = {0};
    struct job job;
    pid_t client = start_client(stage, &job, &tree);
    pid_t shell = start_shell(stage, &tree, "touch shell; while :; do sleep 0.01; done");
    pid_t handler = start_shell(stage, &tree,
                                "trap 'exit 7' TERM; touch handler; while :; do sleep 0.01; done");
    mps_stage_await(stage, "shell");
    mps_stage_await(stage, "handler");
    job_end_all(&job, &tree, &stage->mps, SIGTERM);
    assert_int_equal(mps_stage_end_of(shell), 128 + SIGTERM);
    assert_int_equal(kill(handler, 0), 0);
    mps_stage_put(stage, "over", "");
    assert_int_equal(mps_stage_end_of(client), 12);
    assert_true(job_pass_on(&job, &tree));
    assert_int_equal(mps_stage_end_of(handler), 7);
    process_tree_free(&tree);
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
