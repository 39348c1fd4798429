/* What ncurses reads, as keys. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

/* Of one of its KEY_… or, where not `special`, of a character; INPUT_NONE where it means nothing
 * here. */
uint32_t curses_key_code(bool special, wint_t key);
