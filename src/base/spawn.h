/* Small programs run to their end, with their output taken and a limit to the time they may use. */
#pragma once

#include "base/strbuf.h"
#include "base/util.h"

struct spawn {
    const char *const *argv; /* NULL-terminated; the program is found through PATH */
    char *const *envp;
    const char *input; /* what it reads on its standard input, or NULL */
    double patience;   /* seconds; then it is killed */
};

/* Adds what the program writes to both its outputs, 64 KiB at most, to `out`. A child of it that
 * lives on and holds them is not waited for.
 * Returns 0 with the status of waitpid() in `ret_status`; -ETIMEDOUT: it was killed; -ENOENT and
 * other −errno: it did not start. */
MUST_CHECK int spawn_run(const struct spawn *spawn, struct strbuf *out, int *ret_status);

/* The file that a program's name stands for, found as the kernel and shells do: by PATH where it
 * has no slash. Returns 0 with it in `ret`; -ENOENT; -EACCES: it is there and cannot be run. */
MUST_CHECK int spawn_find(const char *program, char *ret, size_t size);

/* This program's environment with changes, "NAME=VALUE" or "NAME" to remove it (NULL-terminated):
 * the array is the caller's to free(), the strings are not. NULL where there is no memory. */
char **spawn_environment(const char *const *changes);
