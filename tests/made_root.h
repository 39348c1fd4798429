/* A made-up root of a file system, in a folder of its own. */
#pragma once

#include <stddef.h>

extern char root[64];

/* For cmocka: before and after a group of tests. */
int make_root(void **state);
int remove_root(void **state);

/* Each makes the folders that it needs below the root. */
void put_bytes(const char *name, const char *bytes, size_t length);
void put_text(const char *name, const char *text);
void put_link(const char *name, const char *target);
