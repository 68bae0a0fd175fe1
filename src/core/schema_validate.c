/* Whether a schema means what its author thinks. */
#include "core/schema_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct look {
    const json_t *root;
    struct buf path; /* JSON pointer */
    int depth;
    struct error *error;
};

enum kind {
    SCHEMA,
    SCHEMA_LIST,
    SCHEMA_OR_LIST,
    SCHEMA_MAP,
    TYPE,
    NUMBER,
    NUMBER_OR_FLAG,
    COUNT,
    FLAG,
    NAMES,
    LIST,
    PATTERN,
    REFERENCE
};

static const struct {
    const char *name;
    enum kind kind;
} keywords[] = {
    {"$ref", REFERENCE},
    {"$dynamicRef", REFERENCE},
    {"$defs", SCHEMA_MAP},
    {"definitions", SCHEMA_MAP},
    {"type", TYPE},
    {"enum", LIST},
    {"required", NAMES},
    {"pattern", PATTERN},
    {"properties", SCHEMA_MAP},
    {"patternProperties", SCHEMA_MAP},
    {"dependentSchemas", SCHEMA_MAP},
    {"additionalProperties", SCHEMA},
    {"unevaluatedProperties", SCHEMA},
    {"propertyNames", SCHEMA},
    {"items", SCHEMA_OR_LIST},
    {"prefixItems", SCHEMA_LIST},
    {"additionalItems", SCHEMA},
    {"unevaluatedItems", SCHEMA},
    {"contains", SCHEMA},
    {"allOf", SCHEMA_LIST},
    {"anyOf", SCHEMA_LIST},
    {"oneOf", SCHEMA_LIST},
    {"not", SCHEMA},
    {"if", SCHEMA},
    {"then", SCHEMA},
    {"else", SCHEMA},
    {"minimum", NUMBER},
    {"maximum", NUMBER},
    {"exclusiveMinimum", NUMBER_OR_FLAG},
    {"exclusiveMaximum", NUMBER_OR_FLAG},
    {"multipleOf", NUMBER},
    {"minLength", COUNT},
    {"maxLength", COUNT},
    {"minItems", COUNT},
    {"maxItems", COUNT},
    {"minProperties", COUNT},
    {"maxProperties", COUNT},
    {"minContains", COUNT},
    {"maxContains", COUNT},
    {"uniqueItems", FLAG},
};

static enum status look_at(struct look *look, const json_t *schema);

static enum status wrong(struct look *look, const char *format, ...) __attribute__((format(printf, 2, 3)));

static enum status wrong(struct look *look, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(look->error, STATUS_INVALID, "%s", message);
    error_at(look->error, look->path.len > 0 ? look->path.data : "", 0, 0);
    return STATUS_INVALID;
}

/* Appends one token to the pointer (RFC 6901, 3) and returns the length to cut it back to. */
static size_t enter(struct look *look, const char *token)
{
    size_t before = look->path.len;
    buf_add_char(&look->path, '/');
    for (; *token; token++) {
        if (*token == '~' || *token == '/')
            buf_add_text(&look->path, *token == '~' ? "~0" : "~1");
        else
            buf_add_char(&look->path, *token);
    }
    return before;
}

static enum status look_inside(struct look *look, const char *token, const json_t *schema)
{
    size_t before = enter(look, token);
    enum status status = look_at(look, schema);
    if (status == STATUS_OK)
        buf_truncate(&look->path, before);
    return status;
}

static enum status look_at_list(struct look *look, const json_t *list)
{
    enum status status = STATUS_OK;
    size_t i;
    json_t *each;
    char token[24];
    if (!json_is_array(list))
        return wrong(look, "must be a list of schemas");
    json_array_foreach (list, i, each) {
        snprintf(token, sizeof token, "%zu", i);
        if (status == STATUS_OK)
            status = look_inside(look, token, each);
    }
    return status;
}

static enum status look_at_map(struct look *look, const json_t *map)
{
    enum status status = STATUS_OK;
    const char *key;
    json_t *each;
    if (!json_is_object(map))
        return wrong(look, "must be an object whose members are schemas");
    json_object_foreach ((json_t *)(uintptr_t)map, key, each) {
        if (status == STATUS_OK)
            status = look_inside(look, key, each);
    }
    return status;
}

static enum status look_at_type(struct look *look, const json_t *type)
{
    size_t i;
    json_t *each;
    if (!json_is_array(type) && !schema_is_type(json_string_value(type)))
        return wrong(look, "must be object, array, string, integer, number, boolean or null, or a list of these");
    json_array_foreach (type, i, each) {
        if (!schema_is_type(json_string_value(each)))
            return wrong(look, "a list of types holds what is no type");
    }
    return STATUS_OK;
}

static enum status look_at_names(struct look *look, const json_t *names)
{
    size_t i;
    json_t *each;
    json_array_foreach (names, i, each) {
        if (!json_is_string(each))
            return wrong(look, "must be a list of strings");
    }
    return json_is_array(names) ? STATUS_OK : wrong(look, "must be a list of strings");
}

static enum status look_at_pattern(struct look *look, const char *pattern)
{
    char message[200] = "";
    if (!pattern)
        return wrong(look, "must be a string");
    pcre2_code *code = schema_compile_pattern(pattern, message, sizeof message);
    if (!code)
        return wrong(look, "is no pattern: %s", message);
    pcre2_code_free(code);
    return STATUS_OK;
}

static enum status look_at_keyword(struct look *look, enum kind kind, const json_t *value)
{
    switch (kind) {
    case SCHEMA:
        return look_at(look, value);
    case SCHEMA_OR_LIST:
        return json_is_array(value) ? look_at_list(look, value) : look_at(look, value);
    case SCHEMA_LIST:
        return look_at_list(look, value);
    case SCHEMA_MAP:
        return look_at_map(look, value);
    case TYPE:
        return look_at_type(look, value);
    case NUMBER:
        return json_is_number(value) ? STATUS_OK : wrong(look, "must be a number");
    case NUMBER_OR_FLAG: /* a flag up to draft 4 */
        return json_is_number(value) || json_is_boolean(value) ? STATUS_OK : wrong(look, "must be a number");
    case COUNT:
        return json_is_number(value) && json_number_value(value) >= 0 ? STATUS_OK
                                                                      : wrong(look, "must be a number from 0");
    case FLAG:
        return json_is_boolean(value) ? STATUS_OK : wrong(look, "must be true or false");
    case NAMES:
        return look_at_names(look, value);
    case LIST:
        return json_is_array(value) ? STATUS_OK : wrong(look, "must be a list");
    case PATTERN:
        return look_at_pattern(look, json_string_value(value));
    case REFERENCE:
        if (!json_is_string(value))
            return wrong(look, "must be a string");
        return schema_find(look->root, json_string_value(value), NULL)
                   ? STATUS_OK
                   : wrong(look, "refers to nothing in this document: %.200s", json_string_value(value));
    }
    return STATUS_OK;
}

static enum status look_at(struct look *look, const json_t *schema)
{
    if (json_is_boolean(schema))
        return STATUS_OK;
    if (!json_is_object(schema))
        return wrong(look, "must be a schema: an object, true or false");
    if (look->depth == SCHEMA_MAX_DEPTH)
        return error_set(look->error, STATUS_TOO_BIG, "the schema is nested too deeply");
    enum status status = STATUS_OK;
    look->depth++;
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0] && status == STATUS_OK; i++) {
        const json_t *value = json_object_get(schema, keywords[i].name);
        if (!value)
            continue;
        size_t before = enter(look, keywords[i].name);
        status = look_at_keyword(look, keywords[i].kind, value);
        if (status == STATUS_OK)
            buf_truncate(&look->path, before);
    }
    look->depth--;
    return status;
}

enum status schema_validate(const json_t *schema, struct error *error)
{
    struct look look = {.root = schema, .error = error};
    buf_init(&look.path, BUF_UNBOUNDED);
    enum status status = look_at(&look, schema);
    buf_finish(&look.path);
    return status;
}
