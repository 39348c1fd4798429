#include "base/thread.h"

#include <signal.h>

#include "cmocka_test.h"

static void *report_mask(void *argument)
{
    pthread_sigmask(SIG_SETMASK, NULL, argument);
    return argument;
}

static void signals_do_not_reach_it(void **state)
{
    (void)state;
    sigset_t before, inside, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    pthread_t thread;
    void *result;
    assert_int_equal(thread_start(&thread, 0, report_mask, &inside), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &inside);
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCHLD, SIGUSR1, SIGALRM};
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        assert_true(sigismember(&inside, signals[i]));

    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        assert_int_equal(sigismember(&after, signals[i]), sigismember(&before, signals[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_do_not_reach_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
