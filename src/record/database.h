/* SQLite with the care that files from strangers want. Part of the recordings. */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

#include "base/util.h"

/* −errno for an SQLite result code, 0 for SQLITE_OK. */
int database_error(int code);

/* Opens a recording to read it: nothing is written, no SQL of the file's own is run, and every
 * query is bounded. Works in a folder and on a file that cannot be written.
 * Returns 0 or −errno, with `why` filled. */
MUST_CHECK int database_open_to_read(sqlite3 **ret, const char *path, char *why, size_t why_size);

/* What a file that is added to over time holds. */
struct database_kind {
    const char *name; /* "store of ceilings" */
    int application_id;
    const char *schema; /* can be run again */
    const char
        *old_table; /* NULL, or one that marks a file from before it had the application_id */
};

/* Returns 0 where the file is of that kind and no newer than this program, 1 where it does not say,
 * or −errno with `why` filled. */
MUST_CHECK int database_check(sqlite3 *database, const struct database_kind *kind, const char *path,
                              char *why, size_t why_size);

/* Opens a file of that kind to add to it, and makes it where there is none or an empty one; another
 * program's stays as it is. Returns 0 or −errno, with `why` filled. */
MUST_CHECK int database_open_to_add(sqlite3 **ret, const char *path,
                                    const struct database_kind *kind, char *why, size_t why_size);

/* Makes a new, empty database file. Returns 0 or −errno, with `why` filled. */
MUST_CHECK int database_create(sqlite3 **ret, const char *path, char *why, size_t why_size);

/* Waits until the closed file is on the disk. */
int database_flush(const char *path);

void database_close(sqlite3 *database);
