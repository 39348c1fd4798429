/* What a terminal tells about its background. */
#pragma once

#include <stdbool.h>

enum background { BACKGROUND_UNKNOWN, BACKGROUND_DARK, BACKGROUND_LIGHT };

/* Of a colour as xterm and its like name it: "rgb:RRRR/GGGG/BBBB", one to four digits each; what
 * follows does not matter. */
enum background background_of_colour(const char *colour);
