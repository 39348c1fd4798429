#include "tui/background.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* A part of the colour, from 0 to 1. */
static double part(const char **text)
{
    char *end;
    unsigned long value = strtoul(*text, &end, 16);
    double most = (double)((1UL << (4 * util_min((size_t)(end - *text), 4))) - 1);
    *text = *end == '/' ? end + 1 : end;
    return most > 0 ? (double)value / most : 0;
}

enum background background_of_colour(const char *colour)
{
    colour = strchr(colour, ':');
    if (!colour || !isxdigit((unsigned char)*++colour))
        return BACKGROUND_UNKNOWN;
    double red = part(&colour), green = part(&colour), blue = part(&colour);
    double light = 0.299 * red + 0.587 * green + 0.114 * blue;
    return light > 0.5 ? BACKGROUND_LIGHT : BACKGROUND_DARK;
}
