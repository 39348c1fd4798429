#include "counter/cupti/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "version.h"

enum { WORD_SIZE = 80 };

struct arguments {
    char word[CUPTI_HELPER_NUMBERS + CUPTI_MAX_DEVICES][WORD_SIZE];
    char *argv[CUPTI_HELPER_NUMBERS + CUPTI_MAX_DEVICES + 3];
};

static void make_arguments(struct arguments *arguments, const struct cupti_helper_config *config)
{
    size_t count = 0;
    snprintf(arguments->word[count++], WORD_SIZE, "%.6f", config->interval);
    snprintf(arguments->word[count++], WORD_SIZE, "%.6f", config->burst);
    snprintf(arguments->word[count++], WORD_SIZE, "%.6f", config->burst_period);
    snprintf(arguments->word[count++], WORD_SIZE, "%.6f", config->burst_cpu);
    snprintf(arguments->word[count++], WORD_SIZE, "%.6f", config->patience);
    for (size_t i = 0; i < config->device_count; i++)
        snprintf(arguments->word[count++], WORD_SIZE, "%s=%" PRIx64 "%s", config->device[i].uuid,
                 config->device[i].wanted, config->device[i].bursts ? ",bursts" : "");
    arguments->argv[0] = (char *)"rooftop";
    arguments->argv[1] = (char *)CUPTI_HELPER_COMMAND;
    for (size_t i = 0; i < count; i++)
        arguments->argv[i + 2] = arguments->word[i];
    arguments->argv[count + 2] = NULL;
}

/* A program that uses the library is not rooftop itself. */
static const char *helper_program(void)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return ROOFTOP_PROGRAM;
    self[length] = '\0';
    const char *name = strrchr(self, '/');
    /* Where another version was installed meanwhile, this one still runs, and speaks as we do. */
    bool ours = name && (strcmp(name, "/rooftop") == 0 || strcmp(name, "/rooftop (deleted)") == 0);
    return ours ? "/proc/self/exe" : ROOFTOP_PROGRAM;
}

/* A group of its own, so that a key in the terminal does not reach it; nothing inherited but the
 * two pipes. */
static int spawn(pid_t *ret, const char *program, char *const *argv, int in, int out)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int r = posix_spawn(ret, program, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static void close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

int cupti_child_start(struct cupti_child *ret, const char *program,
                      const struct cupti_helper_config *config)
{
    struct arguments arguments;
    int wishes[2], reports[2];
    make_arguments(&arguments, config);
    if (pipe2(wishes, O_CLOEXEC) < 0)
        return -errno;
    /* For the helper too: it must not wait for a parent that does not read. */
    if (pipe2(reports, O_CLOEXEC | O_NONBLOCK) < 0) {
        int r = -errno;
        close_pair(wishes);
        return r;
    }
    pid_t pid;
    int r =
        spawn(&pid, program ? program : helper_program(), arguments.argv, wishes[0], reports[1]);
    if (r < 0) {
        close_pair(wishes);
        close_pair(reports);
        return r;
    }
    close(wishes[0]);
    close(reports[1]);
    fcntl(wishes[1], F_SETFL, O_NONBLOCK);
    *ret = (struct cupti_child){.pid = pid, .wishes = wishes[1], .reports = reports[0]};
    return 0;
}

int cupti_child_read(struct cupti_child *child, struct cupti_report *ret)
{
    struct cupti_report report;
    ssize_t got = read(child->reports, &report, sizeof(report));
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
    if (got == 0)
        return -EPIPE;
    if (got != (ssize_t)sizeof(report) || report.state >= CUPTI_STATE_COUNT)
        return -EBADMSG;
    report.text[sizeof(report.text) - 1] = '\0';
    *ret = report;
    return 1;
}

/* Its wait status, or -1 where it has not ended in time. */
static int wait_for_end(pid_t pid, double patience)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        poll(&poll_fd, 1, (int)(patience * 1000));
        close(fd);
    }
    int status;
    pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended < 0 && errno == ECHILD)
        return 0; /* a program that uses the library waits for all its children itself */
    return ended == pid ? status : -1;
}

int cupti_child_stop(struct cupti_child *child, double patience)
{
    close(child->wishes);
    int status = wait_for_end(child->pid, patience);
    if (status < 0) {
        kill(child->pid, SIGKILL);
        status = wait_for_end(child->pid, 1);
    }
    close(child->reports);
    *child = (struct cupti_child){0};
    return status;
}
