#include "base/loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cmocka_test.h"

struct test {
    struct loop *loop;
    struct loop_timer *timer;
    int pipe[2];
    int other[2];
    unsigned calls;
    int signal;
};

static void on_timer(void *context, uint32_t times)
{
    struct test *test = context;
    assert_true(times >= 1);
    if (++test->calls == 3)
        loop_stop(test->loop, 7);
}

static void a_timer_repeats_until_the_loop_is_stopped(void **state)
{
    (void)state;
    struct test test = {0};
    assert_int_equal(loop_new(&test.loop), 0);
    assert_int_equal(loop_add_timer(test.loop, &test.timer, on_timer, &test), 0);
    assert_int_equal(loop_timer_set(test.timer, 0.001, 0.001), 0);
    assert_int_equal(loop_run(test.loop), 7);
    assert_int_equal(test.calls, 3);
    loop_free(test.loop);
}

/* Both pipes are ready in one batch; whichever comes first removes the other. */
static void on_either_pipe(void *context, uint32_t events)
{
    struct test *test = context;
    assert_true(events & EPOLLIN);
    test->calls++;
    loop_remove(test->loop, test->pipe[0]);
    loop_remove(test->loop, test->other[0]);
    assert_int_equal(loop_timer_set(test->timer, 0.001, 0), 0);
}

static void on_end(void *context, uint32_t times)
{
    (void)times;
    struct test *test = context;
    loop_stop(test->loop, 0);
}

static void a_removed_descriptor_is_not_called_again(void **state)
{
    (void)state;
    struct test test = {0};
    assert_int_equal(pipe(test.pipe), 0);
    assert_int_equal(pipe(test.other), 0);
    assert_int_equal(write(test.pipe[1], "x", 1), 1);
    assert_int_equal(write(test.other[1], "x", 1), 1);
    assert_int_equal(loop_new(&test.loop), 0);
    assert_int_equal(loop_add_timer(test.loop, &test.timer, on_end, &test), 0);
    assert_int_equal(loop_add(test.loop, test.pipe[0], EPOLLIN, on_either_pipe, &test), 0);
    assert_int_equal(loop_add(test.loop, test.other[0], EPOLLIN, on_either_pipe, &test), 0);
    assert_int_equal(loop_run(test.loop), 0);
    assert_int_equal(test.calls, 1);
    assert_int_equal(loop_add(test.loop, -1, EPOLLIN, on_either_pipe, &test), -EBADF);
    loop_free(test.loop);
    for (int i = 0; i < 2; i++) {
        close(test.pipe[i]);
        close(test.other[i]);
    }
}

static void on_signal(void *context, int signal)
{
    struct test *test = context;
    test->signal = signal;
    test->calls++;
    if (test->calls == 2)
        loop_stop(test->loop, 0);
    else
        raise(SIGUSR2);
}

static void signals_arrive_as_events(void **state)
{
    (void)state;
    struct test test = {0};
    assert_int_equal(loop_new(&test.loop), 0);
    assert_int_equal(loop_add_signal(test.loop, SIGUSR1, on_signal, &test), 0);
    assert_int_equal(loop_add_signal(test.loop, SIGUSR2, on_signal, &test), 0);
    raise(SIGUSR1);
    assert_int_equal(loop_run(test.loop), 0);
    assert_int_equal(test.signal, SIGUSR2);
    loop_free(test.loop);
}

static void *unblock_all(void *pipe)
{
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    char byte = 'u';
    assert_int_equal(write(((int *)pipe)[1], &byte, 1), 1);
    struct pollfd end = {.fd = ((int *)pipe)[2], .events = POLLIN};
    while (poll(&end, 1, -1) != 1)
        ;
    return NULL;
}

/* Again and again, since TSan loses some that come to a thread which begins to wait. */
static void send_signal(void *context, uint32_t times)
{
    (void)context;
    (void)times;
    assert_int_equal(kill(getpid(), SIGTERM), 0);
}

static void stop_at_signal(void *context, int signal)
{
    struct test *test = context;
    test->signal = signal;
    loop_stop(test->loop, 0);
}

/* A driver's library may have such threads: what it takes must arrive all the same. */
static void a_thread_that_unblocks_a_signal_does_not_keep_it(void **state)
{
    (void)state;
    struct test test = {0};
    pthread_t thread;
    int pipes[4];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(pipe(pipes + 2), 0);
    assert_int_equal(loop_new(&test.loop), 0);
    assert_int_equal(loop_add_signal(test.loop, SIGTERM, stop_at_signal, &test), 0);
    assert_int_equal(pthread_create(&thread, NULL, unblock_all, pipes), 0);
    char byte;
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_int_equal(loop_add_timer(test.loop, &test.timer, send_signal, &test), 0);
    assert_int_equal(loop_timer_set(test.timer, 0.001, 0.01), 0);
    assert_int_equal(loop_run(test.loop), 0);
    assert_int_equal(test.signal, SIGTERM);
    assert_int_equal(write(pipes[3], "e", 1), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    loop_free(test.loop);
    for (int i = 0; i < 4; i++)
        close(pipes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_repeats_until_the_loop_is_stopped),
        cmocka_unit_test(a_removed_descriptor_is_not_called_again),
        cmocka_unit_test(signals_arrive_as_events),
        cmocka_unit_test(a_thread_that_unblocks_a_signal_does_not_keep_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
