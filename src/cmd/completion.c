#include "cmd/completion.h"

#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"

typedef void option_printer(struct strbuf *out, const struct command *command,
                            const struct option_row *row);

static void each_option(struct strbuf *out, const struct command *command, option_printer *print)
{
    for (const struct option_row *row = command->options; row->name; row++)
        print(out, command, row);
    print(out, command, &option_help);
}

static void each_command(struct strbuf *out, void (*print)(struct strbuf *, const struct command *))
{
    for (const struct command *const *command = commands; *command; command++)
        if (!(*command)->hidden)
            print(out, *command);
}

/* "text|json|csv" as "text json csv" */
static void add_choices(struct strbuf *out, const char *choices)
{
    for (; *choices; choices++)
        strbuf_putc(out, *choices == '|' ? ' ' : *choices);
}

/* Text with a backslash before each character of `special`; inside '…' a quote is ended around. */
static void add_escaped(struct strbuf *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'') {
            strbuf_puts(out, "'\\''");
            continue;
        }
        if (strchr(special, *text))
            strbuf_putc(out, '\\');
        strbuf_putc(out, *text);
    }
}

static bool takes_command(const struct command *command)
{
    return strstr(command->operands, "COMMAND");
}

static bool takes_file(const struct command *command)
{
    return takes_command(command) || strstr(command->operands, "FILE") ||
           strstr(command->operands, "RESULT") || strstr(command->operands, ".ini");
}

static void add_command_name(struct strbuf *out, const struct command *command)
{
    strbuf_printf(out, " %s", command->name);
}

/* bash */

static void bash_option_name(struct strbuf *out, const struct command *command,
                             const struct option_row *row)
{
    strbuf_printf(out, " --%s", row->name);
}

static void bash_argument(struct strbuf *out, const struct command *command,
                          const struct option_row *row)
{
    if (row->kind == OPTION_FLAG || row->kind == OPTION_FILE)
        return;
    strbuf_printf(out, "            --%s", row->name);
    if (row->letter)
        strbuf_printf(out, " | -%c", row->letter);
    strbuf_puts(out, ") words='");
    if (row->choices)
        add_choices(out, row->choices);
    strbuf_puts(out, "' ;;\n");
}

static void bash_files(struct strbuf *out, const struct command *command,
                       const struct option_row *row)
{
    if (row->kind != OPTION_FILE)
        return;
    strbuf_printf(out, "            --%s", row->name);
    if (row->letter)
        strbuf_printf(out, " | -%c", row->letter);
    strbuf_puts(out, ") files=yes ;;\n");
}

static void bash_case(struct strbuf *out, const struct command *command)
{
    strbuf_printf(out, "    %s)\n        words='", command->name);
    each_option(out, command, bash_option_name);
    strbuf_puts(out, "'\n        case $previous in\n");
    each_option(out, command, bash_argument);
    each_option(out, command, bash_files);
    strbuf_puts(out, "            *) [[ $current == -* ]] || { words=; ");
    strbuf_puts(out, takes_file(command) ? "files=yes" : ":");
    strbuf_puts(out, "; } ;;\n        esac\n        ;;\n");
}

void completion_bash(struct strbuf *out)
{
    strbuf_puts(out,
                "# bash completion of rooftop, made by 'rooftop reference completion-bash'\n"
                "_rooftop()\n"
                "{\n"
                "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    local command=${COMP_WORDS[1]} words= files=\n"
                "    COMPREPLY=()\n"
                "    if [[ $COMP_CWORD -eq 1 && $current != -* ]]; then\n"
                "        COMPREPLY=($(compgen -W '");
    each_command(out, add_command_name);
    strbuf_puts(out, " help' -- \"$current\"))\n"
                     "        return\n"
                     "    fi\n"
                     "    [[ $command != -* ]] || command=top\n"
                     "    case $command in\n");
    each_command(out, bash_case);
    strbuf_puts(out, "    help) words='");
    each_command(out, add_command_name);
    strbuf_puts(out, "' ;;\n");
    /* A word with a colon in it comes in three words: what stands behind it is a file's name. */
    strbuf_puts(out, "    esac\n"
                     "    [[ $previous != : && $current != : ]] || { words=; files=yes; }\n"
                     "    if [[ $files ]]; then\n"
                     "        compopt -o filenames 2>/dev/null\n"
                     "        COMPREPLY=($(compgen -f -- \"${current#:}\"))\n"
                     "    else\n"
                     "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                     "    fi\n"
                     "    [[ ${COMPREPLY[0]} != *: ]] || compopt -o nospace 2>/dev/null\n"
                     "}\n"
                     "complete -F _rooftop rooftop\n");
}

/* zsh */

static void zsh_command_name(struct strbuf *out, const struct command *command)
{
    strbuf_printf(out, "        '%s:", command->name);
    add_escaped(out, command->summary, ":");
    strbuf_puts(out, "'\n");
}

static void zsh_spec(struct strbuf *out, const struct option_row *row, const char *dashed)
{
    strbuf_printf(out, " \\\n            '*%s[", dashed);
    add_escaped(out, row->help, "[]:\\");
    strbuf_putc(out, ']');
    if (row->kind != OPTION_FLAG) {
        strbuf_putc(out, ':');
        add_escaped(out, row->argument, ":");
        strbuf_putc(out, ':');
    }
    if (row->kind == OPTION_FILE)
        strbuf_puts(out, "_files");
    if (row->choices) {
        strbuf_putc(out, '(');
        for (const char *c = row->choices; *c; c++) {
            if (*c == ':')
                strbuf_putc(out, '\\');
            strbuf_putc(out, *c == '|' ? ' ' : *c);
        }
        strbuf_putc(out, ')');
    }
    strbuf_putc(out, '\'');
}

static void zsh_option(struct strbuf *out, const struct command *command,
                       const struct option_row *row)
{
    char dashed[64];
    snprintf(dashed, sizeof(dashed), "--%s", row->name);
    zsh_spec(out, row, dashed);
    if (row->letter) {
        snprintf(dashed, sizeof(dashed), "-%c", row->letter);
        zsh_spec(out, row, dashed);
    }
}

static void zsh_case(struct strbuf *out, const struct command *command)
{
    strbuf_printf(out, "    %s)\n        _arguments -s", command->name);
    each_option(out, command, zsh_option);
    if (takes_command(command))
        strbuf_puts(out, " \\\n            '*::command:_normal'");
    else if (takes_file(command))
        strbuf_puts(out, " \\\n            '*:file:_files'");
    strbuf_puts(out, "\n        ;;\n");
}

void completion_zsh(struct strbuf *out)
{
    strbuf_puts(out, "#compdef rooftop\n"
                     "# zsh completion of rooftop, made by 'rooftop reference completion-zsh'\n"
                     "_rooftop()\n"
                     "{\n"
                     "    local -a names\n"
                     "    names=(\n");
    each_command(out, zsh_command_name);
    strbuf_puts(out, "    )\n"
                     "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
                     "        _describe command names\n"
                     "        return\n"
                     "    fi\n"
                     "    local command=$words[2]\n"
                     "    if [[ $command == -* ]]; then\n"
                     "        command=top\n"
                     "    else\n"
                     "        shift words\n"
                     "        (( CURRENT-- ))\n"
                     "    fi\n"
                     "    case $command in\n");
    each_command(out, zsh_case);
    strbuf_puts(out, "    help) _describe command names ;;\n");
    strbuf_puts(out, "    esac\n"
                     "}\n"
                     "[[ $funcstack[1] != _rooftop ]] || _rooftop \"$@\"\n");
}

/* fish */

/* The last words of a line; inside quotes fish knows only \' and \\. */
static void fish_description(struct strbuf *out, const char *text)
{
    strbuf_puts(out, " -d '");
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            strbuf_putc(out, '\\');
        strbuf_putc(out, *text);
    }
    strbuf_puts(out, "'\n");
}

static void fish_option(struct strbuf *out, const struct command *command,
                        const struct option_row *row)
{
    strbuf_printf(out, "complete -c rooftop -n '__fish_seen_subcommand_from %s' -l %s",
                  command->name, row->name);
    if (row->letter)
        strbuf_printf(out, " -s %c", row->letter);
    if (row->kind == OPTION_FILE)
        strbuf_puts(out, " -r -F");
    else if (row->kind != OPTION_FLAG)
        strbuf_puts(out, " -x");
    if (row->choices) {
        strbuf_puts(out, " -a '");
        add_choices(out, row->choices);
        strbuf_putc(out, '\'');
    }
    fish_description(out, row->help);
}

static void fish_command(struct strbuf *out, const struct command *command)
{
    strbuf_printf(out, "complete -c rooftop -n __fish_use_subcommand -f -a %s", command->name);
    fish_description(out, command->summary);
    if (!takes_file(command))
        strbuf_printf(out, "complete -c rooftop -n '__fish_seen_subcommand_from %s' -f\n",
                      command->name);
    each_option(out, command, fish_option);
}

void completion_fish(struct strbuf *out)
{
    strbuf_puts(out, "# fish completion of rooftop, made by 'rooftop reference completion-fish'\n");
    each_command(out, fish_command);
    strbuf_puts(out, "complete -c rooftop -n '__fish_seen_subcommand_from help' -f -a '");
    each_command(out, add_command_name);
    strbuf_puts(out, "'\n");
}
