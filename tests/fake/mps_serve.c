/* The fake MPS daemon at work: its server, its clients, and who sends it commands. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_folder.h"
#include "mps_fake.h"

enum { SERVER_BYTES = 66 << 20 };

static void note(const char *file, const char *text)
{
    const char *folder = getenv("CUDA_MPS_LOG_DIRECTORY");
    char path[LINE];
    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "/nowhere", file);
    FILE *log = fopen(path, "ae");
    if (!log)
        return;
    fprintf(log, "[2026-11-30 12:00:00.000 Other %d] %s\n", (int)getpid(), text);
    fclose(log);
}

static void start_server(struct daemon *daemon, unsigned uid)
{
    daemon->server = fork();
    if (daemon->server == 0) {
        prctl(PR_SET_NAME, "nvidia-cuda-mps-server");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int fd = 3; fd < 256; fd++)
            close(fd);
        for (;;)
            pause();
    }
    daemon->server_uid = uid;
    daemon->server_sm = daemon->sm;
    daemon->server_memory = daemon->memory;
    daemon->faulted = false;
    gpu_folder_set(daemon->server, "server", SERVER_BYTES, gpu_folder_device());
}

static void stop_server(struct daemon *daemon)
{
    if (daemon->server == 0)
        return;
    kill(daemon->server, SIGKILL);
    waitpid(daemon->server, NULL, 0);
    gpu_folder_set(daemon->server, NULL, 0, 0);
    daemon->server = 0;
}

bool has_clients(const struct daemon *daemon)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (daemon->connections[i].pid && !daemon->connections[i].waiting)
            return true;
    return false;
}

/* The SMs that it gets; 0: it is refused. */
static unsigned sms_of(struct daemon *daemon, const struct connection *client)
{
    if (!daemon->static_partitions) {
        double sm =
            client->sm > 0 && client->sm < daemon->server_sm ? client->sm : daemon->server_sm;
        return (unsigned)(SMS * sm / 100) / 2 * 2;
    }
    const struct partition *partition = find_partition(daemon, client->partition);
    return partition ? partition->chunks * CHUNK_SMS : 0;
}

static void admit(struct daemon *daemon, struct connection *client)
{
    unsigned uid = daemon->multi_user ? 0 : client->uid;
    if (daemon->server && daemon->server_uid != uid) {
        client->waiting = has_clients(daemon);
        if (client->waiting) {
            char text[LINE];
            snprintf(text, sizeof(text),
                     "NEW CLIENT %d from user %u: Server is not ready, push client to pending list",
                     (int)client->pid, uid);
            note("control.log", text);
            return;
        }
        stop_server(daemon);
    }
    if (daemon->server == 0)
        start_server(daemon, uid);
    client->waiting = false;
    unsigned long long memory = daemon->server_memory;
    if (client->memory && (memory == 0 || client->memory < memory))
        memory = client->memory;
    unsigned sms = sms_of(daemon, client);
    note("control.log", "NEW CLIENT");
    char text[LINE];
    snprintf(text, sizeof(text), "Client {PID: %d, Context ID: 0} connected", (int)client->pid);
    note("server.log", text);
    dprintf(client->fd, "%s %u %llu\n", daemon->faulted || sms == 0 ? "fault" : "ok", sms, memory);
}

static void admit_waiting(struct daemon *daemon)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (daemon->connections[i].pid && daemon->connections[i].waiting)
            admit(daemon, &daemon->connections[i]);
}

void drop(struct daemon *daemon, struct connection *connection)
{
    pid_t pid = connection->pid;
    close(connection->fd);
    *connection = (struct connection){0};
    if (!pid)
        return;
    gpu_folder_drop_client(pid);
    if (daemon->faulted && !has_clients(daemon))
        stop_server(daemon);
    admit_waiting(daemon);
}

static bool is_hurt(const struct connection *client, enum action action, const char *partition)
{
    return client->pid && !client->waiting &&
           (action != ACTION_CONTAIN || strcmp(client->partition, partition) == 0);
}

/* The server goes on, without any of its clients; its log names them all before the first learns of
 * it, as the real one's does. With "fault -> lasting" in the script it stays in FAULT until they
 * are gone, as older ones do; with "fault -> contained" only the clients of the same partition are
 * hurt. */
static void fault(struct daemon *daemon, const struct connection *at)
{
    char text[LINE], partition[sizeof(at->partition)];
    enum action action = scripted("fault", text, sizeof(text));
    daemon->faulted = action == ACTION_LAST;
    memcpy(partition, at->partition, sizeof(partition));
    note("server.log", "Server is handling a fatal GPU error.");
    for (size_t i = 0; i < CLIENTS; i++) {
        if (!is_hurt(&daemon->connections[i], action, partition))
            continue;
        snprintf(text, sizeof(text), "Client {PID: %d, Context ID: 1} on device 0 to be torn down",
                 (int)daemon->connections[i].pid);
        note("server.log", text);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        if (is_hurt(&daemon->connections[i], action, partition))
            dprintf(daemon->connections[i].fd, "fault\n");
}

static void remove_files(void)
{
    /* The sockets stay, as the real one leaves them. */
    static const char *const names[] = {"log", "nvidia-cuda-mps-control.pid"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[LINE];
        pipe_path(path, sizeof(path), names[i]);
        unlink(path);
    }
}

static void quit(struct daemon *daemon)
{
    stop_server(daemon);
    remove_files();
    exit(0);
}

static bool first_thread_has_ended(void)
{
    FILE *stat = fopen("/proc/self/stat", "re");
    char state = 0;
    if (!stat)
        return false;
    bool known = fscanf(stat, "%*d (%*[^)]) %c", &state) == 1;
    fclose(stat);
    return known && state == 'Z';
}

static void *close_all(void *nothing)
{
    while (!first_thread_has_ended())
        usleep(1000);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    for (;;)
        pause();
    return nothing;
}

/* The kernel takes a process' memory, then closes its files, and then lets its end be waited for.
 * The second is done here where the first thread has lost its memory, and the third never comes. */
static void die_slowly(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, close_all, NULL);
    pthread_exit(NULL);
}

static void take_command(struct daemon *daemon, struct connection *connection, const char *command)
{
    char text[LINE];
    switch (daemon->mute ? ACTION_HANG : scripted(command, text, sizeof(text))) {
    case ACTION_HANG:
        return;
    case ACTION_DIE:
        _exit(9);
    case ACTION_DYING:
        die_slowly();
        break;
    case ACTION_SAY:
        dprintf(connection->fd, "%s\n", text);
        break;
    default:
        if (strcmp(command, daemon->protocol == 3 ? "-q" : "quit") == 0)
            quit(daemon);
        if (daemon->protocol == 3)
            dprintf(connection->fd, "Usage: nvidia-cuda-mps-control <module> <verb>\n%c", 1);
        else
            obey(daemon, command, connection->fd);
    }
    drop(daemon, connection);
}

static void take_line(struct daemon *daemon, struct connection *connection, char *line)
{
    int pid;
    line[strcspn(line, "\n")] = '\0';
    if (connection->pid && strncmp(line, "fault", 5) == 0)
        fault(daemon, connection);
    else if (sscanf(line, "client %d %u %lf %llu %159s", &pid, &connection->uid, &connection->sm,
                    &connection->memory, connection->partition) == 5) {
        connection->pid = pid;
        admit(daemon, connection);
    } else if (strncmp(line, "command ", 8) == 0)
        take_command(daemon, connection, line + 8);
}

static void take(struct daemon *daemon, struct connection *connection)
{
    char line[LINE] = "";
    ssize_t got = read(connection->fd, line, sizeof(line) - 1);
    if (got <= 0)
        drop(daemon, connection);
    else
        take_line(daemon, connection, line);
}

void serve(struct daemon *daemon, int listener)
{
    for (;;) {
        struct pollfd fds[CLIENTS + 1] = {{.fd = listener, .events = POLLIN}};
        for (size_t i = 0; i < CLIENTS; i++)
            fds[i + 1] = (struct pollfd){
                .fd = daemon->connections[i].fd ? daemon->connections[i].fd : -1, .events = POLLIN};
        if (poll(fds, CLIENTS + 1, -1) < 0)
            continue;
        for (size_t i = 0; i < CLIENTS; i++)
            if (fds[i + 1].revents && daemon->connections[i].fd == fds[i + 1].fd)
                take(daemon, &daemon->connections[i]);
        int fd = fds[0].revents ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        for (size_t i = 0; fd >= 0 && i < CLIENTS; i++)
            if (daemon->connections[i].fd == 0) {
                daemon->connections[i].fd = fd;
                break;
            }
    }
}
