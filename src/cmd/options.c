#include "cmd/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

enum { MAX_OPTIONS = 48 };

const struct option_row option_help = {
    .name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "Print this help"};

static void print_error(const struct command *command, const char *format, va_list args)
{
    fprintf(stderr, "rooftop %s: ", command->name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int usage_error(const struct command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_error(command, format, args);
    va_end(args);
    fprintf(stderr, "Try 'rooftop %s --help'.\n", command->name);
    return EXIT_USAGE;
}

int run_error(const struct command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_error(command, format, args);
    va_end(args);
    return EXIT_FAILED;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (const char *choice = choices; *choice;) {
        size_t end = strcspn(choice, "|");
        if (end == length && strncmp(choice, text, length) == 0)
            return true;
        choice += end + (choice[end] == '|');
    }
    return false;
}

/* What is less than a timer's nanosecond would set none, and what is beyond its seconds fails. */
static const double SHORTEST = 0.001, LONGEST = 100 * 365 * 86400.0;

/* NULL where the text was stored, else what was expected. */
static const char *store(const struct option_row *row, void *target, const char *text)
{
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)target = true;
        return NULL;
    case OPTION_TEXT:
    case OPTION_FILE:
        *(const char **)target = text;
        return text[0] ? NULL : "a value";
    case OPTION_CHOICE:
        *(const char **)target = text;
        return is_choice(row->choices, text) ? NULL : row->choices;
    case OPTION_DURATION: {
        double seconds;
        if (parse_duration(text, &seconds) < 0 || seconds < SHORTEST || seconds > LONGEST)
            return "a time such as 0.5, 250ms or 2m, from 1ms to 100 years";
        *(double *)target = seconds;
        return NULL;
    }
    case OPTION_NUMBER:
        return parse_double(text, target) < 0 ? "a number" : NULL;
    case OPTION_COUNT:
        return parse_unsigned(text, target) < 0 ? "a whole number" : NULL;
    case OPTION_BYTES:
        return parse_bytes(text, target) < 0 ? "a size such as 512M or 8G" : NULL;
    }
    return NULL;
}

struct getopt_tables {
    struct option longs[MAX_OPTIONS + 2];
    char letters[2 * MAX_OPTIONS + 4];
};

static size_t count_options(const struct command *command)
{
    size_t count = 0;
    while (command->options[count].name)
        count++;
    return count;
}

static void make_tables(const struct command *command, struct getopt_tables *tables)
{
    *tables = (struct getopt_tables){0};
    char *letter = tables->letters;
    *letter++ = '+'; /* options end at the first operand: what follows may be somebody's command */
    *letter++ = ':';
    size_t count = count_options(command);
    for (size_t i = 0; i < count && i < MAX_OPTIONS; i++) {
        const struct option_row *row = &command->options[i];
        bool argument = row->kind != OPTION_FLAG;
        tables->longs[i] = (struct option){
            .name = row->name,
            .has_arg = argument ? required_argument : no_argument,
            .val = 256 + (int)i,
        };
        if (row->letter) {
            *letter++ = row->letter;
            if (argument)
                *letter++ = ':';
        }
    }
    tables->longs[count] = (struct option){.name = option_help.name, .val = 'h'};
    *letter = 'h';
}

static const struct option_row *row_of(const struct command *command, int value)
{
    if (value >= 256)
        return &command->options[value - 256];
    for (const struct option_row *row = command->options; row->name; row++)
        if (row->letter == value)
            return row;
    return NULL;
}

/* What getopt_long() made of it is in optopt: a letter, the value of a long option, or 0. */
static void refuse(const struct command *command, char **argv, bool lacks_argument)
{
    const char *given = optind > 0 ? argv[optind - 1] : "";
    if (lacks_argument)
        usage_error(command, "%s needs an argument", given);
    else if (optopt >= 256)
        usage_error(command, "--%s takes no argument", row_of(command, optopt)->name);
    else if (optopt > 0 && optopt != option_help.letter)
        usage_error(command, "there is no option -%c", optopt);
    else
        usage_error(command, "there is no option %s", given);
}

int options_parse(const struct command *command, int argc, char **argv, void *settings,
                  int *ret_operands)
{
    struct getopt_tables tables;
    make_tables(command, &tables);
    opterr = 0;
    optind = 0;
    for (;;) {
        int value = getopt_long(argc, argv, tables.letters, tables.longs, NULL);
        if (value == -1)
            break;
        if (value == 'h') {
            options_print_help(command);
            return EXIT_DONE;
        }
        if (value == '?' || value == ':') {
            refuse(command, argv, value == ':');
            return EXIT_USAGE;
        }
        const struct option_row *row = row_of(command, value);
        const char *expected = store(row, (char *)settings + row->offset, optarg);
        if (expected)
            return usage_error(command, "--%s: '%s' is not %s", row->name, optarg, expected);
    }
    *ret_operands = optind;
    return OPTIONS_GO;
}

int options_parse_all(const struct command *command, int argc, char **argv, void *settings)
{
    int operands;
    int result = options_parse(command, argc, argv, settings, &operands);
    if (result != OPTIONS_GO || operands == argc)
        return result;
    return usage_error(command, "'%s' is one word too many", argv[operands]);
}

int options_parse_one(const struct command *command, int argc, char **argv, void *settings,
                      const char *what, const char **ret_operand)
{
    int first, rest = argc;
    int result = options_parse(command, argc, argv, settings, &first);
    if (result == OPTIONS_GO && first < argc)
        result = options_parse(command, argc - first, argv + first, settings, &rest);
    if (result != OPTIONS_GO)
        return result;
    if (rest != argc - first)
        return usage_error(command, "name %s", what);
    *ret_operand = argv[first];
    return OPTIONS_GO;
}

static void print_option(const struct option_row *row)
{
    char left[64];
    char letter[5] = "    ";
    if (row->letter)
        snprintf(letter, sizeof(letter), "-%c, ", row->letter);
    snprintf(left, sizeof(left), "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
             row->argument ? row->argument : "");
    printf(strlen(left) > 28 ? "  %s\n  %-28s  %s\n" : "  %-28s%s  %s\n", left, "", row->help);
}

void options_print_help(const struct command *command)
{
    size_t length = strlen(command->summary);
    printf("Usage: rooftop %s [OPTION…]%s%s\n\n%s%s\n\nOptions:\n", command->name,
           command->operands[0] ? " " : "", command->operands, command->summary,
           length > 0 && strchr("?!.", command->summary[length - 1]) ? "" : ".");
    for (const struct option_row *row = command->options; row->name; row++)
        print_option(row);
    print_option(&option_help);
    if (command->more[0])
        printf("\n%s", command->more);
}
