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
    {SEARCH, "{\"query\": 2024}", "{\"query\": [\"2024\"]}", true, "", ""},
    {SEARCH, "{\"query\": {\"a\": 1}}", NULL, true, "query", "expected array, found object"},
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
    {"{\"properties\": {\"a\": {\"$ref\": \"#/$defs/x~1y%25\"}}, \"$defs\": {\"x/y%\": {\"type\": \"integer\"}}}",
     "{\"a\": \"7\"}", "{\"a\": 7}", true, "", ""},
    {"{\"$ref\": \"https://example.org/other.json\"}", "1", "1", false, "", ""},
    {"{\"type\": \"string\", \"pattern\": \"^[a-z]+$\"}", "\"a b\"", NULL, false, "",
     "does not match the pattern ^[a-z]+$"},
    {"{\"pattern\": \"^\\\\d{4}$\"}", "\"Ù¡Ù¢Ù£Ù¤\"", NULL, false, "", "does not match the pattern ^\\d{4}$"},
    {"{\"pattern\": \"(a+)+$\"}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"", NULL, false, "",
     "does not match the pattern (a+)+$"},
    {"{\"pattern\": \"(\"}", "\"a\"", "\"a\"", false, "", ""},
    {"{\"prefixItems\": [{\"type\": \"integer\"}], \"items\": {\"type\": \"string\"}}", "[\"1\", 2]", "[1, \"2\"]",
     true, "", ""},
    {"{\"not\": {\"type\": \"integer\"}}", "1", NULL, false, "", "is of a form that is not allowed"},
    {"{\"if\": {\"required\": [\"a\"]}, \"then\": {\"required\": [\"b\"]}}", "{\"a\": 1}", NULL, false, "b",
     "this required parameter is missing"},
    {"{\"dependentRequired\": {\"a\": [\"b\"]}}", "{\"a\": 1}", NULL, false, "b",
     "this parameter is required beside \"a\""},
    {"{\"allOf\": [{\"properties\": {\"a\": true}}], \"unevaluatedProperties\": false}", "{\"a\": 1, \"b\": 2}", NULL,
     false, "b", "there is no such parameter"},
    {"{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}}]}",
     "{\"n\": \"x\"}", NULL, false, "n", "expected integer, found string"},
    {"{\"anyOf\": [{\"$ref\": \"#\"}, {\"$ref\": \"#\"}]}", "1", NULL, false, "",
     "comparing this with the schema takes too many steps"},
    {"{\"uniqueItems\": true}", "[1, {\"a\": 1.0}, {\"a\": 1}]", NULL, false, "", "items 1 and 2 are equal"},
    {"{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}, \"s\": {\"type\": \"string\"}}, "
     "\"required\": []}",
     "{\"n\": null, \"s\": null}", "{}", true, "", ""},
    {"{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}, \"s\": {\"type\": \"string\"}}, "
     "\"required\": []}",
     "{\"n\": \"\", \"s\": \"\"}", "{\"s\": \"\"}", true, "", ""},
    {"{\"type\": \"object\", \"properties\": {\"k\": {\"enum\": [\"a\", \"b\"]}, \"l\": {\"type\": \"array\", "
     "\"items\": {\"type\": \"string\"}}}, \"required\": []}",
     "{\"k\": \"\", \"l\": \" \"}", "{}", true, "", ""},
    {"{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}, \"required\": [\"n\"]}", "{\"n\": null}",
     NULL, false, "n", "expected integer, found null"},
    {"{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}, \"required\": [\"n\"]}", "{\"n\": \"\"}",
     NULL, false, "n", "expected integer, found string"},
    {"{\"type\": \"object\", \"properties\": {\"n\": {\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"null\"}], "
     "\"default\": null}}, \"required\": []}",
     "{\"n\": null}", "{\"n\": null}", false, "", ""},
    {"{\"type\": \"object\", \"properties\": {\"n\": {\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"null\"}], "
     "\"default\": null}}, \"required\": []}",
     "{\"n\": \"null\"}", "{\"n\": null}", true, "", ""},
    {"{\"type\": \"object\", \"properties\": {\"n\": {\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"null\"}], "
     "\"default\": null}}, \"required\": []}",
     "{\"n\": \"7\"}", "{\"n\": 7}", true, "", ""},
    {"{\"type\": \"object\", \"properties\": {\"n\": {\"type\": [\"integer\", \"null\"]}}, \"required\": [\"n\"]}",
     "{\"n\": \"None\"}", "{\"n\": null}", true, "", ""},
    {"{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\", \"nullable\": true}}, \"required\": "
     "[\"n\"]}",
     "{\"n\": null}", "{\"n\": null}", false, "", ""},
    {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}, \"required\": [], "
     "\"additionalProperties\": false}",
     "{\"a\": \"x\", \"extra\": null}", "{\"a\": \"x\"}", true, "", ""},
    {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}, \"required\": [], "
     "\"additionalProperties\": false}",
     "{\"a\": \"x\", \"extra\": 0}", NULL, true, "extra", "there is no such parameter"},
    {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}, \"required\": []}",
     "{\"a\": \"x\", \"extra\": null}", "{\"a\": \"x\", \"extra\": null}", false, "", ""},
    {"{\"$ref\": \"#/$defs/Args\", \"$defs\": {\"Args\": {\"type\": \"object\", \"properties\": {\"f\": {\"$ref\": "
     "\"#/$defs/F\"}}, \"required\": []}, \"F\": {\"type\": \"object\", \"properties\": {\"n\": {\"type\": "
     "\"integer\"}}, \"required\": []}}}",
     "{\"f\": {\"n\": null}}", "{\"f\": {}}", true, "", ""},
    {"{\"type\": \"object\", \"properties\": {\"l\": {\"type\": \"array\", \"items\": {\"type\": \"integer\"}}}, "
     "\"required\": []}",
     "{\"l\": [1, null]}", NULL, false, "l[1]", "expected integer, found null"},
    {"{\"type\": \"array\", \"items\": {\"type\": \"integer\"}}", "\"5\"", "[5]", true, "", ""},
    {"{\"type\": \"array\", \"items\": {\"type\": \"integer\"}}", "\"x\"", NULL, false, "",
     "expected array, found string"},
    {"{\"type\": \"array\", \"items\": {\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}, "
     "\"required\": [\"n\"]}}",
     "{\"n\": \"5\"}", "[{\"n\": 5}]", true, "", ""},
    {"{\"type\": \"string\"}", "[\"x\"]", "\"x\"", true, "", ""},
    {"{\"type\": \"string\"}", "[\"x\", \"y\"]", NULL, false, "", "expected string, found array"},
    {"{\"type\": \"string\"}", "[null]", NULL, false, "", "expected string, found array"},
    {"{\"type\": \"string\"}", "true", "\"true\"", true, "", ""},
    {"{\"type\": \"boolean\"}", "1", "true", true, "", ""},
    {"{\"type\": \"boolean\"}", "2", NULL, false, "", "expected boolean, found integer"},
    {"{\"type\": \"integer\"}", "\"5.0\"", "5", true, "", ""},
    {"{\"type\": \"integer\"}", "\"5.5\"", NULL, false, "", "expected integer, found string"},
    {"{\"type\": \"string\", \"enum\": [\"Celsius\", \"Kelvin\"]}", "\"celsius\"", "\"Celsius\"", true, "", ""},
    {"{\"enum\": [\"a\", \"A\"]}", "\"a\"", "\"a\"", false, "", ""},
    {"{\"enum\": [\"Aa\", \"aA\"]}", "\"aa\"", NULL, false, "", "expected one of [\"Aa\",\"aA\"]"},
    {"{\"anyOf\": [{\"type\": \"string\", \"const\": \"asc\"}, {\"type\": \"string\", \"const\": \"desc\"}]}",
     "\"DESC\"", "\"desc\"", true, "", ""},
    {"{\"minimum\": 0, \"exclusiveMinimum\": true}", "0", NULL, false, "", "0 is not more than 0"},
    {"{\"minimum\": 0, \"exclusiveMinimum\": false}", "0", "0", false, "", ""},
    {"{\"maximum\": 9, \"exclusiveMaximum\": true}", "9", NULL, false, "", "9 is not less than 9"},
    {"{\"type\": \"any\"}", "\"x\"", "\"x\"", false, "", ""},
    {"{\"type\": [\"integer\", \"str\"]}", "\"x\"", "\"x\"", false, "", ""},
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

static void schema__says_what_is_wrong_with_a_schema(void **state)
{
    static const struct {
        const char *schema, *place, *message; /* NULL: nothing */
    } looks[] = {
        {"{\"type\": \"object\", \"properties\": {\"a/b\": {\"type\": [\"string\", \"null\"]}}}", NULL, NULL},
        {"{\"properties\": {\"a/b\": {\"type\": \"strng\"}}}", "/properties/a~1b/type",
         "must be object, array, string, integer, number, boolean or null, or a list of these"},
        {"{\"properties\": {\"a\": 1}}", "/properties/a", "must be a schema: an object, true or false"},
        {"{\"items\": {\"$ref\": \"#/$defs/gone\"}}", "/items/$ref",
         "refers to nothing in this document: #/$defs/gone"},
        {"{\"minimum\": 0, \"exclusiveMinimum\": true}", NULL, NULL},
        {"{\"exclusiveMaximum\": \"9\"}", "/exclusiveMaximum", "must be a number"},
        {"{\"pattern\": \"(\"}", "/pattern", "is no pattern: missing closing parenthesis"},
        {"{\"required\": \"a\"}", "/required", "must be a list of strings"},
        {"{\"anyOf\": {}}", "/anyOf", "must be a list of schemas"},
        {"[]", "", "must be a schema: an object, true or false"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        json_t *schema = parse(looks[i].schema);
        struct error error = {0};
        enum status status = schema_validate(schema, &error);
        assert_int_equal(status, looks[i].place ? STATUS_INVALID : STATUS_OK);
        assert_string_equal(error.place, looks[i].place ? looks[i].place : "");
        assert_string_equal(error.message, looks[i].message ? looks[i].message : "");
        json_decref(schema);
    }
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
        cmocka_unit_test(schema__says_what_is_wrong_with_a_schema),
        cmocka_unit_test(schema__takes_everything_without_a_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
