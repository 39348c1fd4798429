#include "jobs/server_http.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

static const size_t LARGEST_ANSWER = (size_t)4 << 20;

static int wait_for(int fd, short events, double until)
{
    for (;;) {
        double left = until - clock_monotonic();
        if (left <= 0)
            return -ETIMEDOUT;
        struct pollfd poll_fd = {.fd = fd, .events = events};
        int r = poll(&poll_fd, 1, (int)(left * 1000) + 1);
        if (r > 0)
            return 0;
        if (r < 0 && errno != EINTR)
            return -errno;
    }
}

static int connect_to(bool ipv6, unsigned port, double until, int *ret_fd)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_loopback};
    const struct sockaddr *address =
        ipv6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;
    socklen_t size = ipv6 ? sizeof(v6) : sizeof(v4);
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int r = connect(fd, address, size) < 0 ? -errno : 0;
    if (r == -EINPROGRESS) {
        r = wait_for(fd, POLLOUT, until);
        int error = 0;
        socklen_t length = sizeof(error);
        if (r == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0)
            r = -error;
    }
    if (r < 0)
        close(fd);
    else
        *ret_fd = fd;
    return r;
}

static int send_all(int fd, const char *text, size_t length, double until)
{
    while (length > 0) {
        int r = wait_for(fd, POLLOUT, until);
        if (r < 0)
            return r;
        ssize_t sent = send(fd, text, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (sent > 0) {
            text += sent;
            length -= (size_t)sent;
        }
    }
    return 0;
}

static int receive_all(int fd, double until, struct strbuf *out)
{
    char part[16384];
    for (;;) {
        int r = wait_for(fd, POLLIN, until);
        if (r < 0)
            return r;
        ssize_t got = recv(fd, part, sizeof(part), 0);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (got == 0)
            return strbuf_failed(out) ? -ENOMEM : 0;
        if (got > 0)
            strbuf_add(out, part, (size_t)got);
        if (out->length > LARGEST_ANSWER)
            return -EFBIG;
    }
}

/* The value of a header that stands before `end`, or NULL. */
static const char *header(const char *text, const char *end, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line && line < end; line = strstr(line, "\r\n")) {
        line += line[0] == '\r' ? 2 : 0;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
            return line + length + 1 + strspn(line + length + 1, " ");
        if (line >= end)
            break;
    }
    return NULL;
}

static int add_chunks(const char *text, struct strbuf *body)
{
    for (;;) {
        char *end;
        unsigned long size = strtoul(text, &end, 16);
        const char *line = strstr(end, "\r\n");
        if (end == text || !line)
            return -EPROTO;
        if (size == 0)
            return 0;
        if (strlen(line + 2) < size)
            return -EPROTO;
        strbuf_add(body, line + 2, size);
        text = line + 2 + size;
        text += strncmp(text, "\r\n", 2) == 0 ? 2 : 0;
    }
}

int server_split_answer(const char *text, size_t length, struct strbuf *body)
{
    int status;
    if (strlen(text) != length || sscanf(text, "HTTP/1.%*1d %3d", &status) != 1 || status < 100)
        return -EPROTO;
    const char *end = strstr(text, "\r\n\r\n");
    if (!end)
        return -EPROTO;
    const char *coding = header(text, end, "Transfer-Encoding");
    if (coding && strncasecmp(coding, "chunked", 7) == 0) {
        int r = add_chunks(end + 4, body);
        return r < 0 ? r : status;
    }
    strbuf_puts(body, end + 4);
    return status;
}

int server_get(bool ipv6, unsigned port, const char *path, double until, struct strbuf *body)
{
    char request[256];
    int length = snprintf(request, sizeof(request),
                          "GET %s HTTP/1.0\r\nHost: localhost:%u\r\nAccept: */*\r\n"
                          "User-Agent: rooftop\r\nConnection: close\r\n\r\n",
                          path, port);
    int fd = -1;
    int r = connect_to(ipv6, port, until, &fd);
    if (r < 0)
        return r;
    struct strbuf answer = {0};
    r = send_all(fd, request, (size_t)length, until);
    if (r == 0)
        r = receive_all(fd, until, &answer);
    close(fd);
    if (r == 0)
        r = server_split_answer(strbuf_text(&answer), answer.length, body);
    if (r >= 0 && strbuf_failed(body))
        r = -ENOMEM;
    strbuf_free(&answer);
    return r;
}
