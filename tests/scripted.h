/* A live source of counters inside the test: each device answers, fails or hangs as the test says,
 * with no timing left to luck. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "counter/counter.h"

enum { SCRIPTED_DEVICES = 64, SCRIPTED_ATTEMPTS = 16 };

struct scripted_device {
    bool hang;        /* reads wait until this is false */
    int error;        /* what reads return */
    int reopen_error; /* what reopen() returns */
    unsigned waiting; /* reads that hang at the moment */
    unsigned reads;   /* reads that have ended */
    unsigned reopens; /* calls of reopen(), and when the first of them came, monotonic */
    double reopened_at[SCRIPTED_ATTEMPTS];
    bool reading;
    bool read_twice_at_once;
    bool takes_signals; /* a read came from a thread that a signal could interrupt */
};

struct scripted {
    struct counter counter; /* begins every source */
    struct device devices[SCRIPTED_DEVICES];
    struct scripted_device device[SCRIPTED_DEVICES];
    bool devices_changed;
    bool hang_changes; /* changed() waits until this is false */
    unsigned change_checks;
    bool closed;
    pthread_mutex_t lock;
    pthread_cond_t signal; /* of any of the above */
};

extern const struct counter_ops scripted_ops;

void scripted_init(struct scripted *scripted, size_t device_count);
/* Sets one of the script's fields under its lock, and wakes whoever waits for it. */
#define SCRIPTED_SET(scripted, field, value)                                                       \
    do {                                                                                           \
        pthread_mutex_lock(&(scripted)->lock);                                                     \
        (scripted)->field = (value);                                                               \
        pthread_cond_broadcast(&(scripted)->signal);                                               \
        pthread_mutex_unlock(&(scripted)->lock);                                                   \
    } while (0)
/* Waits until a condition on the script's fields holds. */
#define SCRIPTED_AWAIT(scripted, condition)                                                        \
    do {                                                                                           \
        pthread_mutex_lock(&(scripted)->lock);                                                     \
        while (!(condition))                                                                       \
            pthread_cond_wait(&(scripted)->signal, &(scripted)->lock);                             \
        pthread_mutex_unlock(&(scripted)->lock);                                                   \
    } while (0)
unsigned scripted_reads(struct scripted *scripted, size_t device);
