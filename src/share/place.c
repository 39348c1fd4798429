#include "share/place.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/runtime.h"

static const char ADVICE[] = "Set ROOFTOP_RUNTIME_DIR to a folder of your own.";

int share_fail(struct counter_failure *failure, int error, const char *advice, const char *format,
               ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->reason, sizeof(failure->reason), format, arguments);
    va_end(arguments);
    snprintf(failure->advice, sizeof(failure->advice), "%s", advice);
    return error;
}

/* Root's is one place, whatever session it is in. */
static bool choose(unsigned which, char *ret, size_t size)
{
    if (geteuid() != 0 || runtime_is_chosen())
        return runtime_folder(which, ret, size);
    return which == 0 && (size_t)snprintf(ret, size, "/run/rooftop") < size;
}

int place_make_folder(const char *path)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    struct stat status;
    if (lstat(path, &status) < 0)
        return -errno;
    if (!S_ISDIR(status.st_mode))
        return -ENOTDIR;
    return status.st_uid == geteuid() && (status.st_mode & 022) == 0 ? 0 : -EPERM;
}

int place_open(char *ret, size_t size, struct counter_failure *failure)
{
    int r = share_fail(failure, -ENOENT, ADVICE,
                       runtime_is_chosen() ? "ROOFTOP_RUNTIME_DIR is no absolute path, or too long"
                                           : "there is no folder for what programs share");
    for (unsigned i = 0; i < RUNTIME_FOLDERS && r < 0; i++) {
        char parent[256], path[264];
        if (!choose(i, parent, sizeof(parent)))
            continue;
        snprintf(path, sizeof(path), "%s/share", parent);
        r = place_make_folder(parent);
        if (r == 0)
            r = strlen(path) < size ? place_make_folder(path) : -ENAMETOOLONG;
        if (r == 0)
            memcpy(ret, path, strlen(path) + 1);
        else if (r == -EPERM)
            share_fail(failure, r, ADVICE, "%s is not this user's own, or others may write in it",
                       parent);
        else
            share_fail(failure, r, ADVICE, "%s: %s", path, strerror(-r));
    }
    return r;
}

bool place_find_closed(const char *path, bool others, char *ret, size_t size)
{
    for (size_t i = 1; path[0] == '/'; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        char part[512];
        if (i >= sizeof(part))
            return false;
        memcpy(part, path, i);
        part[i] = '\0';
        struct stat status;
        bool closed = others ? stat(part, &status) == 0 && (status.st_mode & S_IXOTH) == 0
                             : access(part, X_OK) < 0 && errno == EACCES;
        if (closed) {
            snprintf(ret, size, "%s", part);
            return true;
        }
        if (path[i] == '\0')
            return false;
    }
    return false;
}
