#include "bench/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { ENVIRONMENT_BYTES = 1 << 20 };
/* Processes may be starting others meanwhile. */
enum { ROUNDS = 100 };
static const double ROUND_PERIOD = 0.02;

static bool bears(const char *pid, const char *mark)
{
    static char environment[ENVIRONMENT_BYTES];
    char path[64];
    snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
    ssize_t length = file_read(path, environment, sizeof(environment));
    return length > 0 && memmem(environment, (size_t)length, mark, strlen(mark));
}

static size_t kill_marked(const char *mark)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    size_t count = 0;
    while (proc && (entry = readdir(proc))) {
        int pid = atoi(entry->d_name);
        if (pid > 1 && bears(entry->d_name, mark) && kill(pid, SIGKILL) == 0)
            count++;
    }
    if (proc)
        closedir(proc);
    return count;
}

static _Noreturn void guard(int alive, const char *folder)
{
    char byte, mark[PATH_MAX + 16];
    /* Every job has it, and nobody else. */
    snprintf(mark, sizeof(mark), "ROOFTOP_GO=%s/", folder);
    /* Whoever kills the whole group of the bench does not mean its guard. */
    setsid();
    if (dup2(alive, STDIN_FILENO) < 0)
        _exit(1);
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
        ;
    for (int round = 0; round < ROUNDS && kill_marked(mark) > 0; round++) {
        struct timespec pause = clock_timespec(ROUND_PERIOD);
        nanosleep(&pause, NULL);
    }
    file_empty_folder(folder);
    rmdir(folder);
    _exit(0);
}

int guard_start(struct guard *ret, const char *folder)
{
    int alive[2];
    if (pipe2(alive, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        close(alive[1]);
        guard(alive[0], folder);
    }
    int r = pid < 0 ? -errno : 0;
    close(alive[0]);
    if (r < 0)
        close(alive[1]);
    else
        *ret = (struct guard){pid, alive[1]};
    return r;
}

void guard_end(struct guard *guard)
{
    if (guard->pid <= 0)
        return;
    kill(guard->pid, SIGKILL);
    close(guard->alive);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *guard = (struct guard){0};
}
