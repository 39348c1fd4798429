/* A shared library that may be absent, loaded at run time through a table of its functions.
 * A missing optional function leaves its pointer NULL: the caller then lacks one metric, not the
 * whole library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"

struct dso_symbol {
    const char *name;
    size_t offset; /* of the function pointer inside the caller's struct of functions */
    bool required;
};

#define DSO_REQUIRED(type, member, symbol) {symbol, offsetof(type, member), true}
#define DSO_OPTIONAL(type, member, symbol) {symbol, offsetof(type, member), false}

struct dso {
    void *handle;
    char path[256]; /* what was loaded */
};

/* Opens the first of `candidates` (NULL-terminated) that loads and holds every required symbol,
 * and fills the pointers in `functions`. Where the environment variable `variable` is set, that is
 * the only candidate; it is ignored in a program with raised privileges (AT_SECURE).
 * Returns 0; -ENOENT: no candidate loads; -ENOSYS: one loads but lacks a required function.
 * `why` then says what the loader said. */
MUST_CHECK int dso_open(struct dso *ret_dso, const char *variable, const char *const *candidates,
                        const struct dso_symbol *symbols, size_t symbol_count, void *functions,
                        char *why, size_t why_size);
void dso_close(struct dso *dso);
