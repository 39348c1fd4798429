/* Small files, such as those of /proc and /sys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "base/util.h"

/* Reads the file's first `size` − 1 bytes at most, and ends them with a NUL; the file may hold
 * others. Returns how many were read, or −errno. */
MUST_CHECK ssize_t file_read(const char *path, char *ret, size_t size);

/* Whether a file that did not open for writing was given a wrong name, such as one in a folder that
 * is missing: a mistake of who named it, unlike a disk that is full. */
bool file_is_misplaced(int error);

/* Whether both are there and are one file. */
bool file_is_same(const char *a, const char *b);

/* Puts a file with this text, readable by its owner alone, in the place of the one that is there:
 * nobody sees half of it, and nothing that lies beside it is followed. Returns 0 or −errno; the
 * file of before is there then. */
MUST_CHECK int file_replace(const char *path, const struct strbuf *text);

/* Makes the folders above the file that are missing; where that fails, opening the file does too
 * and tells why. */
void file_make_folders(const char *path);

/* Removes the files of the folder but those whose name begins with a dot. */
void file_empty_folder(const char *path);
