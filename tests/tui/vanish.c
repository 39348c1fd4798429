/* The terminal goes away: the program must end by itself, whether the signal that tells so reaches
 * it or not.
 *
 * usage: vanish PROGRAM [ARGUMENT…] */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#include "terminal.h"

/* Only a program that does not end makes the test wait this long. */
static const double PATIENCE = 30;

static int await_end(pid_t child)
{
    double until = clock_monotonic() + PATIENCE;
    int status;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (clock_monotonic() > until) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        usleep(5000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* `signal_before`: sent while the terminal is still there, or 0. Returns the exit code, −1 where it
 * had to be killed, or −errno where there is no terminal. */
static int vanish(char **argv, void (*on_hangup)(int), int signal_before)
{
    struct terminal terminal;
    char output[4096];
    signal(SIGHUP, on_hangup); /* inherited where it is ignored */
    int r = terminal_start(&terminal, 80, 24, argv);
    signal(SIGHUP, SIG_DFL);
    if (r < 0)
        return r;
    while (terminal.bytes < 200 && terminal_read(&terminal, 20, output, sizeof(output)) > 0)
        ;
    if (signal_before)
        kill(terminal.child, signal_before);
    while (signal_before && terminal_read(&terminal, 20, output, sizeof(output)) > 0 &&
           !strstr(output, "1049l"))
        ;
    close(terminal.fd);
    return await_end(terminal.child);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    int told = vanish(&argv[1], SIG_DFL, 0);
    if (told == -ENODEV || told == -ENOENT) {
        puts("1..0 # SKIP no pseudo-terminal here");
        return 0;
    }
    int untold = vanish(&argv[1], SIG_IGN, 0);
    int stopped = vanish(&argv[1], SIG_IGN, SIGTSTP);
    printf("1..3\n%s 1 - it ends when it is told: code %d\n%s 2 - and when it is not: code %d\n"
           "%s 3 - and when it was to stop, and no shell could let it go on: code %d\n",
           told == 0 ? "ok" : "not ok", told, untold == 0 ? "ok" : "not ok", untold,
           stopped == 0 ? "ok" : "not ok", stopped);
    return 0;
}
