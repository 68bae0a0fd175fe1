#include "core/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lenient_json.h"
#include "core/utf8.h"

#define MAX_DEPTH 200

struct check {
    const json_t *root; /* for $ref */
    bool may_bend;
    bool bent;
    int depth;
    char path[256];
    struct error *error;
};

static enum status check_value(struct check *check, const json_t *schema, json_t **value);

static enum status misfit(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

static enum status misfit(struct check *check, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(check->error, STATUS_INVALID, "%s", message);
    error_at(check->error, check->path, 0, 0);
    return STATUS_INVALID;
}

/* Goes one step down in the path and returns the length to cut it back to. */
static size_t enter_member(struct check *check, const char *key)
{
    size_t length = strlen(check->path);
    snprintf(check->path + length, sizeof check->path - length, "%s%s", length ? "." : "", key);
    return length;
}

static size_t enter_item(struct check *check, size_t index)
{
    size_t length = strlen(check->path);
    snprintf(check->path + length, sizeof check->path - length, "[%zu]", index);
    return length;
}

/* ---- Types ---- */

static bool is_integral(const json_t *value)
{
    return json_is_integer(value) || (json_is_real(value) && json_real_value(value) == floor(json_real_value(value)));
}

static bool has_type(const json_t *value, const char *type)
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

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {"object", "array", "string", "integer", "number", "boolean", "null"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (has_type(value, names[i]) && (i != 3 || json_is_integer(value)))
            return names[i];
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
    if (strcmp(type, "integer") == 0)
        return str_to_int64(trimmed, &integer) ? json_integer(integer) : NULL;
    if (strcmp(type, "number") == 0) {
        if (str_to_int64(trimmed, &integer))
            return json_integer(integer);
        return str_to_double(trimmed, &real) && isfinite(real) ? json_real(real) : NULL;
    }
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
    if (unused.consumed == trimmed.len && has_type(parsed, type))
        return parsed;
    json_decref(parsed);
    return NULL;
}

/* Whether `value` would pass where one item of the array is asked. */
static bool fits_item(struct check *check, const json_t *schema, json_t *value)
{
    const json_t *items = json_object_get(schema, "items");
    struct check quiet = *check;
    quiet.may_bend = false;
    quiet.error = NULL;
    json_t *copy = json_deep_copy(value);
    bool fits = !items || check_value(&quiet, items, &copy) == STATUS_OK;
    json_decref(copy);
    return fits;
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
    if (!other && strcmp(type, "string") == 0 && json_is_number(value)) {
        char *text = json_to_text(value);
        other = json_string(text);
        free(text);
    }
    return other;
}

static const char *nth_type(const json_t *type, size_t index)
{
    if (json_is_string(type))
        return index == 0 ? json_string_value(type) : NULL;
    return json_string_value(json_array_get(type, index));
}

static enum status check_type(struct check *check, const json_t *schema, json_t **value)
{
    const json_t *type = json_object_get(schema, "type");
    const char *name;
    if (!type)
        return STATUS_OK;
    for (size_t i = 0; (name = nth_type(type, i)); i++) {
        if (!has_type(*value, name))
            continue;
        if (strcmp(name, "integer") == 0 && json_is_real(*value) && check->may_bend &&
            fabs(json_real_value(*value)) < 9e15) {
            json_t *whole = json_integer((json_int_t)json_real_value(*value));
            json_decref(*value);
            *value = whole;
            check->bent = true;
        }
        return STATUS_OK;
    }
    for (size_t i = 0; check->may_bend && (name = nth_type(type, i)); i++) {
        json_t *other = bend(check, schema, *value, name);
        if (!other)
            continue;
        json_decref(*value);
        *value = other;
        check->bent = true;
        return STATUS_OK;
    }
    char wanted[200] = "";
    for (size_t i = 0; (name = nth_type(type, i)); i++) {
        size_t length = strlen(wanted);
        snprintf(wanted + length, sizeof wanted - length, "%s%s", i ? " or " : "", name);
    }
    return misfit(check, "expected %s, found %s", wanted, type_name(*value));
}

/* ---- Keywords of one type ---- */

static bool limit_of(const json_t *schema, const char *keyword, double *limit)
{
    const json_t *value = json_object_get(schema, keyword);
    *limit = json_number_value(value);
    return json_is_number(value);
}

static enum status check_number(struct check *check, const json_t *schema, const json_t *value)
{
    double number = json_number_value(value), limit;
    if (limit_of(schema, "minimum", &limit) && number < limit)
        return misfit(check, "%.17g is less than the minimum of %.17g", number, limit);
    if (limit_of(schema, "maximum", &limit) && number > limit)
        return misfit(check, "%.17g is more than the maximum of %.17g", number, limit);
    if (limit_of(schema, "exclusiveMinimum", &limit) && number <= limit)
        return misfit(check, "%.17g is not more than %.17g", number, limit);
    if (limit_of(schema, "exclusiveMaximum", &limit) && number >= limit)
        return misfit(check, "%.17g is not less than %.17g", number, limit);
    if (limit_of(schema, "multipleOf", &limit) && limit > 0 && fabs(remainder(number, limit)) > limit * 1e-9)
        return misfit(check, "%.17g is no multiple of %.17g", number, limit);
    return STATUS_OK;
}

static enum status check_count(struct check *check, const json_t *schema, const char *min, const char *max,
                               size_t count, const char *unit)
{
    double limit;
    if (limit_of(schema, min, &limit) && (double)count < limit)
        return misfit(check, "expected at least %.0f %s, found %zu", limit, unit, count);
    if (limit_of(schema, max, &limit) && (double)count > limit)
        return misfit(check, "expected at most %.0f %s, found %zu", limit, unit, count);
    return STATUS_OK;
}

static size_t code_points(const json_t *string)
{
    const char *bytes = json_string_value(string);
    size_t count = 0;
    for (size_t i = 0; i < json_string_length(string); i++)
        count += ((unsigned char)bytes[i] & 0xC0) != 0x80;
    return count;
}

static enum status check_array(struct check *check, const json_t *schema, json_t *array)
{
    enum status status = check_count(check, schema, "minItems", "maxItems", json_array_size(array), "items");
    const json_t *items = json_object_get(schema, "items");
    for (size_t i = 0; status == STATUS_OK && items && i < json_array_size(array); i++) {
        json_t *item = json_incref(json_array_get(array, i));
        size_t before = enter_item(check, i);
        status = check_value(check, items, &item);
        if (status == STATUS_OK)
            check->path[before] = '\0';
        if (item != json_array_get(array, i))
            json_array_set(array, i, item);
        json_decref(item);
    }
    if (status != STATUS_OK || !json_is_true(json_object_get(schema, "uniqueItems")))
        return status;
    for (size_t i = 0; i < json_array_size(array); i++) {
        for (size_t k = 0; k < i; k++) {
            if (json_equal(json_array_get(array, i), json_array_get(array, k)))
                return misfit(check, "items %zu and %zu are equal", k, i);
        }
    }
    return STATUS_OK;
}

static enum status check_member(struct check *check, const json_t *schema, json_t *object, const char *key)
{
    const json_t *known = json_object_get(json_object_get(schema, "properties"), key);
    const json_t *other = json_object_get(schema, "additionalProperties");
    size_t before = enter_member(check, key);
    if (!known && json_is_false(other))
        return misfit(check, "there is no such parameter");
    json_t *value = json_incref(json_object_get(object, key));
    enum status status = known || other ? check_value(check, known ? known : other, &value) : STATUS_OK;
    if (status == STATUS_OK)
        check->path[before] = '\0';
    if (value != json_object_get(object, key))
        json_object_set(object, key, value);
    json_decref(value);
    return status;
}

static enum status check_object(struct check *check, const json_t *schema, json_t *object)
{
    size_t i;
    json_t *name, *unused;
    const char *key;
    json_array_foreach (json_object_get(schema, "required"), i, name) {
        const char *required = json_string_value(name);
        if (!required || json_object_get(object, required))
            continue;
        enter_member(check, required);
        return misfit(check, "this required parameter is missing");
    }
    enum status status =
        check_count(check, schema, "minProperties", "maxProperties", json_object_size(object), "parameters");
    json_object_foreach (object, key, unused) {
        if (status == STATUS_OK)
            status = check_member(check, schema, object, key);
    }
    return status;
}

/* ---- Keywords of any type ---- */

static enum status check_enum(struct check *check, const json_t *schema, const json_t *value)
{
    const json_t *allowed = json_object_get(schema, "enum"), *constant = json_object_get(schema, "const");
    size_t i;
    json_t *choice;
    if (constant && !json_equal(constant, value)) {
        char *text = json_to_text(constant);
        misfit(check, "expected %.300s", text);
        free(text);
        return STATUS_INVALID;
    }
    if (!json_is_array(allowed))
        return STATUS_OK;
    json_array_foreach (allowed, i, choice) {
        if (json_equal(choice, value))
            return STATUS_OK;
    }
    char *text = json_to_text(allowed);
    misfit(check, "expected one of %.300s", text);
    free(text);
    return STATUS_INVALID;
}

/* anyOf and oneOf: as it stands first, bent only when nothing fits. */
static enum status check_choices(struct check *check, const json_t *choices, bool exactly_one, json_t **value)
{
    size_t fitting = 0, n = json_array_size(choices);
    for (size_t i = 0; i < 2 * n; i++) {
        bool bending = i >= n;
        if (bending && (fitting > 0 || !check->may_bend))
            break;
        struct check attempt = *check;
        attempt.may_bend = bending;
        attempt.error = NULL;
        json_t *copy = json_deep_copy(*value);
        enum status status = check_value(&attempt, json_array_get(choices, i % n), &copy);
        if (status == STATUS_OK && fitting++ == 0 && bending) {
            json_decref(*value);
            *value = json_incref(copy);
            check->bent = true;
        }
        json_decref(copy);
        if (status == STATUS_TOO_BIG)
            return status;
        if (bending && fitting)
            break;
    }
    if (fitting == 0)
        return misfit(check, "fits none of the %zu forms that are allowed", n);
    if (exactly_one && fitting > 1)
        return misfit(check, "fits more than one of the forms of which exactly one is allowed");
    return STATUS_OK;
}

/* The schema at a "#/a/b" reference, or NULL. */
static const json_t *resolve(const json_t *root, const char *reference)
{
    if (reference[0] != '#')
        return NULL;
    struct str rest = str_of(reference + 1), part;
    if (rest.len && rest.data[0] == '/')
        rest = str_slice(rest, 1, rest.len);
    const json_t *at = root;
    while (at && str_split_next(&rest, '/', &part)) {
        char key[128];
        snprintf(key, sizeof key, "%.*s", STR_ARG(part));
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10)) : json_object_get(at, key);
    }
    return at;
}

static enum status check_combined(struct check *check, const json_t *schema, json_t **value)
{
    const json_t *any = json_object_get(schema, "anyOf"), *one = json_object_get(schema, "oneOf");
    const char *reference = json_get_string(schema, "$ref");
    enum status status = STATUS_OK;
    size_t i;
    json_t *each;
    if (reference) {
        const json_t *target = resolve(check->root, reference);
        status =
            target ? check_value(check, target, value) : misfit(check, "the schema refers to nothing: %s", reference);
    }
    if (status == STATUS_OK && json_array_size(any))
        status = check_choices(check, any, false, value);
    if (status == STATUS_OK && json_array_size(one))
        status = check_choices(check, one, true, value);
    json_array_foreach (json_object_get(schema, "allOf"), i, each) {
        if (status == STATUS_OK)
            status = check_value(check, each, value);
    }
    return status;
}

static enum status check_typed(struct check *check, const json_t *schema, json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return check_object(check, schema, value);
    case JSON_ARRAY:
        return check_array(check, schema, value);
    case JSON_STRING:
        return check_count(check, schema, "minLength", "maxLength", code_points(value), "characters");
    case JSON_INTEGER:
    case JSON_REAL:
        return check_number(check, schema, value);
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        return STATUS_OK;
    }
    return STATUS_OK;
}

static enum status check_value(struct check *check, const json_t *schema, json_t **value)
{
    if (json_is_false(schema))
        return misfit(check, "nothing is allowed here");
    if (!json_is_object(schema))
        return STATUS_OK;
    if (check->depth == MAX_DEPTH) {
        error_set(check->error, STATUS_TOO_BIG, "nested too deeply");
        error_at(check->error, check->path, 0, 0);
        return STATUS_TOO_BIG;
    }
    check->depth++;
    enum status status = check_type(check, schema, value);
    if (status == STATUS_OK)
        status = check_combined(check, schema, value);
    if (status == STATUS_OK)
        status = check_enum(check, schema, *value);
    if (status == STATUS_OK)
        status = check_typed(check, schema, *value);
    check->depth--;
    return status;
}

enum status schema_check(const json_t *schema, json_t **value, bool *bent, struct error *error)
{
    struct check check = {.root = schema, .may_bend = true, .error = error};
    enum status status = schema ? check_value(&check, schema, value) : STATUS_OK;
    if (bent)
        *bent = check.bent;
    return status;
}
