#include "record/mark_socket.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/runtime.h"
#include "base/utf8.h"

static const char greeting[] = "rooftop mark 1";
static const char answer[] = "taken";
static const double PATIENCE = 1;
enum { MESSAGE_BYTES = 512 };

struct mark_inbox {
    int fd;
    struct sockaddr_un address;
};

/* The user's own, and closed to all others. */
static bool is_trusted(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 077) == 0;
}

static int bind_in(struct mark_inbox *inbox, const char *folder)
{
    inbox->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(inbox->address.sun_path, sizeof(inbox->address.sun_path), "%s/%d-%llx",
                          folder, (int)getpid(), (unsigned long long)(clock_monotonic() * 1e9));
    if (length < 0 || (size_t)length >= sizeof(inbox->address.sun_path))
        return -ENAMETOOLONG;
    return bind(inbox->fd, (struct sockaddr *)&inbox->address, sizeof(inbox->address)) < 0 ? -errno
                                                                                           : 0;
}

int mark_inbox_open(struct mark_inbox **ret)
{
    struct mark_inbox *inbox = calloc(1, sizeof(*inbox));
    if (!inbox)
        return -ENOMEM;
    inbox->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int r = inbox->fd < 0 ? -errno : -EACCES;
    char folder[sizeof(inbox->address.sun_path)];
    for (unsigned i = 0; i < RUNTIME_FOLDERS && r < 0 && inbox->fd >= 0; i++) {
        if (!runtime_folder(i, folder, sizeof(folder)))
            continue;
        mkdir(folder, 0700);
        if (is_trusted(folder))
            r = bind_in(inbox, folder);
    }
    if (r < 0) {
        if (inbox->fd >= 0)
            close(inbox->fd);
        free(inbox);
        return r;
    }
    *ret = inbox;
    return 0;
}

void mark_inbox_close(struct mark_inbox *inbox)
{
    if (!inbox)
        return;
    unlink(inbox->address.sun_path);
    close(inbox->fd);
    free(inbox);
}

int mark_inbox_fd(const struct mark_inbox *inbox)
{
    return inbox->fd;
}

static bool parse_message(const char *message, struct mark *ret)
{
    size_t length = sizeof(greeting) - 1;
    if (strncmp(message, greeting, length) != 0 || message[length] != ' ')
        return false;
    char *end;
    ret->time = strtod(message + length, &end);
    ret->end = strtod(end, &end);
    if (*end != ' ' || !isfinite(ret->time) || !isfinite(ret->end) || ret->time <= 0)
        return false;
    utf8_clean(ret->name, sizeof(ret->name), end + 1);
    return ret->name[0] != '\0';
}

int mark_inbox_take(struct mark_inbox *inbox, struct mark *ret)
{
    for (;;) {
        char message[MESSAGE_BYTES];
        struct sockaddr_un sender;
        socklen_t sender_size = sizeof(sender);
        ssize_t length = recvfrom(inbox->fd, message, sizeof(message) - 1, MSG_DONTWAIT,
                                  (struct sockaddr *)&sender, &sender_size);
        if (length < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        message[length] = '\0';
        if (!parse_message(message, ret))
            continue;
        /* A sender that does not wait for the answer is none of ours to worry about. */
        sendto(inbox->fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL,
               (struct sockaddr *)&sender, sender_size);
        return 1;
    }
}

/* Returns 1 where a recorder is there, 0 where it has ended. */
static int send_to(int fd, const char *path, const char *message)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return 0;
    strcpy(address.sun_path, path);
    if (sendto(fd, message, strlen(message), MSG_DONTWAIT | MSG_NOSIGNAL,
               (struct sockaddr *)&address, sizeof(address)) >= 0)
        return 1;
    if (errno == ECONNREFUSED)
        unlink(path);
    /* One that is stopped lets its queue fill up. */
    return errno == EAGAIN;
}

static unsigned send_to_folder(int fd, const char *folder, const char *message)
{
    DIR *entries = opendir(folder);
    if (!entries)
        return 0;
    unsigned count = 0;
    struct dirent *entry;
    while ((entry = readdir(entries))) {
        char path[512];
        if (entry->d_type != DT_SOCK && entry->d_type != DT_UNKNOWN)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        count += (unsigned)send_to(fd, path, message);
    }
    closedir(entries);
    return count;
}

/* Two of the places can be one folder. */
static bool is_new_folder(const char *folder, unsigned which)
{
    struct stat status, earlier;
    if (!is_trusted(folder) || stat(folder, &status) < 0)
        return false;
    for (unsigned i = 0; i < which; i++) {
        char path[256];
        if (runtime_folder(i, path, sizeof(path)) && stat(path, &earlier) == 0 &&
            earlier.st_dev == status.st_dev && earlier.st_ino == status.st_ino)
            return false;
    }
    return true;
}

static unsigned count_answers(int fd, unsigned expected)
{
    unsigned count = 0;
    double until = clock_monotonic() + PATIENCE;
    while (count < expected) {
        double left = until - clock_monotonic();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (left <= 0 || poll(&ready, 1, (int)(left * 1000) + 1) <= 0)
            break;
        char text[sizeof(answer)];
        ssize_t length = recv(fd, text, sizeof(text), MSG_DONTWAIT);
        count += length == sizeof(answer) - 1 && memcmp(text, answer, sizeof(answer) - 1) == 0;
    }
    return count;
}

int mark_send(const struct mark *mark, unsigned *ret_taken, unsigned *ret_silent)
{
    if (!mark->name[0])
        return -EINVAL;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    /* An address of this size lets the kernel choose a free one, for the answers. */
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    if (bind(fd, (struct sockaddr *)&own, sizeof(sa_family_t)) < 0) {
        int r = -errno;
        close(fd);
        return r;
    }
    char message[MESSAGE_BYTES];
    snprintf(message, sizeof(message), "%s %.6f %.6f %s", greeting, mark->time, mark->end,
             mark->name);
    unsigned sent = 0;
    for (unsigned i = 0; i < RUNTIME_FOLDERS; i++) {
        char folder[256];
        if (runtime_folder(i, folder, sizeof(folder)) && is_new_folder(folder, i))
            sent += send_to_folder(fd, folder, message);
    }
    *ret_taken = count_answers(fd, sent);
    *ret_silent = sent - *ret_taken;
    close(fd);
    return 0;
}
