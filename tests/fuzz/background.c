#include <string.h>

#include "fuzz.h"
#include "tui/background.h"

/* Any text has a meaning, which what follows a whole colour does not change. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char white[] = "rgb:ffff/ffff/ffff/";
    char text[256] = "";
    if (size >= sizeof(text) - sizeof(white))
        return 0;
    memcpy(text, data, size);
    enum background background = background_of_colour(text);
    MUST(background == BACKGROUND_UNKNOWN || strchr(text, ':'));
    memcpy(text, white, sizeof(white) - 1);
    memcpy(&text[sizeof(white) - 1], data, size);
    MUST(background_of_colour(text) == BACKGROUND_LIGHT);
    return 0;
}
