#include "base/ticker.h"

#include <errno.h>

#include "base/clock.h"
#include "base/thread.h"

static const double STOP_PATIENCE = 1;

static void *run(void *argument)
{
    struct ticker *ticker = argument;
    pthread_mutex_lock(&ticker->lock);
    while (!ticker->stopping) {
        pthread_mutex_unlock(&ticker->lock);
        ticker->tick(ticker->context);
        struct timespec until = clock_timespec(clock_monotonic() + ticker->period);
        pthread_mutex_lock(&ticker->lock);
        int r = 0;
        while (!ticker->stopping && r != ETIMEDOUT)
            r = pthread_cond_timedwait(&ticker->stop_signal, &ticker->lock, &until);
    }
    pthread_mutex_unlock(&ticker->lock);
    return NULL;
}

int ticker_start(struct ticker *ticker, double period, void (*tick)(void *context), void *context)
{
    *ticker = (struct ticker){.tick = tick, .context = context, .period = period};
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ticker->stop_signal, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&ticker->lock, NULL);
    int r = thread_start(&ticker->thread, 0, run, ticker);
    ticker->running = r == 0;
    return r;
}

bool ticker_stop(struct ticker *ticker)
{
    if (!ticker->running)
        return true;
    pthread_mutex_lock(&ticker->lock);
    ticker->stopping = true;
    pthread_cond_signal(&ticker->stop_signal);
    pthread_mutex_unlock(&ticker->lock);

    /* pthread_timedjoin_np() counts on the realtime clock. */
    struct timespec until = clock_timespec(clock_realtime() + STOP_PATIENCE);
    if (pthread_timedjoin_np(ticker->thread, NULL, &until) != 0) {
        pthread_detach(ticker->thread);
        return false;
    }
    ticker->running = false;
    pthread_cond_destroy(&ticker->stop_signal);
    pthread_mutex_destroy(&ticker->lock);
    return true;
}
