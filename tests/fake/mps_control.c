/* An nvidia-cuda-mps-control for tests, of protocol v2: `-d` starts the daemon, without arguments
 * it sends its standard input to the daemon of CUDA_MPS_PIPE_DIRECTORY and prints what that
 * answers. What it says is what the real one said on an H200 (tests/fake/h200-mps.txt).
 *
 * The file that FAKE_MPS_SCRIPT names is read at each command; its lines say what goes wrong:
 *
 *   COMMAND -> "TEXT"     a command that begins so is answered with the text, and does nothing
 *   COMMAND -> hang       it is not answered
 *   COMMAND -> die        the daemon dies in the middle of it
 *   start -> "TEXT"       -d prints the text and fails
 *   start -> mute         the daemon starts and answers nothing
 *   start -> vanish       -d says nothing and there is no daemon
 *   fault -> lasting      after a fault the server stays in FAULT until all clients are gone
 *
 * Programs on the GPU are fake_job (cuda_job.c). They hold a connection while they live. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_folder.h"

enum { CLIENTS = 64, LINE = 512, SERVER_BYTES = 66 << 20 };

enum action { ACTION_NONE, ACTION_SAY, ACTION_HANG, ACTION_DIE, ACTION_MUTE, ACTION_VANISH };

struct connection {
    int fd;    /* 0: the place is free */
    pid_t pid; /* of a client; 0 for whoever sends commands */
    unsigned uid;
    double sm;
    unsigned long long memory;
    bool waiting; /* for the other user's clients to leave */
};

struct daemon {
    struct connection connections[CLIENTS];
    pid_t server;
    unsigned server_uid;
    bool faulted;
    bool mute;
    double sm, server_sm;
    unsigned long long memory, server_memory; /* 0: none */
};

static enum action scripted(const char *command, char *ret_text, size_t size)
{
    const char *path = getenv("FAKE_MPS_SCRIPT");
    FILE *file = path ? fopen(path, "re") : NULL;
    enum action action = ACTION_NONE;
    char line[LINE];
    while (file && fgets(line, sizeof(line), file)) {
        char *arrow = strstr(line, " -> ");
        if (!arrow || strncmp(line, command, (size_t)(arrow - line)) != 0)
            continue;
        const char *what = arrow + 4;
        action = strncmp(what, "hang", 4) == 0     ? ACTION_HANG
                 : strncmp(what, "die", 3) == 0    ? ACTION_DIE
                 : strncmp(what, "mute", 4) == 0   ? ACTION_MUTE
                 : strncmp(what, "vanish", 6) == 0 ? ACTION_VANISH
                                                   : ACTION_SAY;
        if (action == ACTION_SAY)
            snprintf(ret_text, size, "%.*s", (int)strcspn(what + 1, "\""), what + 1);
    }
    if (file)
        fclose(file);
    return action;
}

static void pipe_path(char *ret, size_t size, const char *name)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    snprintf(ret, size, "%s/%s", folder ? folder : "/nowhere", name);
}

static int connect_to_daemon(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pipe_path(address.sun_path, sizeof(address.sun_path), "control");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* ---- the daemon ---- */

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

static bool has_clients(const struct daemon *daemon)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (daemon->connections[i].pid && !daemon->connections[i].waiting)
            return true;
    return false;
}

static void admit(struct daemon *daemon, struct connection *client)
{
    if (daemon->server && daemon->server_uid != client->uid) {
        client->waiting = has_clients(daemon);
        if (client->waiting) {
            note("control.log", "Server is not ready, push client to pending list");
            return;
        }
        stop_server(daemon);
    }
    if (daemon->server == 0)
        start_server(daemon, client->uid);
    client->waiting = false;
    double sm = client->sm > 0 && client->sm < daemon->server_sm ? client->sm : daemon->server_sm;
    unsigned long long memory = daemon->server_memory;
    if (client->memory && (memory == 0 || client->memory < memory))
        memory = client->memory;
    dprintf(client->fd, "%s %g %llu\n", daemon->faulted ? "fault" : "ok", sm, memory);
    note("control.log", "NEW CLIENT");
}

static void admit_waiting(struct daemon *daemon)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (daemon->connections[i].pid && daemon->connections[i].waiting)
            admit(daemon, &daemon->connections[i]);
}

static void drop(struct daemon *daemon, struct connection *connection)
{
    pid_t pid = connection->pid;
    close(connection->fd);
    *connection = (struct connection){0};
    if (!pid)
        return;
    gpu_folder_set(pid, NULL, 0, 0);
    if (daemon->faulted && !has_clients(daemon))
        stop_server(daemon);
    admit_waiting(daemon);
}

/* The server goes on, without any of its clients; its log names them all. With "fault -> lasting"
 * in the script it stays in FAULT until they are gone, as older ones do. */
static void fault(struct daemon *daemon)
{
    char text[LINE];
    daemon->faulted = scripted("fault", text, sizeof(text)) != ACTION_NONE;
    for (size_t i = 0; i < CLIENTS; i++) {
        struct connection *client = &daemon->connections[i];
        if (!client->pid || client->waiting)
            continue;
        snprintf(text, sizeof(text), "Client {PID: %d, Context ID: 1} on device 0 to be torn down",
                 (int)client->pid);
        note("server.log", text);
        dprintf(client->fd, "fault\n");
    }
}

static unsigned long long parse_size(const char *text)
{
    char *end;
    unsigned long long size = strtoull(text, &end, 10);
    return *end == 'G' ? size << 30 : *end == 'M' ? size << 20 : size;
}

static void say_clients(const struct daemon *daemon, int fd)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (daemon->connections[i].pid && !daemon->connections[i].waiting)
            dprintf(fd, "%d\n", (int)daemon->connections[i].pid);
}

static void say_ps(const struct daemon *daemon, int fd)
{
    if (daemon->server == 0) {
        dprintf(fd, "Server not found\n");
        return;
    }
    if (has_clients(daemon))
        dprintf(fd, "%-9s %-9s %-14s %-25s %-14s %-15s\n", "PID", "ID", "SERVER", "DEVICE",
                "NAMESPACE", "COMMAND");
    for (size_t i = 0; i < CLIENTS; i++)
        if (daemon->connections[i].pid && !daemon->connections[i].waiting)
            dprintf(fd, "%-9d %-9zu %-14d %-25.22s %-14s %s\n", (int)daemon->connections[i].pid,
                    i + 1, (int)daemon->server, getenv("CUDA_VISIBLE_DEVICES"), "4026531836",
                    "fake_job");
}

static void say_size(int fd, unsigned long long bytes)
{
    if (bytes >> 30)
        dprintf(fd, "%lluG\n", bytes >> 30);
    else if (bytes)
        dprintf(fd, "%lluM\n", bytes >> 20);
}

/* What is none is not taken; the answer is what holds. */
static void set_percent(double *value, double percent, int fd)
{
    if (percent > 0 && percent <= 100)
        *value = percent;
    dprintf(fd, "%.1f\n", *value);
}

static void terminate(struct daemon *daemon, pid_t pid, int fd)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (pid && daemon->connections[i].pid == pid) {
            dprintf(daemon->connections[i].fd, "end\n");
            drop(daemon, &daemon->connections[i]);
            dprintf(fd, "0\n");
            return;
        }
    dprintf(fd, "1\n");
}

/* Answers on the descriptor. */
static void obey(struct daemon *daemon, const char *command, int fd)
{
    double percent;
    char size[64];
    int pid, server;
    if (strcmp(command, "get_server_list") == 0) {
        if (daemon->server)
            dprintf(fd, "%d\n", (int)daemon->server);
    } else if (sscanf(command, "get_server_status %d", &server) == 1) {
        if (daemon->server && server == daemon->server)
            dprintf(fd, "%s\n", daemon->faulted ? "FAULT" : "ACTIVE");
        else
            dprintf(fd, "Server %d not found\n", server);
    } else if (sscanf(command, "get_client_list %d", &server) == 1) {
        if (server == daemon->server)
            say_clients(daemon, fd);
        else
            dprintf(fd, "Server %d not found\n", server);
    } else if (strcmp(command, "ps") == 0) {
        say_ps(daemon, fd);
    } else if (strcmp(command, "get_default_active_thread_percentage") == 0) {
        dprintf(fd, "%.1f\n", daemon->sm);
    } else if (sscanf(command, "set_default_active_thread_percentage %lf", &percent) == 1) {
        set_percent(&daemon->sm, percent, fd);
    } else if (sscanf(command, "get_active_thread_percentage %d", &server) == 1) {
        dprintf(fd, "%.1f\n", daemon->server_sm);
    } else if (sscanf(command, "set_active_thread_percentage %d %lf", &server, &percent) == 2) {
        set_percent(&daemon->server_sm, percent, fd);
    } else if (strncmp(command, "get_default_device_pinned_mem_limit", 35) == 0) {
        say_size(fd, daemon->memory);
    } else if (sscanf(command, "set_default_device_pinned_mem_limit %*s %63s", size) == 1) {
        daemon->memory = parse_size(size);
    } else if (strncmp(command, "get_device_pinned_mem_limit", 27) == 0) {
        say_size(fd, daemon->server_memory);
    } else if (sscanf(command, "set_device_pinned_mem_limit %*s %*s %63s", size) == 1) {
        daemon->server_memory = parse_size(size);
    } else if (sscanf(command, "terminate_client %d %d", &server, &pid) == 2) {
        terminate(daemon, pid, fd);
    } else
        dprintf(fd, "Unknown command \"%s\"\n", command);
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

static void take_command(struct daemon *daemon, struct connection *connection, const char *command)
{
    char text[LINE];
    switch (daemon->mute ? ACTION_HANG : scripted(command, text, sizeof(text))) {
    case ACTION_HANG:
        return;
    case ACTION_DIE:
        _exit(9);
    case ACTION_SAY:
        dprintf(connection->fd, "%s\n", text);
        break;
    default:
        if (strcmp(command, "quit") == 0)
            quit(daemon);
        obey(daemon, command, connection->fd);
    }
    drop(daemon, connection);
}

static void take_line(struct daemon *daemon, struct connection *connection, char *line)
{
    int pid;
    line[strcspn(line, "\n")] = '\0';
    if (connection->pid && strncmp(line, "fault", 5) == 0)
        fault(daemon);
    else if (sscanf(line, "client %d %u %lf %llu", &pid, &connection->uid, &connection->sm,
                    &connection->memory) == 4) {
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

static void serve(struct daemon *daemon, int listener)
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

static int become_daemon(void)
{
    char text[LINE] = "";
    enum action action = scripted("start", text, sizeof(text));
    if (action == ACTION_SAY) {
        puts(text);
        return 1;
    }
    if (action == ACTION_VANISH)
        return 0;
    int running = connect_to_daemon();
    if (running >= 0) {
        puts("An instance of this daemon is already running");
        return 1;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pipe_path(address.sun_path, sizeof(address.sun_path), "control");
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener, CLIENTS) < 0) {
        printf("Cannot bind %s: %s\n", address.sun_path, strerror(errno));
        return 1;
    }
    if (fork() != 0)
        _exit(0);
    setsid();
    char path[LINE];
    pipe_path(path, sizeof(path), "nvidia-cuda-mps-control.pid");
    FILE *pid = fopen(path, "we");
    fprintf(pid, "%d", (int)getpid());
    fclose(pid);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        dup2(nowhere, fd);
    signal(SIGPIPE, SIG_IGN);
    struct daemon daemon = {.sm = 100, .mute = action == ACTION_MUTE};
    serve(&daemon, listener);
    return 0;
}

/* ---- who talks to it ---- */

static int send_commands(void)
{
    char line[LINE];
    while (fgets(line, sizeof(line), stdin)) {
        int fd = connect_to_daemon();
        if (fd < 0) {
            puts("Cannot find MPS control daemon process");
            return 1;
        }
        dprintf(fd, "command %s", line);
        char block[LINE];
        ssize_t got;
        while ((got = read(fd, block, sizeof(block))) > 0)
            fwrite(block, 1, (size_t)got, stdout);
        close(fd);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "-d") == 0 ? become_daemon() : send_commands();
}
