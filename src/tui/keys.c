#include "tui/keys.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

static const struct action_info actions[ACTION_COUNT] = {
#define ACTION(id, section, help) [ACTION_##id] = {section, help},
#define BIND(input, action)
#include "tui/keys.def"
#undef ACTION
#undef BIND
};

static const struct binding {
    uint32_t code;
    enum action action;
} bindings[] = {
#define ACTION(id, section, help)
#define BIND(input, action) {input, ACTION_##action},
#include "tui/keys.def"
#undef ACTION
#undef BIND
};

enum action action_of(uint32_t code)
{
    for (size_t i = 0; i < ARRAY_SIZE(bindings); i++)
        if (bindings[i].code == code)
            return bindings[i].action;
    return ACTION_NONE;
}

const struct action_info *action_info(enum action action)
{
    return &actions[action];
}

static void name_key(uint32_t code, char *ret, size_t size)
{
    static const struct {
        uint32_t code;
        const char *name;
    } names[] = {
        {' ', "Space"},
        {0x0C, "Ctrl-L"},
        {INPUT_ENTER, "Enter"},
        {INPUT_ESCAPE, "Esc"},
        {INPUT_TAB, "Tab"},
        {INPUT_UP, "Up"},
        {INPUT_DOWN, "Down"},
        {INPUT_LEFT, "Left"},
        {INPUT_RIGHT, "Right"},
        {INPUT_SHIFT_LEFT, "Shift-Left"},
        {INPUT_SHIFT_RIGHT, "Shift-Right"},
        {INPUT_HOME, "Home"},
        {INPUT_END, "End"},
        {INPUT_PAGE_UP, "PgUp"},
        {INPUT_PAGE_DOWN, "PgDn"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i].code == code) {
            snprintf(ret, size, "%s", names[i].name);
            return;
        }
    if (code > INPUT_FUNCTION)
        snprintf(ret, size, "F%u", (unsigned)(code - INPUT_FUNCTION));
    else
        snprintf(ret, size, "%c", (char)code);
}

const char *action_keys(enum action action, char *ret)
{
    ret[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(bindings); i++) {
        if (bindings[i].action != action)
            continue;
        size_t length = strlen(ret);
        if (length > 0) {
            snprintf(ret + length, KEYS_TEXT_SIZE - length, ", ");
            length = strlen(ret);
        }
        name_key(bindings[i].code, ret + length, KEYS_TEXT_SIZE - length);
    }
    return ret;
}
