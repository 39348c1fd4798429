/* A terminal that is asked for its background: it answers, at once or late or in pieces, or not at
 * all. Nothing of it may be taken for keys, and nothing may be left behind.
 *
 * usage: answer PROGRAM [ARGUMENT…] */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"

#include "terminal.h"

static const double PATIENCE = 30;
static const char question[] = "\x1b]11;?";
static const char light[] = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\";
static const char dark[] = "\x1b]11;rgb:1111/1111/1111\x07";
/* Colours of Compute SOL in style.def. */
static const char light_colour[] = "38;5;25m", dark_colour[] = "38;5;75m";

static struct terminal terminal;
static char output[1 << 20];
static size_t length;
static int count, failures;

static void check(bool good, const char *name)
{
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++count, name);
    failures += !good;
}

/* Until the program has written the text, from `from` on. */
static bool wait_for_after(size_t from, const char *text)
{
    double until = clock_monotonic() + PATIENCE;
    while (!strstr(&output[from], text)) {
        ssize_t got = terminal_read(&terminal, 1, &output[length], sizeof(output) - length);
        if (got < 0 || clock_monotonic() > until || length + 1 >= sizeof(output))
            return false;
        length += (size_t)got;
    }
    return true;
}

static bool wait_for(const char *text)
{
    return wait_for_after(0, text);
}

static bool wait_for_echo(void)
{
    double until = clock_monotonic() + PATIENCE;
    struct termios state = {0};
    while (tcgetattr(terminal.fd, &state) == 0 && !(state.c_lflag & ECHO)) {
        if (clock_monotonic() > until)
            return false;
        usleep(1000);
    }
    return (state.c_lflag & ECHO) != 0;
}

static void type(const char *keys)
{
    terminal_type(&terminal, keys, strlen(keys));
}

static int start(char **argv)
{
    length = 0;
    output[0] = '\0';
    return terminal_start(&terminal, 100, 30, argv);
}

static void quit(const char *name)
{
    type("q");
    check(terminal_end(&terminal, PATIENCE) == 0, name);
}

static void answers(char **argv)
{
    start(argv);
    check(wait_for(question), "the terminal is asked for its background");
    type(light);
    check(wait_for(light_colour), "a light one: the colours for it");
    size_t here = length;
    type("2");
    check(wait_for_after(here, "[waterfall]"), "keys work behind the answer");
    quit("and it ends");

    start(argv);
    wait_for(dark_colour);
    type(dark);
    type("2");
    check(wait_for("[waterfall]"), "a dark one");
    check(!strstr(output, light_colour), "keeps the colours for it");
    quit("and it ends");
}

static void answers_late(char **argv)
{
    start(argv);
    wait_for(dark_colour);
    type("2");
    wait_for("[waterfall]");
    size_t here = length;
    terminal_type(&terminal, light, 9);
    terminal_type(&terminal, &light[9], sizeof(light) - 1 - 9);
    check(wait_for_after(here, light_colour),
          "an answer behind a key, in two pieces: light colours");
    check(!strstr(&output[here], "[SOL]"), "and none of its digits was a key");
    quit("and it ends");
}

/* The program waits for its answer for half a second, so that it does not stand on the shell's
 * command line. Where this test was held up for longer, what is there says nothing. */
static void answers_behind_the_last_key(int argc, char **argv)
{
    static char script[] = "\"$@\"; code=$?; read -r line; echo \"[$line] $code\"";
    char *shell[16] = {(char[]){"/bin/sh"}, (char[]){"-c"}, script, (char[]){"sh"}};
    memcpy(&shell[4], argv, (size_t)argc * sizeof(*argv));
    bool in_time, ends, is_clean;
    int tries = 0;
    do {
        double began = clock_monotonic();
        start(shell);
        wait_for(dark_colour);
        type("q");
        usleep(50000); /* it has read that */
        type(light);
        in_time = clock_monotonic() - began < 0.5;
        ends = wait_for("\x1b[?1049l") && wait_for_echo();
        type("\n");
        is_clean = wait_for("[] 0");
        terminal_end(&terminal, PATIENCE);
    } while (!is_clean && !in_time && ++tries < 20);
    check(ends, "an answer behind the last key: it ends, and the terminal echoes again");
    check(is_clean, "the answer is on no command line");
}

static void does_not_answer(char **argv)
{
    start(argv);
    check(wait_for(dark_colour), "no answer: the colours for a dark background");
    type("2");
    check(wait_for("[waterfall]"), "and keys work");
    quit("and it ends");
}

static void is_not_asked(char **argv)
{
    setenv("COLORFGBG", "0;15", 1);
    start(argv);
    check(wait_for(light_colour), "COLORFGBG tells the background");
    check(!strstr(output, question), "and nobody is asked");
    quit("and it ends");
    unsetenv("COLORFGBG");
}

static int count_of(const char *text, const char *word)
{
    int times = 0;
    while ((text = strstr(text, word))) {
        text++;
        times++;
    }
    return times;
}

/* The kernel does not stop a program that no shell could let go on. */
static void is_stopped(char **argv)
{
    start(argv);
    wait_for(dark_colour);
    size_t here = length;
    type("\x1a");
    check(wait_for_after(here, "\x1b[?1049l"), "Ctrl-Z gives the terminal back");
    check(wait_for_after(here, "\x1b[?1049h"), "and takes it again");
    check(wait_for_after(here, "rooftop"), "and draws all");
    type("2");
    check(wait_for("[waterfall]"), "keys work");
    check(count_of(&output[here], "\x1b[?1049l") == 1, "and it was given back once");
    quit("and it ends");
}

static void is_clicked(char **argv)
{
    start(argv);
    check(wait_for("\x1b[?1006;1000h"), "the mouse is asked for");
    wait_for("pipes");
    type("\x1b[<0;28;1M\x1b[<0;28;1m");
    check(wait_for("[pipes]"), "a click on a mode shows it");
    quit("and it ends");
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 12)
        return 2;
    unsetenv("COLORFGBG");
    unsetenv("NO_COLOR");
    setvbuf(stdout, NULL, _IOLBF, 0);
    int r = start(&argv[1]);
    if (r == -ENODEV || r == -ENOENT) {
        puts("1..0 # SKIP no pseudo-terminal here");
        return 0;
    }
    wait_for(dark_colour);
    quit("it starts and ends");
    answers(&argv[1]);
    answers_late(&argv[1]);
    answers_behind_the_last_key(argc - 1, &argv[1]);
    does_not_answer(&argv[1]);
    is_not_asked(&argv[1]);
    is_stopped(&argv[1]);
    is_clicked(&argv[1]);
    printf("1..%d\n", count);
    return failures > 0;
}
