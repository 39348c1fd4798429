/* Whatever the text and the numbers are, another library must be able to read what was written. */
#include "base/json.h"

#include <jansson.h>

#include "base/utf8.h"
#include "fuzz.h"

static void walk_utf8(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = utf8_sequence_length(text);
        MUST(length <= 4 && length <= left);
        text += length ? length : 1;
        left -= length ? length : 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    walk_utf8(text);

    double number = 0;
    memcpy(&number, data, size < sizeof(number) ? size : sizeof(number));
    struct strbuf out = {0};
    struct json json = json_start(&out);
    json_object_begin(&json);
    json_key(&json, "text");
    json_add_text(&json, text);
    json_key(&json, "number");
    json_add_number(&json, number);
    json_key(&json, "digits");
    json_add_number_digits(&json, number, 1 + (int)(size % 17));
    json_key(&json, text);
    json_array_begin(&json);
    json_add_null(&json);
    json_add_bool(&json, size & 1);
    json_array_end(&json);
    json_object_end(&json);

    MUST(!strbuf_failed(&out));
    json_error_t error;
    json_t *read = json_loadb(out.text, out.length, JSON_ALLOW_NUL, &error);
    MUST(read);
    MUST(json_is_object(read));
    json_decref(read);
    strbuf_free(&out);
    free(text);
    return 0;
}
