#include "share/mps.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/spawn.h"
#include "jobs/describe.h"
#include "jobs/proc.h"
#include "share/mps_internal.h"
#include "share/place.h"

static const char PROGRAM[] = "nvidia-cuda-mps-control";
static const char LONGEST_SOCKET[] = "/control_privileged";
/* A process' name in /proc holds 15 characters; daemon and server share these. */
static const char COMM[] = "nvidia-cuda-mps";
static const double ASK_PATIENCE = 5;
static const double LOCK_PATIENCE = 20;

bool mps_find_path(char *ret, size_t size)
{
    const char *named = secure_getenv("ROOFTOP_MPS_CONTROL");
    if (!named || !named[0])
        return spawn_find(PROGRAM, ret, size) == 0;
    snprintf(ret, size, "%s", named);
    return access(ret, X_OK) == 0;
}

int mps_check_way(const struct mps *mps, bool others, struct counter_failure *failure)
{
    char closed[256];
    if (!place_find_closed(mps->pipe, others, closed, sizeof(closed)))
        return 0;
    return share_fail(failure, -EACCES,
                      "Open it (chmod), or set ROOFTOP_RUNTIME_DIR to another folder.",
                      "the folder %s is closed to %s, whose programs could not reach MPS in %s",
                      closed, others ? "other users" : "this user", mps->pipe);
}

static int make_folders(struct mps *mps, const char *run, struct counter_failure *failure)
{
    char parent[160];
    snprintf(parent, sizeof(parent), "%s/mps", run);
    const char *folders[] = {parent, mps->folder, mps->pipe, mps->log};
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        int r = place_make_folder(folders[i]);
        if (r == -EPERM)
            return share_fail(failure, r, "",
                              "%s is not this user's own, or others may write in it", folders[i]);
        if (r < 0)
            return share_fail(failure, r, "", "%s: %s", folders[i], strerror(-r));
    }
    return mps_check_way(mps, false, failure);
}

int mps_open(struct mps *ret, const char *run, const char *uuid, struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    struct mps mps = {.lock_fd = -1, .patience = ASK_PATIENCE};
    snprintf(mps.uuid, sizeof(mps.uuid), "%s", uuid);
    if (!mps_find_path(mps.program, sizeof(mps.program)))
        return share_fail(failure, -ENOENT,
                          "It comes with NVIDIA's driver (Debian: nvidia-cuda-mps). Without it a "
                          "job has a GPU to itself.",
                          "there is no nvidia-cuda-mps-control here");
    int length = snprintf(mps.folder, sizeof(mps.folder), "%s/mps/%s", run, uuid);
    int pipe = snprintf(mps.pipe, sizeof(mps.pipe), "%s/mps/%s/pipe", run, uuid);
    size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path);
    if (length < 0 || pipe < 0 || (size_t)pipe + strlen(LONGEST_SOCKET) >= room)
        return share_fail(failure, -ENAMETOOLONG, "Set ROOFTOP_RUNTIME_DIR to a shorter path.",
                          "the folder %.120s is %zu characters too deep for the sockets of MPS, "
                          "whose paths have at most %zu",
                          run, (size_t)pipe + strlen(LONGEST_SOCKET) + 1 - room, room - 1);
    snprintf(mps.log, sizeof(mps.log), "%s/mps/%s/log", run, uuid);
    int r = make_folders(&mps, run, failure);
    if (r < 0)
        return r;
    *ret = mps;
    return 0;
}

void mps_close(struct mps *mps)
{
    mps_unlock(mps);
}

int mps_lock(struct mps *mps)
{
    char path[sizeof(mps->folder) + 8];
    snprintf(path, sizeof(path), "%s/lock", mps->folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    double until = clock_monotonic() + LOCK_PATIENCE;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK || clock_monotonic() > until) {
            int r = errno == EWOULDBLOCK ? -EBUSY : -errno;
            close(fd);
            return r;
        }
        struct timespec pause = clock_timespec(0.02);
        nanosleep(&pause, NULL);
    }
    mps->lock_fd = fd;
    return 0;
}

void mps_unlock(struct mps *mps)
{
    if (mps->lock_fd >= 0)
        close(mps->lock_fd);
    mps->lock_fd = -1;
}

static bool is_mps_process(pid_t pid)
{
    struct proc_identity identity;
    return jobs_read_identity("", pid, &identity) == 0 && !proc_has_ended(&identity) &&
           strncmp(identity.comm, COMM, sizeof(COMM) - 1) == 0;
}

/* The daemon of a pipe folder, or 0. */
static pid_t read_daemon(const char *pipe)
{
    char path[512], text[32];
    snprintf(path, sizeof(path), "%s/%s.pid", pipe, PROGRAM);
    uint64_t pid;
    const char *rest = text;
    if (file_read(path, text, sizeof(text)) <= 0 || !mps_next_number(&rest, &pid) || pid < 2 ||
        pid > INT_MAX)
        return 0;
    return is_mps_process((pid_t)pid) ? (pid_t)pid : 0;
}

pid_t mps_daemon_pid(const struct mps *mps)
{
    return read_daemon(mps->pipe);
}

bool mps_is_daemon(const char *run, pid_t pid)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/mps", run);
    DIR *gpus = opendir(path);
    struct dirent *entry;
    bool found = false;
    while (gpus && !found && (entry = readdir(gpus))) {
        snprintf(path, sizeof(path), "%s/mps/%.95s/pipe", run, entry->d_name);
        found = entry->d_name[0] != '.' && read_daemon(path) == pid;
    }
    if (gpus)
        closedir(gpus);
    return found;
}

int mps_ask(const struct mps *mps, const char *command, struct strbuf *answer)
{
    char pipe[sizeof(mps->pipe) + 32], log[sizeof(mps->log) + 32], line[256];
    snprintf(pipe, sizeof(pipe), "CUDA_MPS_PIPE_DIRECTORY=%s", mps->pipe);
    snprintf(log, sizeof(log), "CUDA_MPS_LOG_DIRECTORY=%s", mps->log);
    snprintf(line, sizeof(line), "%s\n", command);
    CLEANUP_FREE char **environment =
        spawn_environment((const char *[]){pipe, log, MPS_PROTOCOL, NULL});
    if (!environment)
        return -ENOMEM;
    const struct spawn spawn = {
        .argv = (const char *[]){mps->program, NULL},
        .envp = environment,
        .input = line,
        .patience = mps->patience,
    };
    int status;
    size_t before = answer->length;
    int r = spawn_run(&spawn, answer, &status);
    if (r < 0)
        return r;
    if (strbuf_failed(answer))
        return -ENOMEM;
    if (strstr(strbuf_text(answer) + before, "Cannot find MPS control daemon"))
        return -ECONNREFUSED;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

bool mps_next_number(const char **text, uint64_t *ret)
{
    const char *c = *text + strcspn(*text, "0123456789");
    if (!*c)
        return false;
    uint64_t number = 0;
    for (; isdigit((unsigned char)*c); c++)
        number =
            number > UINT64_MAX / 10 - 1 ? UINT64_MAX / 10 : number * 10 + (uint64_t)(*c - '0');
    *ret = number;
    *text = c;
    return true;
}

bool mps_next_pid(const char **text, pid_t *ret)
{
    while (**text) {
        const char *line = *text;
        size_t length = strcspn(line, "\n");
        *text += length + (line[length] == '\n');
        uint64_t number;
        if (length > 0 && strspn(line, "0123456789") == length && mps_next_number(&line, &number) &&
            number > 0 && number <= INT_MAX) {
            *ret = (pid_t)number;
            return true;
        }
    }
    return false;
}

bool mps_find_size(const char *answer, uint64_t *ret)
{
    const char *equals = strchr(answer, '=');
    const char *rest = equals ? equals : answer;
    uint64_t number;
    if (!mps_next_number(&rest, &number))
        return false;
    unsigned shift = *rest == 'G' ? 30 : *rest == 'M' ? 20 : *rest == 'K' ? 10 : 0;
    if (number > UINT64_MAX >> shift)
        return false;
    *ret = number << shift;
    return true;
}

static void look_at_server(const struct mps *mps, struct mps_server *server, struct mps_view *view)
{
    char command[64];
    struct strbuf answer = {0};
    snprintf(command, sizeof(command), "get_server_status %d", (int)server->pid);
    if (mps_ask(mps, command, &answer) == 0)
        snprintf(server->status, sizeof(server->status), "%.*s",
                 (int)strcspn(strbuf_text(&answer), "\n"), strbuf_text(&answer));
    server->faulted = strstr(server->status, "FAULT") != NULL || !is_mps_process(server->pid);

    strbuf_clear(&answer);
    snprintf(command, sizeof(command), "get_client_list %d", (int)server->pid);
    pid_t pid;
    if (mps_ask(mps, command, &answer) == 0)
        for (const char *rest = strbuf_text(&answer);
             view->client_count < MPS_CLIENTS && mps_next_pid(&rest, &pid);)
            view->clients[view->client_count++] =
                (struct mps_client){.pid = pid, .server = server->pid};
    strbuf_free(&answer);
}

void mps_look(const struct mps *mps, struct mps_view *ret)
{
    *ret = (struct mps_view){.daemon = mps_daemon_pid(mps)};
    if (ret->daemon == 0) {
        char path[sizeof(mps->pipe) + 16];
        snprintf(path, sizeof(path), "%s/control", mps->pipe);
        ret->state = access(path, F_OK) == 0 ? MPS_STALE : MPS_ABSENT;
        return;
    }
    struct strbuf answer = {0};
    int r = mps_ask(mps, "get_server_list", &answer);
    ret->state = r == 0 ? MPS_READY : MPS_SILENT;
    pid_t pid;
    if (r == 0)
        for (const char *rest = strbuf_text(&answer);
             ret->server_count < MPS_SERVERS && mps_next_pid(&rest, &pid);)
            ret->servers[ret->server_count++] = (struct mps_server){.pid = pid};
    strbuf_free(&answer);
    for (size_t i = 0; i < ret->server_count; i++)
        look_at_server(mps, &ret->servers[i], ret);
}

bool mps_has_client(const struct mps_view *view, pid_t pid)
{
    for (size_t i = 0; i < view->client_count; i++)
        if (view->clients[i].pid == pid)
            return true;
    return false;
}

bool mps_has_fault(const struct mps_view *view)
{
    for (size_t i = 0; i < view->server_count; i++)
        if (view->servers[i].faulted)
            return true;
    return false;
}
