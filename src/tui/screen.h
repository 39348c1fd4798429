/* The terminal, through ncurses: shows cells, and reads keys and the mouse. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"
#include "tui/cells.h"
#include "tui/keys.h"
#include "tui/prefs.h"

struct screen;

/* Takes over the terminal on standard input and output. Returns 0; -ENOTTY where it is none;
 * -ENOTSUP where its type ($TERM) says that it can show no screen; -ENOPKG where terminfo, which
 * describes terminals, has neither that type nor any usual one. */
MUST_CHECK int screen_open(struct screen **ret, const struct prefs *prefs);
/* Gives the terminal back as it was. */
void screen_close(struct screen *screen);
/* Stops the program as Ctrl-Z does, the terminal as it was, until the shell lets it go on; SIGTSTP
 * is blocked. */
void screen_suspend(struct screen *screen);

void screen_size(const struct screen *screen, int *ret_width, int *ret_height);
/* After the terminal's size has changed. */
void screen_resized(struct screen *screen);
/* Theme and mouse, where they have changed. */
void screen_adopt(struct screen *screen, const struct prefs *prefs);

void screen_show(struct screen *screen, const struct cells *cells);
/* The next screen_show() writes everything. */
void screen_forget(struct screen *screen);

/* The next key or mouse event; false where there is none. */
bool screen_read(struct screen *screen, struct input *ret);

/* What this locale and terminal can show, of what is preferred. */
enum charset screen_charset(unsigned characters);
