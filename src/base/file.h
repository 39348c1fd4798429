/* Small files, such as those of /proc and /sys. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/util.h"

/* Reads the file's first `size` − 1 bytes at most, and ends them with a NUL; the file may hold
 * others. Returns how many were read, or −errno. */
MUST_CHECK ssize_t file_read(const char *path, char *ret, size_t size);

/* Makes the folders above the file that are missing; where that fails, opening the file does too
 * and tells why. */
void file_make_folders(const char *path);
