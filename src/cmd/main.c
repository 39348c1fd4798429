#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"

static void print_overview(FILE *out)
{
    fputs("Usage: rooftop [COMMAND] [OPTION…]\n\n"
          "How hard do these GPUs really work, and what could run in the room that is left?\n\n"
          "Commands:\n",
          out);
    for (const struct command *const *command = commands; *command; command++)
        if (!(*command)->hidden)
            fprintf(out, "  %-10s  %s\n", (*command)->name, (*command)->summary);
    fputs("\n'rooftop COMMAND --help' tells more. Without a command: top.\n", out);
}

/* `name` is NULL for the overview. */
static int help(const char *name)
{
    const struct command *command = name ? command_by_name(name) : NULL;
    if (name && !command) {
        fprintf(stderr, "rooftop help: there is no command '%s'\n\n", name);
        print_overview(stderr);
        return EXIT_USAGE;
    }
    if (command)
        options_print_help(command);
    else
        print_overview(stdout);
    return EXIT_DONE;
}

/* A stream that is closed stays of no use: else a file of ours would be opened in its place, and
 * messages would go into it. */
static void hold_closed_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0)
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    hold_closed_streams();
    /* Whoever starts it may ignore this, and the end of a child would then be lost. */
    signal(SIGCHLD, SIG_DFL);
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C");
    const char *name = argc > 1 ? argv[1] : "top";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        name = "version";
    bool options_only = argc > 1 && name[0] == '-';
    const struct command *command = command_by_name(options_only ? "top" : name);
    if (!command) {
        fprintf(stderr, "rooftop: there is no command '%s'\n\n", name);
        print_overview(stderr);
        return EXIT_USAGE;
    }
    int skip = argc > 1 && !options_only ? 1 : 0;
    return command->run(command, argc - skip, argv + skip);
}
