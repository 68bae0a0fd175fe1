#include "protocol/completion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct row {
    const char *text, *wanted, *plain;
} rows[] = {
    {"<think>\na\n</think>\n<answer>42</answer>",
     "{\"think\":\"a\",\"calls\":[],\"answer\":\"42\",\"cut_at_tool_response\":false,\"repairs\":[]}", ""},
    {"Just text.", "{\"think\":null,\"calls\":[],\"answer\":null,\"cut_at_tool_response\":false,\"repairs\":[]}",
     "Just text."},
    {"a</think>b <tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call> c",
     "{\"think\":\"a\",\"calls\":[{\"name\":\"f\",\"arguments\":{},\"code\":null,\"error\":null}],\"answer\":null,"
     "\"cut_at_tool_response\":false,\"repairs\":[]}",
     "b  c"},
    {"<think>x</think>y<think>z</think>w",
     "{\"think\":\"x\\n\\nz\",\"calls\":[],\"answer\":null,\"cut_at_tool_response\":false,\"repairs\":[]}", "yw"},
    {"<tool_call>{'name': 'python', 'arguments': {}}<code>print('</tool_call>')</code></tool_call><tool_response>1",
     "{\"think\":null,\"calls\":[{\"name\":\"python\",\"arguments\":{},\"code\":\"print('</tool_call>')\","
     "\"error\":null}],\"answer\":null,\"cut_at_tool_response\":true,\"repairs\":[\"json5\"]}",
     ""},
    {"<think>a <tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1}}",
     "{\"think\":\"a\",\"calls\":[{\"name\":\"f\",\"arguments\":{\"x\":1},\"code\":null,\"error\":null}],\"answer\":"
     "null,\"cut_at_tool_response\":false,\"repairs\":[\"unclosed-thought\",\"unclosed-call\"]}",
     ""},
    {"<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": }}</tool_call>",
     "{\"think\":null,\"calls\":[{\"name\":null,\"arguments\":null,\"code\":null,\"error\":\"1:34: expected a value "
     "after the colon\"}],\"answer\":null,\"cut_at_tool_response\":false,\"repairs\":[]}",
     ""},
    {"<tool_call>\n</tool_call>",
     "{\"think\":null,\"calls\":[],\"answer\":null,\"cut_at_tool_response\":false,\"repairs\":[]}",
     "<tool_call>\n</tool_call>"},
};

static void completion__reads_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *value = NULL;
        assert_int_equal(completion_to_json(str_of(rows[i].text), NULL, &value, NULL), STATUS_OK);
        char *got = json_to_text(value);
        assert_string_equal(got, rows[i].wanted);
        free(got);
        json_decref(value);
        struct buf plain;
        buf_init(&plain, 1000);
        assert_int_equal(completion_plain_text(str_of(rows[i].text), NULL, &plain), STATUS_OK);
        assert_string_equal(plain.data ? plain.data : "", rows[i].plain);
        buf_finish(&plain);
    }
}

static void completion__refuses_what_is_too_large(void **state)
{
    (void)state;
    struct completion_options options = {.parser.max_element_bytes = 10};
    json_t *value = NULL;
    struct error error = {0};
    assert_int_equal(completion_to_json(STR("<answer>0123456789012345</answer>"), &options, &value, &error),
                     STATUS_TOO_BIG);
    assert_null(value);
    assert_true(error.message[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completion__reads_the_table),
        cmocka_unit_test(completion__refuses_what_is_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
