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
            r = pthread_cond_timedwait(&ticker->signal, &ticker->lock, &until);
    }
    ticker->ended = true;
    pthread_cond_signal(&ticker->signal);
    pthread_mutex_unlock(&ticker->lock);
    return NULL;
}

int ticker_start(struct ticker *ticker, double period, void (*tick)(void *context), void *context)
{
    *ticker = (struct ticker){.tick = tick, .context = context, .period = period};
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ticker->signal, &attributes);
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
    pthread_cond_signal(&ticker->signal);
    struct timespec until = clock_timespec(clock_monotonic() + STOP_PATIENCE);
    int r = 0;
    while (!ticker->ended && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&ticker->signal, &ticker->lock, &until);
    bool ended = ticker->ended;
    pthread_mutex_unlock(&ticker->lock);
    if (!ended) {
        pthread_detach(ticker->thread);
        return false;
    }
    pthread_join(ticker->thread, NULL);
    ticker->running = false;
    pthread_cond_destroy(&ticker->signal);
    pthread_mutex_destroy(&ticker->lock);
    return true;
}
