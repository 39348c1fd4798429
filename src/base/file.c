#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

bool file_is_same(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
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

static int write_all(int fd, const struct strbuf *text)
{
    if (strbuf_failed(text))
        return -ENOMEM;
    ssize_t written = write(fd, strbuf_text(text), text->length);
    return written < 0 ? -errno : (size_t)written < text->length ? -ENOSPC : 0;
}

int file_replace(const char *path, const struct strbuf *text)
{
    char made[PATH_MAX];
    int length = snprintf(made, sizeof(made), "%s.XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof(made))
        return -ENAMETOOLONG;
    int fd = mkostemp(made, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write_all(fd, text);
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(made, path) < 0)
        r = -errno;
    if (r < 0)
        unlink(made);
    return r;
}

void file_make_folders(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0755);
        *slash = '/';
    }
}

void file_empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}
