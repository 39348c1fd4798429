#pragma once

#include <pthread.h>
#include <stddef.h>

#include "base/util.h"

/* Starts a thread that no signal reaches: they are for the program's own threads, which may wait
 * for them. `stack_bytes` is 0 for the usual size. Returns 0 or −errno. */
MUST_CHECK int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *argument),
                            void *argument);
