#include "protocol/call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"

#include "support/recorded.h"

/* ---- the tools of the tests ---- */

static struct tool_signature tools[4];
static const struct tool_signature *tool_list[4];
static const struct call_options known = {.tools = tool_list, .n_tools = 4};

static int load_tools(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"name\": \"search\", \"description\": \"-\", \"parameters\": {\"type\": \"object\", \"properties\": "
        "{\"query\": "
        "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}, \"limit\": {\"type\": \"integer\"}}, \"required\": "
        "[\"query\"]}}",
        "{\"name\": \"visit\", \"description\": \"-\", \"parameters\": {\"type\": \"object\", \"properties\": "
        "{\"url\": "
        "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}, \"goal\": {\"type\": \"string\"}}, \"required\": "
        "[\"url\", \"goal\"]}}",
        "{\"name\": \"PythonInterpreter\", \"description\": \"-\", \"parameters\": {\"type\": \"object\", "
        "\"properties\": "
        "{}, \"required\": []}, \"takes_code\": true}",
        "{\"name\": \"google_scholar\", \"description\": \"-\", \"parameters\": {\"type\": \"object\", \"properties\": "
        "{\"query\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}}, \"required\": [\"query\"]}}",
    };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(signature_load(str_of(texts[i]), &tools[i], NULL), STATUS_OK);
        tool_list[i] = &tools[i];
    }
    return 0;
}

static int unload_tools(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        signature_finish(&tools[i]);
    return 0;
}

/* Cuts an element's text as the tag parser does. */
static struct call_text split(const char *text, bool closed)
{
    struct str all = str_of(text);
    struct call_text out = {.json = all, .closed = closed};
    size_t open = str_find(all, STR("<code>"), 0), close = str_find(all, STR("</code>"), 0);
    if (open != STR_NONE) {
        out.has_code = true;
        out.json = str_slice(all, 0, open);
        out.code = str_slice(all, open + 6, close);
    }
    return out;
}

/* The calls as one text: name arguments |code| repairs, or !error. */
static char *decode(const char *text, bool closed, const struct call_options *options)
{
    struct call_text parts = split(text, closed);
    struct call_list list;
    struct buf out;
    call_decode(&parts, options, &list);
    buf_init(&out, BUF_UNBOUNDED);
    for (size_t i = 0; i < list.count; i++) {
        const struct call *call = &list.items[i];
        if (i > 0)
            buf_add_text(&out, "; ");
        if (call->error.status != STATUS_OK) {
            char message[1024];
            assert_non_null(call->example);
            assert_true(call->expected[0] != '\0');
            buf_addf(&out, "!%s", error_text(&call->error, message, sizeof message));
            continue;
        }
        assert_null(call->example);
        char *arguments = json_to_text(call->arguments);
        buf_addf(&out, "%s %s", call->name, arguments);
        free(arguments);
        if (call->code)
            buf_addf(&out, " |%s|", call->code);
        for (size_t bit = 0; bit < CALL_REPAIR_COUNT; bit++) {
            if (call->repairs & (1u << bit))
                buf_addf(&out, " ~%s", call_repair_name((enum call_repair)bit));
        }
    }
    call_list_finish(&list);
    return buf_take(&out);
}

struct row {
    const char *text, *wanted;
};

static void check(const struct row *rows, size_t n, bool closed, const struct call_options *options)
{
    bool failed = false;
    for (size_t i = 0; i < n; i++) {
        char *got = decode(rows[i].text, closed, options);
        if (strcmp(got, rows[i].wanted) != 0) {
            print_error("%s\n    got    %s\n    wanted %s\n", rows[i].text, got, rows[i].wanted);
            failed = true;
        }
        free(got);
    }
    assert_false(failed);
}

#define CHECK(rows, closed, options) check(rows, sizeof(rows) / sizeof(rows)[0], closed, options)

static void call__reads_any_name_without_tools(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n", "f {\"a\":1}"},
        {"{\"arguments\": {\"a\": [1, \"x\"]}, \"name\": \"f\"}", "f {\"a\":[1,\"x\"]}"},
        {"{'name': 'f', 'arguments': {'a': True}}", "f {\"a\":true} ~json5 ~python-literals"},
        {"{name: 'f', arguments: {a: 1,},} // done", "f {\"a\":1} ~json5 ~text-around-object"},
        {"```json\n{\"name\": \"f\", \"arguments\": {}}\n```", "f {} ~fence"},
        {"```\n{\"name\": \"f\", \"arguments\": {\"a\": 1}\n```", "f {\"a\":1} ~brackets ~fence"},
        {"{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n<|im_start|>\nand so on", "f {\"a\":1} ~text-around-object"},
        {"{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\", \"arguments\": {}}", "f {} ~text-around-object"},
        {"Here it is:\n{\"name\": \"f\", \"arguments\": {}}", "f {} ~text-around-object"},
        {"The set {1, 2} and\n{\"name\": \"f\", \"arguments\": {}}", "f {} ~text-around-object"},
        {"{\"name\": \"f\", \"arguments\": {\"a\": 1}", "f {\"a\":1} ~brackets"},
        {"{\"name\": \"f\", \"arguments\": {\"a\": 1}}}", "f {\"a\":1} ~text-around-object"},
        {"{\"arguments\": {\"a\": 1}}, \"name\": \"f\"}", "f {\"a\":1} ~brackets"},
        {"{\"arguments\": {\"a\": {\"b\": 1}, \"name\": \"f\"}\n", "f {\"a\":{\"b\":1}} ~brackets"},
        {"{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}", "f {\"a\":1} ~arguments-form"},
        {"{\"name\": \"f\", \"arguments\": \"{'a': None}\"}", "f {\"a\":null} ~json5 ~python-literals ~arguments-form"},
        {"{\"name\": \"f\", \"arguments\": [{\"a\": 1}]}", "f {\"a\":1} ~arguments-form"},
        {"{\"name\": \"f\", \"arguments\": \"\"}", "f {} ~arguments-form"},
        {"{\"name\": \"f\", \"arguments\": null}", "f {} ~arguments-form"},
        {"{\"name\": \"f\", \"a\": 1, \"b\": \"x\"}", "f {\"a\":1,\"b\":\"x\"} ~arguments-form"},
        {"{\"tool_name\": \"f\", \"tool_args\": {\"a\": 1}}", "f {\"a\":1} ~keys"},
        {"{\"tool\": \"f\", \"args\": {\"a\": 1}}", "f {\"a\":1} ~keys"},
        {"{\"function\": \"f\", \"parameters\": {\"a\": 1}}", "f {\"a\":1} ~keys"},
        {"{\"name\": \"f\", \"input\": {\"a\": 1}}", "f {\"a\":1} ~keys"},
        {"{\"function\": {\"name\": \"f\", \"arguments\": {\"a\": 1}}}", "f {\"a\":1} ~keys"},
        {"{\"id\": \"c1\", \"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": \"{}\"}}",
         "f {} ~arguments-form ~keys"},
        {"{\"tool_calls\": [{\"name\": \"f\", \"arguments\": {}}]}", "f {} ~keys ~list-of-calls"},
        {"[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {\"a\": 1}}]",
         "f {} ~list-of-calls; g {\"a\":1} ~list-of-calls"},
        {"[{\"name\": \"f\", \"arguments\": {}}, 7]", "f {} ~list-of-calls; !item 2 of the list is no JSON object"},
        {"f {\"a\": 1}", "f {\"a\":1} ~keys"},
        {"{\\\"name\\\": \\\"f\\\", \\\"arguments\\\": {\\\"a\\\": \\\"x y\\\"}}", "f {\"a\":\"x y\"} ~bad-escapes"},
        {"{\"name\": \"f\", \"arguments\": {\"a\": \"\xFF\"}}", "f {\"a\":\"\xEF\xBF\xBD\"} ~encoding"},
        {"{\"name\": \"f\", \"arguments\": {\"a\": \"\\upcite{x} \\d\"}}",
         "f {\"a\":\"\\\\upcite{x} \\\\d\"} ~bad-escapes"},
        {"{\"name\": \"f\", \"arguments\": {\"a\": \"x\ny\"}}", "f {\"a\":\"x\\ny\"} ~raw-control-characters"},
        {"{“name”: “f”, “arguments”: {“a”: “b”}}", "f {\"a\":\"b\"} ~quotes"},

        {"<function=f><parameter=a>1</parameter><parameter=b>\nx\ny\n</parameter></function>",
         "f {\"a\":\"1\",\"b\":\"x\\ny\"} ~xml-dialect"},
        {"<function=f>\n<parameter=a>\n[\"x\", \"y\"]\n</parameter>\n</function>",
         "f {\"a\":[\"x\",\"y\"]} ~xml-dialect"},
        {"<function=f>\n<parameter=a>x\n<parameter=b>y\n</function>", "f {\"a\":\"x\",\"b\":\"y\"} ~xml-dialect"},
        {"<function name=\"f\"><parameter name=\"a\"><b>x</b></parameter></function>",
         "f {\"a\":\"<b>x</b>\"} ~xml-dialect"},
        {"<function=f></function><function=g></function>",
         "f {} ~xml-dialect ~list-of-calls; g {} ~xml-dialect ~list-of-calls"},
        {"f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n<arg_key>b</arg_key><arg_value>[1]</arg_value>",
         "f {\"a\":\"x\",\"b\":[1]} ~xml-dialect"},

        {"{\"name\": \"python\", \"arguments\": {}}\n<code>\n  print(1)\n</code>", "python {} |  print(1)|"},
        {"{\"name\": \"PythonInterpreter\", \"arguments\": {\"code\": \"print(2)\"}}",
         "PythonInterpreter {\"code\":\"print(2)\"} |print(2)| ~code-in-arguments"},
        {"{\"name\": \"python\", \"arguments\": {\"code\": \"print(2)\"}}<code>\n```python\nprint(3)\n```\n</code>",
         "python {\"code\":\"print(2)\"} |print(3)| ~fence"},
        {"{\"name\": \"python\"}<code>print(1)</code>", "python {} |print(1)| ~arguments-form"},
        {"PythonInterpreter\n<code>print(1)</code>", "PythonInterpreter {} |print(1)| ~arguments-form"},
        {"{\"name\": \"note\", \"arguments\": {\"code\": \"PythonInterpreter\"}}",
         "note {\"code\":\"PythonInterpreter\"}"},
    };
    CHECK(rows, true, NULL);
}

static void call__refuses_what_cannot_be_known(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"arguments\": {\"a\": 1, \"b\": 2}, \"name\": \"calc", "!1:41: a string that begins here is never closed"},
        {"{\"arguments\": {\"a\": 1},", "!1:24: the text ends where another member was to come"},
        {"{\"arguments\": {\"a\": 1}}", "!the call has no \"name\""},
        {"{\"name\": \"f\", \"arguments\": {\"limit\": }}", "!1:38: expected a value after the colon"},
        {"\n{\"name\": \"f\",\n \"arguments\": {\"a\": 1, \"b\"}}", "!3:27: expected a colon after the key"},
        {"{\"name\": \"f\", \"arguments\": {\"a\": \"x", "!1:34: a string that begins here is never closed"},
        {"{\"name\": \"f\", \"arguments\": {\"a\": 1", "!1:34: the text ends inside a number"},
        {"{\"name\": \"f\", \"arguments\": \"x\"}", "!\"arguments\" is no JSON object"},
        {"{\"name\": \"f\"}", "!the call has no \"arguments\""},
        {"{\"name\": 7, \"arguments\": {}}", "!the call has no \"name\""},
        {"{'output': 5}", "!the call has no \"name\""},
        {"I will search now.", "!1:1: there is no JSON object"},
        {"7", "!the call is no JSON object"},
        {"[]", "!the list of calls is empty"},
        {"<function=f><parameter=a>x", "!the call ends inside a parameter"},
        {"f<arg_key>a</arg_key><arg_value>x", "!the call ends inside a parameter"},
        {"```python\nprint(1)\n```", "!2:1: there is no JSON object"},
    };
    CHECK(rows, true, NULL);
}

static void call__completes_nothing_without_a_closing_tag(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"name\": \"f\", \"arguments\": {\"a\": 1}}", "f {\"a\":1}"},
        {"{'name': 'f', 'arguments': {'a': 1}}", "f {\"a\":1} ~json5"},
        {"{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}", "!1:38: the text ends before its brackets are closed"},
        {"<function=f><parameter=a>x</parameter></function>", "f {\"a\":\"x\"} ~xml-dialect"},
        {"<function=f><parameter=a>x</parameter>", "!expected <parameter=…> or </function>"},
    };
    CHECK(rows, false, NULL);
}

static void call__fits_the_tools_that_a_run_has(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"name\": \"search\", \"arguments\": {\"query\": [\"a\"]}}", "search {\"query\":[\"a\"]}"},
        {"{\"name\": \"search\", \"arguments\": {\"query\": \"a\"}}", "search {\"query\":[\"a\"]} ~coerced-arguments"},
        {"{\"name\": \"search\", \"arguments\": {\"query\": \"[\\\"a\\\", \\\"b\\\"]\"}}",
         "search {\"query\":[\"a\",\"b\"]} ~coerced-arguments"},
        {"{\"name\": \"Search\", \"arguments\": {\"query\": [\"a\"]}}", "search {\"query\":[\"a\"]} ~name"},
        {"{\"name\": \"web_search\", \"arguments\": {\"query\": [\"a\"]}}", "search {\"query\":[\"a\"]} ~name"},
        {"{\"name\": \"functions.google-search\", \"arguments\": {\"query\": [\"a\"]}}",
         "search {\"query\":[\"a\"]} ~name"},
        {"{\"name\": \"scholar\", \"arguments\": {\"query\": [\"a\"]}}", "google_scholar {\"query\":[\"a\"]} ~name"},
        {"{\"name\": \"search\", \"arguments\": [\"a\", \"b\"]}", "search {\"query\":[\"a\",\"b\"]} ~arguments-form"},
        {"{\"name\": \"search\", \"arguments\": \"a\"}",
         "search {\"query\":[\"a\"]} ~arguments-form ~coerced-arguments"},
        {"{\"search\": {\"query\": [\"a\"]}}", "search {\"query\":[\"a\"]} ~keys"},
        {"{\"name\": \"search\", \"arguments\": {\"query\": [\"a\"]}, \"limit\": 3}",
         "search {\"query\":[\"a\"],\"limit\":3} ~arguments-form"},
        {"{\"name\": \"search\", \"query\": [\"a\"]}", "search {\"query\":[\"a\"]} ~arguments-form"},
        {"{\"arguments\": {\"query\": [\"a\"], \"name\": \"search\"}}", "search {\"query\":[\"a\"]} ~brackets"},
        {"<function=search><parameter=query>[\"a\"]</parameter><parameter=limit>3</parameter></function>",
         "search {\"query\":[\"a\"],\"limit\":3} ~xml-dialect"},
        {"<function=search><parameter=query>a</parameter></function>",
         "search {\"query\":[\"a\"]} ~xml-dialect ~coerced-arguments"},
        {"visit\n<arg_key>url</arg_key><arg_value>[\"http://a.b\"]</arg_value><arg_key>goal</arg_key>"
         "<arg_value>[1]</arg_value>",
         "visit {\"url\":[\"http://a.b\"],\"goal\":\"[1]\"} ~xml-dialect"},
        {"search {\"query\": [\"a\"]}", "search {\"query\":[\"a\"]} ~keys"},
        {"{\"name\": \"python\", \"arguments\": {\"code\": \"print(1)\"}}",
         "PythonInterpreter {} |print(1)| ~name ~code-in-arguments"},
        {"{\"name\": \"PythonInterpreter\", \"arguments\": {}}", "!the call has no program"},
        {"{\"name\": \"shell\", \"arguments\": {}}", "!there is no tool named \"shell\""},
        {"{\"name\": \"search\", \"arguments\": {}}", "!query: this required parameter is missing"},
        {"{\"name\": \"search\", \"arguments\": {\"query\": [\"a\"], \"limit\": \"x\"}}",
         "!limit: expected integer, found string"},
        {"{\"name\": \"visit\", \"arguments\": {\"url\": \"http://a.b\"}}",
         "!goal: this required parameter is missing"},
    };
    CHECK(rows, true, &known);
}

static void call__an_error_shows_a_correct_call(void **state)
{
    (void)state;
    struct call_text text = {.json = STR("{\"name\": \"visit\", \"arguments\": {\"url\": [\"u\"]}}"), .closed = true};
    struct call_list list;
    call_decode(&text, &known, &list);
    const struct call *call = &list.items[0];
    assert_int_equal(call->error.status, STATUS_INVALID);
    assert_string_equal(call->error.place, "goal");
    assert_ptr_equal(call->signature, tool_list[1]);
    assert_string_equal(call->example,
                        "<tool_call>\n{\"name\":\"visit\",\"arguments\":{\"url\":[\"https://example.org/\"],"
                        "\"goal\":\"the goal\"}}\n</tool_call>");
    call_list_finish(&list);
    text.json = STR("{\"name\": \"shell\", \"arguments\": {}}");
    call_decode(&text, &known, &list);
    assert_string_equal(list.items[0].expected, "one of: search, visit, PythonInterpreter, google_scholar");
    call_list_finish(&list);
}

/* Every example of a tool decodes, without repairs. */
static void call__examples_are_correct(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char *example = signature_example(tool_list[i]);
        struct str inside = str_of(example);
        assert_true(str_starts_with(inside, STR("<tool_call>")) && str_ends_with(inside, STR("</tool_call>")));
        char *element = str_dup(str_slice(inside, 11, inside.len - 12));
        struct call_text text = split(element, true);
        struct call_list list;
        call_decode(&text, &known, &list);
        assert_int_equal(list.count, 1);
        assert_int_equal(list.items[0].error.status, STATUS_OK);
        assert_int_equal(list.items[0].repairs, 0);
        assert_string_equal(list.items[0].name, tool_list[i]->name);
        call_list_finish(&list);
        free(element);
        free(example);
    }
}

/* Whether `part` holds nothing that is not in `whole`: scalars equal, lists begin alike, members are among the others.
 */
static bool is_part_of(json_t *part, json_t *whole)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_object(part) && json_is_object(whole)) {
        json_object_foreach (part, key, value) {
            if (!json_object_get(whole, key) || !is_part_of(value, json_object_get(whole, key)))
                return false;
        }
        return true;
    }
    if (!json_is_array(part) || !json_is_array(whole))
        return json_equal(part, whole);
    json_array_foreach (part, i, value) {
        if (i >= json_array_size(whole) || !is_part_of(value, json_array_get(whole, i)))
            return false;
    }
    return true;
}

/* A call cut at any byte is refused or holds whole values only, whether or not a closing tag follows the cut. (A string
 * of two parts, or one with bare quotes inside, cannot be told from its beginning, and is not among them.) */
static void call__never_takes_half_a_value(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"name\": \"search\", \"arguments\": {\"query\": [\"first, second\", \"third {x}\"], \"limit\": 125, "
        "\"deep\": "
        "{\"a\": true, \"b\": null, \"c\": -1.5e10}}}",
        "{\"arguments\": {\"q\": \"it's \\\"so\\\" \\u00e9\", \"n\": 12}, \"name\": \"calculate\"}",
        "{'name': 'calculate', 'arguments': {'a': (10, 20), 'b': 'x', 'c': \"it's\", 'd': None}}",
        "{name: 'calculate', arguments: {a: 0xFF, b: [1.5, .25], c: 'one, two'}}",
        "{\"name\": \"f\", \"arguments\": {\"a\": bare word, \"b\": \"say hello\", \"c\": \"line\nline\"}}",
        "<function=calculate>\n<parameter=a>\nvalue one\n</parameter>\n<parameter=b>\n[1, "
        "22]\n</parameter>\n</function>",
        "calculate\n<arg_key>key</arg_key>\n<arg_value>value "
        "one</arg_value>\n<arg_key>b</arg_key><arg_value>22</arg_value>",
    };
    size_t refused = 0, taken = 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct call_text text = {.json = str_of(texts[i]), .closed = true};
        struct call_list whole, part;
        call_decode(&text, NULL, &whole);
        assert_int_equal(whole.items[0].error.status, STATUS_OK);
        for (size_t cut = 0; cut < 2 * strlen(texts[i]); cut++) {
            text.json = str_slice(str_of(texts[i]), 0, cut / 2);
            text.closed = cut % 2;
            call_decode(&text, NULL, &part);
            const struct call *call = &part.items[0];
            if (call->error.status == STATUS_OK) {
                taken++;
                bool equal = strcmp(call->name, whole.items[0].name) == 0 &&
                             is_part_of(call->arguments, whole.items[0].arguments);
                if (!equal)
                    fail_msg("invented from: %.*s", STR_ARG(text.json));
            } else {
                refused++;
            }
            call_list_finish(&part);
        }
        call_list_finish(&whole);
    }
    assert_true(refused > 10 * taken && taken > 10);
}

/* ---- the calls of real models ---- */

struct tally {
    size_t blocks, malformed, recovered, truncated_taken;
};

/* A block that stops inside its last string: what it says is unknown. */
static bool is_cut_string(struct str block)
{
    bool open = false;
    for (size_t i = 0; i < block.len; i++) {
        if (block.data[i] == '\\')
            i++;
        else if (block.data[i] == '"')
            open = !open;
    }
    char last = block.data[block.len - 1];
    return open && last != '}' && last != ']' && memchr(block.data, '\'', block.len) == NULL;
}

static void take_block(struct tally *tally, struct str block)
{
    json_t *strict = NULL;
    block = str_trim(block);
    if (block.len == 0)
        return;
    tally->blocks++;
    if (json_parse(block, &strict, NULL) == STATUS_OK) {
        json_decref(strict);
        return;
    }
    tally->malformed++;
    struct call_text text = {.json = block, .closed = true};
    struct call_list list;
    call_decode(&text, NULL, &list);
    const struct call *call = &list.items[0];
    bool recovered = call->error.status == STATUS_OK && call->name && json_is_object(call->arguments);
    tally->recovered += recovered;
    tally->truncated_taken += recovered && is_cut_string(block);
    call_list_finish(&list);
}

static void count_blocks(void *user, struct str text, size_t index)
{
    (void)index;
    for (size_t at = str_find(text, STR("<tool_call>"), 0); at != STR_NONE;) {
        size_t from = at + 11, next = str_find(text, STR("<tool_call>"), from);
        size_t close = str_find(text, STR("</tool_call>"), from);
        take_block(user, str_slice(text, from, close < next ? close : next));
        at = next;
    }
}

static void call__recovers_the_calls_of_real_models(void **state)
{
    (void)state;
    struct tally tally = {0};
    if (!recorded_each_completion(SHARED_DATA "/transcripts/dirty.jsonl.gz", count_blocks, &tally)) {
        print_message("no recorded completions here\n");
        skip();
    }
    print_message("%zu blocks, %zu malformed, %zu recovered (%.2f %%)\n", tally.blocks, tally.malformed,
                  tally.recovered, 100.0 * (double)tally.recovered / (double)tally.malformed);
    assert_true(tally.malformed > 500);
    assert_true((double)tally.recovered >= 0.92 * (double)tally.malformed);
    assert_int_equal(tally.truncated_taken, 0);
}

static void signature__says_what_is_wrong_with_its_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *parameters, *message;
    } cases[] = {
        {"[]", "\"parameters\" of look is no JSON Schema"},
        {"{\"properties\": {\"n\": {\"type\": \"int\"}}}",
         "\"parameters\" of look is no JSON Schema: /properties/n/type must be object, array, string, integer, number, "
         "boolean or null, or a list of these"},
        {"{\"properties\": {\"n\": {\"pattern\": \"(\"}}}",
         "\"parameters\" of look is no JSON Schema: /properties/n/pattern is no pattern: missing closing parenthesis"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tool_signature signature;
        struct error error = {0};
        char *text =
            mem_printf("{\"name\": \"look\", \"description\": \"d\", \"parameters\": %s}", cases[i].parameters);
        assert_int_equal(signature_load(str_of(text), &signature, &error), STATUS_INVALID);
        assert_string_equal(error.message, cases[i].message);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call__reads_any_name_without_tools),
        cmocka_unit_test(call__refuses_what_cannot_be_known),
        cmocka_unit_test(call__completes_nothing_without_a_closing_tag),
        cmocka_unit_test(call__fits_the_tools_that_a_run_has),
        cmocka_unit_test(call__an_error_shows_a_correct_call),
        cmocka_unit_test(call__examples_are_correct),
        cmocka_unit_test(call__never_takes_half_a_value),
        cmocka_unit_test(call__recovers_the_calls_of_real_models),
        cmocka_unit_test(signature__says_what_is_wrong_with_its_parameters),
    };
    return cmocka_run_group_tests(tests, load_tools, unload_tools);
}
