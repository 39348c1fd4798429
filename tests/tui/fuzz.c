/* Types and resizes at random: the program must neither crash nor hang nor end unasked.
 *
 * usage: fuzz SEED SECONDS PROGRAM [ARGUMENT…]; seed 0: a new one
 *
 * Use recorded sources only: a live one has processes to kill. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"

#include "terminal.h"

/* Where the bar at the bottom has "F10 Quit" for a recording. It may be in any row by the time that
 * a click is read. */
enum { QUIT_X = 99, QUIT_WIDTH = 8 };

static unsigned long state;

/* xorshift64: the same numbers from the same seed everywhere. */
static unsigned long draw(unsigned long below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static const char *const keys[] = {
    "1",         "2",         "3",      "4",         "5",       "\r",          "z",
    "p",         "\x1b",      " ",      "[",         "]",       "{",           "}",
    "m",         "n",         "b",      "r",         "t",       "M",           "P",
    "T",         "N",         "I",      "+",         "/",       "k",           "h",
    "?",         "S",         "\t",     "\x7f",      "\x0c",    "y",           "x",
    "\xc3\xa9",  "\xff",      "\x1b[A", "\x1b[B",    "\x1b[C",  "\x1b[D",      "\x1bOA",
    "\x1bOB",    "\x1bOC",    "\x1bOD", "\x1b[5~",   "\x1b[6~", "\x1bOH",      "\x1bOF",
    "\x1b[1;2D", "\x1b[1;2C", "\x1bOP", "\x1bOQ",    "\x1bOR",  "\x1bOS",      "\x1b[15~",
    "\x1b[17~",  "\x1b[20~",  "u",      "\x1b[<0;z", "\x1b[M",  "\x1b]11;#\a",
};

static void type_something(const struct terminal *terminal)
{
    char mouse[64];
    const char *text = keys[draw(ARRAY_SIZE(keys))];
    if (draw(12) == 0) {
        static const unsigned buttons[] = {0, 64, 65};
        unsigned button = buttons[draw(3)];
        unsigned long x = 1 + draw(250 - QUIT_WIDTH), y = 1 + draw(80);
        if (x >= QUIT_X)
            x += QUIT_WIDTH;
        snprintf(mouse, sizeof(mouse), "\x1b[<%u;%lu;%luM\x1b[<%u;%lu;%lum", button, x, y, button,
                 x, y);
        text = mouse;
    }
    terminal_type(terminal, text, strlen(text));
}

/* What the program wrote last: a sanitizer's report comes in many pieces. */
static char last[1 << 16];
static size_t last_length;

static ssize_t read_on(struct terminal *terminal, double timeout)
{
    enum { PIECE = 1 << 12 };
    if (last_length + PIECE > sizeof(last)) {
        size_t kept = last_length / 2;
        memmove(last, last + last_length - kept, kept);
        last_length = kept;
    }
    ssize_t length = terminal_read(terminal, timeout, last + last_length, PIECE);
    if (length > 0)
        last_length += (size_t)length;
    return length;
}

static int fail(unsigned long seed, const char *what)
{
    last[last_length] = '\0';
    printf("not ok 1 - seed %lu: %s\n", seed, what);
    const char *report = strstr(last, "ERROR: ");
    if (!report)
        report = strstr(last, "runtime error");
    if (!report)
        report = last_length > 1500 ? last + last_length - 1500 : last;
    printf("# %.3000s\n1..1\n", report);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    unsigned long seed = strtoul(argv[1], NULL, 10);
    double seconds = strtod(argv[2], NULL);
    if (seed == 0)
        seed = (unsigned long)time(NULL) * 1000 + (unsigned long)getpid() % 1000;
    state = seed * 2654435761UL + 1;

    struct terminal terminal;
    int r = terminal_start(&terminal, 80, 24, &argv[3]);
    if (r == -ENODEV || r == -ENOENT) {
        puts("1..0 # SKIP no pseudo-terminal here");
        return 0;
    }
    if (r < 0)
        return 2;
    double until = clock_monotonic() + seconds;
    unsigned long steps = 0;
    /* It has drawn something before the first key. */
    while (terminal.bytes < 200)
        if (read_on(&terminal, 10) <= 0)
            return fail(seed, "it draws nothing");
    while (clock_monotonic() < until) {
        if (draw(10) == 0)
            terminal_resize(&terminal, (int)(1 + draw(250)), (int)(1 + draw(80)));
        else
            type_something(&terminal);
        steps++;
        if (read_on(&terminal, draw(4) ? 0.0 : 0.03) < 0) {
            int code = terminal_end(&terminal, 10);
            printf("# it ended with %d after %lu steps\n", code, steps);
            return fail(seed, "it ended unasked");
        }
    }
    kill(terminal.child, SIGTERM);
    int code = terminal_end(&terminal, 20);
    if (code != 0) {
        printf("# it ended with %d\n", code);
        return fail(seed, "it did not end in order");
    }
    printf("ok 1 - seed %lu: %lu keys and resizes, %lu bytes drawn\n1..1\n", seed, steps,
           terminal.bytes);
    return 0;
}
