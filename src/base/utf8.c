#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

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

uint32_t utf8_character(const char *sequence, size_t length)
{
    const unsigned char *t = (const unsigned char *)sequence;
    uint32_t character = length == 1 ? t[0] : t[0] & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        character = character << 6 | (t[i] & 0x3F);
    return character;
}

void utf8_put(struct strbuf *out, uint32_t character)
{
    if (character < 0x80) {
        strbuf_putc(out, (char)character);
        return;
    }
    static const unsigned char leads[] = {0, 0xC0, 0xE0, 0xF0};
    int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    strbuf_putc(out, (char)(leads[more] | character >> (6 * more)));
    while (more-- > 0)
        strbuf_putc(out, (char)(0x80 | (character >> (6 * more) & 0x3F)));
}

static bool is_control(const char *text, size_t length)
{
    const unsigned char *t = (const unsigned char *)text;
    if (length == 1)
        return t[0] < 0x20 || t[0] == 0x7F;
    return length == 2 && t[0] == 0xC2 && t[1] < 0xA0;
}

size_t utf8_clean(char *ret, size_t size, const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t used = 0;
    while (*text) {
        size_t length = utf8_sequence_length(text);
        const char *from = text;
        size_t copied = length;
        if (*text == '\n' || *text == '\r' || *text == '\t')
            from = " ";
        else if (length == 0 || is_control(text, length)) {
            from = replacement;
            copied = sizeof(replacement) - 1;
        }
        if (used + copied + 1 > size)
            break;
        memcpy(ret + used, from, copied);
        used += copied;
        text += length ? length : 1;
    }
    ret[used] = '\0';
    return used;
}

size_t utf8_count(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += !continues((unsigned char)*text);
    return count;
}
