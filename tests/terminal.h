/* A program in a terminal of its own, for tests and benchmarks of the screen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct terminal {
    int fd;
    pid_t child;
    unsigned long bytes; /* that the program has written */
};

/* Starts argv[0] with TERM=xterm-256color. Returns 0 or −errno. */
int terminal_start(struct terminal *ret, int width, int height, char *const *argv);
void terminal_resize(const struct terminal *terminal, int width, int height);
void terminal_type(const struct terminal *terminal, const char *keys, size_t length);
/* Waits for output, `timeout` seconds at most, and puts it into `ret`, NUL-terminated. Returns its
 * length, 0 after the timeout, or −1 where the program has closed its terminal. */
ssize_t terminal_read(struct terminal *terminal, double timeout, char *ret, size_t size);
/* Waits for the program's end, `timeout` seconds at most, then kills it. Returns its exit code, 128
 * and the signal's number, or −1 where it had to be killed. */
int terminal_end(struct terminal *terminal, double timeout);
