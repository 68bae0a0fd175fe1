#include <stdlib.h>
#include <string.h>

#include "core/lenient_json.h"
#include "protocol/call_parts.h"

/* The opening tags of the first dialect: <function=NAME> or <function name="NAME">, <invoke name="NAME">. */
static const char *const function_tags[] = {"function", "invoke"};
static const char *const parameter_tags[] = {"parameter", "param"};

struct xml_reader {
    struct str text;
    size_t i;
};

static bool is_name_byte(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '-' || c == '.' || (unsigned char)c >= 0x80;
}

/* Reads an opening tag with a name at `i`, for example <function=search> or <parameter name="query">. Returns the
 * offset behind it, or `i` when none stands there. */
static size_t open_tag_end(struct str text, size_t i, const char *const tags[2], struct str *name)
{
    struct str rest = str_slice(text, i, text.len);
    if (rest.len == 0 || rest.data[0] != '<')
        return i;
    size_t at = 0;
    for (size_t k = 0; k < 2 && at == 0; k++) {
        if (str_starts_with(str_slice(rest, 1, rest.len), str_of(tags[k])))
            at = 1 + strlen(tags[k]);
    }
    if (at == 0)
        return i;
    size_t spaces = at;
    while (at < rest.len && ascii_is_space(rest.data[at]))
        at++;
    if (at > spaces && str_starts_with(str_slice(rest, at, rest.len), STR("name")))
        at += 4;
    while (at < rest.len && (ascii_is_space(rest.data[at]) || rest.data[at] == '=' || rest.data[at] == '"'))
        at++;
    size_t from = at;
    while (at < rest.len && is_name_byte(rest.data[at]))
        at++;
    *name = str_slice(rest, from, at);
    while (at < rest.len && (ascii_is_space(rest.data[at]) || rest.data[at] == '"'))
        at++;
    return name->len > 0 && at < rest.len && rest.data[at] == '>' ? i + at + 1 : i;
}

static bool closes(struct str text, size_t i, const char *const tags[2], size_t *end)
{
    for (size_t k = 0; k < 2; k++) {
        struct str rest = str_slice(text, i, text.len), tag = str_of(tags[k]);
        if (str_starts_with(rest, STR("</")) && str_starts_with(str_slice(rest, 2, rest.len), tag) &&
            rest.len > tag.len + 2 && rest.data[tag.len + 2] == '>') {
            *end = i + tag.len + 3;
            return true;
        }
    }
    return false;
}

/* Where the value that begins at `from` ends: at its closing tag, or where the next parameter or the function's end
 * shows that the closing tag is missing. *next is where to go on; STR_NONE is returned when there is no end. */
static size_t value_end(struct str text, size_t from, size_t *next)
{
    struct str unused;
    for (size_t i = str_find_char(text, '<', from); i != STR_NONE; i = str_find_char(text, '<', i + 1)) {
        *next = i;
        size_t behind;
        if (closes(text, i, parameter_tags, next) || closes(text, i, function_tags, &behind) ||
            open_tag_end(text, i, parameter_tags, &unused) != i)
            return i;
    }
    return STR_NONE;
}

/* One line end at each side belongs to the layout. */
static struct str trim_layout(struct str value)
{
    if (str_starts_with(value, STR("\r\n")))
        value = str_slice(value, 2, value.len);
    else if (str_starts_with(value, STR("\n")))
        value = str_slice(value, 1, value.len);
    if (str_ends_with(value, STR("\n")))
        value = str_slice(value, 0, value.len - 1);
    if (str_ends_with(value, STR("\r")))
        value = str_slice(value, 0, value.len - 1);
    return value;
}

static bool may_be_string(const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");
    if (json_is_string(type))
        return strcmp(json_string_value(type), "string") == 0;
    size_t i;
    json_t *each;
    json_array_foreach (type, i, each) {
        if (json_is_string(each) && strcmp(json_string_value(each), "string") == 0)
            return true;
    }
    return false;
}

/* The value of a parameter: text where the schema takes text, else what it reads as. Without a schema only lists and
 * objects are read. */
static json_t *typed_value(struct str value, const struct tool_signature *tool, struct str key, uint32_t *repairs)
{
    json_t *parsed = NULL;
    struct lenient_result result;
    struct str trimmed = str_trim(value);
    char *name = str_dup(key);
    const json_t *schema = tool ? json_object_get(json_object_get(tool->parameters, "properties"), name) : NULL;
    free(name);
    bool structured = trimmed.len > 0 && (trimmed.data[0] == '[' || trimmed.data[0] == '{');
    if (!may_be_string(schema) && (structured || schema) &&
        lenient_json_parse(trimmed, LENIENT_NO_COMPLETION, &parsed, &result, NULL) == STATUS_OK) {
        if (result.consumed == trimmed.len && (schema || result.repairs == 0)) {
            *repairs |= call_repairs_of_json(result.repairs);
            return parsed;
        }
        json_decref(parsed);
    }
    return json_from_str(value);
}

static void set_value(struct raw_call *call, struct str key, struct str value, const struct tool_signature *tool)
{
    char *name = str_dup(str_trim(key));
    json_put(call->arguments, name, typed_value(value, tool, str_trim(key), &call->repairs));
    free(name);
}

static void begin_call(struct raw_call *call, struct str name)
{
    call->name = str_dup(name);
    call->arguments = json_object();
    call->repairs = call_repair_bit(CALL_REPAIR_XML);
}

static void cut(struct raw_call *call)
{
    error_set(&call->error, STATUS_SYNTAX, "the call ends inside a parameter");
}

/* <function=NAME> <parameter=KEY>value</parameter> … </function>, the reader behind the opening tag. */
static void read_function(struct xml_reader *reader, bool closed, const struct tool_signature *tool,
                          struct raw_call *call)
{
    struct str text = reader->text, key;
    for (;;) {
        size_t end, next = 0;
        while (reader->i < text.len && ascii_is_space(text.data[reader->i]))
            reader->i++;
        if (closes(text, reader->i, function_tags, &end)) {
            reader->i = end;
            return;
        }
        size_t value = open_tag_end(text, reader->i, parameter_tags, &key);
        if (value == reader->i) { /* something else: the call is over if the element was ended on purpose */
            if (reader->i < text.len || !closed)
                error_set(&call->error, STATUS_SYNTAX, "expected <parameter=…> or </function>");
            return;
        }
        end = value_end(text, value, &next);
        if (end == STR_NONE) {
            cut(call);
            reader->i = text.len;
            return;
        }
        set_value(call, key, trim_layout(str_slice(text, value, end)), tool);
        reader->i = next;
    }
}

/* NAME <arg_key>KEY</arg_key> <arg_value>value</arg_value> … */
static void read_pairs(struct xml_reader *reader, const struct tool_signature *tool, struct raw_call *call)
{
    struct str text = reader->text;
    for (;;) {
        size_t key = str_find(text, STR("<arg_key>"), reader->i);
        if (key == STR_NONE) {
            if (str_trim(str_slice(text, reader->i, text.len)).len > 0)
                call->repairs |= call_repair_bit(CALL_REPAIR_TRAILING_TEXT);
            return;
        }
        key += STR("<arg_key>").len;
        size_t key_end = str_find(text, STR("</arg_key>"), key);
        size_t value = key_end == STR_NONE ? STR_NONE : str_find(text, STR("<arg_value>"), key_end);
        size_t value_from = value == STR_NONE ? 0 : value + STR("<arg_value>").len;
        size_t end = value == STR_NONE ? STR_NONE : str_find(text, STR("</arg_value>"), value_from);
        if (end == STR_NONE) {
            cut(call);
            return;
        }
        set_value(call, str_slice(text, key, key_end), trim_layout(str_slice(text, value_from, end)), tool);
        reader->i = end + STR("</arg_value>").len;
    }
}

bool call_is_xml(struct str text)
{
    struct str name;
    text = str_trim(text);
    if (open_tag_end(text, 0, function_tags, &name) > 0)
        return true;
    size_t n = 0;
    while (n < text.len && is_name_byte(text.data[n]))
        n++;
    return n > 0 && str_starts_with(str_trim_start(str_slice(text, n, text.len)), STR("<arg_key>"));
}

void call_read_xml(struct str text, bool closed, const struct call_options *options, struct raw_calls *out)
{
    struct xml_reader reader = {.text = str_trim(text)};
    struct str name;
    struct raw_call *call;
    size_t behind = open_tag_end(reader.text, 0, function_tags, &name);
    if (behind == 0) {
        size_t n = 0;
        while (n < reader.text.len && is_name_byte(reader.text.data[n]))
            n++;
        call = raw_calls_add(out);
        begin_call(call, str_slice(reader.text, 0, n));
        reader.i = n;
        read_pairs(&reader, signature_find(options->tools, options->n_tools, str_slice(reader.text, 0, n), NULL), call);
        return;
    }
    while (behind > reader.i && (call = raw_calls_add(out))) {
        begin_call(call, name);
        reader.i = behind;
        read_function(&reader, closed, signature_find(options->tools, options->n_tools, name, NULL), call);
        if (call->error.status != STATUS_OK)
            return;
        while (reader.i < reader.text.len && ascii_is_space(reader.text.data[reader.i]))
            reader.i++;
        behind = open_tag_end(reader.text, reader.i, function_tags, &name);
    }
    if (out->count > 1) {
        for (size_t i = 0; i < out->count; i++)
            out->items[i].repairs |= call_repair_bit(CALL_REPAIR_LIST);
    }
    if (reader.i < reader.text.len)
        out->items[out->count - 1].repairs |= call_repair_bit(CALL_REPAIR_TRAILING_TEXT);
}
