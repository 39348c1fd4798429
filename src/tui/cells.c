#include "tui/cells.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"

int cells_resize(struct cells *cells, int width, int height)
{
    if (width != cells->width || height != cells->height || !cells->cell) {
        size_t count = (size_t)width * (size_t)height;
        struct cell *cell = realloc(cells->cell, (count ? count : 1) * sizeof(*cell));
        if (!cell)
            return -ENOMEM;
        cells->cell = cell;
        cells->width = width;
        cells->height = height;
        cells_clear(cells);
    }
    return 0;
}

void cells_free(struct cells *cells)
{
    free(cells->cell);
    *cells = (struct cells){0};
}

static struct cell *cell_at(const struct cells *cells, int x, int y)
{
    if (x < 0 || y < 0 || x >= cells->width || y >= cells->height)
        return NULL;
    return &cells->cell[(size_t)y * (size_t)cells->width + (size_t)x];
}

/* Half of a wide character alone cannot be shown: its other half goes too. */
static void split_wide(struct cells *cells, int x, int y)
{
    struct cell *here = cell_at(cells, x, y);
    struct cell *left = cell_at(cells, x - 1, y);
    struct cell *right = cell_at(cells, x + 1, y);
    if (here && here->character == 0 && left)
        left->character = ' ';
    if (right && right->character == 0 && here && here->character != 0)
        right->character = ' ';
}

void cells_put(struct cells *cells, int x, int y, uint32_t character, enum style style)
{
    struct cell *cell = cell_at(cells, x, y);
    if (!cell)
        return;
    split_wide(cells, x, y);
    *cell = (struct cell){.character = character & CELL_CHARACTER_MASK, .style = style};
}

/* The next character of the text and its length in bytes; what cannot be shown becomes '?', and
 * what is left out 0. */
static uint32_t next_character(const struct cells *cells, const char *text, size_t *ret_length)
{
    const unsigned char *t = (const unsigned char *)text;
    if (t[0] >= 0x20 && t[0] < 0x7F) { /* nearly always */
        *ret_length = 1;
        return t[0];
    }
    size_t length = utf8_sequence_length(text);
    *ret_length = length ? length : 1;
    if (length <= 1)
        return '?';
    uint32_t character = utf8_character(text, length);
    bool control = character < 0xA0;
    if (character == 0xD7 && cells->charset == CHARSET_ASCII)
        return cells_glyph(cells, GLYPH_TIMES);
    if (character == 0xB0 && cells->charset == CHARSET_ASCII) /* "52 C" is clear without its sign */
        return 0;
    return cells->charset == CHARSET_ASCII || control ? '?' : character;
}

static int character_width(uint32_t character)
{
    if (character > 0 && character < 0x7F)
        return 1;
    return wcwidth((wchar_t)character);
}

int cells_text(struct cells *cells, int x, int y, int width, enum style style, const char *text)
{
    int used = 0;
    while (*text) {
        size_t length;
        uint32_t character = next_character(cells, text, &length);
        int columns = character_width(character);
        if (columns < 0) {
            character = '?';
            columns = 1;
        }
        if (used + columns > width)
            break;
        text += length;
        if (columns == 0)
            continue;
        if (columns == 2 && x + used + 1 >= cells->width)
            break;
        cells_put(cells, x + used, y, character, style);
        if (columns == 2)
            cells_put(cells, x + used + 1, y, 0, style);
        used += columns;
    }
    return used;
}

int cells_printf(struct cells *cells, int x, int y, int width, enum style style, const char *format,
                 ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return cells_text(cells, x, y, width, style, text);
}

int cells_text_width(const struct cells *cells, const char *text)
{
    int width = 0;
    while (*text) {
        size_t length;
        int columns = character_width(next_character(cells, text, &length));
        width += columns < 0 ? 1 : columns;
        text += length;
    }
    return width;
}

int cells_text_cut(struct cells *cells, int x, int y, int width, enum style style, const char *text)
{
    int used = cells_text(cells, x, y, width, style, text);
    if (width > 0 && cells_text_width(cells, text) > width) {
        cells_put(cells, x + width - 1, y, cells_glyph(cells, GLYPH_ELLIPSIS), style);
        used = width;
    }
    return used;
}

void cells_text_right(struct cells *cells, int x, int y, int width, enum style style,
                      const char *text)
{
    int space = width - cells_text_width(cells, text);
    if (space < 0)
        space = 0;
    cells_text(cells, x + space, y, width - space, style, text);
}

void cells_fill(struct cells *cells, struct rect rect, uint32_t character, enum style style)
{
    int x = rect.x > 0 ? rect.x : 0, y = rect.y > 0 ? rect.y : 0;
    int end = rect.x + rect.width, bottom = rect.y + rect.height;
    end = end < cells->width ? end : cells->width;
    bottom = bottom < cells->height ? bottom : cells->height;
    for (; x < end && y < bottom; y++) {
        split_wide(cells, x, y);
        split_wide(cells, end - 1, y);
        struct cell *row = cell_at(cells, 0, y);
        for (int i = x; i < end; i++)
            row[i] = (struct cell){.character = character & CELL_CHARACTER_MASK, .style = style};
    }
}

void cells_clear(struct cells *cells)
{
    for (size_t i = 0; i < (size_t)cells->width * (size_t)cells->height; i++)
        cells->cell[i] = (struct cell){.character = ' ', .style = STYLE_TEXT};
}

void cells_restyle(struct cells *cells, struct rect rect, enum style style)
{
    for (int y = rect.y; y < rect.y + rect.height; y++)
        for (int x = rect.x; x < rect.x + rect.width; x++) {
            struct cell *cell = cell_at(cells, x, y);
            if (cell)
                cell->style = style;
        }
}

size_t cells_text_break(const struct cells *cells, const char *text, int width)
{
    size_t length = strlen(text), fit = 0;
    if (cells_text_width(cells, text) <= width)
        return length;
    for (size_t i = 0; i < length && (int)i <= width; i++)
        if (text[i] == ' ')
            fit = i;
    return fit > 0 ? fit : (size_t)(width > 0 ? width : 0);
}

void cells_to_text(const struct cells *cells, struct strbuf *out)
{
    for (int y = 0; y < cells->height; y++) {
        int end = cells->width;
        while (end > 0 && cell_at(cells, end - 1, y)->character == ' ')
            end--;
        for (int x = 0; x < end; x++) {
            uint32_t character = cell_at(cells, x, y)->character;
            if (character)
                utf8_put(out, character);
        }
        strbuf_putc(out, '\n');
    }
}

uint32_t cells_glyph(const struct cells *cells, enum glyph glyph)
{
    static const struct {
        uint32_t ascii;
        uint32_t unicode;
    } glyphs[GLYPH_COUNT] = {
        [GLYPH_HORIZONTAL] = {'-', 0x2500},  [GLYPH_VERTICAL] = {'|', 0x2502},
        [GLYPH_TICK] = {'+', 0x2534},        [GLYPH_CORNER] = {'+', 0x253C},
        [GLYPH_DOT] = {'.', 0xB7},           [GLYPH_ARROW_DOWN] = {'v', 0x2193},
        [GLYPH_ARROW_UP] = {'^', 0x2191},    [GLYPH_PLAY] = {'>', 0x25BA},
        [GLYPH_PAUSE] = {'=', 0x2551},       [GLYPH_RECORD] = {'*', 0x25CF},
        [GLYPH_KNOB] = {'O', 0x25CF},        [GLYPH_BAR] = {'#', 0x2588},
        [GLYPH_BAR_EMPTY] = {'.', 0xB7},     [GLYPH_BRANCH] = {'|', 0x251C},
        [GLYPH_LAST_BRANCH] = {'`', 0x2514}, [GLYPH_DEGREE] = {' ', 0xB0},
        [GLYPH_TIMES] = {'x', 0xD7},         [GLYPH_ELLIPSIS] = {'~', 0x2026},
    };
    return cells->charset == CHARSET_ASCII ? glyphs[glyph].ascii : glyphs[glyph].unicode;
}

/* The last cell of a bar: full, or a part of a block; 0 where it shows nothing. */
static uint32_t bar_end(const struct cells *cells, double part)
{
    if (cells->charset == CHARSET_BRAILLE) {
        int eighths = (int)lround(part * 8);
        return eighths > 0 ? 0x2590u - (uint32_t)eighths : 0; /* U+2588 full … U+258F one eighth */
    }
    if (part >= 0.75)
        return cells_glyph(cells, GLYPH_BAR);
    if (part >= 0.25)
        return cells->charset == CHARSET_BLOCK ? 0x258C : '=';
    return 0;
}

void cells_bar(struct cells *cells, int x, int y, int width, double value, enum style style)
{
    if (!(value > 0))
        value = 0;
    double filled = (value < 1 ? value : 1) * width;
    for (int i = 0; i < width; i++) {
        double part = filled - i;
        uint32_t character = part >= 1  ? cells_glyph(cells, GLYPH_BAR)
                             : part > 0 ? bar_end(cells, part)
                                        : 0;
        if (character)
            cells_put(cells, x + i, y, character, style);
        else
            cells_put(cells, x + i, y, cells_glyph(cells, GLYPH_BAR_EMPTY), STYLE_RULE);
    }
}
