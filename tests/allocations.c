#include "allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || !defined(__GLIBC__)
#define COUNTED 0
#else
#define COUNTED 1
#endif

static atomic_ulong allocations;

bool allocations_are_counted(void)
{
    return COUNTED;
}

unsigned long allocations_so_far(void)
{
    return allocations;
}

#if COUNTED

/* The C library's own, which it exports beside the names that a program may replace. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

#define REPLACES __attribute__((visibility("default")))

REPLACES void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

REPLACES void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

REPLACES void *realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}

REPLACES void *aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __libc_memalign(alignment, size);
}

REPLACES int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *memory = aligned_alloc(alignment, size);
    if (!memory)
        return ENOMEM;
    *ret = memory;
    return 0;
}

#endif
