#include "base/ini.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_KEYS = 512, MAX_FILE_BYTES = 1 << 20 };

struct parser {
    struct ini_place place;
    const struct ini_handler *handler;
    struct ini_error *error;
    bool in_section;
    char section[INI_NAME_SIZE];
    /* Keys of the present section, to find repeats. */
    size_t key_count;
    char keys[MAX_KEYS][INI_NAME_SIZE];
};

int ini_fail(struct ini_error *error, const struct ini_place *place, const char *format, ...)
{
    int length = snprintf(error->text, sizeof(error->text), "%s:%u: ", place->file, place->line);
    if (length < 0 || (size_t)length >= sizeof(error->text))
        length = 0;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text + length, sizeof(error->text) - (size_t)length, format, args);
    va_end(args);
    error->line = place->line;
    return -EINVAL;
}

static bool is_name(const char *text)
{
    if (!*text)
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("_-.", *text))
            return false;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char *trim(char *text)
{
    while (is_blank(*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1]))
        text[--length] = '\0';
    return text;
}

static int read_name(struct parser *parser, const char *text, const char *what, char *ret)
{
    if (!is_name(text))
        return ini_fail(parser->error, &parser->place,
                        "'%.40s' is no %s: use letters, digits, '_', '-' and '.'", text, what);
    if (strlen(text) >= INI_NAME_SIZE)
        return ini_fail(parser->error, &parser->place, "the %s is longer than %d characters", what,
                        INI_NAME_SIZE - 1);
    snprintf(ret, INI_NAME_SIZE, "%s", text);
    return 0;
}

static int begin_section(struct parser *parser, char *line)
{
    size_t length = strlen(line);
    if (line[length - 1] != ']')
        return ini_fail(parser->error, &parser->place, "a section is written [name]");
    line[length - 1] = '\0';
    int r = read_name(parser, trim(line + 1), "section", parser->section);
    if (r < 0)
        return r;
    parser->in_section = true;
    parser->key_count = 0;
    return parser->handler->section
               ? parser->handler->section(parser->handler->context, &parser->place, parser->section,
                                          parser->error)
               : 0;
}

static int remember_key(struct parser *parser, const char *key)
{
    for (size_t i = 0; i < parser->key_count; i++)
        if (strcmp(parser->keys[i], key) == 0)
            return ini_fail(parser->error, &parser->place, "%s is set twice in [%s]", key,
                            parser->section);
    if (parser->key_count == MAX_KEYS)
        return ini_fail(parser->error, &parser->place, "more than %d keys in [%s]", MAX_KEYS,
                        parser->section);
    snprintf(parser->keys[parser->key_count++], INI_NAME_SIZE, "%s", key);
    return 0;
}

static int take_value(struct parser *parser, char *line)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return ini_fail(parser->error, &parser->place, "a line is 'key = value' or '[section]'");
    if (!parser->in_section)
        return ini_fail(parser->error, &parser->place, "a key before the first [section]");
    *equals = '\0';
    char key[INI_NAME_SIZE];
    int r = read_name(parser, trim(line), "key", key);
    if (r == 0)
        r = remember_key(parser, key);
    if (r < 0)
        return r;
    return parser->handler->value(parser->handler->context, &parser->place, parser->section, key,
                                  trim(equals + 1), parser->error);
}

static int take_line(struct parser *parser, const char *text, size_t length)
{
    parser->place.line++;
    if (length >= INI_LINE_SIZE)
        return ini_fail(parser->error, &parser->place, "the line is longer than %d bytes",
                        INI_LINE_SIZE - 1);
    if (memchr(text, '\0', length))
        return ini_fail(parser->error, &parser->place, "a NUL byte");
    char buffer[INI_LINE_SIZE];
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    char *line = trim(buffer);
    if (*line == '\0' || *line == '#' || *line == ';')
        return 0;
    return *line == '[' ? begin_section(parser, line) : take_value(parser, line);
}

int ini_read_text(const char *file, const char *text, size_t length,
                  const struct ini_handler *handler, struct ini_error *error)
{
    *error = (struct ini_error){0};
    struct parser *parser = calloc(1, sizeof(*parser));
    if (!parser)
        return -ENOMEM;
    parser->place.file = file;
    parser->handler = handler;
    parser->error = error;
    int r = 0;
    const char *end = text + length;
    while (text < end && r >= 0) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        r = take_line(parser, text, (size_t)(stop - text));
        text = newline ? newline + 1 : end;
    }
    free(parser);
    return r < 0 ? r : 0;
}

int ini_read_file(const char *path, const struct ini_handler *handler, struct ini_error *error)
{
    *error = (struct ini_error){0};
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    CLEANUP_FREE char *text = malloc(MAX_FILE_BYTES + 1);
    size_t length = text ? fread(text, 1, MAX_FILE_BYTES + 1, file) : 0;
    int r = !text ? -ENOMEM : ferror(file) ? -EIO : 0;
    fclose(file);
    if (r == 0 && length > MAX_FILE_BYTES) {
        struct ini_place place = {.file = path};
        r = ini_fail(error, &place, "the file is larger than %d bytes", MAX_FILE_BYTES);
    }
    return r < 0 ? r : ini_read_text(path, text, length, handler, error);
}
