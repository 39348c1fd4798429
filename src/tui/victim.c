#include "tui/victim.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "jobs/describe.h"

static const double SAME_START_SECONDS = 0.5;

/* The handle is of whoever has the number now: was that process there when it was shown? */
static int check_identity(pid_t pid, double start_time)
{
    struct process_description now;
    if (!jobs_read_process("", pid, &now))
        return -ESRCH;
    bool same = start_time == 0 || fabs(now.start_time - start_time) < SAME_START_SECONDS;
    return same ? 0 : -ESRCH;
}

int victim_open(struct victim *ret, pid_t pid, double start_time)
{
    if (pid == getpid())
        return -ECHILD;
    int fd = pidfd_open(pid, 0);
    if (fd < 0)
        return -errno;
    int r = check_identity(pid, start_time);
    if (r == 0 && pidfd_send_signal(fd, 0, NULL, 0) < 0)
        r = -errno;
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret = (struct victim){fd, pid};
    return 0;
}

void victim_close(struct victim *victim)
{
    if (victim->pidfd >= 0)
        close(victim->pidfd);
    victim->pidfd = -1;
}

int victim_signal(const struct victim *victim, int signal)
{
    return pidfd_send_signal(victim->pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}
