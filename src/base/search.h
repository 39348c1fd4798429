/* Where a vendor's library may lie that is not always on the loader's path. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct library_places {
    const char *const *names;    /* for the loader's own search, NULL-terminated */
    const char *const *patterns; /* of absolute paths, for glob() with braces, NULL-terminated */
    const char *environment;     /* a pattern below the folder of a Python environment, "/lib…" */
};

/* Calls back for each candidate, newest of each place first, until `visit` returns false. As root
 * only files come whose whole path belongs to root and cannot be written by others, and none from a
 * person's Python environment. */
void library_search(const struct library_places *places,
                    bool (*visit)(void *context, const char *path), void *context);

/* Root owns the file and every folder above it, and nobody else can write to them. `ret_real` is
 * what the path leads to, and what is to be opened: a link on the way there may be another's. */
bool library_is_roots_alone(const char *path, char ret_real[PATH_MAX]);
