#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/spawn.h"
#include "share/mps_internal.h"
#include "share/place.h"

static const char MULTI_USER[] = "-multiuser-server";
static const char STATIC_PARTITIONS[] = "-S";
static const double START_PATIENCE = 10;
static const double READY_PATIENCE = 5;
static const double QUIT_PATIENCE = 3;
static const double KILL_PATIENCE = 2;
static const double POLL_PERIOD = 0.02;

static void pause_shortly(void)
{
    struct timespec pause = clock_timespec(POLL_PERIOD);
    nanosleep(&pause, NULL);
}

/* True where the process has ended; where it is ours to reap, it is reaped. */
static bool await_end(pid_t pid, double seconds)
{
    int fd = pidfd_open(pid, 0);
    if (fd < 0)
        return errno == ESRCH;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int ready;
    do {
        ready = poll(&end, 1, (int)(seconds * 1000));
    } while (ready < 0 && errno == EINTR);
    close(fd);
    if (ready <= 0)
        return false;
    waitpid(pid, NULL, WNOHANG);
    return true;
}

static bool end_process(pid_t pid, double patience)
{
    if (await_end(pid, patience))
        return true;
    kill(pid, SIGTERM);
    if (await_end(pid, KILL_PATIENCE))
        return true;
    kill(pid, SIGKILL);
    return await_end(pid, KILL_PATIENCE);
}

static void keep_old_logs(const struct mps *mps)
{
    static const char *const names[] = {"control", "server"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char log[sizeof(mps->log) + 16], old[sizeof(mps->log) + 20];
        snprintf(log, sizeof(log), "%s/%s.log", mps->log, names[i]);
        snprintf(old, sizeof(old), "%s/%s.log.old", mps->log, names[i]);
        rename(log, old);
    }
}

bool mps_has_shared_memory(void)
{
    const char *folder = secure_getenv("ROOFTOP_SHM");
    return access(folder ? folder : "/dev/shm", W_OK | X_OK) == 0;
}

static void first_line(const struct strbuf *text, char *ret, size_t size)
{
    snprintf(ret, size, "%.*s", (int)strcspn(strbuf_text(text), "\n"), strbuf_text(text));
}

static int launch(const struct mps *mps, bool partitions, struct counter_failure *failure)
{
    char pipe[sizeof(mps->pipe) + 32], log[sizeof(mps->log) + 32], device[128];
    snprintf(pipe, sizeof(pipe), "CUDA_MPS_PIPE_DIRECTORY=%s", mps->pipe);
    snprintf(log, sizeof(log), "CUDA_MPS_LOG_DIRECTORY=%s", mps->log);
    snprintf(device, sizeof(device), "CUDA_VISIBLE_DEVICES=%s", mps->uuid);
    /* The daemon passes its own limits on to servers: those of whoever starts it are not meant. */
    CLEANUP_FREE char **environment = spawn_environment(
        (const char *[]){pipe, log, device, MPS_PROTOCOL, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                         "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", NULL});
    if (!environment)
        return -ENOMEM;
    const char *argv[5] = {mps->program, "-d"};
    size_t count = 2;
    const struct spawn spawn = {
        .argv = argv,
        .envp = environment,
        .patience = START_PATIENCE,
    };
    if (mps->multi_user)
        argv[count++] = MULTI_USER;
    if (partitions)
        argv[count++] = STATIC_PARTITIONS;
    struct strbuf said = {0};
    int status = 0;
    int r = spawn_run(&spawn, &said, &status);
    /* It ends with 0 where it does not know an option. */
    if (r == 0 && (!(WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                   strstr(strbuf_text(&said), "Unrecognized option")))
        r = -EIO;
    char line[200];
    first_line(&said, line, sizeof(line));
    strbuf_free(&said);
    if (r < 0)
        share_fail(failure, r, "",
                   r == -ETIMEDOUT ? "%s -d did not end within 10 s%s%s"
                                   : "%s -d did not start%s%s",
                   mps->program, line[0] ? ": " : "", line);
    return r;
}

static int await_ready(const struct mps *mps, struct counter_failure *failure)
{
    double until = clock_monotonic() + READY_PATIENCE;
    for (;;) {
        struct mps_view view;
        mps_look(mps, &view);
        if (view.state == MPS_READY)
            return 0;
        if (view.state == MPS_SILENT || clock_monotonic() > until)
            break;
        pause_shortly();
    }
    return share_fail(
        failure, -ETIMEDOUT, "",
        "the MPS daemon of %s was started and does not answer; its log is %s/control.log",
        mps->uuid, mps->log);
}

/* As its command line says. */
static bool has_option(pid_t daemon, const char *option)
{
    char path[64], line[512];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)daemon);
    ssize_t length = file_read(path, line, sizeof(line));
    for (ssize_t at = 0; at < length; at += (ssize_t)strlen(line + at) + 1)
        if (strcmp(line + at, option) == 0)
            return true;
    return false;
}

/* The sockets are open to all users, and another user's client would make a daemon that serves one
 * take its server down: so nobody else comes near them, unless all may. */
static int set_door(const struct mps *mps, struct counter_failure *failure)
{
    mode_t mode = mps->multi_user ? 0711 : 0700;
    char path[sizeof(mps->pipe)];
    if (chmod(mps->pipe, mode) < 0 || chmod(mps->folder, mode) < 0)
        return share_fail(failure, -errno, "", "%s: %s", mps->folder, strerror(errno));
    if (!mps->multi_user)
        return 0;
    memcpy(path, mps->folder, sizeof(mps->folder));
    /* The run folder is a folder "share" below one of ours. */
    for (int i = 0; i < 3; i++) {
        *strrchr(path, '/') = '\0';
        if (chmod(path, mode) < 0)
            return share_fail(failure, -errno, "", "%s: %s", path, strerror(errno));
    }
    return mps_check_way(mps, true, failure);
}

/* It can be left as it is. */
static bool fits(const struct mps *mps, const struct mps_view *view)
{
    return view->state == MPS_READY && !mps_has_fault(view) &&
           has_option(view->daemon, MULTI_USER) == mps->multi_user &&
           (mps->want_partitions || !has_option(view->daemon, STATIC_PARTITIONS));
}

static int start_anew(struct mps *mps, bool partitions, struct counter_failure *failure)
{
    /* What a daemon leaves there, where it does not clean up: sockets, locks, its PID. */
    file_empty_folder(mps->pipe);
    keep_old_logs(mps);
    int r = launch(mps, partitions, failure);
    return r < 0 ? r : await_ready(mps, failure);
}

int mps_start(struct mps *mps, struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    struct mps_view view;
    mps_look(mps, &view);
    if (fits(mps, &view)) {
        mps->has_partitions = has_option(view.daemon, STATIC_PARTITIONS);
        return 0;
    }
    if (!mps_has_shared_memory())
        return share_fail(
            failure, -ENOENT,
            "In a container, mount the host's /dev/shm (docker: -v /dev/shm:/dev/shm).",
            "/dev/shm cannot be written, and MPS needs it");
    /* A server at fault serves nobody until all that it has hurt are gone. */
    int r = view.state == MPS_READY || view.state == MPS_SILENT ? mps_stop(mps) : 0;
    if (r < 0)
        return share_fail(failure, r, "",
                          "the MPS daemon of %s (PID %d) does not answer and cannot be ended",
                          mps->uuid, (int)view.daemon);
    mps_forget_partitions(mps);
    r = set_door(mps, failure);
    if (r < 0)
        return r;
    /* A version that should have partitions and does not show them is used without. */
    struct mps_program program = {0};
    mps->has_partitions = mps->want_partitions && mps_find_program(&program) &&
                          program.static_partitions && start_anew(mps, true, failure) == 0 &&
                          mps_has_partitions(mps);
    if (mps->has_partitions)
        return 0;
    r = mps_stop(mps);
    return r < 0 ? r : start_anew(mps, false, failure);
}

int mps_terminate(const struct mps *mps, const struct mps_client *client)
{
    char command[64];
    struct strbuf answer = {0};
    snprintf(command, sizeof(command), "terminate_client %d %d", (int)client->server,
             (int)client->pid);
    int r = mps_ask(mps, command, &answer);
    const char *says = strbuf_text(&answer);
    if (r == 0 && answer.length >= 2 && strcmp(says + answer.length - 2, "1\n") == 0)
        r = -ESRCH;
    strbuf_free(&answer);
    return r;
}

int mps_stop(struct mps *mps)
{
    struct mps_view view;
    mps_look(mps, &view);
    if (view.daemon == 0) {
        file_empty_folder(mps->pipe);
        return 0;
    }
    for (size_t i = 0; i < view.client_count; i++) {
        int r = mps_terminate(mps, &view.clients[i]);
        if (r == -ETIMEDOUT)
            break;
    }
    struct strbuf answer = {0};
    double patience =
        view.state == MPS_READY && mps_ask(mps, "quit", &answer) == 0 ? QUIT_PATIENCE : 0;
    strbuf_free(&answer);
    bool ended = end_process(view.daemon, patience);
    for (size_t i = 0; i < view.server_count; i++)
        ended = end_process(view.servers[i].pid, QUIT_PATIENCE) && ended;
    if (!ended)
        return -EBUSY;
    file_empty_folder(mps->pipe);
    return 0;
}
