#include "core/schema_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reporting ---- */

enum status schema_misfit(struct check *check, const char *format, ...)
{
    char message[400];
    if (!check->error)
        return STATUS_INVALID;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(check->error, STATUS_INVALID, "%s", message);
    error_at(check->error, check->path, 0, 0);
    return STATUS_INVALID;
}

static enum status too_big(struct check *check, const char *why)
{
    error_set(check->error, STATUS_TOO_BIG, "%s", why);
    error_at(check->error, check->path, 0, 0);
    return STATUS_TOO_BIG;
}

bool schema_step(struct check *check, size_t count)
{
    check->work->steps += count;
    if (check->work->steps <= SCHEMA_MAX_STEPS)
        return true;
    too_big(check, "comparing this with the schema takes too many steps");
    return false;
}

size_t schema_enter_member(struct check *check, const char *key)
{
    size_t length = strlen(check->path);
    snprintf(check->path + length, sizeof check->path - length, "%s%s", length ? "." : "", key);
    return length;
}

size_t schema_enter_item(struct check *check, size_t index)
{
    size_t length = strlen(check->path);
    snprintf(check->path + length, sizeof check->path - length, "[%zu]", index);
    return length;
}

bool schema_takes(const struct check *check, const json_t *schema, const json_t *value, json_t *seen)
{
    struct check quiet = *check;
    quiet.may_bend = false;
    quiet.error = NULL;
    json_t *same = (json_t *)(uintptr_t)value; /* stays as it is, since nothing is bent */
    return schema_apply(&quiet, schema, &same, seen) == STATUS_OK;
}

/* ---- anyOf, oneOf ---- */

size_t schema_size(const json_t *value)
{
    size_t size = 1, i;
    const char *key;
    json_t *each;
    json_object_foreach ((json_t *)(uintptr_t)value, key, each) {
        size += schema_size(each);
    }
    json_array_foreach (value, i, each) {
        size += schema_size(each);
    }
    return size;
}

/* The first of the forms that takes a bent copy of the value; the copy takes the value's place. */
static enum status bend_to_choice(struct check *check, const json_t *choices, json_t **value, json_t *seen)
{
    struct error deepest = {0};
    size_t i;
    json_t *choice;
    json_array_foreach (choices, i, choice) {
        if (!schema_step(check, schema_size(*value)))
            return STATUS_TOO_BIG;
        struct error inner = {0};
        struct check attempt = *check;
        attempt.error = &inner;
        json_t *copy = json_deep_copy(*value);
        enum status status = schema_apply(&attempt, choice, &copy, seen);
        if (status == STATUS_OK) {
            json_decref(*value);
            *value = copy;
            check->bent = true;
            return STATUS_OK;
        }
        json_decref(copy);
        /* The form that got furthest into the value is the one that was meant: its complaint helps most. */
        if (strlen(inner.place) > strlen(check->path) && strlen(inner.place) > strlen(deepest.place))
            deepest = inner;
        if (status == STATUS_TOO_BIG)
            break;
    }
    if (check->work->steps > SCHEMA_MAX_STEPS)
        return schema_step(check, 0) ? STATUS_INVALID : STATUS_TOO_BIG;
    if (deepest.place[0] != '\0' && check->error) {
        *check->error = deepest;
        return STATUS_INVALID;
    }
    return schema_misfit(check, "fits none of the %zu forms that are allowed", json_array_size(choices));
}

/* As it stands first, bent only when nothing fits. All forms are looked at, since each adds to what was seen. */
static enum status apply_choices(struct check *check, const json_t *choices, bool exactly_one, json_t **value,
                                 json_t *seen)
{
    size_t fitting = 0, i;
    json_t *choice;
    json_array_foreach (choices, i, choice) {
        fitting += schema_takes(check, choice, *value, seen);
    }
    if (exactly_one && fitting > 1)
        return schema_misfit(check, "fits more than one of the forms of which exactly one is allowed");
    if (fitting > 0)
        return STATUS_OK;
    if (check->may_bend)
        return bend_to_choice(check, choices, value, seen);
    if (!schema_step(check, 0))
        return STATUS_TOO_BIG;
    return schema_misfit(check, "fits none of the %zu forms that are allowed", json_array_size(choices));
}

/* ---- the other keywords that apply schemas to the same value ---- */

static enum status apply_reference(struct check *check, const json_t *schema, json_t **value, json_t *seen)
{
    static const char *const keywords[] = {"$ref", "$dynamicRef", "$recursiveRef"};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0] && status == STATUS_OK; i++) {
        const char *reference = json_get_string(schema, keywords[i]);
        const json_t *target = reference ? schema_find(check->root, reference, &check->work->steps) : NULL;
        if (target)
            status = schema_apply(check, target, value, seen);
    }
    return status;
}

static enum status apply_condition(struct check *check, const json_t *schema, json_t **value, json_t *seen)
{
    const json_t *condition = json_object_get(schema, "if");
    if (!condition)
        return STATUS_OK;
    const json_t *branch = json_object_get(schema, schema_takes(check, condition, *value, seen) ? "then" : "else");
    return branch ? schema_apply(check, branch, value, seen) : STATUS_OK;
}

static enum status apply_combined(struct check *check, const json_t *schema, json_t **value, json_t *seen)
{
    const json_t *any = json_object_get(schema, "anyOf"), *one = json_object_get(schema, "oneOf");
    const json_t *refused = json_object_get(schema, "not");
    enum status status = STATUS_OK;
    size_t i;
    json_t *each;
    json_array_foreach (json_object_get(schema, "allOf"), i, each) {
        if (status == STATUS_OK)
            status = schema_apply(check, each, value, seen);
    }
    if (status == STATUS_OK && json_array_size(any))
        status = apply_choices(check, any, false, value, seen);
    if (status == STATUS_OK && json_array_size(one))
        status = apply_choices(check, one, true, value, seen);
    if (status == STATUS_OK && refused && schema_takes(check, refused, *value, NULL))
        status = schema_misfit(check, "is of a form that is not allowed");
    return status == STATUS_OK ? apply_condition(check, schema, value, seen) : status;
}

static enum status apply_keywords(struct check *check, const json_t *schema, json_t **value, json_t *seen)
{
    bool refers = json_get_string(schema, "$ref") != NULL;
    if (refers && check->lone_references)
        return apply_reference(check, schema, value, seen);
    enum status status = schema_apply_type(check, schema, value);
    if (status == STATUS_OK)
        status = apply_reference(check, schema, value, seen);
    if (status == STATUS_OK)
        status = apply_combined(check, schema, value, seen);
    if (status == STATUS_OK)
        status = schema_apply_enum(check, schema, value);
    if (status == STATUS_OK)
        status = schema_apply_typed(check, schema, *value, seen);
    if (status == STATUS_OK && check->tracks)
        status = schema_apply_unevaluated(check, schema, *value, seen);
    return status;
}

enum status schema_apply(struct check *check, const json_t *schema, json_t **value, json_t *seen)
{
    if (json_is_false(schema))
        return schema_misfit(check, "nothing is allowed here");
    if (!json_is_object(schema))
        return STATUS_OK;
    if (check->depth == SCHEMA_MAX_DEPTH)
        return too_big(check, "nested too deeply");
    if (!schema_step(check, 1))
        return STATUS_TOO_BIG;
    json_t *own = check->tracks ? json_object() : NULL;
    check->depth++;
    enum status status = apply_keywords(check, schema, value, own);
    check->depth--;
    if (status == STATUS_OK && own && seen)
        json_object_update(seen, own);
    json_decref(own);
    return status;
}

/* ---- the whole ---- */

static bool asks_for_the_rest(const json_t *schema, int depth)
{
    const char *key;
    json_t *each;
    size_t i;
    if (depth == SCHEMA_MAX_DEPTH)
        return false;
    json_object_foreach ((json_t *)(uintptr_t)schema, key, each) {
        if (strncmp(key, "unevaluated", 11) == 0 || asks_for_the_rest(each, depth + 1))
            return true;
    }
    json_array_foreach (schema, i, each) {
        if (asks_for_the_rest(each, depth + 1))
            return true;
    }
    return false;
}

static bool is_old(const json_t *schema)
{
    const char *draft = json_get_string(schema, "$schema");
    const char *name = draft ? strstr(draft, "draft-0") : NULL;
    return name && name[7] >= '3' && name[7] <= '7';
}

static enum status run(const json_t *schema, json_t **value, bool may_bend, bool *bent, struct error *error)
{
    struct schema_work work = {0};
    struct check check = {
        .root = schema,
        .work = &work,
        .may_bend = may_bend,
        .lone_references = is_old(schema),
        .tracks = asks_for_the_rest(schema, 0),
        .error = error,
    };
    enum status status = schema ? schema_apply(&check, schema, value, NULL) : STATUS_OK;
    schema_forget_patterns(&work);
    *bent = check.bent;
    return status;
}

enum status schema_check(const json_t *schema, json_t **value, bool *bent, struct error *error)
{
    bool unused;
    return run(schema, value, true, bent ? bent : &unused, error);
}

enum status schema_fits(const json_t *schema, const json_t *value, struct error *error)
{
    bool unused;
    json_t *same = (json_t *)(uintptr_t)value; /* stays as it is, since nothing is bent */
    return run(schema, &same, false, &unused, error);
}
