#include "core/lenient_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/recorded.h"

static const struct reading {
    const char *text, *wanted; /* compact JSON; NULL when it has to be refused */
    uint32_t repairs;
} readings[] = {
    /* nothing to do */
    {"{\"a\": [1, -2.5e3, true, null, \"x\\n\\u00e9\"]}", "{\"a\":[1,-2500.0,true,null,\"x\\né\"]}", 0},
    {" [ ] ", "[]", 0},
    {"\"a\"", "\"a\"", 0},
    {"{\"a\": \"he said \\\"no\\\", then: \\\"yes\\\"\"}", "{\"a\":\"he said \\\"no\\\", then: \\\"yes\\\"\"}", 0},
    {"{\"url\": \"http://x.org/a?b=c#d\", \"n\": 1}", "{\"url\":\"http://x.org/a?b=c#d\",\"n\":1}", 0},
    {"[123456789012345678901234567890]", "[\"123456789012345678901234567890\"]", 0},

    /* JSON5 */
    {"{a: 1, $b_1: 'x', 'c': [1,],}", "{\"a\":1,\"$b_1\":\"x\",\"c\":[1]}", LENIENT_JSON5},
    {"[0xFF, +1, .5, 5., -.5, 1.e3]", "[255,1,0.5,5.0,-0.5,1000.0]", LENIENT_JSON5},
    {"{/* a */ \"a\": 1 // b\n}", "{\"a\":1}", LENIENT_JSON5},
    {"['it\\'s', 'say \"x\"', '\\x41\\v\\0']", "[\"it's\",\"say \\\"x\\\"\",\"A\\u000B\\u0000\"]", LENIENT_JSON5},
    {"[NaN, -Infinity]", "[\"NaN\",\"-Infinity\"]", LENIENT_NON_FINITE},
    {"{\"a\": undefined}", "{\"a\":null}", LENIENT_JSON5},

    /* Python */
    {"{'a': True, 'b': None, 'c': False}", "{\"a\":true,\"b\":null,\"c\":false}", LENIENT_JSON5 | LENIENT_PYTHON},
    {"[(1, 2), (3,), (4), ()]", "[[1,2],[3], 4,[]]", LENIENT_PYTHON},
    {"['a' 'b'\n 'c', r'\\d', u'x', b'y']", "[\"abc\",\"\\\\d\",\"x\",\"y\"]", LENIENT_JSON5 | LENIENT_PYTHON},
    {"{\"a\": \"b\" + \"c\"}", "{\"a\":\"bc\"}", LENIENT_PYTHON},
    {"{'a': '''x\n'y' \"z\"'''}", "{\"a\":\"x\\n'y' \\\"z\\\"\"}", LENIENT_JSON5 | LENIENT_PYTHON},
    {"[1_000, '\\U0001F600'] # note", "[1000,\"😀\"]", LENIENT_JSON5 | LENIENT_PYTHON},
    {"{1: 'a', True: 'b'}", "{\"1\":\"a\",\"True\":\"b\"}", LENIENT_JSON5},
    {"{'a': f'{x}'}", NULL, 0},
    {"{'a', 'b'}", NULL, 0},

    /* strings */
    {"{\"a\": \"x\ny\tz\"}", "{\"a\":\"x\\ny\\tz\"}", LENIENT_RAW_CONTROL},
    {"[\"\\upcite{a} \\d+ \\(x\\)\"]", "[\"\\\\upcite{a} \\\\d+ \\\\(x\\\\)\"]", LENIENT_BAD_ESCAPE},
    {"[\"\\ud83d\\ude00 \\ud83d \\ude00\"]", "[\"😀 \xEF\xBF\xBD \xEF\xBF\xBD\"]", LENIENT_BAD_ESCAPE},
    {"[\"\\u12\"]", "[\"\\\\u12\"]", LENIENT_BAD_ESCAPE},
    {"[\"\xFF\"]", "[\"\xEF\xBF\xBD\"]", LENIENT_INVALID_UTF8},
    {"{\"q\": \"what is \"love\" about\"}", "{\"q\":\"what is \\\"love\\\" about\"}", LENIENT_QUOTES},
    {"{\"q\": \"he said \"hello\"\", \"n\": 1}", "{\"q\":\"he said \\\"hello\\\"\",\"n\":1}", LENIENT_QUOTES},
    {"{\"q\": [\"the \"A, B\" film\", \"c\"]}", "{\"q\":[\"the \\\"A, B\\\" film\",\"c\"]}", LENIENT_QUOTES},
    {"{'q': 'ATP (Men's Singles)', 'n': 1}", "{\"q\":\"ATP (Men's Singles)\",\"n\":1}", LENIENT_JSON5 | LENIENT_QUOTES},
    {"{\"code\": \"print(\"a\", \"b\")\"}", "{\"code\":\"print(\\\"a\\\", \\\"b\\\")\"}", LENIENT_QUOTES},
    {"{“a”: “b ‘c’ d”, ‘e’: [“f”]}", "{\"a\":\"b ‘c’ d\",\"e\":[\"f\"]}", LENIENT_QUOTES},
    {"{\"q\": \"the “best” film\"}", "{\"q\":\"the “best” film\"}", 0},
    {"{\"name\": \"calc, \"arguments\": {\"a\": 1}}", "{\"name\":\"calc\",\"arguments\":{\"a\":1}}", LENIENT_QUOTES},
    {"{\"arguments\": {\"a\": \"foo}, \"name\": \"x\"}", "{\"arguments\":{\"a\":\"foo\"},\"name\":\"x\"}",
     LENIENT_QUOTES},
    {"{\"a\": {\"b\": \"foo}}", "{\"a\":{\"b\":\"foo\"}}", LENIENT_QUOTES},
    {"{\"a\": [\"x\"]\"}", "{\"a\":[\"x\"]}", LENIENT_QUOTES},
    {"[\"a, \"b\"]", NULL, 0},

    /* brackets and separators */
    {"{\"a\": {\"b\": [1, 2", NULL, 0}, /* the number may go on */
    {"{\"a\": {\"b\": [1, 2 ", "{\"a\":{\"b\":[1,2]}}", LENIENT_BRACKETS},
    {"{\"a\": {\"b\": [\"x\"}", "{\"a\":{\"b\":[\"x\"]}}", LENIENT_BRACKETS},
    {"{\"a\": [\"x\"}, \"b\": 1}", "{\"a\":[\"x\"],\"b\":1}", LENIENT_BRACKETS},
    {"{\"a\": {\"x\": 1}}, \"b\": 2}", "{\"a\":{\"x\":1},\"b\":2}", LENIENT_BRACKETS},
    {"{\"a\": [1]], \"b\": 2}", "{\"a\":[1],\"b\":2}", LENIENT_BRACKETS},
    {"{\"a\" \"b\"}", "{\"a\":\"b\"}", LENIENT_SEPARATORS},
    {"{\"a\" [1] \"b\": 2}", "{\"a\":[1],\"b\":2}", LENIENT_SEPARATORS},
    {"{\"a\": 1 \"b\": 2}", "{\"a\":1,\"b\":2}", LENIENT_SEPARATORS},
    {"{\"a\": \"x\" \"b\": \"y\"}", "{\"a\":\"x\",\"b\":\"y\"}", LENIENT_SEPARATORS},
    {"{\"a\" => 1,, \"b\" = 2}", "{\"a\":1,\"b\":2}", LENIENT_SEPARATORS},
    {"{\"a\"：\"x\"，\"b\"：1}", "{\"a\":\"x\",\"b\":1}", LENIENT_SEPARATORS},

    /* unquoted values */
    {"{\"a\": foo, \"b\": 2023-05-01}", "{\"a\":\"foo\",\"b\":\"2023-05-01\"}", LENIENT_BARE_WORDS},
    {"{\"a\": 6*12+2, \"b\": 4 * 3.5}", "{\"a\":\"6*12+2\",\"b\":\"4 * 3.5\"}", LENIENT_BARE_WORDS},
    {"{\"zip\": 02134}", "{\"zip\":\"02134\"}", LENIENT_BARE_WORDS},

    /* what cannot be known */
    {"", NULL, 0},
    {"{\"limit\": }", NULL, 0},
    {"{\"limit\": , \"a\": 1}", NULL, 0},
    {"{\"limit\"}", NULL, 0},
    {"{\"a\": ...}", NULL, 0},
    {"{\"a\": \"cut", NULL, 0},
    {"{\"a\": {\"b\": 1}, \"name\": \"calc", NULL, 0},
    {"{\"a\": 1, ", NULL, 0},
    {"{\"a\": 1, \"b", NULL, 0},
    {"{\"a\": 1, \"b\":", NULL, 0},
    {"{\"a\": {", NULL, 0},
    {"{\"a\": tru", NULL, 0},
    {"{\"a\": \"India\", \"", NULL, 0},
};

static void lenient_json__reads_the_table(void **state)
{
    (void)state;
    bool failed = false;
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        const struct reading *row = &readings[i];
        json_t *value = NULL, *wanted = NULL;
        struct lenient_result result = {0};
        struct error error = {0};
        enum status status = lenient_json_parse(str_of(row->text), 0, &value, &result, &error);
        char *got = status == STATUS_OK ? json_to_text(value) : NULL;
        if (row->wanted)
            assert_int_equal(json_parse(str_of(row->wanted), &wanted, NULL), STATUS_OK);
        bool equal = row->wanted ? got && json_equal(value, wanted) && result.repairs == row->repairs : !got;
        if (!equal) {
            print_error("%s\n    got %s (%s), repairs %#x instead of %#x\n", row->text, got ? got : "nothing",
                        error.message, result.repairs, row->repairs);
            failed = true;
        }
        free(got);
        json_decref(value);
        json_decref(wanted);
    }
    assert_false(failed);
}

static void lenient_json__says_where_it_stopped(void **state)
{
    (void)state;
    struct lenient_result result;
    json_t *value = NULL;
    assert_int_equal(lenient_json_parse(STR("{\"a\": 1} and text"), 0, &value, &result, NULL), STATUS_OK);
    assert_int_equal(result.consumed, 8);
    json_decref(value);
    struct error error;
    assert_int_equal(lenient_json_parse(STR("{\"a\": 1,\n \"b\": }"), 0, &value, &result, &error), STATUS_SYNTAX);
    assert_int_equal(error.line, 2);
    assert_int_equal(error.column, 7);
}

static void lenient_json__completes_nothing_that_may_be_cut(void **state)
{
    (void)state;
    struct lenient_result result;
    json_t *value = NULL;
    assert_int_equal(lenient_json_parse(STR("{\"a\": {\"b\": \"c\"}"), LENIENT_NO_COMPLETION, &value, &result, NULL),
                     STATUS_SYNTAX);
    assert_int_equal(lenient_json_parse(STR("{\"a\": {\"b\": \"c\"}} x"), LENIENT_NO_COMPLETION, &value, &result, NULL),
                     STATUS_OK);
    json_decref(value);
}

static void lenient_json__keeps_to_its_caps(void **state)
{
    (void)state;
    struct buf deep, out;
    struct lenient_result result;
    buf_init(&deep, BUF_UNBOUNDED);
    buf_init(&out, BUF_UNBOUNDED);
    for (int i = 0; i < LENIENT_MAX_DEPTH; i++)
        buf_add_char(&deep, '[');
    for (int i = 0; i < LENIENT_MAX_DEPTH; i++)
        buf_add_char(&deep, ']');
    assert_int_equal(lenient_json_repair(buf_str(&deep), 0, &out, &result, NULL), STATUS_OK);
    buf_reset(&deep);
    for (int i = 0; i < LENIENT_MAX_DEPTH + 1; i++)
        buf_add_char(&deep, '[');
    assert_int_equal(lenient_json_repair(buf_str(&deep), 0, &out, &result, NULL), STATUS_TOO_BIG);
    struct buf small;
    buf_init(&small, 10);
    assert_int_equal(lenient_json_repair(STR("[\"0123456789\"]"), 0, &small, &result, NULL), STATUS_TOO_BIG);
    assert_int_equal(small.len, 0);
    buf_finish(&small);
    buf_finish(&deep);
    buf_finish(&out);
}

/* Damage that makes a careless reader look ahead again and again. */
static void lenient_json__stays_linear(void **state)
{
    (void)state;
    static const char *const units[] = {"\"",         "\"/*", "\"#",          "{\"a\":", "]",   "[\"a\" ",
                                        "\"a\": \"b", "', '", "{a:[",         "}",       "\\",  "\"\"",
                                        "1/*",        "(",    "\xE2\x80\x9C", "x ",      "\" }"};
    static const char *const heads[] = {"", "{\"a\": \"", "[\"", "{'", "{\"a\": "};
    for (size_t i = 0; i < sizeof units / sizeof units[0] * 5; i++) {
        struct buf text, out;
        struct lenient_result result;
        buf_init(&text, BUF_UNBOUNDED);
        buf_init(&out, BUF_UNBOUNDED);
        buf_add_text(&text, heads[i % 5]);
        while (text.len < 300000)
            buf_add_text(&text, units[i / 5]);
        struct error error;
        enum status status = lenient_json_repair(buf_str(&text), 0, &out, &result, &error);
        assert_true(status == STATUS_OK || status == STATUS_SYNTAX || status == STATUS_TOO_BIG);
        buf_finish(&text);
        buf_finish(&out);
    }
}

/* ---- the public suites ---- */

static size_t checked;

static void check_json_suite(void *user, const char *path, struct str contents)
{
    (void)user;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (!strstr(name, ".json"))
        return;
    checked++;
    json_t *strict = NULL, *value = NULL;
    struct lenient_result result;
    enum status wanted = json_parse(contents, &strict, NULL);
    enum status status = lenient_json_parse(contents, 0, &value, &result, NULL);
    bool nul_key = strcmp(name, "y_object_escaped_null_in_key.json") == 0; /* jansson's keys are C strings */
    if (name[0] == 'y' && wanted != STATUS_OK && !nul_key)
        fail_msg("%s: is not read", name);
    if (wanted == STATUS_OK) {
        if (status != STATUS_OK || !json_equal(strict, value) || result.repairs != 0)
            fail_msg("%s: read as something else, repairs %#x", name, result.repairs);
    }
    json_decref(strict);
    if (status == STATUS_OK)
        json_decref(value);
}

static void lenient_json__agrees_with_the_json_suite(void **state)
{
    (void)state;
    checked = 0;
    if (!recorded_each_file(SHARED_DATA "/json/JSONTestSuite-test_parsing.tar.gz", check_json_suite, NULL)) {
        print_message("JSONTestSuite is not here\n");
        skip();
    }
    assert_true(checked > 300);
}

static json_t *npm_package[2];

static void check_json5_suite(void *user, const char *path, struct str contents)
{
    const json_t *values = user;
    const char *name = strstr(path, "json5-tests/") ? strstr(path, "json5-tests/") + strlen("json5-tests/") : path;
    const char *extension = strrchr(name, '.');
    bool json = extension && strcmp(extension, ".json") == 0, json5 = extension && strcmp(extension, ".json5") == 0;
    json_t *value = NULL, *strict = NULL;
    struct lenient_result result;
    struct error error = {0};
    enum status status = lenient_json_parse(contents, 0, &value, &result, &error);
    if (!json && !json5) {
        if (status == STATUS_OK)
            json_decref(value);
        return;
    }
    checked++;
    if (status != STATUS_OK)
        fail_msg("%s: %s", name, error.message);
    if (json) {
        assert_int_equal(json_parse(contents, &strict, NULL), STATUS_OK);
        assert_true(json_equal(value, strict));
        assert_int_equal(result.repairs, 0);
        json_decref(strict);
    }
    const json_t *wanted = json_object_get(values, name);
    bool package = strstr(name, "npm-package") != NULL;
    if (package)
        npm_package[json5] = json_incref(value);
    if (json5 && !package && !(wanted && json_equal(value, wanted))) {
        char *got = json_to_text(value);
        fail_msg("%s: read as %s", name, got);
        free(got);
    }
    json_decref(value);
}

static void lenient_json__agrees_with_the_json5_suite(void **state)
{
    (void)state;
    json_t *values = NULL;
    checked = 0;
    assert_int_equal(json_parse_file(TEST_DATA "/json/json5-values.json", 1 << 20, &values, NULL), STATUS_OK);
    if (!recorded_each_file(SHARED_DATA "/json/json5-tests.tar.gz", check_json5_suite, values)) {
        json_decref(values);
        print_message("json5-tests are not here\n");
        skip();
    }
    assert_true(checked > 70);
    assert_true(npm_package[0] && json_equal(npm_package[0], npm_package[1]));
    json_decref(npm_package[0]);
    json_decref(npm_package[1]);
    json_decref(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lenient_json__reads_the_table),
        cmocka_unit_test(lenient_json__says_where_it_stopped),
        cmocka_unit_test(lenient_json__completes_nothing_that_may_be_cut),
        cmocka_unit_test(lenient_json__keeps_to_its_caps),
        cmocka_unit_test(lenient_json__stays_linear),
        cmocka_unit_test(lenient_json__agrees_with_the_json_suite),
        cmocka_unit_test(lenient_json__agrees_with_the_json5_suite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
