/* Small files, such as those of /proc and /sys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/util.h"

/* Reads the file's first `size` − 1 bytes at most, and ends them with a NUL; the file may hold
 * others. Returns how many were read, or −errno. */
MUST_CHECK ssize_t file_read(const char *path, char *ret, size_t size);

/* Whether a file that did not open for writing was given a wrong name, such as one in a folder that
 * is missing: a mistake of who named it, unlike a disk that is full. */
bool file_is_misplaced(int error);

/* Makes the folders above the file that are missing; where that fails, opening the file does too
 * and tells why. */
void file_make_folders(const char *path);
