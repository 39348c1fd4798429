/* Command lines as tables: the same rows parse the arguments, print the help, and make the shell
 * completions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"

enum option_kind {
    OPTION_FLAG,     /* bool */
    OPTION_TEXT,     /* const char * */
    OPTION_FILE,     /* const char *; completed as a file name */
    OPTION_CHOICE,   /* const char *, one of `choices` */
    OPTION_DURATION, /* double, seconds, above 0 */
    OPTION_NUMBER,   /* double */
    OPTION_COUNT,    /* uint64_t */
    OPTION_BYTES,    /* uint64_t */
};

struct option_row {
    const char *name; /* without dashes */
    char letter;      /* 0: none */
    enum option_kind kind;
    size_t offset;        /* into the command's struct of settings */
    const char *argument; /* as the help shows it, NULL for a flag */
    const char *help;
    const char *choices; /* "text|json|csv": for OPTION_CHOICE all words that it takes, for another
                            kind those that shell completions offer */
};

/* The last row of a table. */
#define OPTIONS_END {.name = NULL}

/* --help, which every command has without naming it. */
extern const struct option_row option_help;

struct command {
    const char *name;
    const char *summary;
    const char *operands; /* "FILE…", "-- COMMAND [ARGUMENT…]" or "" */
    const struct option_row *options;
    const char *more; /* further paragraphs of the help: what one sees, examples */
    int (*run)(const struct command *command, int argc, char **argv);
    bool hidden; /* for builders: not in the overview, not completed */
};

enum exit_code { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_GPU = 3 };

/* Not an exit code: the command has begun. */
enum { OPTIONS_GO = -1 };

/* Returns OPTIONS_GO, with the index of the first operand in *ret_operands; else EXIT_DONE where
 * the help was asked for and printed, or EXIT_USAGE behind an error. */
MUST_CHECK int options_parse(const struct command *command, int argc, char **argv, void *settings,
                             int *ret_operands);

/* The same for a command without operands: one is an error. */
MUST_CHECK int options_parse_all(const struct command *command, int argc, char **argv,
                                 void *settings);

/* The same for a command with one operand, which may stand among its options; it is an error that
 * says "name WHAT" where there is not one. */
MUST_CHECK int options_parse_one(const struct command *command, int argc, char **argv,
                                 void *settings, const char *what, const char **ret_operand);

/* Prints "rooftop COMMAND: MESSAGE" and a pointer to the help on stderr; returns EXIT_USAGE. */
int usage_error(const struct command *command, const char *format, ...) PRINTF_LIKE(2, 3);
/* Prints "rooftop COMMAND: MESSAGE" on stderr; returns EXIT_FAILED. */
int run_error(const struct command *command, const char *format, ...) PRINTF_LIKE(2, 3);

void options_print_help(const struct command *command);
