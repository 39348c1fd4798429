#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { OUTPUT_LIMIT = 64 * 1024 };

struct running {
    pid_t pid;
    int pid_fd;
    int to;   /* its standard input, or -1 */
    int from; /* its outputs */
};

static int check_file(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return errno == EACCES ? -EACCES : -ENOENT;
    return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

int spawn_find(const char *program, char *ret, size_t size)
{
    if (strchr(program, '/')) {
        snprintf(ret, size, "%s", program);
        return check_file(ret);
    }
    const char *path = secure_getenv("PATH");
    int result = -ENOENT;
    for (const char *at = path ? path : "/bin:/usr/bin"; at && *program;) {
        const char *end = strchrnul(at, ':');
        int length = (int)(end - at);
        int written = snprintf(ret, size, "%.*s%s%s", length, at, length ? "/" : "", program);
        int r = written > 0 && (size_t)written < size ? check_file(ret) : -ENOENT;
        if (r == 0)
            return 0;
        result = r == -EACCES ? r : result;
        at = *end ? end + 1 : NULL;
    }
    return result;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int start(const struct spawn *spawn, struct running *ret)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
        int r = -errno;
        close_one(&in[0]);
        close_one(&in[1]);
        return r;
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, out[1], STDERR_FILENO);
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(&ret->pid, spawn->argv[0], &files, &attributes,
                             (char *const *)spawn->argv, spawn->envp);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close_one(&in[0]);
    close_one(&out[1]);
    if (error) {
        close_one(&in[1]);
        close_one(&out[0]);
        return -error;
    }
    ret->pid_fd = pidfd_open(ret->pid, 0);
    ret->to = in[1];
    ret->from = out[0];
    fcntl(ret->to, F_SETFL, O_NONBLOCK);
    fcntl(ret->from, F_SETFL, O_NONBLOCK);
    return 0;
}

/* A program that does not read its input must not end this one. */
static ssize_t write_quietly(int fd, const char *text, size_t length)
{
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ssize_t written = write(fd, text, length);
    int error = errno;
    if (written < 0 && error == EPIPE)
        sigtimedwait(&pipe, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

static void feed(struct running *running, const char **input)
{
    size_t left = *input ? strlen(*input) : 0;
    ssize_t written = left > 0 ? write_quietly(running->to, *input, left) : 0;
    if (written > 0)
        *input += written;
    if ((size_t)(written < 0 ? 0 : written) == left || (written < 0 && errno != EAGAIN))
        close_one(&running->to);
}

/* Takes what is there. */
static void drain(struct running *running, struct strbuf *out, size_t start_length)
{
    char block[4096];
    while (running->from >= 0) {
        ssize_t got = read(running->from, block, sizeof(block));
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0)
            close_one(&running->from);
        else if (out->length - start_length < OUTPUT_LIMIT)
            strbuf_add(out, block, (size_t)got);
    }
}

int spawn_run(const struct spawn *spawn, struct strbuf *out, int *ret_status)
{
    struct running running = {.pid_fd = -1, .to = -1, .from = -1};
    int r = start(spawn, &running);
    if (r < 0)
        return r;
    size_t start_length = out->length;
    const char *input = spawn->input;
    double until = clock_monotonic() + spawn->patience;
    bool ended = false;
    while (!ended) {
        double left = until - clock_monotonic();
        struct pollfd fds[] = {
            {.fd = running.pid_fd, .events = POLLIN},
            {.fd = running.from, .events = POLLIN},
            {.fd = running.to, .events = POLLOUT},
        };
        int ready = left > 0 ? poll(fds, ARRAY_SIZE(fds), (int)(left * 1000) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            break;
        if (fds[2].revents)
            feed(&running, &input);
        drain(&running, out, start_length);
        ended = fds[0].revents != 0;
    }
    if (!ended)
        kill(running.pid, SIGKILL);
    while (waitpid(running.pid, ret_status, 0) < 0 && errno == EINTR)
        ;
    drain(&running, out, start_length);
    close_one(&running.pid_fd);
    close_one(&running.to);
    close_one(&running.from);
    return ended ? 0 : -ETIMEDOUT;
}

static size_t name_length(const char *variable)
{
    return strcspn(variable, "=");
}

static const char *find_change(const char *const *changes, const char *variable)
{
    size_t length = name_length(variable);
    for (const char *const *change = changes; *change; change++)
        if (name_length(*change) == length && strncmp(*change, variable, length) == 0)
            return *change;
    return NULL;
}

char **spawn_environment(const char *const *changes)
{
    size_t count = 1;
    for (char **variable = environ; variable && *variable; variable++)
        count++;
    for (const char *const *change = changes; *change; change++)
        count++;
    char **result = calloc(count, sizeof(*result));
    if (!result)
        return NULL;
    size_t used = 0;
    for (char **variable = environ; variable && *variable; variable++)
        if (!find_change(changes, *variable))
            result[used++] = *variable;
    for (const char *const *change = changes; *change; change++)
        if ((*change)[name_length(*change)] == '=')
            result[used++] = (char *)*change;
    return result;
}
