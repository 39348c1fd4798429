/* A small, strict INI: "[section]", "key = value", and lines that begin with '#' or ';'.
 *
 * Blanks around names and values are dropped; a value is the rest of its line, quotes and all.
 * Names are of letters, digits, '_', '-' and '.'. The same key twice in a section is an error, and
 * so is a key before the first section. */
#pragma once

#include <stddef.h>

#include "base/util.h"

enum { INI_LINE_SIZE = 4096, INI_NAME_SIZE = 64 };

struct ini_place {
    const char *file; /* as messages name it */
    unsigned line;    /* from 1 */
};

struct ini_error {
    unsigned line;
    char text[256]; /* "FILE:LINE: what is wrong" */
};

struct ini_handler {
    /* A section begins; may be NULL. */
    int (*section)(void *context, const struct ini_place *place, const char *section,
                   struct ini_error *error);
    int (*value)(void *context, const struct ini_place *place, const char *section, const char *key,
                 const char *value, struct ini_error *error);
    void *context;
};

/* Fills the error with "FILE:LINE: " and the message, and returns -EINVAL: for handlers. */
int ini_fail(struct ini_error *error, const struct ini_place *place, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Calls the handler for each line in turn. Returns 0; -EINVAL with `error` filled; what a handler
 * returned below 0; -ENOENT and other −errno where the file cannot be read. */
MUST_CHECK int ini_read_file(const char *path, const struct ini_handler *handler,
                             struct ini_error *error);
/* The same for text; `file` is what messages call it. */
MUST_CHECK int ini_read_text(const char *file, const char *text, size_t length,
                             const struct ini_handler *handler, struct ini_error *error);
