/* A thread that calls a function once a period: for calls that may be slow or hang. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/util.h"

struct ticker {
    void (*tick)(void *context);
    void *context;
    double period;
    bool running;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t signal; /* of both below */
    bool stopping;
    bool ended;
};

/* Calls `tick` at once and then each `period` seconds. The ticker must stay where it is while it
 * runs. Returns 0 or −errno. */
MUST_CHECK int ticker_start(struct ticker *ticker, double period, void (*tick)(void *context),
                            void *context);

/* Waits a second at most for the present call to end. True where the thread has ended (or never
 * ran); false: it hangs, and what it uses must be left to it. */
bool ticker_stop(struct ticker *ticker);
