#include "tui/input.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"

enum { ESCAPE = 0x1B, BELL = 0x07, LONGEST_SEQUENCE = 64 };

/* The answer to the question for the background begins so. */
static const char answer_start[] = "\x1B]11;";

static const struct {
    const char *sequence; /* without its Escape */
    uint32_t code;
} sequences[] = {
    {"[A", INPUT_UP},
    {"OA", INPUT_UP},
    {"[B", INPUT_DOWN},
    {"OB", INPUT_DOWN},
    {"[C", INPUT_RIGHT},
    {"OC", INPUT_RIGHT},
    {"[D", INPUT_LEFT},
    {"OD", INPUT_LEFT},
    {"[1;2C", INPUT_SHIFT_RIGHT},
    {"[c", INPUT_SHIFT_RIGHT},
    {"[1;2D", INPUT_SHIFT_LEFT},
    {"[d", INPUT_SHIFT_LEFT},
    {"[H", INPUT_HOME},
    {"OH", INPUT_HOME},
    {"[1~", INPUT_HOME},
    {"[7~", INPUT_HOME},
    {"[F", INPUT_END},
    {"OF", INPUT_END},
    {"[4~", INPUT_END},
    {"[8~", INPUT_END},
    {"[3~", INPUT_DELETE},
    {"[5~", INPUT_PAGE_UP},
    {"[6~", INPUT_PAGE_DOWN},
    {"OM", INPUT_ENTER},
    {"OP", INPUT_F(1)},
    {"[11~", INPUT_F(1)},
    {"[[A", INPUT_F(1)},
    {"OQ", INPUT_F(2)},
    {"[12~", INPUT_F(2)},
    {"[[B", INPUT_F(2)},
    {"OR", INPUT_F(3)},
    {"[13~", INPUT_F(3)},
    {"[[C", INPUT_F(3)},
    {"OS", INPUT_F(4)},
    {"[14~", INPUT_F(4)},
    {"[[D", INPUT_F(4)},
    {"[15~", INPUT_F(5)},
    {"[[E", INPUT_F(5)},
    {"[17~", INPUT_F(6)},
    {"[18~", INPUT_F(7)},
    {"[19~", INPUT_F(8)},
    {"[20~", INPUT_F(9)},
    {"[21~", INPUT_F(10)},
    {"[23~", INPUT_F(11)},
    {"[24~", INPUT_F(12)},
};

static bool begins_with(const char *bytes, size_t length, const char *start, size_t start_length)
{
    return memcmp(bytes, start, util_min(length, start_length)) == 0;
}

bool input_begins_answer(const char *bytes, size_t length)
{
    size_t start = sizeof(answer_start) - 1;
    return length >= start && begins_with(bytes, length, answer_start, start);
}

/* "ESC [ parameters final": its length, 0 while incomplete, 1 where it is none. */
static size_t control_length(const char *bytes, size_t length)
{
    size_t i = 2;
    if (length > 2 && bytes[2] == 'M') /* the mouse of old: three bytes follow */
        return length >= 6 ? 6 : 0;
    if (length > 2 && bytes[2] == '[') /* a function key of the Linux console */
        return length >= 4 ? 4 : 0;
    while (i < length && bytes[i] >= 0x20 && bytes[i] < 0x40)
        i++;
    if (i == length)
        return length < LONGEST_SEQUENCE ? 0 : 1;
    return bytes[i] >= 0x40 && bytes[i] < 0x7F ? i + 1 : 1;
}

/* "ESC ] 11 ; colour", up to a bell or "ESC \". Other strings of this kind were not asked for: they
 * are the keys Escape and ']'. */
static size_t answer_length(const char *bytes, size_t length)
{
    size_t start = sizeof(answer_start) - 1;
    if (!begins_with(bytes, length, answer_start, start))
        return 1;
    for (size_t i = start; i < length; i++) {
        if (bytes[i] == BELL)
            return i + 1;
        if (bytes[i] == ESCAPE && i + 1 < length)
            return bytes[i + 1] == '\\' ? i + 2 : i;
    }
    return length < LONGEST_SEQUENCE ? 0 : length;
}

static size_t sequence_length(const char *bytes, size_t length)
{
    if (length == 1)
        return 0;
    switch (bytes[1]) {
    case '[':
        return control_length(bytes, length);
    case 'O':
        return length >= 3 ? 3 : 0;
    case ']':
        return answer_length(bytes, length);
    default:
        return 1;
    }
}

/* Shift, Alt and Control do not matter. */
static uint32_t code_of_button(unsigned button)
{
    switch (button & ~(4U | 8U | 16U)) {
    case 0:
        return INPUT_CLICK;
    case 64:
        return INPUT_WHEEL_UP;
    case 65:
        return INPUT_WHEEL_DOWN;
    default:
        return INPUT_NONE;
    }
}

/* "ESC [ < button ; x ; y M" when pressed, with an m when released. */
static void parse_mouse(const char *text, struct input *ret)
{
    unsigned button, x, y;
    char kind;
    if (sscanf(text, "\x1B[<%5u;%5u;%5u%c", &button, &x, &y, &kind) == 4 && kind == 'M' && x > 0 &&
        y > 0)
        *ret = (struct input){code_of_button(button), (int)x - 1, (int)y - 1};
}

static void parse_old_mouse(const char *bytes, struct input *ret)
{
    int button = (unsigned char)bytes[3] - 32, x = (unsigned char)bytes[4] - 33,
        y = (unsigned char)bytes[5] - 33;
    if (button >= 0 && x >= 0 && y >= 0)
        *ret = (struct input){code_of_button((unsigned)button), x, y};
}

/* A part of "rgb:RRRR/GGGG/BBBB", of one to four digits, from 0 to 1. */
static double colour_part(const char **text)
{
    char *end;
    unsigned long value = strtoul(*text, &end, 16);
    double most = (double)((1UL << (4 * util_min((size_t)(end - *text), 4))) - 1);
    *text = *end == '/' ? end + 1 : end;
    return most > 0 ? (double)value / most : 0;
}

static void parse_background(const char *text, struct input *ret)
{
    const char *colour = strchr(text, ':');
    if (!colour++ || !isxdigit((unsigned char)*colour))
        return;
    double red = colour_part(&colour), green = colour_part(&colour), blue = colour_part(&colour);
    double light = 0.299 * red + 0.587 * green + 0.114 * blue;
    ret->code = light > 0.5 ? INPUT_LIGHT_BACKGROUND : INPUT_DARK_BACKGROUND;
}

static void parse_sequence(const char *bytes, size_t length, struct input *ret)
{
    char text[LONGEST_SEQUENCE + 1];
    length = util_min(length, LONGEST_SEQUENCE);
    memcpy(text, bytes, length);
    text[length] = '\0';
    if (bytes[1] == ']') {
        parse_background(text, ret);
        return;
    }
    if (length == 6 && bytes[2] == 'M') {
        parse_old_mouse(bytes, ret);
        return;
    }
    if (bytes[2] == '<') {
        parse_mouse(text, ret);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(sequences); i++)
        if (strcmp(&text[1], sequences[i].sequence) == 0)
            ret->code = sequences[i].code;
}

static size_t parse_utf8(const char *bytes, size_t length, bool whole, struct input *ret)
{
    unsigned char lead = (unsigned char)bytes[0];
    size_t wanted = lead > 0xF4 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    char text[5] = "";
    if (length < wanted && !whole)
        return 0;
    memcpy(text, bytes, util_min(length, wanted));
    size_t taken = utf8_sequence_length(text);
    if (taken > 1)
        ret->code = utf8_character(text, taken);
    return taken ? taken : 1;
}

static uint32_t code_of_character(char character)
{
    switch (character) {
    case '\r':
    case '\n':
        return INPUT_ENTER;
    case '\t':
        return INPUT_TAB;
    case 0x08:
    case 0x7F:
        return INPUT_BACKSPACE;
    default:
        return (uint32_t)character;
    }
}

size_t input_parse(const char *bytes, size_t length, bool whole, struct input *ret)
{
    *ret = (struct input){0};
    if ((unsigned char)bytes[0] >= 0x80)
        return parse_utf8(bytes, length, whole, ret);
    if (bytes[0] != ESCAPE) {
        ret->code = code_of_character(bytes[0]);
        return 1;
    }
    size_t taken = sequence_length(bytes, length);
    if (taken == 0 && !whole)
        return 0;
    if (taken > 1) {
        parse_sequence(bytes, taken, ret);
        return taken;
    }
    if (input_begins_answer(bytes, length)) /* cut off: no key at all */
        return length;
    ret->code = INPUT_ESCAPE;
    return 1;
}
