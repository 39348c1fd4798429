/* A screen in memory: characters with the role that each plays. Drawing goes here, and from here to
 * a terminal, to text (`--once`) or to a test. Nothing that is drawn outside has any effect. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

enum style {
#define STYLE(id, dark256, light256, dark8, light8, look, mono) STYLE_##id,
#include "tui/style.def"
#undef STYLE
    STYLE_COUNT
};

/* What the terminal and its font can show. */
enum charset {
    CHARSET_ASCII,
    CHARSET_BLOCK,   /* UTF-8 with lines and half blocks: the Linux console */
    CHARSET_BRAILLE, /* UTF-8 with braille: 2 × 4 dots a cell */
    CHARSET_COUNT
};

struct rect {
    int x;
    int y;
    int width;
    int height;
};

#define CELL_CHARACTER_MASK 0x1FFFFFu

/* Without padding, so that rows can be compared as memory. */
struct cell {
    uint32_t character : 24; /* 0: the right half of the wide character before it */
    enum style style : 8;
};

struct cells {
    int width;
    int height;
    enum charset charset;
    struct cell *cell; /* height × width, row by row */
};

/* Blank where the size is new. Returns 0 or -ENOMEM. */
MUST_CHECK int cells_resize(struct cells *cells, int width, int height);
void cells_free(struct cells *cells);
void cells_clear(struct cells *cells);

void cells_put(struct cells *cells, int x, int y, uint32_t character, enum style style);

/* Draws UTF-8 text into one row, from `x`, at most `width` columns; returns the columns used.
 * Control characters and broken bytes become '?', and in ASCII so does all that is not. */
int cells_text(struct cells *cells, int x, int y, int width, enum style style, const char *text);
int cells_printf(struct cells *cells, int x, int y, int width, enum style style, const char *format,
                 ...) PRINTF_LIKE(6, 7);
/* The same, with an ellipsis where the text does not fit. */
int cells_text_cut(struct cells *cells, int x, int y, int width, enum style style,
                   const char *text);
/* The same as cells_text(), flush right. */
void cells_text_right(struct cells *cells, int x, int y, int width, enum style style,
                      const char *text);
void cells_fill(struct cells *cells, struct rect rect, uint32_t character, enum style style);
/* Gives what is there another role. */
void cells_restyle(struct cells *cells, struct rect rect, enum style style);

/* Columns that the text takes. */
int cells_text_width(const struct cells *cells, const char *text);

/* Bytes of the text that fit into one line, up to a blank where there is one. */
size_t cells_text_break(const struct cells *cells, const char *text, int width);

/* Rows as UTF-8 text, without blanks at their ends. */
void cells_to_text(const struct cells *cells, struct strbuf *out);

/* A character by its meaning, in the screen's character set. */
enum glyph {
    GLYPH_HORIZONTAL,
    GLYPH_VERTICAL,
    GLYPH_TICK,
    GLYPH_CORNER,
    GLYPH_DOT,
    GLYPH_ARROW_DOWN,
    GLYPH_ARROW_UP,
    GLYPH_PLAY,
    GLYPH_PAUSE,
    GLYPH_RECORD,
    GLYPH_KNOB,
    GLYPH_BAR,
    GLYPH_BAR_EMPTY,
    GLYPH_BRANCH,
    GLYPH_LAST_BRANCH,
    GLYPH_DEGREE,
    GLYPH_TIMES,
    GLYPH_ELLIPSIS,
    GLYPH_COUNT
};

uint32_t cells_glyph(const struct cells *cells, enum glyph glyph);
/* A horizontal bar for a value from 0 to 1, in eighths of a cell where the font has them. */
void cells_bar(struct cells *cells, int x, int y, int width, double value, enum style style);
