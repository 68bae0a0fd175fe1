#include <stdlib.h>
#include <string.h>

#include "core/lenient_json.h"
#include "protocol/call_parts.h"

/* What models write for "name" and for "arguments", the best known first. */
static const char *const name_keys[] = {"name", "tool_name", "tool", "function", "function_name", "action"};
static const char *const argument_keys[] = {
    "arguments", "parameters", "tool_args",      "args",          "input",    "tool_input",  "action_input",
    "params",    "kwargs",     "tool_arguments", "function_args", "argument", "tool_params", "function_arguments"};
static const char *const wrapper_keys[] = {"function", "tool_call", "function_call", "call"};
static const char *const list_keys[] = {"tool_calls", "function_calls", "calls"};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define MAX_WRAPPERS    4

struct raw_call *raw_calls_add(struct raw_calls *calls)
{
    if (calls->count == CALL_LIST_MAX)
        return NULL;
    struct raw_call *call = &calls->items[calls->count++];
    *call = (struct raw_call){0};
    return call;
}

void raw_calls_finish(struct raw_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        free(calls->items[i].name);
        json_decref(calls->items[i].arguments);
        json_decref(calls->items[i].beside);
    }
    calls->count = 0;
}

static const char *first_key(const json_t *object, const char *const *keys, size_t n, bool (*fits)(const json_t *value))
{
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(object, keys[i]);
        if (value && fits(value))
            return keys[i];
    }
    return NULL;
}

static bool is_name(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) > 0 && json_string_length(value) <= 256;
}

static bool is_anything(const json_t *value)
{
    return value != NULL;
}

static bool is_object(const json_t *value)
{
    return json_is_object(value);
}

static bool is_list(const json_t *value)
{
    return json_is_array(value) && json_array_size(value) > 0;
}

/* The parameter that a lone value must be meant for: the tool's only one, or its only required one. */
static const char *lone_parameter(const struct call_options *options, const char *name)
{
    const struct tool_signature *tool =
        name ? signature_find(options->tools, options->n_tools, str_of(name), NULL) : NULL;
    if (!tool)
        return NULL;
    const json_t *required = json_object_get(tool->parameters, "required");
    json_t *properties = json_object_get(tool->parameters, "properties");
    if (json_array_size(required) == 1)
        return json_string_value(json_array_get(required, 0));
    return json_object_size(properties) == 1 ? json_object_iter_key(json_object_iter(properties)) : NULL;
}

/* Makes an object of what stands for the arguments, as a new reference; NULL when it is none. */
static json_t *arguments_object(const json_t *value, const char *name, const struct call_options *options,
                                uint32_t *repairs)
{
    if (json_is_object(value))
        return json_deep_copy(value);
    *repairs |= call_repair_bit(CALL_REPAIR_ARGUMENTS_FORM);
    if (json_is_null(value))
        return json_object();
    if (json_is_array(value) && json_array_size(value) == 1 && json_is_object(json_array_get(value, 0)))
        return json_deep_copy(json_array_get(value, 0));
    if (json_is_array(value) && json_array_size(value) == 0)
        return json_object();
    if (json_is_string(value)) {
        struct str text = str_trim(str_make(json_string_value(value), json_string_length(value)));
        struct lenient_result result;
        json_t *parsed = NULL;
        if (text.len == 0)
            return json_object();
        if (text.data[0] == '{' &&
            lenient_json_parse(text, LENIENT_NO_COMPLETION, &parsed, &result, NULL) == STATUS_OK) {
            if (json_is_object(parsed) && result.consumed == text.len) {
                *repairs |= call_repairs_of_json(result.repairs);
                return parsed;
            }
            json_decref(parsed);
        }
    }
    const char *parameter = lone_parameter(options, name);
    if (!parameter || (!json_is_string(value) && !json_is_array(value)))
        return NULL;
    json_t *object = json_object();
    json_put(object, parameter, json_deep_copy(value));
    return object;
}

/* A call whose arguments swallowed the name: `{"arguments": {…, "name": "x"}`, where a closing bracket is missing
 * before the name; or one whose name is a tool's and no parameter. */
static bool lift_name(struct raw_call *call, json_t *arguments, const struct call_options *options)
{
    json_t *inner = json_object_get(arguments, "name");
    bool missing = call->repairs & call_repair_bit(CALL_REPAIR_BRACKETS);
    if (!is_name(inner))
        return false;
    struct str name = str_make(json_string_value(inner), json_string_length(inner));
    const struct tool_signature *tool = signature_find(options->tools, options->n_tools, name, NULL);
    const char *key, *last = NULL;
    json_t *value;
    json_object_foreach (arguments, key, value)
        last = key;
    bool is_parameter = tool && json_object_get(json_object_get(tool->parameters, "properties"), "name");
    bool lifts = tool ? !is_parameter : missing && !options->tools && last && strcmp(last, "name") == 0;
    if (!lifts)
        return false;
    call->name = str_dup(name);
    json_object_del(arguments, "name");
    call->repairs |= call_repair_bit(CALL_REPAIR_BRACKETS);
    return true;
}

/* `{"search": {"query": …}}`: the only key is a tool's name. */
static bool key_is_name(struct raw_call *call, const json_t *object, const struct call_options *options)
{
    if (json_object_size(object) != 1)
        return false;
    void *only = json_object_iter((json_t *)(uintptr_t)object);
    struct str key = str_of(json_object_iter_key(only));
    if (!signature_find(options->tools, options->n_tools, key, NULL))
        return false;
    call->name = str_dup(key);
    call->repairs |= call_repair_bit(CALL_REPAIR_KEYS);
    call->arguments = arguments_object(json_object_iter_value(only), call->name, options, &call->repairs);
    return call->arguments != NULL;
}

/* The members that are neither name nor arguments, or NULL. "type" and "id" belong to the wire form of native calls. */
static json_t *other_members(const json_t *object, const char *name_key, const char *arguments_key)
{
    static const char *const wire[] = {"type", "id", "index", "call_id", "tool_call_id"};
    json_t *others = NULL, *value;
    const char *key;
    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        bool skip = (name_key && strcmp(key, name_key) == 0) || (arguments_key && strcmp(key, arguments_key) == 0);
        for (size_t i = 0; i < COUNT_OF(wire) && !skip && arguments_key; i++)
            skip = strcmp(key, wire[i]) == 0;
        if (skip)
            continue;
        others = others ? others : json_object();
        json_put(others, key, json_deep_copy(value));
    }
    return others;
}

/* A call without arguments: what stands beside the name is them. A name alone is a call only for a tool that asks for
 * nothing. */
static void take_arguments_beside(struct raw_call *call, const json_t *object, const char *name_key,
                                  const struct call_options *options)
{
    const struct tool_signature *tool = signature_find(options->tools, options->n_tools, str_of(call->name), NULL);
    bool asks_nothing = tool ? json_array_size(json_object_get(tool->parameters, "required")) == 0
                             : signature_name_takes_code(str_of(call->name));
    call->arguments = other_members(object, name_key, NULL);
    if (!call->arguments && asks_nothing)
        call->arguments = json_object();
    if (call->arguments)
        call->repairs |= call_repair_bit(CALL_REPAIR_ARGUMENTS_FORM);
    else
        error_set(&call->error, STATUS_INVALID, "the call has no \"arguments\"");
}

static void normalize_object(const json_t *object, uint32_t repairs, const struct call_options *options,
                             struct raw_call *call)
{
    call->repairs = repairs;
    const char *name_key = NULL, *wrapper = NULL;
    for (int depth = 0; depth < MAX_WRAPPERS; depth++) {
        name_key = first_key(object, name_keys, COUNT_OF(name_keys), is_name);
        wrapper = first_key(object, wrapper_keys, COUNT_OF(wrapper_keys), is_object);
        if (!wrapper || name_key)
            break;
        object = json_object_get(object, wrapper);
        call->repairs |= call_repair_bit(CALL_REPAIR_KEYS);
    }
    const char *arguments_key = first_key(object, argument_keys, COUNT_OF(argument_keys), is_anything);
    const json_t *arguments = arguments_key ? json_object_get(object, arguments_key) : NULL;
    if (name_key)
        call->name = str_dup(json_get_str(object, name_key));
    else if (!arguments && key_is_name(call, object, options))
        return;
    if ((name_key && name_key != name_keys[0]) || (arguments && arguments_key != argument_keys[0]))
        call->repairs |= call_repair_bit(CALL_REPAIR_KEYS);
    if (name_key && !arguments) {
        take_arguments_beside(call, object, name_key, options);
        return;
    }
    if (arguments) {
        call->arguments = arguments_object(arguments, call->name, options, &call->repairs);
        call->beside = other_members(object, name_key, arguments_key);
    }
    if (arguments && !call->arguments)
        error_set(&call->error, STATUS_INVALID, "\"%s\" is no JSON object", arguments_key);
    else if (!call->name && !(call->arguments && lift_name(call, call->arguments, options)))
        error_set(&call->error, STATUS_INVALID, "the call has no \"name\"");
}

void call_normalize(const json_t *value, uint32_t repairs, const struct call_options *options, struct raw_calls *out)
{
    const char *list = first_key(value, list_keys, COUNT_OF(list_keys), is_list);
    if (list && json_object_size(value) == 1) {
        value = json_object_get(value, list);
        repairs |= call_repair_bit(CALL_REPAIR_KEYS);
    }
    if (!json_is_array(value)) {
        struct raw_call *call = raw_calls_add(out);
        if (json_is_object(value))
            normalize_object(value, repairs, options, call);
        else
            error_set(&call->error, STATUS_INVALID, "the call is no JSON object");
        return;
    }
    size_t i;
    json_t *item;
    json_array_foreach (value, i, item) {
        struct raw_call *call = raw_calls_add(out);
        if (!call)
            return;
        if (json_is_object(item))
            normalize_object(item, repairs | call_repair_bit(CALL_REPAIR_LIST), options, call);
        else
            error_set(&call->error, STATUS_INVALID, "item %zu of the list is no JSON object", i + 1);
    }
    if (out->count == 0)
        error_set(&raw_calls_add(out)->error, STATUS_INVALID, "the list of calls is empty");
}
