/* Who descends from whom, and who lives. */
#include "share/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "jobs/describe.h"
#include "jobs/proc.h"

static const char NO_RUN[] = "/not/there";
static struct process_tree tree;

static void *rest(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}

/* A child that does `what`, says so, and waits to be killed. */
static pid_t start(void (*what)(int said))
{
    int said[2];
    char c;
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        what(said[1]);
        close(said[1]);
        rest(NULL);
    }
    close(said[1]);
    assert_int_equal(read(said[0], &c, 1), 0);
    close(said[0]);
    return pid;
}

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void nothing(int said)
{
    (void)said;
}

static void be_called_like_mps(int said)
{
    (void)said;
    prctl(PR_SET_NAME, "nvidia-cuda-mps-control");
}

static void be_called_like_the_counters_reader(int said)
{
    (void)said;
    prctl(PR_SET_NAME, "rooftop-counter");
    /* And be another program than this one. */
    execl("/bin/sleep", "rooftop-counter", "1000", (char *)NULL);
}

static void end_the_first_thread(int said)
{
    pthread_t thread;
    pthread_create(&thread, NULL, rest, NULL);
    close(said);
    pthread_exit(NULL);
}

static void all_of_many_children_are_in_the_tree(void **state)
{
    (void)state;
    enum { MANY = 1500 };
    static pid_t children[MANY];
    for (size_t i = 0; i < MANY; i++) {
        children[i] = fork();
        if (children[i] == 0)
            rest(NULL);
    }
    process_read_tree(getpid(), NO_RUN, &tree);
    assert_int_equal(tree.count, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_true(process_tree_has(&tree, children[i]));
    assert_false(process_tree_has(&tree, getpid()));
    for (size_t i = 0; i < MANY; i++)
        stop(children[i]);
    process_read_tree(getpid(), NO_RUN, &tree);
    assert_int_equal(tree.count, 0);
}

static void a_name_keeps_nobody_out_of_the_tree(void **state)
{
    (void)state;
    pid_t mps = start(be_called_like_mps), reader = start(be_called_like_the_counters_reader);
    process_read_tree(getpid(), NO_RUN, &tree);
    assert_int_equal(tree.count, 2);
    stop(mps);
    stop(reader);
}

static void who_has_ended_but_for_other_threads_lives(void **state)
{
    (void)state;
    pid_t pid = start(end_the_first_thread);
    struct process_id id = process_identify(pid);
    struct proc_identity identity;
    do {
        assert_int_equal(jobs_read_identity("", pid, &identity), 0);
    } while (identity.state != 'Z');
    process_read_tree(getpid(), NO_RUN, &tree);
    assert_true(process_tree_has(&tree, pid));
    assert_true(process_lives(id));
    stop(pid);
    assert_false(process_lives(id));
}

static void whose_memory_is_gone_is_ending(void **state)
{
    (void)state;
    pid_t pid = start(nothing);
    siginfo_t end;
    assert_false(process_is_ending(pid));
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
    assert_true(process_is_ending(pid));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(process_is_ending(pid));
}

static void a_group_of_a_later_process_with_its_number_is_not_its_own(void **state)
{
    (void)state;
    pid_t pid = start(nothing);
    struct process_id id = process_identify(pid);
    setpgid(pid, pid);
    assert_true(process_group_lives(id));
    id.start--;
    assert_false(process_group_lives(id));
    stop(pid);
}

static void what_is_added_is_found(void **state)
{
    (void)state;
    struct process_tree sorted = {0};
    for (pid_t pid = 9; pid > 0; pid -= 2)
        assert_int_equal(process_tree_add(&sorted, pid), 0);
    for (pid_t pid = 0; pid < 11; pid++)
        assert_int_equal(process_tree_has(&sorted, pid), pid % 2);
    process_tree_free(&sorted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_many_children_are_in_the_tree),
        cmocka_unit_test(a_name_keeps_nobody_out_of_the_tree),
        cmocka_unit_test(who_has_ended_but_for_other_threads_lives),
        cmocka_unit_test(whose_memory_is_gone_is_ending),
        cmocka_unit_test(a_group_of_a_later_process_with_its_number_is_not_its_own),
        cmocka_unit_test(what_is_added_is_found),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    process_tree_free(&tree);
    return failed;
}
