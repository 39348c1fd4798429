/* Linked into a test that starts no threads, in the place of pthread_create(): only the tests that
 * meson.build names as `threaded` are run under TSan. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    (void)thread, (void)attributes, (void)run, (void)argument;
    fputs("this test starts a thread: name it in `threaded` of tests/unit/meson.build\n", stderr);
    abort();
}
