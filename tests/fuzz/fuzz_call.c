/* The decoder and the lenient reader: strict JSON reads as it is, what is repaired is strict JSON and stays as it is,
 * and a call without an error has a name and arguments. */
#include <stdint.h>
#include <stdlib.h>

#include "core/lenient_json.h"
#include "protocol/call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static const char signature_text[] =
    "{\"name\": \"search\", \"description\": \"-\", \"parameters\": {\"type\": \"object\", \"properties\": {\"query\": "
    "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}, \"limit\": {\"type\": \"integer\"}}, \"required\": "
    "[\"query\"]}}";

static void check_lenient(struct str text, unsigned flags)
{
    json_t *strict = NULL, *value = NULL, *again = NULL;
    struct lenient_result result, second;
    struct buf repaired;
    struct error error;
    buf_init(&repaired, BUF_UNBOUNDED);
    enum status wanted = json_parse(text, &strict, NULL);
    enum status status = lenient_json_repair(text, flags, &repaired, &result, &error);
    if (status == STATUS_OK) {
        check(result.consumed <= text.len * 3);
        struct error parse_error;
        enum status parsed = json_parse(buf_str(&repaired), &value, &parse_error);
        if (parsed == STATUS_OK) {
            check(lenient_json_parse(buf_str(&repaired), 0, &again, &second, NULL) == STATUS_OK);
            check(second.repairs == 0 && json_equal(value, again));
        } else { /* jansson's own limits: NUL in a key */
            check(str_find(buf_str(&repaired), STR("\\u0000"), 0) != STR_NONE);
        }
    } else {
        check(repaired.len == 0 && error.status == status);
    }
    if (wanted == STATUS_OK && status != STATUS_TOO_BIG)
        check(status == STATUS_OK && value && json_equal(strict, value) && result.repairs == 0);
    json_decref(strict);
    json_decref(value);
    json_decref(again);
    buf_finish(&repaired);
}

static void check_call(const struct call_text *text, const struct call_options *options)
{
    struct call_list list;
    call_decode(text, options, &list);
    check(list.count > 0);
    for (size_t i = 0; i < list.count; i++) {
        const struct call *call = &list.items[i];
        if (call->error.status == STATUS_OK)
            check(call->name && json_is_object(call->arguments) && !call->example);
        else
            check(call->example && call->expected[0] && call->error.message[0]);
        check(!options || call->error.status != STATUS_OK || call->signature);
    }
    call_list_finish(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tool_signature search;
    static const struct tool_signature *tools[] = {&search};
    if (!search.name)
        check(signature_load(str_of(signature_text), &search, NULL) == STATUS_OK);
    if (size < 1)
        return 0;
    struct str all = {(const char *)data + 1, size - 1};
    size_t code = str_find(all, STR("<code>"), 0);
    struct call_text text = {.json = str_slice(all, 0, code), .closed = data[0] & 1, .has_code = code != STR_NONE};
    if (text.has_code)
        text.code = str_slice(all, code + 6, all.len);
    check_lenient(all, data[0] & 2 ? LENIENT_NO_COMPLETION : 0);
    check_call(&text, NULL);
    check_call(&text, &(struct call_options){.tools = tools, .n_tools = 1});
    return 0;
}
