#include "tui/prefs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static const double spans[SPAN_COUNT] = {10, 30, 60, 120, 300, 900, 3600, 4 * 3600, 12 * 3600};

static const char *const theme_words[] = {"auto", "dark", "light", "mono"};
static const char *const characters_words[] = {"auto", "braille", "block", "ascii"};
static const char *const mode_words[] = {"sol", "waterfall", "pipes", "links", "power"};
static const char *const span_words[] = {"10s", "30s", "1m", "2m", "5m", "15m", "1h", "4h", "12h"};
static const char *const column_words[] = {"pid", "user", "gpu",       "type",   "memory",
                                           "sm",  "time", "container", "command"};
static const char *const switch_words[] = {"off", "on"};

#define PREF(section, key, words, member, help)                                                    \
    {section, key, help, words, ARRAY_SIZE(words), offsetof(struct prefs, member)}

const struct pref pref_table[] = {
    PREF("screen", "theme", theme_words, theme, "colours for a dark or light background"),
    PREF("screen", "characters", characters_words, characters, "what the charts are drawn with"),
    PREF("screen", "mode", mode_words, mode, "what is shown first"),
    PREF("screen", "span", span_words, span, "time that a chart covers"),
    PREF("screen", "mouse", switch_words, mouse, "use the mouse"),
    PREF("processes", "show", switch_words, processes, "show the processes"),
    PREF("processes", "sort", column_words, sort, "column to sort by"),
    PREF("processes", "descending", switch_words, descending, "largest first"),
    PREF("processes", "tree", switch_words, tree, "children below their parents"),
    PREF("columns", "pid", switch_words, column[COLUMN_PID], "process number"),
    PREF("columns", "user", switch_words, column[COLUMN_USER], "who runs it"),
    PREF("columns", "gpu", switch_words, column[COLUMN_GPU], "GPU that it holds"),
    PREF("columns", "type", switch_words, column[COLUMN_TYPE], "compute, graphics or MPS"),
    PREF("columns", "memory", switch_words, column[COLUMN_MEMORY], "device memory"),
    PREF("columns", "sm", switch_words, column[COLUMN_SM], "share of the SMs"),
    PREF("columns", "time", switch_words, column[COLUMN_TIME], "time since its start"),
    PREF("columns", "container", switch_words, column[COLUMN_CONTAINER], "container or job"),
    PREF("columns", "command", switch_words, column[COLUMN_COMMAND], "command line"),
};

const size_t pref_count = ARRAY_SIZE(pref_table);

const struct prefs prefs_default = {
    .span = 2,
    .sort = COLUMN_MEMORY,
    .descending = 1,
    .processes = 1,
    .mouse = 1,
    .column = {1, 1, 1, 1, 1, 1, 1, 1, 1},
};

double span_seconds(unsigned span)
{
    return spans[span < SPAN_COUNT ? span : SPAN_COUNT - 1];
}

int pref_word(const struct pref *pref, const char *word)
{
    for (size_t i = 0; i < pref->count; i++)
        if (strcmp(pref->words[i], word) == 0)
            return (int)i;
    return -1;
}

const struct pref *pref_by_key(const char *section, const char *key)
{
    for (size_t i = 0; i < pref_count; i++)
        if (strcmp(pref_table[i].section, section) == 0 && strcmp(pref_table[i].key, key) == 0)
            return &pref_table[i];
    return NULL;
}

int prefs_path(struct strbuf *ret)
{
    const char *base = secure_getenv("XDG_CONFIG_HOME");
    const char *home = secure_getenv("HOME");
    if (base && base[0] == '/') /* the specification asks to ignore relative paths */
        strbuf_printf(ret, "%s/rooftop/top.ini", base);
    else if (home && home[0])
        strbuf_printf(ret, "%s/.config/rooftop/top.ini", home);
    else
        return -ENOENT;
    return strbuf_failed(ret) ? -ENOMEM : 0;
}

static int take_value(void *context, const struct ini_place *place, const char *section,
                      const char *key, const char *value, struct ini_error *error)
{
    const struct pref *pref = pref_by_key(section, key);
    if (!pref)
        return ini_fail(error, place, "there is no setting %s in [%s]", key, section);
    int number = pref_word(pref, value);
    if (number >= 0) {
        *pref_value(context, pref) = (unsigned)number;
        return 0;
    }
    struct strbuf words = {0};
    for (size_t i = 0; i < pref->count; i++)
        strbuf_printf(&words, "%s%s", i ? ", " : "", pref->words[i]);
    int r = ini_fail(error, place, "%s is one of %s, not '%.40s'", key, strbuf_text(&words), value);
    strbuf_free(&words);
    return r;
}

/* The preferences stay as they are where anything in the text is wrong. */
int prefs_read_text(struct prefs *prefs, const char *file, const char *text, size_t length,
                    struct ini_error *error)
{
    struct prefs read = *prefs;
    struct ini_handler handler = {.value = take_value, .context = &read};
    int r = ini_read_text(file, text, length, &handler, error);
    if (r == 0)
        *prefs = read;
    return r;
}

int prefs_read(struct prefs *prefs, const char *path, struct ini_error *error)
{
    struct prefs read = *prefs;
    struct ini_handler handler = {.value = take_value, .context = &read};
    int r = ini_read_file(path, &handler, error);
    if (r == 0)
        *prefs = read;
    return r == -ENOENT ? 0 : r;
}

static void put_prefs(const struct prefs *prefs, struct strbuf *out)
{
    struct prefs copy = *prefs;
    const char *section = "";
    strbuf_puts(out, "# Settings of rooftop top, written by its setup screen (F2).\n");
    for (size_t i = 0; i < pref_count; i++) {
        const struct pref *pref = &pref_table[i];
        if (strcmp(section, pref->section) != 0)
            strbuf_printf(out, "\n[%s]\n", section = pref->section);
        strbuf_printf(out, "%s = %s\n", pref->key, pref->words[*pref_value(&copy, pref)]);
    }
}

int prefs_write(const struct prefs *prefs, const char *path)
{
    struct strbuf text = {0};
    put_prefs(prefs, &text);
    file_make_folders(path);
    int r = file_replace(path, &text);
    strbuf_free(&text);
    return r;
}
