#include "base/json.h"

#include <math.h>

#include "cmocka_test.h"

static void writes_nested_containers(void **state)
{
    (void)state;
    struct strbuf out = {0};
    struct json json = json_start(&out);
    json_object_begin(&json);
    json_key(&json, "a");
    json_array_begin(&json);
    json_add_integer(&json, -1);
    json_add_number(&json, 0.5);
    json_add_bool(&json, true);
    json_array_end(&json);
    json_key(&json, "b");
    json_object_begin(&json);
    json_object_end(&json);
    json_key(&json, "c");
    json_add_null(&json);
    json_object_end(&json);
    assert_string_equal(strbuf_text(&out), "{\"a\":[-1,0.5,true],\"b\":{},\"c\":null}");
    strbuf_free(&out);
}

static void writes_no_number_that_is_not_finite(void **state)
{
    (void)state;
    struct strbuf out = {0};
    struct json json = json_start(&out);
    json_array_begin(&json);
    json_add_number(&json, NAN);
    json_add_number(&json, INFINITY);
    json_array_end(&json);
    assert_string_equal(strbuf_text(&out), "[null,null]");
    strbuf_free(&out);
}

static void escapes_and_repairs_text(void **state)
{
    (void)state;
    struct strbuf out = {0};
    struct json json = json_start(&out);
    json_add_text(&json, "\"\\\n\x01 \xE2\x82\xAC \xFF \xC0\x80 \xED\xA0\x80 \xE2\x82");
    assert_string_equal(strbuf_text(&out),
                        "\"\\\"\\\\\\n\\u0001 \xE2\x82\xAC \xEF\xBF\xBD "
                        "\xEF\xBF\xBD\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD "
                        "\xEF\xBF\xBD\xEF\xBF\xBD\"");
    strbuf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_nested_containers),
        cmocka_unit_test(writes_no_number_that_is_not_finite),
        cmocka_unit_test(escapes_and_repairs_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
