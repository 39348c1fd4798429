/* jsoncheck [PATH…]: reads JSON from standard input, one value a line, and fails on the first line
 * that is none, or that has a key twice. For each line it prints the values at the paths
 * ("gpus.0.state"; "gpus.#" counts), with blanks between; "missing" where a path leads nowhere. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *step(json_t *value, const char *word)
{
    if (json_is_array(value))
        return json_array_get(value, strtoul(word, NULL, 10));
    return json_object_get(value, word);
}

static void print_value(const json_t *value)
{
    char *text =
        value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12)) : NULL;
    fputs(text ? text : "missing", stdout);
    free(text);
}

static void print_path(json_t *value, const char *path)
{
    char *words = strdup(path);
    char *rest = NULL;
    for (char *word = strtok_r(words, ".", &rest); word; word = strtok_r(NULL, ".", &rest)) {
        if (strcmp(word, "#") == 0) {
            printf("%zu", json_array_size(value));
            free(words);
            return;
        }
        value = step(value, word);
    }
    print_value(value);
    free(words);
}

static bool check_line(const char *line, unsigned number, int argc, char **argv)
{
    json_error_t error;
    json_t *value = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        fprintf(stderr, "jsoncheck: line %u: %s\n", number, error.text);
        return false;
    }
    for (int i = 1; i < argc; i++) {
        print_path(value, argv[i]);
        putchar(i + 1 < argc ? ' ' : '\n');
    }
    json_decref(value);
    return true;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t size = 0;
    unsigned number = 0;
    bool valid = true;
    while (valid && getline(&line, &size, stdin) >= 0)
        valid = check_line(line, ++number, argc, argv);
    free(line);
    if (number == 0)
        fputs("jsoncheck: no line\n", stderr);
    return valid && number > 0 ? 0 : 1;
}
