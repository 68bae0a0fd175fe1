#include "protocol/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lenient_json.h"
#include "core/mem.h"
#include "core/schema.h"
#include "core/utf8.h"
#include "protocol/call_parts.h"

/* How many brackets in prose before the object are tried as its beginning. */
#define MAX_STARTS 4

static const char *const repair_names[CALL_REPAIR_COUNT] = {
    [CALL_REPAIR_JSON5] = "json5",
    [CALL_REPAIR_PYTHON] = "python-literals",
    [CALL_REPAIR_XML] = "xml-dialect",
    [CALL_REPAIR_RAW_CONTROL] = "raw-control-characters",
    [CALL_REPAIR_BAD_ESCAPE] = "bad-escapes",
    [CALL_REPAIR_QUOTES] = "quotes",
    [CALL_REPAIR_BRACKETS] = "brackets",
    [CALL_REPAIR_TRAILING_TEXT] = "text-around-object",
    [CALL_REPAIR_FENCE] = "fence",
    [CALL_REPAIR_ARGUMENTS_FORM] = "arguments-form",
    [CALL_REPAIR_KEYS] = "keys",
    [CALL_REPAIR_LIST] = "list-of-calls",
    [CALL_REPAIR_NAME] = "name",
    [CALL_REPAIR_CODE] = "code-in-arguments",
    [CALL_REPAIR_COERCED] = "coerced-arguments",
    [CALL_REPAIR_ENCODING] = "encoding",
};

const char *call_repair_name(enum call_repair repair)
{
    return repair_names[repair];
}

uint32_t call_repair_bit(enum call_repair repair)
{
    return 1u << repair;
}

json_t *call_repairs_json(uint32_t repairs)
{
    json_t *names = json_array();
    for (size_t i = 0; i < CALL_REPAIR_COUNT; i++) {
        if (repairs & (1u << i))
            json_push(names, json_string(repair_names[i]));
    }
    return names;
}

uint32_t call_repairs_of_json(uint32_t lenient_repairs)
{
    static const struct {
        uint32_t from;
        enum call_repair to;
    } map[] = {
        {LENIENT_JSON5 | LENIENT_NON_FINITE, CALL_REPAIR_JSON5},
        {LENIENT_PYTHON, CALL_REPAIR_PYTHON},
        {LENIENT_RAW_CONTROL, CALL_REPAIR_RAW_CONTROL},
        {LENIENT_BAD_ESCAPE, CALL_REPAIR_BAD_ESCAPE},
        {LENIENT_QUOTES | LENIENT_BARE_WORDS, CALL_REPAIR_QUOTES},
        {LENIENT_BRACKETS | LENIENT_SEPARATORS, CALL_REPAIR_BRACKETS},
        {LENIENT_INVALID_UTF8, CALL_REPAIR_ENCODING},
    };
    uint32_t repairs = 0;
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        repairs |= lenient_repairs & map[i].from ? call_repair_bit(map[i].to) : 0;
    return repairs;
}

void call_list_finish(struct call_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        json_decref(list->items[i].arguments);
        free(list->items[i].code);
        free(list->items[i].example);
    }
    free(list->items);
    *list = (struct call_list){0};
}

/* ---- The text ---- */

/* Moves an error's place from a piece of `text` that begins at `offset` to the whole. */
static void shift_error(struct error *error, struct str text, size_t offset)
{
    if (error->line == 0)
        return;
    size_t line_start = 0;
    int lines = 0;
    for (size_t i = 0; i < offset; i++) {
        if (text.data[i] == '\n') {
            lines++;
            line_start = i + 1;
        }
    }
    if (error->line == 1)
        error->column += (int)(offset - line_start);
    error->line += lines;
}

/* The inside of a Markdown fence that begins `text`: true, and *inside is what stands between its lines. */
static bool peel_fence(struct str text, struct str *inside)
{
    text = str_trim(text);
    if (!str_starts_with(text, STR("```")))
        return false;
    size_t line = str_find_char(text, '\n', 3);
    size_t label = 3;
    while (label < text.len && (ascii_is_alnum(text.data[label]) || text.data[label] == '+'))
        label++;
    size_t from = line != STR_NONE && str_trim(str_slice(text, label, line)).len == 0 ? line + 1 : label;
    size_t end = str_find(text, STR("```"), from);
    for (size_t next = end; next != STR_NONE; next = str_find(text, STR("```"), next + 3))
        end = next;
    *inside = str_slice(text, from, end == STR_NONE ? text.len : end);
    return true;
}

/* A lone word before the object, which is then the name of a call whose object holds its arguments: `search {"query":
 * …}`. */
static struct str word_before(struct str before)
{
    struct str word = str_trim(before);
    if (str_ends_with(word, STR("(")))
        word = str_trim(str_slice(word, 0, word.len - 1));
    for (size_t i = 0; i < word.len; i++) {
        if (!ascii_is_alnum(word.data[i]) && word.data[i] != '_' && word.data[i] != '-' && word.data[i] != '.')
            return (struct str){0};
    }
    return word;
}

/* A call written as `name {arguments}`; false when the object names itself. */
static bool take_word_as_name(struct str before, json_t *value, uint32_t repairs, const struct call_options *options,
                              struct raw_calls *out)
{
    struct str word = word_before(before);
    bool known = signature_find(options->tools, options->n_tools, word, NULL) != NULL;
    if (word.len == 0 || !json_is_object(value) || json_object_get(value, "name") || (options->tools && !known))
        return false;
    struct raw_call *call = raw_calls_add(out);
    call->name = str_dup(word);
    call->arguments = json_incref(value);
    call->repairs = repairs | call_repair_bit(CALL_REPAIR_KEYS);
    return true;
}

/* Reads the object or list at `start` of `text`. */
static enum status read_at(struct str text, size_t start, bool closed, const struct call_options *options,
                           struct raw_calls *out, struct error *error)
{
    json_t *value = NULL;
    struct lenient_result result;
    struct str rest = str_slice(text, start, text.len), before = str_slice(text, 0, start);
    enum status status = lenient_json_parse(rest, closed ? 0 : LENIENT_NO_COMPLETION, &value, &result, error);
    if (status != STATUS_OK) {
        if (error)
            shift_error(error, text, start);
        return status;
    }
    uint32_t repairs = call_repairs_of_json(result.repairs);
    struct str behind = str_trim(str_slice(rest, result.consumed, rest.len));
    if (!take_word_as_name(before, value, repairs, options, out)) {
        if (str_trim(before).len > 0 || behind.len > 0)
            repairs |= call_repair_bit(CALL_REPAIR_TRAILING_TEXT);
        call_normalize(value, repairs, options, out);
    }
    json_decref(value);
    return STATUS_OK;
}

/* An object whose quotes were all escaped once too often: `{\"name\": …}`. */
static enum status read_escaped(struct str text, bool closed, const struct call_options *options, struct raw_calls *out)
{
    struct buf wrapped;
    json_t *string = NULL;
    buf_init(&wrapped, text.len + 2);
    enum status status = STATUS_SYNTAX;
    if (buf_append_char(&wrapped, '"') == STATUS_OK && buf_append_str(&wrapped, text) == STATUS_OK &&
        buf_append_char(&wrapped, '"') == STATUS_OK)
        status = json_parse(buf_str(&wrapped), &string, NULL);
    buf_finish(&wrapped);
    if (status == STATUS_OK)
        status =
            read_at(str_make(json_string_value(string), json_string_length(string)), 0, closed, options, out, NULL);
    for (size_t i = 0; status == STATUS_OK && i < out->count; i++)
        out->items[i].repairs |= call_repair_bit(CALL_REPAIR_BAD_ESCAPE);
    json_decref(string);
    return status;
}

static size_t find_start(struct str text, size_t from)
{
    while (from < text.len && text.data[from] != '{' && text.data[from] != '[')
        from++;
    return from;
}

/* Reads JSON that is not strict, perhaps with text around it or a fence. */
static enum status read_lenient(struct str text, bool closed, const struct call_options *options, struct raw_calls *out,
                                struct error *error)
{
    struct str inside;
    uint32_t fence = 0;
    if (peel_fence(text, &inside)) {
        fence = call_repair_bit(CALL_REPAIR_FENCE);
        closed = closed || text.data + text.len != inside.data + inside.len;
    } else {
        inside = text;
    }
    enum status status = STATUS_SYNTAX;
    size_t start = find_start(inside, 0);
    if (start == inside.len) {
        status = error_set(error, STATUS_SYNTAX, "there is no JSON object");
        error_at(error, NULL, 1, 1);
    }
    for (int tries = 0; start < inside.len && tries < MAX_STARTS; tries++) {
        status = read_at(inside, start, closed, options, out, tries == 0 ? error : NULL);
        if (status != STATUS_OK && str_starts_with(str_slice(inside, start, inside.len), STR("{\\\"")))
            status = read_escaped(str_trim(str_slice(inside, start, inside.len)), closed, options, out);
        bool prose = start > 0 && str_trim(str_slice(inside, 0, start)).len > 0;
        bool object = status == STATUS_OK && (out->items[0].name || !prose);
        if (object || !prose)
            break; /* text that begins with the object stands or falls with it */
        if (status == STATUS_OK)
            raw_calls_finish(out);
        status = STATUS_SYNTAX;
        start = find_start(inside, start + 1);
    }
    if (status != STATUS_OK && error && error->status == STATUS_OK)
        error_set(error, STATUS_SYNTAX, "there is no JSON object that is a call");
    if (status != STATUS_OK)
        shift_error(error, text, (size_t)(inside.data - text.data));
    for (size_t i = 0; i < out->count; i++)
        out->items[i].repairs |= fence;
    return status;
}

static void read_text(const struct call_text *text, struct str json, const struct call_options *options,
                      struct raw_calls *out)
{
    json_t *value = NULL;
    struct error error = {.status = STATUS_OK};
    if (json_parse(json, &value, NULL) == STATUS_OK) {
        call_normalize(value, 0, options, out);
        json_decref(value);
        return;
    }
    struct str word = word_before(json);
    if (call_is_xml(json)) {
        call_read_xml(json, text->closed || text->has_code, options, out);
    } else if (text->has_code && word.len > 0 && signature_name_takes_code(word)) {
        struct raw_call *call = raw_calls_add(out); /* the interpreter's name and its program, without an object */
        call->name = str_dup(word);
        call->arguments = json_object();
        call->repairs = call_repair_bit(CALL_REPAIR_ARGUMENTS_FORM);
    } else if (read_lenient(json, text->closed || text->has_code, options, out, &error) != STATUS_OK) {
        raw_calls_finish(out);
        raw_calls_add(out)->error = error;
    }
}

/* ---- The single call ---- */

static void fail(struct call *call, enum status status, const char *expected, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void fail(struct call *call, enum status status, const char *expected, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(&call->error, status, "%s", message);
    snprintf(call->expected, sizeof call->expected, "%s", expected);
}

static void look_up_name(struct call *call, const struct call_options *options)
{
    enum signature_match match = SIGNATURE_EXACT;
    if (!options->tools || !call->name)
        return;
    call->signature = signature_find(options->tools, options->n_tools, str_of(call->name), &match);
    if (!call->signature) {
        char names[sizeof call->expected] = "";
        for (size_t i = 0; i < options->n_tools; i++) {
            size_t length = strlen(names);
            snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "one of: ", options->tools[i]->name);
        }
        if (call->error.status == STATUS_OK)
            fail(call, STATUS_NOT_FOUND, names, "there is no tool named \"%.100s\"", call->name);
        return;
    }
    if (match == SIGNATURE_EXACT)
        return;
    call->repairs |= call_repair_bit(CALL_REPAIR_NAME);
    free(call->name);
    call->name = mem_strdup(call->signature->name);
}

/* Blank lines around a program belong to the layout, the indentation of its first line does not. */
static struct str trim_program(struct str code)
{
    code = str_trim_end(code);
    for (size_t line = str_find_char(code, '\n', 0); line != STR_NONE && str_trim(str_slice(code, 0, line)).len == 0;
         line = str_find_char(code, '\n', 0))
        code = str_slice(code, line + 1, code.len);
    return code;
}

static void take_code(struct call *call, const struct call_text *text)
{
    bool interpreter =
        call->signature ? call->signature->takes_code : call->name && signature_name_takes_code(str_of(call->name));
    struct str code = text->has_code ? text->code : (struct str){0}, inside;
    if (interpreter && str_trim(code).len == 0) {
        struct str argument = json_get_str(call->arguments, "code");
        if (str_trim(argument).len > 0) {
            code = argument;
            call->repairs |= call_repair_bit(CALL_REPAIR_CODE);
        }
    }
    if (str_trim(code).len == 0)
        return;
    if (peel_fence(code, &inside)) {
        code = inside;
        call->repairs |= call_repair_bit(CALL_REPAIR_FENCE);
    }
    code = trim_program(code);
    call->code = str_dup(code);
    call->code_len = code.len;
    if (call->repairs & call_repair_bit(CALL_REPAIR_CODE) && call->signature &&
        !json_object_get(json_object_get(call->signature->parameters, "properties"), "code"))
        json_object_del(call->arguments, "code");
}

/* Moves parameters that stand beside the arguments into them. */
static void take_beside(struct call *call, json_t *beside)
{
    const json_t *properties = json_object_get(call->signature->parameters, "properties");
    const char *key;
    json_t *value;
    json_object_foreach (beside, key, value) {
        if (!json_object_get(properties, key) || json_object_get(call->arguments, key))
            continue;
        json_object_set(call->arguments, key, value);
        call->repairs |= call_repair_bit(CALL_REPAIR_ARGUMENTS_FORM);
    }
}

static void check_arguments(struct call *call, json_t *beside)
{
    bool bent = false;
    struct error error = {.status = STATUS_OK};
    take_beside(call, beside);
    enum status status = schema_check(call->signature->parameters, &call->arguments, &bent, &error);
    if (bent)
        call->repairs |= call_repair_bit(CALL_REPAIR_COERCED);
    if (status != STATUS_OK) {
        fail(call, status, "arguments that fit the tool's parameters", "%s", error.message);
        error_at(&call->error, error.place, 0, 0);
    } else if (call->signature->takes_code && !call->code) {
        fail(call, STATUS_INVALID, "a program between <code> and </code> behind the object", "the call has no program");
    }
}

/* One correct call: of the tool that was meant, else of the first tool, else a made-up one. */
static char *make_example(const struct call *call, const struct call_options *options)
{
    const struct tool_signature *tool = call->signature;
    if (!tool && options->n_tools > 0)
        tool = options->tools[0];
    if (tool)
        return signature_example(tool);
    return mem_strdup("<tool_call>\n{\"name\": \"tool\", \"arguments\": {\"parameter\": \"value\"}}\n</tool_call>");
}

static void finish_call(struct raw_call *raw, const struct call_text *text, uint32_t repairs,
                        const struct call_options *options, struct call *call)
{
    *call = (struct call){
        .name = raw->name, .arguments = raw->arguments, .repairs = raw->repairs | repairs, .error = raw->error};
    raw->name = NULL;
    raw->arguments = NULL;
    if (call->error.status != STATUS_OK)
        snprintf(call->expected, sizeof call->expected, "one JSON object with \"name\" and \"arguments\"");
    look_up_name(call, options);
    take_code(call, text);
    if (call->error.status == STATUS_OK && call->signature)
        check_arguments(call, raw->beside);
    if (call->error.status != STATUS_OK)
        call->example = make_example(call, options);
}

void call_decode(const struct call_text *text, const struct call_options *options, struct call_list *out)
{
    static const struct call_options none = {0};
    struct raw_calls *raw = mem_zalloc(sizeof *raw);
    struct buf valid;
    struct str json = text->json;
    uint32_t repairs = 0;
    options = options ? options : &none;
    buf_init(&valid, BUF_UNBOUNDED);
    if (!utf8_is_valid(json)) {
        if (utf8_append_valid(&valid, json) != STATUS_OK)
            abort();
        json = buf_str(&valid);
        repairs = call_repair_bit(CALL_REPAIR_ENCODING);
    }
    read_text(text, json, options, raw);
    *out = (struct call_list){.items = mem_calloc(raw->count, sizeof *out->items), .count = raw->count};
    for (size_t i = 0; i < raw->count; i++)
        finish_call(&raw->items[i], text, repairs, options, &out->items[i]);
    raw_calls_finish(raw);
    buf_finish(&valid);
    free(raw);
}
