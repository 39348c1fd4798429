/* An inference server's stand-in, for tests: PROGRAM serve MODEL --answers FOLDER listens on a free
 * port of loopback, starts itself anew with "--port PORT" behind its arguments, as a person would
 * have written them, makes the file FOLDER/ready, and answers GET /a/b with the file FOLDER/a_b, or
 * with 404. It ends after ten minutes at the latest. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *argument_behind(char **argv, const char *name)
{
    for (; *argv; argv++)
        if (strcmp(*argv, name) == 0)
            return argv[1];
    return NULL;
}

static int start_anew(char **argv, int count)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 8) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return 1;
    char port[16], descriptor[16];
    snprintf(port, sizeof(port), "%u", (unsigned)ntohs(address.sin_port));
    snprintf(descriptor, sizeof(descriptor), "%d", fd);
    setenv("CANNED_FD", descriptor, 1);
    char **arguments = calloc((size_t)count + 3, sizeof(*arguments));
    if (!arguments)
        return 1;
    memcpy(arguments, argv, (size_t)count * sizeof(*argv));
    arguments[count] = (char[]){"--port"};
    arguments[count + 1] = port;
    execv("/proc/self/exe", arguments);
    return 1;
}

static void answer(int fd, const char *folder)
{
    char request[4096] = "", path[512] = "", file[1024], body[65536];
    size_t length = 0;
    while (!strstr(request, "\r\n\r\n") && length < sizeof(request) - 1) {
        ssize_t got = read(fd, request + length, sizeof(request) - 1 - length);
        if (got <= 0)
            return;
        length += (size_t)got;
    }
    if (sscanf(request, "GET /%511[a-z0-9_/] ", path) != 1)
        return;
    for (char *c = path; *c; c++)
        *c = *c == '/' ? '_' : *c;
    snprintf(file, sizeof(file), "%s/%s", folder, path);
    int source = open(file, O_RDONLY);
    ssize_t size = source < 0 ? -1 : read(source, body, sizeof(body));
    dprintf(fd, "HTTP/1.1 %s\r\nConnection: close\r\n\r\n", size < 0 ? "404 Not Found" : "200 OK");
    if (size > 0 && write(fd, body, (size_t)size) < 0)
        perror("write");
    if (source >= 0)
        close(source);
}

int main(int argc, char **argv)
{
    const char *folder = argument_behind(argv, "--answers");
    const char *descriptor = getenv("CANNED_FD");
    if (!folder)
        return 2;
    if (!descriptor)
        return start_anew(argv, argc);
    alarm(600);
    char ready[1024];
    snprintf(ready, sizeof(ready), "%s/ready", folder);
    close(open(ready, O_WRONLY | O_CREAT, 0644));
    for (;;) {
        int fd = accept(atoi(descriptor), NULL, NULL);
        if (fd < 0)
            return 1;
        answer(fd, folder);
        close(fd);
    }
}
