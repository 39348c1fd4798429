#include "base/xml.h"

void xml_put_text(struct strbuf *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            strbuf_puts(out, "&amp;");
            break;
        case '<':
            strbuf_puts(out, "&lt;");
            break;
        case '>':
            strbuf_puts(out, "&gt;");
            break;
        case '"':
            strbuf_puts(out, "&quot;");
            break;
        default:
            strbuf_putc(out, (unsigned char)*text < ' ' ? ' ' : *text);
        }
}
