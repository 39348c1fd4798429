#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

int terminal_start(struct terminal *ret, int width, int height, char *const *argv)
{
    struct winsize size = {.ws_row = (unsigned short)height, .ws_col = (unsigned short)width};
    int fd;
    pid_t child = forkpty(&fd, NULL, NULL, &size);
    if (child < 0)
        return -errno;
    if (child == 0) {
        setenv("TERM", "xterm-256color", 1);
        execv(argv[0], argv);
        _exit(127);
    }
    *ret = (struct terminal){.fd = fd, .child = child};
    return 0;
}

void terminal_resize(const struct terminal *terminal, int width, int height)
{
    struct winsize size = {.ws_row = (unsigned short)height, .ws_col = (unsigned short)width};
    ioctl(terminal->fd, TIOCSWINSZ, &size);
}

void terminal_type(const struct terminal *terminal, const char *keys, size_t length)
{
    while (length > 0) {
        ssize_t written = write(terminal->fd, keys, length);
        if (written <= 0)
            return;
        keys += written;
        length -= (size_t)written;
    }
}

ssize_t terminal_read(struct terminal *terminal, double timeout, char *ret, size_t size)
{
    struct pollfd out = {.fd = terminal->fd, .events = POLLIN};
    if (poll(&out, 1, (int)(timeout * 1000)) <= 0)
        return 0;
    ssize_t length = read(terminal->fd, ret, size - 1);
    if (length <= 0)
        return -1;
    ret[length] = '\0';
    terminal->bytes += (unsigned long)length;
    return length;
}

/* What the program still writes is read: it could wait for that before it ends. */
int terminal_end(struct terminal *terminal, double timeout)
{
    double until = clock_monotonic() + timeout;
    char ignored[4096];
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 && clock_monotonic() < until) {
        if (terminal_read(terminal, 0.05, ignored, sizeof(ignored)) < 0)
            usleep(1000);
        ended = waitpid(terminal->child, &status, WNOHANG);
    }
    if (ended == 0) {
        kill(terminal->child, SIGKILL);
        waitpid(terminal->child, &status, 0);
    }
    close(terminal->fd);
    if (ended <= 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
