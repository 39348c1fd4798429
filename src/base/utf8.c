#include "base/utf8.h"

#include <stdbool.h>

static bool continues(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

size_t utf8_sequence_length(const char *text)
{
    const unsigned char *t = (const unsigned char *)text;
    if (t[0] < 0x80)
        return 1;
    if (t[0] < 0xC2 || t[0] > 0xF4)
        return 0;
    if (!continues(t[1]))
        return 0;
    if (t[0] < 0xE0)
        return 2;
    bool overlong = (t[0] == 0xE0 && t[1] < 0xA0) || (t[0] == 0xF0 && t[1] < 0x90);
    bool outside = (t[0] == 0xED && t[1] > 0x9F) || (t[0] == 0xF4 && t[1] > 0x8F);
    if (overlong || outside || !continues(t[2]))
        return 0;
    if (t[0] < 0xF0)
        return 3;
    return continues(t[3]) ? 4 : 0;
}
