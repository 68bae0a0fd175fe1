/* The keywords that look inside numbers, strings, arrays and objects. */
#include "core/schema_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- equality ---- */

static bool same_number(const json_t *a, const json_t *b)
{
    if (json_is_integer(a) && json_is_integer(b))
        return json_integer_value(a) == json_integer_value(b);
    return json_number_value(a) == json_number_value(b);
}

bool schema_equal(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *each;
    size_t i;
    if (json_is_number(a) && json_is_number(b))
        return same_number(a, b);
    if (json_is_object(a) && json_is_object(b)) {
        if (json_object_size(a) != json_object_size(b))
            return false;
        json_object_foreach ((json_t *)(uintptr_t)a, key, each) {
            const json_t *other = json_object_get(b, key);
            if (!other || !schema_equal(each, other))
                return false;
        }
        return true;
    }
    if (json_is_array(a) && json_is_array(b)) {
        if (json_array_size(a) != json_array_size(b))
            return false;
        json_array_foreach (a, i, each) {
            if (!schema_equal(each, json_array_get(b, i)))
                return false;
        }
        return true;
    }
    return json_equal(a, b);
}

/* A copy in which equal numbers are written alike. */
static json_t *normalized(const json_t *value)
{
    const char *key;
    json_t *each, *copy;
    size_t i;
    if (json_is_object(value)) {
        copy = json_object();
        json_object_foreach ((json_t *)(uintptr_t)value, key, each) {
            json_object_set_new(copy, key, normalized(each));
        }
        return copy;
    }
    if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach (value, i, each) {
            json_array_append_new(copy, normalized(each));
        }
        return copy;
    }
    double real = json_real_value(value);
    if (json_is_real(value) && real == floor(real) && fabs(real) < 9e15)
        return json_integer((json_int_t)real);
    return json_incref((json_t *)(uintptr_t)value);
}

static enum status apply_unique(struct check *check, const json_t *array)
{
    enum status status = STATUS_OK;
    json_t *places = json_object(), *item;
    size_t i;
    json_array_foreach (array, i, item) {
        json_t *plain = normalized(item);
        char *text = json_dumps(plain, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        json_decref(plain);
        if (!text) /* a number or string that cannot be written equals none */
            continue;
        const json_t *before = json_object_get(places, text);
        if (before)
            status = schema_misfit(check, "items %lld and %zu are equal", (long long)json_integer_value(before), i);
        else
            json_object_set_new(places, text, json_integer((json_int_t)i));
        free(text);
        if (status != STATUS_OK)
            break;
    }
    json_decref(places);
    return status;
}

/* ---- numbers, strings, counts ---- */

static bool limit_of(const json_t *schema, const char *keyword, double *limit)
{
    const json_t *value = json_object_get(schema, keyword);
    *limit = json_number_value(value);
    return json_is_number(value);
}

/* Decimal fractions are not exact in binary: 0.3 is a multiple of 0.1 all the same, and any integer one of 1e-8. */
static bool is_multiple(double number, double of)
{
    double parts = 1 / of;
    bool whole = fabs(parts - round(parts)) <= parts * 1e-12;
    return (whole && number == floor(number)) || fabs(remainder(number, of)) <= of * 1e-9;
}

static enum status apply_number(struct check *check, const json_t *schema, const json_t *value)
{
    double number = json_number_value(value), limit;
    bool above = json_is_true(json_object_get(schema, "exclusiveMinimum")), /* of draft 4, which OpenAPI kept */
        below = json_is_true(json_object_get(schema, "exclusiveMaximum"));
    if (limit_of(schema, "minimum", &limit) && above && number == limit)
        return schema_misfit(check, "%.17g is not more than %.17g", number, limit);
    if (limit_of(schema, "maximum", &limit) && below && number == limit)
        return schema_misfit(check, "%.17g is not less than %.17g", number, limit);
    if (limit_of(schema, "minimum", &limit) && number < limit)
        return schema_misfit(check, "%.17g is less than the minimum of %.17g", number, limit);
    if (limit_of(schema, "maximum", &limit) && number > limit)
        return schema_misfit(check, "%.17g is more than the maximum of %.17g", number, limit);
    if (limit_of(schema, "exclusiveMinimum", &limit) && number <= limit)
        return schema_misfit(check, "%.17g is not more than %.17g", number, limit);
    if (limit_of(schema, "exclusiveMaximum", &limit) && number >= limit)
        return schema_misfit(check, "%.17g is not less than %.17g", number, limit);
    if (limit_of(schema, "multipleOf", &limit) && limit > 0 && !is_multiple(number, limit))
        return schema_misfit(check, "%.17g is no multiple of %.17g", number, limit);
    return STATUS_OK;
}

static enum status apply_count(struct check *check, const json_t *schema, const char *min, const char *max,
                               size_t count, const char *unit)
{
    double limit;
    if (limit_of(schema, min, &limit) && (double)count < limit)
        return schema_misfit(check, "expected at least %.0f %s, found %zu", limit, unit, count);
    if (limit_of(schema, max, &limit) && (double)count > limit)
        return schema_misfit(check, "expected at most %.0f %s, found %zu", limit, unit, count);
    return STATUS_OK;
}

static size_t code_points(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

static enum status apply_string(struct check *check, const json_t *schema, const json_t *value)
{
    struct str text = str_make(json_string_value(value), json_string_length(value));
    const char *pattern = json_get_string(schema, "pattern");
    enum status status = apply_count(check, schema, "minLength", "maxLength", code_points(text), "characters");
    if (status == STATUS_OK && pattern && !schema_matches(check, pattern, text))
        status = schema_misfit(check, "does not match the pattern %.300s", pattern);
    return status;
}

/* ---- arrays ---- */

static void mark_item(json_t *seen, size_t index)
{
    char name[24];
    if (!seen)
        return;
    snprintf(name, sizeof name, "%zu", index);
    json_object_set_new(seen, name, json_true());
}

static bool is_marked(const json_t *seen, size_t index)
{
    char name[24];
    snprintf(name, sizeof name, "%zu", index);
    return json_object_get(seen, name) != NULL;
}

static enum status apply_item(struct check *check, const json_t *schema, json_t *array, size_t index)
{
    json_t *item = json_incref(json_array_get(array, index));
    size_t before = schema_enter_item(check, index);
    enum status status = schema_apply(check, schema, &item, NULL);
    if (status == STATUS_OK)
        check->path[before] = '\0';
    if (item != json_array_get(array, index))
        json_array_set(array, index, item);
    json_decref(item);
    return status;
}

static enum status apply_contains(struct check *check, const json_t *schema, const json_t *array, json_t *seen)
{
    const json_t *wanted = json_object_get(schema, "contains");
    double least = 1, most = INFINITY, limit;
    size_t count = 0, i;
    json_t *item;
    if (!wanted)
        return STATUS_OK;
    if (limit_of(schema, "minContains", &limit))
        least = limit;
    if (limit_of(schema, "maxContains", &limit))
        most = limit;
    json_array_foreach (array, i, item) {
        if (!schema_takes(check, wanted, item, NULL))
            continue;
        count++;
        mark_item(seen, i);
    }
    if ((double)count < least)
        return schema_misfit(check, "expected at least %.0f items of a certain form, found %zu", least, count);
    if ((double)count > most)
        return schema_misfit(check, "expected at most %.0f items of a certain form, found %zu", most, count);
    return STATUS_OK;
}

static enum status apply_array(struct check *check, const json_t *schema, json_t *array, json_t *seen)
{
    enum status status = apply_count(check, schema, "minItems", "maxItems", json_array_size(array), "items");
    const json_t *listed = json_object_get(schema, "prefixItems"), *rest = json_object_get(schema, "items");
    if (!listed && json_is_array(rest)) {
        listed = rest;
        rest = json_object_get(schema, "additionalItems");
    }
    size_t n_listed = json_array_size(listed);
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(array); i++) {
        const json_t *item = i < n_listed ? json_array_get(listed, i) : rest;
        if (!item)
            break;
        status = apply_item(check, item, array, i);
        mark_item(seen, i);
    }
    if (status == STATUS_OK)
        status = apply_contains(check, schema, array, seen);
    if (status == STATUS_OK && json_is_true(json_object_get(schema, "uniqueItems")))
        status = apply_unique(check, array);
    return status;
}

/* ---- objects ---- */

/* Applies a schema to one member, `key` being a copy that outlives a change of the object. */
static enum status apply_member(struct check *check, const json_t *schema, json_t *object, const char *key)
{
    size_t before = schema_enter_member(check, key);
    json_t *value = json_incref(json_object_get(object, key));
    enum status status = schema_apply(check, schema, &value, NULL);
    if (status == STATUS_OK)
        check->path[before] = '\0';
    if (value != json_object_get(object, key))
        json_object_set(object, key, value);
    json_decref(value);
    return status;
}

static enum status no_such_member(struct check *check, const char *key)
{
    schema_enter_member(check, key);
    return schema_misfit(check, "there is no such parameter");
}

enum status schema_apply_key(struct check *check, const json_t *schema, json_t *object, const char *key, bool *known)
{
    const json_t *own = json_object_get(json_object_get(schema, "properties"), key);
    const json_t *names = json_object_get(schema, "propertyNames"), *patterns, *other;
    const char *pattern;
    json_t *each;
    enum status status = STATUS_OK;
    *known = own != NULL;
    if (names) {
        json_t *name = json_string(key);
        bool taken = schema_takes(check, names, name, NULL);
        json_decref(name);
        if (!taken)
            return no_such_member(check, key);
    }
    if (own)
        status = apply_member(check, own, object, key);
    patterns = json_object_get(schema, "patternProperties");
    json_object_foreach ((json_t *)(uintptr_t)patterns, pattern, each) {
        if (status != STATUS_OK || !schema_matches(check, pattern, str_of(key)))
            continue;
        *known = true;
        status = apply_member(check, each, object, key);
    }
    other = json_object_get(schema, "additionalProperties");
    if (status != STATUS_OK || *known || !other)
        return status;
    *known = true;
    return json_is_false(other) ? no_such_member(check, key) : apply_member(check, other, object, key);
}

static enum status apply_required(struct check *check, const json_t *names, const json_t *object, const char *because)
{
    size_t i;
    json_t *name;
    json_array_foreach (names, i, name) {
        const char *required = json_string_value(name);
        if (!required || json_object_get(object, required))
            continue;
        schema_enter_member(check, required);
        if (because)
            return schema_misfit(check, "this parameter is required beside \"%s\"", because);
        return schema_misfit(check, "this required parameter is missing");
    }
    return STATUS_OK;
}

/* dependentRequired, dependentSchemas, and `dependencies`, which was both. */
static enum status apply_dependencies(struct check *check, const json_t *schema, json_t **object, json_t *seen)
{
    static const char *const keywords[] = {"dependentRequired", "dependentSchemas", "dependencies"};
    const char *key;
    json_t *each;
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        json_object_foreach (json_object_get(schema, keywords[i]), key, each) {
            if (!json_object_get(*object, key))
                continue;
            enum status status = json_is_array(each) ? apply_required(check, each, *object, key)
                                                     : schema_apply(check, each, object, seen);
            if (status != STATUS_OK)
                return status;
        }
    }
    return STATUS_OK;
}

static enum status apply_object(struct check *check, const json_t *schema, json_t *object, json_t *seen)
{
    if (check->may_bend)
        schema_drop_blanks(check, schema, object);
    enum status status = apply_required(check, json_object_get(schema, "required"), object, NULL);
    if (status == STATUS_OK)
        status = apply_count(check, schema, "minProperties", "maxProperties", json_object_size(object), "parameters");
    const char *key;
    json_t *unused, *same = object;
    json_object_foreach (object, key, unused) {
        bool known = false;
        if (status == STATUS_OK)
            status = schema_apply_key(check, schema, object, key, &known);
        if (known && seen)
            json_object_set_new(seen, key, json_true());
    }
    return status == STATUS_OK ? apply_dependencies(check, schema, &same, seen) : status;
}

/* ---- all types ---- */

enum status schema_apply_typed(struct check *check, const json_t *schema, json_t *value, json_t *seen)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return apply_object(check, schema, value, seen);
    case JSON_ARRAY:
        return apply_array(check, schema, value, seen);
    case JSON_STRING:
        return apply_string(check, schema, value);
    case JSON_INTEGER:
    case JSON_REAL:
        return apply_number(check, schema, value);
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        return STATUS_OK;
    }
    return STATUS_OK;
}

enum status schema_apply_unevaluated(struct check *check, const json_t *schema, json_t *value, json_t *seen)
{
    const json_t *members = json_object_get(schema, "unevaluatedProperties");
    const json_t *items = json_object_get(schema, "unevaluatedItems");
    enum status status = STATUS_OK;
    const char *key;
    json_t *unused;
    if (members && json_is_object(value)) {
        json_object_foreach (value, key, unused) {
            if (status != STATUS_OK || json_object_get(seen, key))
                continue;
            status = json_is_false(members) ? no_such_member(check, key) : apply_member(check, members, value, key);
            json_object_set_new(seen, key, json_true());
        }
    }
    for (size_t i = 0; items && status == STATUS_OK && json_is_array(value) && i < json_array_size(value); i++) {
        if (is_marked(seen, i))
            continue;
        status = apply_item(check, items, value, i);
        mark_item(seen, i);
    }
    return status;
}
