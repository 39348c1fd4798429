#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t fill(int fd, char *ret, size_t size)
{
    size_t used = 0;
    while (used < size) {
        ssize_t got = read(fd, ret + used, size - used);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == 0)
            break;
        if (got > 0)
            used += (size_t)got;
    }
    return (ssize_t)used;
}

ssize_t file_read(const char *path, char *ret, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t length = fill(fd, ret, size - 1);
    close(fd);
    if (length >= 0)
        ret[length] = '\0';
    return length;
}

bool file_is_misplaced(int error)
{
    switch (error) {
    case -ENOENT:
    case -ENOTDIR:
    case -EISDIR:
    case -EACCES:
    case -EPERM:
    case -EROFS:
    case -ENAMETOOLONG:
    case -ELOOP:
        return true;
    default:
        return false;
    }
}

void file_make_folders(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777);
        *slash = '/';
    }
}
