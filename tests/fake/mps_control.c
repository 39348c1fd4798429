/* An nvidia-cuda-mps-control for tests: `-d` starts the daemon, without arguments it sends its
 * standard input to the daemon of CUDA_MPS_PIPE_DIRECTORY and prints what that answers. What it
 * says in protocol 2 is what the real one said on an H200 (h200-mps.txt, which
 * tests/cli/mps_transcript.sh holds it to).
 *
 * FAKE_MPS_VERSION is its binary version: 13000, which was seen, knows the options of the table
 * below (h200-mps-options.txt); one from 13010 on also -S, static partitions; one from 13030 on
 * also -p 3 and CUDA_MPS_PROTOCOL_VERSION, protocol 3. These two are as NVIDIA's documents have
 * them.
 *
 * The file that FAKE_MPS_SCRIPT names is read at each command; its lines say what goes wrong:
 *
 *   COMMAND -> "TEXT"     a command that begins so is answered with the text, and does nothing
 *   COMMAND -> hang       it is not answered
 *   COMMAND -> die        the daemon dies in the middle of it
 *   COMMAND -> dying      it stays for ever as it is for an instant when it is killed
 *   start -> "TEXT"       -d prints the text and fails
 *   start -> mute         the daemon starts and answers nothing
 *   start -> vanish       -d says nothing and there is no daemon
 *   fault -> lasting      after a fault the server stays in FAULT until all clients are gone
 *   fault -> contained    a fault takes down the clients of its own partition only
 *
 * Programs on the GPU are fake_job (cuda_job.c). They hold a connection while they live. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "mps_fake.h"

static const char HELP[] = "CUDA MPS Control for Linux/Unix/QNX.\n"
                           "Copyright (C) 2003 - 2025 NVIDIA Corporation.\n";

static const struct {
    const char *word;
    enum action action;
} actions[] = {
    {"hang", ACTION_HANG},         {"dying", ACTION_DYING},   {"die", ACTION_DIE},
    {"mute", ACTION_MUTE},         {"vanish", ACTION_VANISH}, {"lasting", ACTION_LAST},
    {"contained", ACTION_CONTAIN},
};

enum action scripted(const char *command, char *ret_text, size_t size)
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
        action = ACTION_SAY;
        for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
            if (strncmp(what, actions[i].word, strlen(actions[i].word)) == 0)
                action = actions[i].action;
        if (action == ACTION_SAY)
            snprintf(ret_text, size, "%.*s", (int)strcspn(what + 1, "\""), what + 1);
    }
    if (file)
        fclose(file);
    return action;
}

void pipe_path(char *ret, size_t size, const char *name)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    snprintf(ret, size, "%s/%s", folder ? folder : "/nowhere", name);
}

int connect_to_daemon(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pipe_path(address.sun_path, sizeof(address.sun_path), "control");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

int binary_version(void)
{
    const char *version = getenv("FAKE_MPS_VERSION");
    return version ? atoi(version) : VERSION_SEEN;
}

const char *device_uuid(void)
{
    const char *uuid = getenv("CUDA_VISIBLE_DEVICES");
    return uuid ? uuid : "GPU-none";
}

static void put_file(const char *name, mode_t mode, const char *text)
{
    char path[LINE];
    pipe_path(path, sizeof(path), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    dprintf(fd, "%s", text);
    close(fd);
}

/* A listening socket in the pipe folder, or -1. */
static int listen_at(const char *name, mode_t mode)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pipe_path(address.sun_path, sizeof(address.sun_path), name);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener, CLIENTS) < 0) {
        printf("Cannot bind %s: %s\n", address.sun_path, strerror(errno));
        return -1;
    }
    chmod(address.sun_path, mode);
    return listener;
}

static void fill_pipe_folder(void)
{
    char path[LINE], pid[16];
    close(listen_at("control_privileged", 0755));
    put_file("control_lock", 0666, "");
    pipe_path(path, sizeof(path), "log");
    mkfifo(path, 0777);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    put_file("nvidia-cuda-mps-control.pid", 0666, pid);
}

static int become_daemon(struct daemon *daemon)
{
    char text[LINE] = "";
    enum action action = scripted("start", text, sizeof(text));
    if (action == ACTION_SAY) {
        puts(text);
        return 1;
    }
    if (action == ACTION_VANISH)
        return 0;
    if (connect_to_daemon() >= 0) {
        puts("An instance of this daemon is already running");
        return 1;
    }
    int listener = listen_at("control", 0666);
    if (listener < 0)
        return 1;
    if (fork() != 0)
        _exit(0);
    setsid();
    fill_pipe_folder();
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        dup2(nowhere, fd);
    signal(SIGPIPE, SIG_IGN);
    daemon->mute = action == ACTION_MUTE;
    serve(daemon, listener);
    return 0;
}

/* ---- who talks to it ---- */

static int reach_daemon(void)
{
    int fd = connect_to_daemon();
    if (fd < 0)
        fputs("Cannot find MPS control daemon process\n", stderr);
    return fd;
}

/* Those of protocol 3 are answered with nothing. */
static int send_words(void)
{
    int fd = reach_daemon();
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

/* Prints the answer; a byte 1 in it stands for an exit code. */
static int send_command(const char *line)
{
    int fd = reach_daemon(), code = 0;
    if (fd < 0)
        return 1;
    dprintf(fd, "command %s\n", line);
    char byte;
    while (read(fd, &byte, 1) > 0)
        if (byte == 1)
            code = 1;
        else
            putchar(byte);
    close(fd);
    return code;
}

static int send_commands(void)
{
    char line[LINE];
    int code = 0;
    while (code == 0 && fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        code = send_command(line);
    }
    return code;
}

static int refuse(void)
{
    printf("Unrecognized option %c\n", 0);
    puts(HELP);
    return 0;
}

static int say_version(void)
{
    printf("CUDA MPS Control for Linux/Unix/QNX. Binary version: %d\n"
           "Copyright (C) 2003 - 2025 NVIDIA Corporation.\n\n",
           binary_version());
    return 0;
}

/* The unique beginning of a long one does, behind one dash too. */
static const struct option options[] = {
    {"daemon", no_argument, NULL, 'd'},
    {"multiuser-server", no_argument, NULL, 'M'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {0},
};

static const char *short_options(void)
{
    return binary_version() >= VERSION_PROTOCOL_3   ? "dMhvSp:q"
           : binary_version() >= VERSION_PARTITIONS ? "dMhvS"
                                                    : "dMhv";
}

int main(int argc, char **argv)
{
    struct daemon daemon = {.sm = 100, .protocol = 2};
    bool start = false;
    int option;
    opterr = 0;
    while ((option = getopt_long_only(argc, argv, short_options(), options, NULL)) >= 0)
        switch (option) {
        case 'd':
            start = true;
            break;
        case 'M':
            daemon.multi_user = true;
            break;
        case 'S':
            daemon.static_partitions = true;
            break;
        case 'p':
            daemon.protocol = atoi(optarg);
            break;
        case 'q':
            return send_command("-q");
        case 'v':
            return say_version();
        case 'h':
            puts(HELP);
            return 0;
        default:
            return refuse();
        }
    const char *protocol = getenv("CUDA_MPS_PROTOCOL_VERSION");
    if (protocol && binary_version() >= VERSION_PROTOCOL_3)
        daemon.protocol = atoi(protocol);
    if (start)
        return become_daemon(&daemon);
    return optind < argc ? send_words() : send_commands();
}
