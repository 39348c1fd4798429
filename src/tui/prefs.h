/* What a person prefers, kept in $XDG_CONFIG_HOME/rooftop/top.ini. The file is never needed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/ini.h"
#include "base/strbuf.h"

/* Columns of the process table, in their order. */
enum process_column {
    COLUMN_PID,
    COLUMN_USER,
    COLUMN_GPU,
    COLUMN_TYPE,
    COLUMN_MEMORY,
    COLUMN_SM,
    COLUMN_TIME,
    COLUMN_CONTAINER,
    COLUMN_COMMAND,
    COLUMN_COUNT
};

enum mode { MODE_SOL, MODE_WATERFALL, MODE_PIPES, MODE_LINKS, MODE_POWER, MODE_COUNT };
enum theme { THEME_AUTO, THEME_DARK, THEME_LIGHT, THEME_MONO };
enum characters { CHARACTERS_AUTO, CHARACTERS_BRAILLE, CHARACTERS_BLOCK, CHARACTERS_ASCII };

enum { SPAN_COUNT = 9 };

struct prefs {
    unsigned theme;      /* enum theme */
    unsigned characters; /* enum characters */
    unsigned mode;       /* enum mode */
    unsigned span;       /* of span_seconds() */
    unsigned sort;       /* enum process_column */
    unsigned descending;
    unsigned tree;
    unsigned processes; /* the table is shown */
    unsigned mouse;
    unsigned column[COLUMN_COUNT];
};

extern const struct prefs prefs_default;

double span_seconds(unsigned span);

/* One setting: a number that stands for one of its words. */
struct pref {
    const char *section;
    const char *key;
    const char *help;
    const char *const *words;
    size_t count;
    size_t offset; /* of an unsigned in struct prefs */
};

extern const struct pref pref_table[];
extern const size_t pref_count;

static inline unsigned *pref_value(struct prefs *prefs, const struct pref *pref)
{
    return (unsigned *)((char *)prefs + pref->offset);
}

/* The number of the word among the setting's words, or −1. */
int pref_word(const struct pref *pref, const char *word);
const struct pref *pref_by_key(const char *section, const char *key);

/* The file's path, or -ENOENT where neither XDG_CONFIG_HOME nor HOME is set. */
MUST_CHECK int prefs_path(struct strbuf *ret);
/* Returns 0, also where there is no such file; -EINVAL with `error` filled; other −errno. */
MUST_CHECK int prefs_read(struct prefs *prefs, const char *path, struct ini_error *error);
MUST_CHECK int prefs_read_text(struct prefs *prefs, const char *file, const char *text,
                               size_t length, struct ini_error *error);
/* Makes the folder where it is missing; replaces the file as a whole or not at all. */
MUST_CHECK int prefs_write(const struct prefs *prefs, const char *path);
