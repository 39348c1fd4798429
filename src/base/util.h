/* Small helpers that every folder uses. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#define ARRAY_SIZE(a)     (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(f, v) __attribute__((format(printf, f, v)))
#define MUST_CHECK        __attribute__((warn_unused_result))

/* Frees the variable's memory where its scope ends. */
#define CLEANUP_FREE __attribute__((cleanup(util_free_pointer)))

static inline void util_free_pointer(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}

static inline size_t util_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t util_max(size_t a, size_t b)
{
    return a > b ? a : b;
}
