/* What a whole program costs.
 *
 * usage: bench_run NAME COMMAND [ARGUMENT…]
 *
 * Runs the command with its output thrown away, and prints lines of name, value and unit. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"

extern char **environ;

static int start(pid_t *ret, char **argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    int r = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: bench_run NAME COMMAND [ARGUMENT…]\n", stderr);
        return 2;
    }
    double began = clock_monotonic();
    pid_t pid;
    int r = start(&pid, argv + 2);
    if (r != 0) {
        fprintf(stderr, "%s: %s\n", argv[2], strerror(r));
        return 1;
    }
    int status;
    struct rusage use;
    if (wait4(pid, &status, 0, &use) != pid || status != 0) {
        fprintf(stderr, "%s failed\n", argv[2]);
        return 1;
    }
    double wall = clock_monotonic() - began;
    double cpu = seconds(&use.ru_utime) + seconds(&use.ru_stime);
    printf("%s: time\t%.0f\tms\n", argv[1], 1e3 * wall);
    printf("%s: CPU\t%.2f\t%% of a core\n", argv[1], 100 * cpu / wall);
    printf("%s: resident memory at most\t%.1f\tMB\n", argv[1], (double)use.ru_maxrss * 1024 / 1e6);
    return 0;
}
