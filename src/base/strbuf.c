#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

static bool reserve(struct strbuf *buf, size_t more)
{
    if (buf->failed)
        return false;
    size_t need = buf->length + more + 1;
    if (need <= buf->capacity)
        return true;
    size_t capacity = buf->capacity ? buf->capacity : 256;
    while (capacity < need)
        capacity *= 2;
    char *text = realloc(buf->text, capacity);
    if (!text) {
        buf->failed = true;
        return false;
    }
    buf->text = text;
    buf->capacity = capacity;
    return true;
}

void strbuf_clear(struct strbuf *buf)
{
    buf->length = 0;
    buf->failed = false;
    if (buf->text)
        buf->text[0] = '\0';
}

void strbuf_free(struct strbuf *buf)
{
    free(buf->text);
    *buf = (struct strbuf){0};
}

void strbuf_truncate(struct strbuf *buf, size_t length)
{
    if (length >= buf->length)
        return;
    buf->length = length;
    buf->text[length] = '\0';
}

void strbuf_add(struct strbuf *buf, const char *text, size_t length)
{
    if (!reserve(buf, length))
        return;
    memcpy(buf->text + buf->length, text, length);
    buf->length += length;
    buf->text[buf->length] = '\0';
}

void strbuf_puts(struct strbuf *buf, const char *text)
{
    strbuf_add(buf, text, strlen(text));
}

void strbuf_putc(struct strbuf *buf, char c)
{
    strbuf_add(buf, &c, 1);
}

void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0)
        buf->failed = true;
    else if (reserve(buf, (size_t)length)) {
        vsnprintf(buf->text + buf->length, (size_t)length + 1, format, again);
        buf->length += (size_t)length;
    }
    va_end(again);
}

void strbuf_printf(struct strbuf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    strbuf_vprintf(buf, format, args);
    va_end(args);
}
