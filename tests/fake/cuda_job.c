/* fake_job WORD…: a program that uses CUDA as the words say, over the fake daemon and the fake
 * NVML:
 *
 *   unset NAME        from its environment, before it starts CUDA
 *   start             CUDA; the words below do so by themselves
 *   sm                prints the SMs that it sees, of 132
 *   alloc SIZE        such as 3G; prints "alloc SIZE -> 0" or 2, out of memory
 *   touch FILE | wait FILE | sleep SECONDS
 *   seen COUNT        works until its GPU's processes were listed so many times more
 *   spin SECONDS      works meanwhile: ends with 10 where its server is at fault, 12 where it was
 *                     terminated, 13 where the server ended without a word
 *   linger FILE       dies of SIGTERM at once from here on; when it is terminated, it leaves when
 *                     that file is there
 *   fault             an illegal access: ends with 11
 *   name NAME         is called so from here on, as `ps` has it
 *   title             writes over its environment, as Python's setproctitle does unless SPT_NOENV
 * is set hide              its environment from other programs of its user exec becomes a new
 * program, which does the rest of the words exit CODE
 *
 * Where the pipe folder leads to no daemon it runs without MPS, as CUDA does. */
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
#include <sys/un.h>
#include <unistd.h>

#include "gpu_folder.h"

enum { CONTEXT_BYTES = 500 << 20 };
enum { EXIT_VICTIM = 10, EXIT_FAULT = 11, EXIT_TERMINATED = 12, EXIT_ALONE = 13 };

static int server = -1; /* -1: without MPS */
static int told_to_end[2] = {-1, -1};
static bool started;
static unsigned sms = 132;
static unsigned long long limit; /* 0: none */
static uint64_t held;
static const char *lingers_for; /* a file, or NULL */

static uint64_t parse_size(const char *text)
{
    char *end;
    double size = strtod(text, &end);
    return (uint64_t)(size * (*end == 'G' ? 1 << 30 : *end == 'M' ? 1 << 20 : 1));
}

static void tell(void)
{
    gpu_folder_set(gpu_folder_pid(), server >= 0 ? "mps" : "compute", held, gpu_folder_device());
}

static void leave(int code)
{
    if (started)
        gpu_folder_set(gpu_folder_pid(), NULL, 0, 0);
    fflush(stdout);
    _exit(code);
}

/* SIGTERM may come while the folder is locked: it is obeyed at the next rest. */
static void on_term(int signal)
{
    (void)signal;
    if (write(told_to_end[1], "e", 1) != 1)
        _exit(99);
}

/* Until `fd` can be read, at most so long. True where it can. */
static bool await(int fd, double seconds)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = told_to_end[0], .events = POLLIN}};
    int ready;
    do {
        ready = poll(fds, 2, (int)(seconds * 1000));
    } while (ready < 0);
    if (fds[1].revents)
        leave(143);
    return fds[0].revents;
}

static int connect_to_server(void)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    if (!folder)
        return -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

static void start(void)
{
    if (started)
        return;
    started = true;
    if (pipe2(told_to_end, O_CLOEXEC) < 0)
        _exit(99);
    signal(SIGTERM, on_term);
    server = connect_to_server();
    if (server >= 0) {
        const char *percent = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
        const char *memory = getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
        const char *partition = getenv("CUDA_MPS_SM_PARTITION");
        const char *size = memory ? strchr(memory, '=') : NULL;
        dprintf(server, "client %d %u %g %llu %s\n", (int)gpu_folder_pid(), (unsigned)geteuid(),
                percent ? atof(percent) : 0, (unsigned long long)(size ? parse_size(size + 1) : 0),
                partition ? partition : "-");
        char answer[128] = "";
        ssize_t got = read(server, answer, sizeof(answer) - 1);
        if (got <= 0 || sscanf(answer, "ok %u %llu", &sms, &limit) != 2) {
            printf("start -> 807\n");
            leave(9);
        }
    }
    held = CONTEXT_BYTES;
    tell();
}

static void look_at_server(double seconds)
{
    if (!await(server, seconds))
        return;
    char answer[64] = "";
    ssize_t got = read(server, answer, sizeof(answer) - 1);
    bool fault = got > 0 && strncmp(answer, "fault", 5) == 0;
    bool told = got > 0;
    printf("%s\n", fault ? "fault of another" : told ? "terminated" : "server gone");
    while (lingers_for && access(lingers_for, F_OK) < 0)
        await(-1, 0.01);
    leave(fault ? EXIT_VICTIM : told ? EXIT_TERMINATED : EXIT_ALONE);
}

static void allocate(const char *text)
{
    uint64_t size = parse_size(text);
    bool fits = limit == 0 || held + size <= limit;
    if (fits) {
        held += size;
        tell();
    }
    printf("alloc %s -> %d\n", text, fits ? 0 : 2);
}

static void fault(void)
{
    if (server >= 0)
        dprintf(server, "fault\n");
    char answer[64];
    if (server >= 0 && read(server, answer, sizeof(answer)) <= 0)
        printf("no answer\n");
    printf("fault -> 700\n");
    leave(EXIT_FAULT);
}

static void wait_for(const char *path)
{
    while (access(path, F_OK) < 0)
        look_at_server(0.01);
}

/* How often somebody has listed the processes of this program's GPU. */
static unsigned count_listings(void)
{
    char path[512], line[256];
    snprintf(path, sizeof(path), "%s/calls", getenv("FAKE_GPU"));
    FILE *file = fopen(path, "re");
    unsigned count = 0, device;
    while (file && fgets(line, sizeof(line), file))
        count += sscanf(line, "nvmlDeviceGetComputeRunningProcesses%*s %u", &device) == 1 &&
                 device == gpu_folder_device();
    if (file)
        fclose(file);
    return count;
}

static void await_listings(unsigned more)
{
    for (unsigned enough = count_listings() + more; count_listings() < enough;)
        look_at_server(0.01);
}

static void spin(double seconds)
{
    for (double done = 0; done < seconds; done += 0.01)
        look_at_server(0.01);
}

static void linger(const char *path)
{
    start();
    lingers_for = path;
    signal(SIGTERM, SIG_DFL);
}

static void set_title(void)
{
    for (char **variable = environ; !getenv("SPT_NOENV") && *variable; variable++) {
        char *copy = strdup(*variable);
        memset(*variable, 0, strlen(*variable));
        *variable = copy;
    }
}

static void obey(const char *word, const char *argument)
{
    if (strcmp(word, "unset") == 0)
        unsetenv(argument);
    else if (strcmp(word, "touch") == 0)
        close(open(argument, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    else if (strcmp(word, "sleep") == 0)
        await(-1, atof(argument));
    else if (strcmp(word, "exit") == 0)
        leave(atoi(argument));
    else if (strcmp(word, "linger") == 0)
        linger(argument);
    else if (strcmp(word, "name") == 0)
        prctl(PR_SET_NAME, argument);
    else {
        start();
        if (strcmp(word, "alloc") == 0)
            allocate(argument);
        else if (strcmp(word, "wait") == 0)
            wait_for(argument);
        else if (strcmp(word, "seen") == 0)
            await_listings((unsigned)atoi(argument));
        else if (strcmp(word, "spin") == 0)
            spin(atof(argument));
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "start") == 0) {
            start();
        } else if (strcmp(word, "sm") == 0) {
            start();
            printf("sm %u\n", sms);
        } else if (strcmp(word, "fault") == 0) {
            start();
            fault();
        } else if (strcmp(word, "title") == 0) {
            set_title();
        } else if (strcmp(word, "hide") == 0) {
            prctl(PR_SET_DUMPABLE, 0);
        } else if (strcmp(word, "exec") == 0) {
            argv[i] = argv[0];
            execv("/proc/self/exe", argv + i);
        } else if (i + 1 < argc)
            obey(word, argv[++i]);
    }
    leave(0);
}
