#include "tui/curses_key.h"

#include <stddef.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "base/util.h"
#include "tui/keys.h"

static uint32_t code_of_special(wint_t key)
{
    static const struct {
        wint_t key;
        uint32_t code;
    } keys[] = {
        {KEY_UP, INPUT_UP},
        {KEY_DOWN, INPUT_DOWN},
        {KEY_LEFT, INPUT_LEFT},
        {KEY_RIGHT, INPUT_RIGHT},
        {KEY_SLEFT, INPUT_SHIFT_LEFT},
        {KEY_SRIGHT, INPUT_SHIFT_RIGHT},
        {KEY_HOME, INPUT_HOME},
        {KEY_END, INPUT_END},
        {KEY_PPAGE, INPUT_PAGE_UP},
        {KEY_NPAGE, INPUT_PAGE_DOWN},
        {KEY_ENTER, INPUT_ENTER},
        {KEY_BACKSPACE, INPUT_BACKSPACE},
        {KEY_DC, INPUT_DELETE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (keys[i].key == key)
            return keys[i].code;
    return key >= KEY_F(1) && key <= KEY_F(12) ? (uint32_t)INPUT_F(key - KEY_F0) : INPUT_NONE;
}

static uint32_t code_of_character(wint_t character)
{
    switch (character) {
    case '\r':
    case '\n':
        return INPUT_ENTER;
    case '\t':
        return INPUT_TAB;
    case 0x1B:
        return INPUT_ESCAPE;
    case 0x08:
    case 0x7F:
        return INPUT_BACKSPACE;
    default:
        return (uint32_t)character;
    }
}

uint32_t curses_key_code(bool special, wint_t key)
{
    return special ? code_of_special(key) : code_of_character(key);
}
