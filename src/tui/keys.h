/* Keys and the mouse, as the screen reports them, and what each is for. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Characters are their Unicode number; the rest comes above. */
enum input_code {
    INPUT_NONE = 0,
    INPUT_ENTER = 0x110000,
    INPUT_ESCAPE,
    INPUT_TAB,
    INPUT_BACKSPACE,
    INPUT_DELETE,
    INPUT_UP,
    INPUT_DOWN,
    INPUT_LEFT,
    INPUT_RIGHT,
    INPUT_SHIFT_LEFT,
    INPUT_SHIFT_RIGHT,
    INPUT_HOME,
    INPUT_END,
    INPUT_PAGE_UP,
    INPUT_PAGE_DOWN,
    INPUT_CLICK,
    INPUT_DOUBLE_CLICK,
    INPUT_WHEEL_UP,
    INPUT_WHEEL_DOWN,
    INPUT_FUNCTION, /* F1 is INPUT_FUNCTION + 1 */
};

#define INPUT_F(n) (INPUT_FUNCTION + (n))

struct input {
    uint32_t code;
    int x; /* of the mouse */
    int y;
};

enum action {
#define ACTION(id, section, help) ACTION_##id,
#define BIND(input, action)
#include "tui/keys.def"
#undef ACTION
#undef BIND
    ACTION_COUNT
};

struct action_info {
    const char *section;
    const char *help;
};

enum { KEYS_TEXT_SIZE = 64 };

enum action action_of(uint32_t code);
const struct action_info *action_info(enum action action);
/* The action's keys, as in "F6, <, >"; at least KEYS_TEXT_SIZE bytes. Returns `ret`. */
const char *action_keys(enum action action, char *ret);
