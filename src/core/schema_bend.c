/* Types, and values that plainly mean the same in another type. */
#include "core/schema_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lenient_json.h"

#define EXACT 9e15 /* whole numbers below are exact as double */

static bool is_integral(const json_t *value)
{
    return json_is_integer(value) || (json_is_real(value) && json_real_value(value) == floor(json_real_value(value)));
}

bool schema_has_type(const json_t *value, const char *type)
{
    if (!value)
        return false;
    if (strcmp(type, "integer") == 0)
        return is_integral(value);
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return strcmp(type, "object") == 0;
    case JSON_ARRAY:
        return strcmp(type, "array") == 0;
    case JSON_STRING:
        return strcmp(type, "string") == 0;
    case JSON_INTEGER:
    case JSON_REAL:
        return strcmp(type, "number") == 0;
    case JSON_TRUE:
    case JSON_FALSE:
        return strcmp(type, "boolean") == 0;
    case JSON_NULL:
        return strcmp(type, "null") == 0;
    }
    return false;
}

static const char *const type_names[] = {"object", "array", "string", "integer", "number", "boolean", "null"};
enum { N_TYPES = sizeof type_names / sizeof type_names[0] };

bool schema_is_type(const char *name)
{
    for (size_t i = 0; name && i < N_TYPES; i++) {
        if (strcmp(type_names[i], name) == 0)
            return true;
    }
    return false;
}

static const char *type_name(const json_t *value)
{
    for (size_t i = 0; i < N_TYPES; i++) {
        if (schema_has_type(value, type_names[i]) && (i != 3 || json_is_integer(value)))
            return type_names[i];
    }
    return "value";
}

/* The value that a string stands for when `type` is asked, as a new reference; NULL when it stands for none. */
static json_t *read_string_as(struct str text, const char *type)
{
    int64_t integer;
    double real;
    struct lenient_result unused;
    json_t *parsed = NULL;
    struct str trimmed = str_trim(text);
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0) {
        if (str_to_int64(trimmed, &integer))
            return json_integer(integer);
        if (!str_to_double(trimmed, &real) || !isfinite(real))
            return NULL;
        bool whole = real == floor(real) && fabs(real) < EXACT;
        return type[0] == 'n' ? json_real(real) : whole ? json_integer((json_int_t)real) : NULL;
    }
    if (strcmp(type, "null") == 0)
        return trimmed.len == 0 || str_equal_ascii_nocase(trimmed, STR("null")) || str_equal(trimmed, STR("None"))
                   ? json_null()
                   : NULL;
    if (strcmp(type, "boolean") == 0) {
        if (str_equal_ascii_nocase(trimmed, STR("true")))
            return json_true();
        return str_equal_ascii_nocase(trimmed, STR("false")) ? json_false() : NULL;
    }
    bool array = strcmp(type, "array") == 0, object = strcmp(type, "object") == 0;
    if (trimmed.len == 0 || !((array && trimmed.data[0] == '[') || (object && trimmed.data[0] == '{')))
        return NULL;
    if (lenient_json_parse(trimmed, LENIENT_NO_COMPLETION, &parsed, &unused, NULL) != STATUS_OK)
        return NULL;
    if (unused.consumed == trimmed.len && schema_has_type(parsed, type))
        return parsed;
    json_decref(parsed);
    return NULL;
}

/* Whether `value` would pass, bent or not, where the first item of the array is asked. */
static bool fits_item(struct check *check, const json_t *schema, const json_t *value)
{
    const json_t *items = json_object_get(schema, "items");
    const json_t *listed = json_object_get(schema, "prefixItems");
    if (!listed && json_is_array(items))
        listed = items;
    const json_t *first = json_array_size(listed) > 0 ? json_array_get(listed, 0) : items;
    if (!first || schema_takes(check, first, value, NULL))
        return true;
    if (!schema_step(check, schema_size(value)))
        return false;
    struct check attempt = *check;
    attempt.error = NULL;
    json_t *copy = json_deep_copy(value);
    bool fits = schema_apply(&attempt, first, &copy, NULL) == STATUS_OK;
    json_decref(copy);
    return fits;
}

/* What a number or boolean is as text. */
static json_t *write_as_string(const json_t *value)
{
    char *text = json_to_text(value);
    json_t *other = json_string(text);
    free(text);
    return other;
}

/* A value of `type` that plainly means the same as `value`, as a new reference, or NULL. */
static json_t *bend(struct check *check, const json_t *schema, json_t *value, const char *type)
{
    json_t *other = NULL;
    if (json_is_string(value))
        other = read_string_as(str_make(json_string_value(value), json_string_length(value)), type);
    if (!other && strcmp(type, "array") == 0 && !json_is_null(value) && fits_item(check, schema, value)) {
        other = json_array();
        json_array_append(other, value);
    }
    if (!other && strcmp(type, "string") == 0 && (json_is_number(value) || json_is_boolean(value)))
        other = write_as_string(value);
    if (!other && strcmp(type, "boolean") == 0 && json_is_integer(value) && (uint64_t)json_integer_value(value) <= 1)
        other = json_boolean(json_integer_value(value) == 1);
    if (!other && json_array_size(value) == 1 && !json_is_null(json_array_get(value, 0)) &&
        schema_has_type(json_array_get(value, 0), type))
        other = json_incref(json_array_get(value, 0));
    return other;
}

static void replace(struct check *check, json_t **value, json_t *other)
{
    json_decref(*value);
    *value = other;
    check->bent = true;
}

static const char *nth_type(const json_t *type, size_t index)
{
    if (json_is_string(type))
        return index == 0 ? json_string_value(type) : NULL;
    return json_string_value(json_array_get(type, index));
}

enum status schema_apply_type(struct check *check, const json_t *schema, json_t **value)
{
    const json_t *type = json_object_get(schema, "type");
    const char *name;
    if (!type || (json_is_null(*value) && json_is_true(json_object_get(schema, "nullable"))))
        return STATUS_OK;
    for (size_t i = 0; (name = nth_type(type, i)); i++) {
        if (!schema_is_type(name)) /* "any", "str": its author alone knows */
            return STATUS_OK;
        if (!schema_has_type(*value, name))
            continue;
        if (strcmp(name, "integer") == 0 && json_is_real(*value) && check->may_bend &&
            fabs(json_real_value(*value)) < EXACT)
            replace(check, value, json_integer((json_int_t)json_real_value(*value)));
        return STATUS_OK;
    }
    for (size_t i = 0; check->may_bend && (name = nth_type(type, i)); i++) {
        json_t *other = bend(check, schema, *value, name);
        if (!other)
            continue;
        replace(check, value, other);
        return STATUS_OK;
    }
    char wanted[200] = "";
    for (size_t i = 0; (name = nth_type(type, i)); i++) {
        size_t length = strlen(wanted);
        snprintf(wanted + length, sizeof wanted - length, "%s%s", i ? " or " : "", name);
    }
    return schema_misfit(check, "expected %s, found %s", wanted, type_name(*value));
}

/* ---- enum, const ---- */

static bool same_word(const json_t *a, const json_t *b)
{
    return json_is_string(a) && json_is_string(b) &&
           str_equal_ascii_nocase(str_of(json_string_value(a)), str_of(json_string_value(b)));
}

/* Puts the word in the place of its other spelling. False when it is none. */
static bool respell(struct check *check, json_t **value, json_t *word)
{
    if (!check->may_bend || !same_word(*value, word))
        return false;
    replace(check, value, json_incref(word));
    return true;
}

/* The one word of a list that `value` spells in another case; NULL when there is none, or are several. */
static json_t *find_word(const json_t *words, const json_t *value)
{
    json_t *word, *found = NULL;
    size_t i;
    json_array_foreach (words, i, word) {
        if (!same_word(word, value))
            continue;
        if (found)
            return NULL;
        found = word;
    }
    return found;
}

enum status schema_apply_enum(struct check *check, const json_t *schema, json_t **value)
{
    const json_t *allowed = json_object_get(schema, "enum");
    json_t *constant = json_object_get(schema, "const");
    size_t i;
    json_t *choice;
    if (constant && !schema_equal(constant, *value) && !respell(check, value, constant)) {
        char *text = json_to_text(constant);
        schema_misfit(check, "expected %.300s", text);
        free(text);
        return STATUS_INVALID;
    }
    if (!json_is_array(allowed))
        return STATUS_OK;
    json_array_foreach (allowed, i, choice) {
        if (schema_equal(choice, *value))
            return STATUS_OK;
    }
    if (respell(check, value, find_word(allowed, *value)))
        return STATUS_OK;
    char *text = json_to_text(allowed);
    schema_misfit(check, "expected one of %.300s", text);
    free(text);
    return STATUS_INVALID;
}

/* ---- members that say nothing ---- */

static bool is_blank(const json_t *value)
{
    struct str text = str_make(json_string_value(value), json_string_length(value));
    return json_is_null(value) || (json_is_string(value) && str_trim(text).len == 0);
}

static bool is_required(const json_t *schema, const char *key)
{
    size_t i;
    json_t *name;
    json_array_foreach (json_object_get(schema, "required"), i, name) {
        if (json_is_string(name) && strcmp(json_string_value(name), key) == 0)
            return true;
    }
    return false;
}

static bool takes_member(const struct check *check, const json_t *schema, json_t *object, const char *key)
{
    struct check quiet = *check;
    bool known;
    quiet.may_bend = false;
    quiet.error = NULL;
    return schema_apply_key(&quiet, schema, object, key, &known) == STATUS_OK;
}

void schema_drop_blanks(struct check *check, const json_t *schema, json_t *object)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe (object, next, key, value) {
        if (!is_blank(value) || is_required(schema, key) || takes_member(check, schema, object, key))
            continue;
        json_object_del(object, key);
        check->bent = true;
    }
}
