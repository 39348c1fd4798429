#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/gguf.h"
#include "jobs/model.h"

/* What stands there may be anything, so that it is opened without waiting and must be a file. */
static int open_file(const char *path, size_t *ret_size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    *ret_size = (size_t)status.st_size;
    return fd;
}

/* The first `most` bytes, or fewer where the file ends. */
static ssize_t read_head(int fd, size_t most, char *ret)
{
    size_t length = 0;
    while (length < most) {
        ssize_t got = read(fd, ret + length, most - length);
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return (ssize_t)length;
}

int model_read(const char *path, struct served_model *ret, char *why, size_t why_size)
{
    size_t size = 0;
    ssize_t length = 0;
    CLEANUP_FREE char *head = NULL;
    int fd = open_file(path, &size);
    if (fd >= 0) {
        size_t most = util_min(size, (size_t)GGUF_HEAD_BYTES);
        head = malloc(most + 1);
        length = head ? read_head(fd, most, head) : -ENOMEM;
        close(fd);
    }
    int r = fd < 0 ? fd : length < 0 ? (int)length : 0;
    if (r < 0) {
        snprintf(why, why_size, "%s", strerror(-r));
        return r;
    }
    if (length >= 4 && memcmp(head, "GGUF", 4) == 0)
        return gguf_parse(head, (size_t)length, (double)size, ret, why, why_size);
    return model_parse(head, (size_t)length, ret, why, why_size);
}
