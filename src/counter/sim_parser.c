#include "counter/sim_parser.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

int sim_refuse(struct sim_parser *parser, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(parser->failure->reason, sizeof(parser->failure->reason), "%.100s:%u: %s",
             parser->name, parser->line ? parser->line : 1, what);
    return -EINVAL;
}

int sim_split_line(struct sim_parser *parser, const char *line, size_t length)
{
    if (length >= sizeof(parser->text))
        return sim_refuse(parser, "the line is longer than %d bytes", SIM_LONGEST_LINE - 1);
    if (memchr(line, '\0', length))
        return sim_refuse(parser, "the line holds a NUL byte; expected text");
    parser->word_count = 0;
    char *out = parser->text;
    size_t i = 0;
    for (;;) {
        while (i < length && isspace((unsigned char)line[i]))
            i++;
        if (i == length || line[i] == '#')
            return 0;
        if (parser->word_count == SIM_MOST_WORDS)
            return sim_refuse(parser, "more than %d words in one line", SIM_MOST_WORDS);
        parser->words[parser->word_count++] = out;
        bool quoted = false;
        for (; i < length && (quoted || !isspace((unsigned char)line[i])); i++) {
            if (line[i] == '"')
                quoted = !quoted;
            else if (quoted && line[i] == '\\' && i + 1 < length)
                *out++ = line[++i];
            else
                *out++ = line[i];
        }
        if (quoted)
            return sim_refuse(parser, "a quotation mark is missing");
        /* Never past the end: at least one separator was skipped, or the line is over. */
        *out++ = '\0';
    }
}

char *sim_split_value(char *word)
{
    char *equals = strchr(word, '=');
    if (!equals)
        return NULL;
    *equals = '\0';
    return equals + 1;
}

int sim_number_word(struct sim_parser *parser, size_t word, const char *what, double least,
                    double most, double *ret)
{
    double value;
    if (word >= parser->word_count || parse_double(parser->words[word], &value) < 0 ||
        value < least || value > most)
        return sim_refuse(parser, "expected %s, a number from %g to %.10g", what, least, most);
    *ret = value;
    return 0;
}
