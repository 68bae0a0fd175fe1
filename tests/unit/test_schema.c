#include "core/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEARCH                                                                                                       \
    "{\"type\": \"object\", \"properties\": {\"query\": {\"type\": \"array\", \"items\": {\"type\": \"string\", "    \
    "\"minLength\": 1}, \"minItems\": 1, \"maxItems\": 3}, \"limit\": {\"type\": \"integer\", \"minimum\": 1, "      \
    "\"maximum\": 10}, \"fresh\": {\"type\": \"boolean\"}, \"score\": {\"type\": \"number\"}, \"goal\": {\"type\": " \
    "\"string\", \"maxLength\": 3}, \"kind\": {\"enum\": [\"a\", \"b\"]}, \"filter\": {\"type\": \"object\", "       \
    "\"required\": [\"x\"]}}, \"required\": [\"query\"], \"additionalProperties\": false}"

static const struct row {
    const char *schema, *value;
    const char *wanted; /* the value afterwards; NULL when it does not fit */
    bool bent;
    const char *place, *message; /* of the error */
} rows[] = {
    {SEARCH, "{\"query\": [\"a\", \"b\"], \"limit\": 3}", "{\"query\": [\"a\", \"b\"], \"limit\": 3}", false, "", ""},
    {SEARCH, "{\"query\": \"a\"}", "{\"query\": [\"a\"]}", true, "", ""},
    {SEARCH, "{\"query\": \"[\\\"a\\\", \\\"b\\\"]\"}", "{\"query\": [\"a\", \"b\"]}", true, "", ""},
    {SEARCH, "{\"query\": \"['a', 'b']\"}", "{\"query\": [\"a\", \"b\"]}", true, "", ""},
    {SEARCH, "{\"query\": \"[x] or y\"}", "{\"query\": [\"[x] or y\"]}", true, "", ""},
    {SEARCH, "{\"query\": [\"a\"], \"limit\": \"5\"}", "{\"query\": [\"a\"], \"limit\": 5}", true, "", ""},
    {SEARCH, "{\"query\": [\"a\"], \"limit\": 5.0}", "{\"query\": [\"a\"], \"limit\": 5}", true, "", ""},
    {SEARCH, "{\"query\": [\"a\"], \"fresh\": \"True\"}", "{\"query\": [\"a\"], \"fresh\": true}", true, "", ""},
    {SEARCH, "{\"query\": [\"a\"], \"score\": \"2.5\"}", "{\"query\": [\"a\"], \"score\": 2.5}", true, "", ""},
    {SEARCH, "{\"query\": [2024]}", "{\"query\": [\"2024\"]}", true, "", ""},
    {SEARCH, "{\"query\": 2024}", NULL, true, "query", "expected array, found integer"},
    {SEARCH, "{\"query\": [\"a\"], \"filter\": \"{\\\"x\\\": 1}\"}", "{\"query\": [\"a\"], \"filter\": {\"x\": 1}}",
     true, "", ""},
    {SEARCH, "{\"query\": [\"a\"], \"goal\": \"äöü\"}", "{\"query\": [\"a\"], \"goal\": \"äöü\"}", false, "", ""},
    {SEARCH, "{}", NULL, false, "query", "this required parameter is missing"},
    {SEARCH, "[]", NULL, false, "", "expected object, found array"},
    {SEARCH, "{\"query\": []}", NULL, false, "query", "expected at least 1 items, found 0"},
    {SEARCH, "{\"query\": [\"a\", \"\"]}", NULL, false, "query[1]", "expected at least 1 characters, found 0"},
    {SEARCH, "{\"query\": [\"a\", null]}", NULL, false, "query[1]", "expected string, found null"},
    {SEARCH, "{\"query\": [\"a\", \"b\", \"c\", \"d\"]}", NULL, false, "query", "expected at most 3 items, found 4"},
    {SEARCH, "{\"query\": [\"a\"], \"limit\": 11}", NULL, false, "limit", "11 is more than the maximum of 10"},
    {SEARCH, "{\"query\": [\"a\"], \"limit\": 1.5}", NULL, false, "limit", "expected integer, found number"},
    {SEARCH, "{\"query\": [\"a\"], \"limit\": \"many\"}", NULL, false, "limit", "expected integer, found string"},
    {SEARCH, "{\"query\": [\"a\"], \"goal\": \"abcd\"}", NULL, false, "goal", "expected at most 3 characters, found 4"},
    {SEARCH, "{\"query\": [\"a\"], \"kind\": \"c\"}", NULL, false, "kind", "expected one of [\"a\",\"b\"]"},
    {SEARCH, "{\"query\": [\"a\"], \"other\": 1}", NULL, false, "other", "there is no such parameter"},
    {SEARCH, "{\"query\": [\"a\"], \"filter\": {}}", NULL, false, "filter.x", "this required parameter is missing"},
    {"{\"type\": [\"string\", \"array\"]}", "\"[1]\"", "\"[1]\"", false, "", ""},
    {"{\"type\": \"array\"}", "null", NULL, false, "", "expected array, found null"},
    {"{\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"string\"}]}", "\"5\"", "\"5\"", false, "", ""},
    {"{\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"boolean\"}]}", "\"5\"", "5", true, "", ""},
    {"{\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"boolean\"}]}", "\"x\"", NULL, false, "",
     "fits none of the 2 forms that are allowed"},
    {"{\"oneOf\": [{\"type\": \"integer\"}, {\"type\": \"number\"}]}", "5", NULL, false, "",
     "fits more than one of the forms of which exactly one is allowed"},
    {"{\"const\": 3}", "3", "3", false, "", ""},
    {"{\"const\": 3}", "4", NULL, false, "", "expected 3"},
    {"{\"exclusiveMinimum\": 0, \"multipleOf\": 0.1}", "0.3", "0.3", false, "", ""},
    {"{\"exclusiveMinimum\": 0}", "0", NULL, false, "", "0 is not more than 0"},
    {"{\"multipleOf\": 5}", "7", NULL, false, "", "7 is no multiple of 5"},
    {"{\"type\": \"array\", \"uniqueItems\": true}", "[1, 2, 1]", NULL, false, "", "items 0 and 2 are equal"},
    {"{\"additionalProperties\": {\"type\": \"integer\"}}", "{\"a\": \"1\"}", "{\"a\": 1}", true, "", ""},
    {"{\"$defs\": {\"n\": {\"type\": \"integer\"}}, \"properties\": {\"a\": {\"$ref\": \"#/$defs/n\"}}}",
     "{\"a\": \"x\"}", NULL, false, "a", "expected integer, found string"},
    {"{\"$ref\": \"#\"}", "1", NULL, false, "", "nested too deeply"},
    {"true", "1", "1", false, "", ""},
    {"false", "1", NULL, false, "", "nothing is allowed here"},
};

static json_t *parse(const char *text)
{
    json_t *value = NULL;
    assert_int_equal(json_parse(str_of(text), &value, NULL), STATUS_OK);
    return value;
}

static void schema__reads_the_table(void **state)
{
    (void)state;
    bool failed = false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *schema = parse(rows[i].schema), *value = parse(rows[i].value);
        json_t *wanted = rows[i].wanted ? parse(rows[i].wanted) : NULL;
        struct error error = {0};
        bool bent = false;
        enum status status = schema_check(schema, &value, &bent, &error);
        bool right = wanted ? status == STATUS_OK && json_equal(value, wanted) && bent == rows[i].bent
                            : status != STATUS_OK && strcmp(error.place, rows[i].place) == 0 &&
                                  strcmp(error.message, rows[i].message) == 0;
        if (!right) {
            char *got = json_to_text(value);
            print_error("%s\n    status %d, %s: %s, bent %d, value %s\n", rows[i].value, status, error.place,
                        error.message, bent, got);
            free(got);
            failed = true;
        }
        json_decref(schema);
        json_decref(value);
        json_decref(wanted);
    }
    assert_false(failed);
}

static void schema__takes_everything_without_a_schema(void **state)
{
    (void)state;
    json_t *value = json_integer(1);
    assert_int_equal(schema_check(NULL, &value, NULL, NULL), STATUS_OK);
    json_decref(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schema__reads_the_table),
        cmocka_unit_test(schema__takes_everything_without_a_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
