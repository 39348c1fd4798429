/* An event loop over epoll: descriptors, timers and signals, each with a handler.
 * A handler may add and remove any of them, itself included. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/util.h"

struct loop;
struct loop_timer;

/* `events` are epoll's: EPOLLIN, EPOLLHUP and so on. */
typedef void (*loop_handler)(void *context, uint32_t events);
typedef void (*loop_signal_handler)(void *context, int signal);

MUST_CHECK int loop_new(struct loop **ret);
void loop_free(struct loop *loop); /* timers too; descriptors stay the caller's */

/* Calls the handler while the descriptor has any of `events`. Returns 0 or −errno. */
MUST_CHECK int loop_add(struct loop *loop, int fd, uint32_t events, loop_handler handler,
                        void *context);
void loop_remove(struct loop *loop, int fd);

/* A timer at rest. The handler's `events` tell how often it ran out since the last call. */
MUST_CHECK int loop_add_timer(struct loop *loop, struct loop_timer **ret, loop_handler handler,
                              void *context);
/* First after `delay` seconds, then each `interval` seconds (0: once). A delay of 0 disarms it. */
int loop_timer_set(struct loop_timer *timer, double delay, double interval);

/* Started by nohup, or the like. */
bool loop_ignores_hangup(void);

/* Blocks the signal for this thread, and so for those that it starts later. Where another thread
 * does not block it, it is passed on to this one. A SIGHUP that is ignored stays ignored, also by
 * programs that are started. */
MUST_CHECK int loop_add_signal(struct loop *loop, int signal, loop_signal_handler handler,
                               void *context);

/* Runs until loop_stop(), and returns its result; −errno where waiting fails. */
MUST_CHECK int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int result);
