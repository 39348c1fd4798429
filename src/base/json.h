/* Writes JSON into a string, with the commas and the escapes. Objects and arrays nest at most 32
 * deep. A number that is not finite is written as null, and text that is not UTF-8 as U+FFFD where
 * it is broken: what comes out is always valid JSON. No name here is one of jansson's, which reads
 * JSON: both may be in one program. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct json {
    struct strbuf *out;
    uint32_t started; /* bit d: the container at depth d has an element already */
    unsigned depth;
    bool after_key;
};

static inline struct json json_start(struct strbuf *out)
{
    return (struct json){.out = out};
}

void json_object_begin(struct json *json);
void json_object_end(struct json *json);
void json_array_begin(struct json *json);
void json_array_end(struct json *json);

/* The next value's name, inside an object. */
void json_key(struct json *json, const char *key);

void json_add_null(struct json *json);
void json_add_bool(struct json *json, bool value);
void json_add_integer(struct json *json, int64_t value);
void json_add_number(struct json *json, double value);
/* With as many significant digits as asked for, 1 to 17, trailing zeros left out. */
void json_add_number_digits(struct json *json, double value, int digits);
void json_add_text(struct json *json, const char *text);
/* null where the text is "". */
void json_add_text_or_null(struct json *json, const char *text);
