#include "bench/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"

enum { EXIT_CANNOT_RUN = 126, EXIT_SIGNAL = 128 };

static _Noreturn void become(const struct bench_job *job, char *const *environment, int gate,
                             int output, pid_t parent)
{
    char byte;
    sigset_t none;
    setpgid(0, 0);
    /* A bench that is killed leaves no job behind. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_CANNOT_RUN);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    ssize_t got;
    while ((got = read(gate, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (got != 1)
        _exit(EXIT_CANNOT_RUN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    if (job->folder && chdir(job->folder) < 0) {
        dprintf(STDERR_FILENO, "rooftop bench: %s: %s\n", job->folder, strerror(errno));
        _exit(EXIT_CANNOT_RUN);
    }
    execle("/bin/sh", "sh", "-c", job->command, NULL, environment);
    _exit(EXIT_CANNOT_RUN);
}

static int fork_child(struct child *child, const struct bench_job *job, char *const *environment)
{
    int gate[2], output[2];
    if (pipe2(gate, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(output, O_CLOEXEC) < 0) {
        int r = -errno;
        close(gate[0]);
        close(gate[1]);
        return r;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        become(job, environment, gate[0], output[1], parent);
    }
    int r = pid < 0 ? -errno : 0;
    close(gate[0]);
    close(output[1]);
    *child = (struct child){.pid_fd = -1, .output = output[0], .gate = gate[1]};
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    if (r < 0) {
        close(output[0]);
        close(gate[1]);
        return r;
    }
    child->pid = pid;
    setpgid(pid, pid);
    child->pid_fd = pidfd_open(pid, 0);
    return child->pid_fd < 0 ? -errno : 0;
}

int child_start(struct child *child, const struct bench_job *job, const char *name,
                const struct child_paths *paths, const char *const *changes)
{
    char own[3][4096];
    snprintf(own[0], sizeof(own[0]), "ROOFTOP_JOB=%s", name);
    snprintf(own[1], sizeof(own[1]), "ROOFTOP_READY=%s", paths->ready);
    snprintf(own[2], sizeof(own[2]), "ROOFTOP_GO=%s", paths->go);
    size_t count = 0, change_count = 0;
    while (changes[change_count])
        change_count++;
    CLEANUP_FREE const char **all =
        calloc(change_count + ARRAY_SIZE(own) + job->environment_count + 1, sizeof(*all));
    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < change_count; i++)
        all[count++] = changes[i];
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        all[count++] = own[i];
    for (size_t i = 0; i < job->environment_count; i++)
        all[count++] = job->environment[i];
    CLEANUP_FREE char **environment = spawn_environment(all);
    return environment ? fork_child(child, job, environment) : -ENOMEM;
}

static void close_gate(struct child *child)
{
    if (child->gate >= 0)
        close(child->gate);
    child->gate = -1;
}

int child_open_gate(struct child *child)
{
    if (child->gate < 0)
        return 0;
    int r = write(child->gate, "g", 1) == 1 ? 0 : -errno;
    close_gate(child);
    return r;
}

static void take_line(struct child *child, const struct bench_job *job)
{
    child->line[child->line_length] = '\0';
    child->line_length = 0;
    if (job->ready_line && strstr(child->line, job->ready_line))
        child->said_ready = true;
    if (job->done_line && strstr(child->line, job->done_line))
        child->is_done = true;
}

static void take_byte(struct child *child, const struct bench_job *job, char c)
{
    if (child->tail_length == sizeof(child->tail) - 1) {
        size_t kept = sizeof(child->tail) / 2;
        memmove(child->tail, child->tail + child->tail_length - kept, kept);
        child->tail_length = kept;
    }
    child->tail[child->tail_length++] = c ? c : ' ';
    if (c == '\n' || c == '\r')
        take_line(child, job);
    else if (child->line_length < sizeof(child->line) - 1)
        child->line[child->line_length++] = c ? c : ' ';
}

bool child_read(struct child *child, const struct bench_job *job)
{
    char block[4096];
    ssize_t got = read(child->output, block, sizeof(block));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got <= 0) {
        take_line(child, job);
        return false;
    }
    for (ssize_t i = 0; i < got; i++)
        take_byte(child, job, block[i]);
    return true;
}

void child_signal(const struct child *child, int signal)
{
    if (child->pid > 0)
        kill(-child->pid, signal);
}

int child_reap(struct child *child)
{
    /* As long as the leader is a zombie, nobody else can have its number. */
    child_signal(child, SIGKILL);
    int status = 0;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    child->pid = 0;
    close(child->pid_fd);
    child->pid_fd = -1;
    close_gate(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL + WTERMSIG(status);
}
