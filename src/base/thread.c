#include "base/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *argument), void *argument)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(ret, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);

    pthread_attr_destroy(&attributes);
    return -r;
}
