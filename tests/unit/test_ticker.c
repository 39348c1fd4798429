#include "base/ticker.h"

#include <semaphore.h>
#include <time.h>

#include "cmocka_test.h"

/* The wall clock of this program, which somebody has just set back by hours. */
double __wrap_clock_realtime(void);

double __wrap_clock_realtime(void)
{
    return 1e6;
}

struct clockwork {
    sem_t ticks;
    sem_t release;
    bool hang;
};

static void tick(void *context)
{
    struct clockwork *clockwork = context;
    sem_post(&clockwork->ticks);
    if (clockwork->hang)
        sem_wait(&clockwork->release);
}

static void calls_at_once_and_again(void **state)
{
    (void)state;
    struct clockwork clockwork = {0};
    struct ticker ticker;
    sem_init(&clockwork.ticks, 0, 0);
    assert_int_equal(ticker_start(&ticker, 0.001, tick, &clockwork), 0);
    for (int i = 0; i < 3; i++)
        sem_wait(&clockwork.ticks);
    assert_true(ticker_stop(&ticker));
    assert_true(ticker_stop(&ticker)); /* it does not run any more */
    sem_destroy(&clockwork.ticks);
}

static void stops_in_the_middle_of_a_long_period(void **state)
{
    (void)state;
    struct clockwork clockwork = {0};
    struct ticker ticker;
    sem_init(&clockwork.ticks, 0, 0);
    assert_int_equal(ticker_start(&ticker, 1e6, tick, &clockwork), 0);
    sem_wait(&clockwork.ticks);
    assert_true(ticker_stop(&ticker));
    sem_destroy(&clockwork.ticks);
}

static void pause_a_little(void *context)
{
    struct clockwork *clockwork = context;
    sem_post(&clockwork->ticks);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static void waits_for_a_call_whatever_the_wall_clock_says(void **state)
{
    (void)state;
    struct clockwork clockwork = {0};
    struct ticker ticker;
    sem_init(&clockwork.ticks, 0, 0);
    assert_int_equal(ticker_start(&ticker, 1e6, pause_a_little, &clockwork), 0);
    sem_wait(&clockwork.ticks);
    assert_true(ticker_stop(&ticker));
    sem_destroy(&clockwork.ticks);
}

static void leaves_a_call_that_hangs(void **state)
{
    (void)state;
    /* What a thread that hangs uses must stay. */
    static struct clockwork clockwork = {.hang = true};
    static struct ticker ticker;
    sem_init(&clockwork.ticks, 0, 0);
    sem_init(&clockwork.release, 0, 0);
    assert_int_equal(ticker_start(&ticker, 0.001, tick, &clockwork), 0);
    sem_wait(&clockwork.ticks);
    assert_false(ticker_stop(&ticker));
    sem_post(&clockwork.release);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_at_once_and_again),
        cmocka_unit_test(stops_in_the_middle_of_a_long_period),
        cmocka_unit_test(waits_for_a_call_whatever_the_wall_clock_says),
        cmocka_unit_test(leaves_a_call_that_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
