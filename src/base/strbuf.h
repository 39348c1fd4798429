/* A growing string. Running out of memory is remembered, not reported by each call: check
 * strbuf_failed() once at the end. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"

struct strbuf {
    char *text; /* NUL-terminated, or NULL while empty */
    size_t length;
    size_t capacity;
    bool failed;
};

/* Forgets the text and keeps the memory. */
void strbuf_clear(struct strbuf *buf);
void strbuf_free(struct strbuf *buf);

/* Cuts the text to `length` bytes, where it is longer. */
void strbuf_truncate(struct strbuf *buf, size_t length);

void strbuf_add(struct strbuf *buf, const char *text, size_t length);
void strbuf_puts(struct strbuf *buf, const char *text);
void strbuf_putc(struct strbuf *buf, char c);
void strbuf_printf(struct strbuf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args) PRINTF_LIKE(2, 0);

static inline bool strbuf_failed(const struct strbuf *buf)
{
    return buf->failed;
}

/* The text so far, never NULL. */
static inline const char *strbuf_text(const struct strbuf *buf)
{
    return buf->text ? buf->text : "";
}
