#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"

enum { JSON_MAX_DEPTH = 31 };

static void begin_value(struct json *json)
{
    uint32_t bit = UINT32_C(1) << json->depth;
    if (!json->after_key && (json->started & bit))
        strbuf_putc(json->out, ',');
    json->started |= bit;
    json->after_key = false;
}

static void open_container(struct json *json, char bracket)
{
    begin_value(json);
    assert(json->depth < JSON_MAX_DEPTH);
    strbuf_putc(json->out, bracket);
    json->depth++;
    json->started &= ~(UINT32_C(1) << json->depth);
}

static void close_container(struct json *json, char bracket)
{
    assert(json->depth > 0);
    json->depth--;
    strbuf_putc(json->out, bracket);
}

void json_object_begin(struct json *json)
{
    open_container(json, '{');
}

void json_object_end(struct json *json)
{
    close_container(json, '}');
}

void json_array_begin(struct json *json)
{
    open_container(json, '[');
}

void json_array_end(struct json *json)
{
    close_container(json, ']');
}

static void put_escaped(struct strbuf *out, unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
        strbuf_printf(out, "\\%c", c);
        break;
    case '\n':
        strbuf_puts(out, "\\n");
        break;
    case '\t':
        strbuf_puts(out, "\\t");
        break;
    default:
        strbuf_printf(out, "\\u%04x", c);
    }
}

static void put_string(struct strbuf *out, const char *text)
{
    strbuf_putc(out, '"');
    while (*text) {
        size_t length = utf8_sequence_length(text);
        if (length == 0) {
            strbuf_puts(out, "\xEF\xBF\xBD");
            text++;
            continue;
        }
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            put_escaped(out, c);
        else
            strbuf_add(out, text, length);
        text += length;
    }
    strbuf_putc(out, '"');
}

void json_key(struct json *json, const char *key)
{
    begin_value(json);
    put_string(json->out, key);
    strbuf_putc(json->out, ':');
    json->after_key = true;
}

void json_add_null(struct json *json)
{
    begin_value(json);
    strbuf_puts(json->out, "null");
}

void json_add_bool(struct json *json, bool value)
{
    begin_value(json);
    strbuf_puts(json->out, value ? "true" : "false");
}

void json_add_integer(struct json *json, int64_t value)
{
    begin_value(json);
    strbuf_printf(json->out, "%" PRId64, value);
}

void json_add_number_digits(struct json *json, double value, int digits)
{
    if (!isfinite(value)) {
        json_add_null(json);
        return;
    }
    begin_value(json);
    /* Near the largest double fewer digits could round to what a reader takes for infinity. */
    strbuf_printf(json->out, "%.*g", fabs(value) < 1e308 ? digits : 17, value);
}

void json_add_number(struct json *json, double value)
{
    json_add_number_digits(json, value, 15);
}

void json_add_text(struct json *json, const char *text)
{
    begin_value(json);
    put_string(json->out, text);
}

void json_add_text_or_null(struct json *json, const char *text)
{
    if (text[0])
        json_add_text(json, text);
    else
        json_add_null(json);
}
