#include "protocol/signature.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/schema.h"

/* Names that models give to tools they know from elsewhere. docs/protocol.md lists them. */
static const struct {
    const char *alias, *name;
} aliases[] = {
    {"web_search", "search"},
    {"google_search", "search"},
    {"search_web", "search"},
    {"websearch", "search"},
    {"google", "search"},
    {"bing_search", "search"},
    {"browser_search", "search"},
    {"browse", "visit"},
    {"browser", "visit"},
    {"open", "visit"},
    {"open_url", "visit"},
    {"fetch", "visit"},
    {"fetch_url", "visit"},
    {"read_url", "visit"},
    {"read_page", "visit"},
    {"visit_page", "visit"},
    {"visit_url", "visit"},
    {"visit_webpage", "visit"},
    {"scholar", "google_scholar"},
    {"scholar_search", "google_scholar"},
    {"search_scholar", "google_scholar"},
    {"python", "PythonInterpreter"},
    {"python_interpreter", "PythonInterpreter"},
    {"python3", "PythonInterpreter"},
    {"code_interpreter", "PythonInterpreter"},
    {"run_python", "PythonInterpreter"},
    {"execute_python", "PythonInterpreter"},
    {"read_file", "parse_file"},
    {"file_parser", "parse_file"},
    {"open_file", "parse_file"},
};

static json_t *take_parameters(json_t *json)
{
    json_t *parameters = json_object_get(json, "parameters");
    if (parameters)
        return json_incref(parameters);
    parameters = json_object();
    json_put_str(parameters, "type", STR("object"));
    json_put(parameters, "properties", json_object());
    return parameters;
}

/* Whether the parameters are a schema whose author meant what it says: a wrong word in it would refuse every call. */
static enum status check_parameters(const char *name, const json_t *parameters, struct error *error)
{
    struct error inner = {0};
    if (!parameters)
        return STATUS_OK;
    if (!json_is_object(parameters))
        return error_set(error, STATUS_INVALID, "\"parameters\" of %s is no JSON Schema", name);
    enum status status = schema_validate(parameters, &inner);
    if (status != STATUS_OK)
        error_set(error, status, "\"parameters\" of %s is no JSON Schema: %s %s", name,
                  inner.place[0] != '\0' ? inner.place : "it", inner.message);
    return status;
}

enum status signature_load(struct str text, struct tool_signature *out, struct error *error)
{
    json_t *json = NULL;
    enum status status = json_parse(text, &json, error);
    if (status != STATUS_OK)
        return status;
    const char *name = json_get_string(json, "name"), *description = json_get_string(json, "description");
    const json_t *parameters = json_object_get(json, "parameters");
    if (!name || !*name)
        status = error_set(error, STATUS_INVALID, "a tool's signature needs a \"name\"");
    else if (!description)
        status = error_set(error, STATUS_INVALID, "the signature of %s needs a \"description\"", name);
    else
        status = check_parameters(name, parameters, error);
    if (status != STATUS_OK) {
        json_decref(json);
        return status;
    }
    *out = (struct tool_signature){.name = mem_strdup(name),
                                   .description = mem_strdup(description),
                                   .parameters = take_parameters(json),
                                   .takes_code = json_is_true(json_object_get(json, "takes_code")),
                                   .json = json};
    json_object_del(json, "takes_code");
    return STATUS_OK;
}

void signature_finish(struct tool_signature *signature)
{
    if (!signature)
        return;
    free(signature->name);
    free(signature->description);
    json_decref(signature->parameters);
    json_decref(signature->json);
    *signature = (struct tool_signature){0};
}

/* Compares as a reader would: without case, and with "-", " " and "." as good as "_". */
static bool same_name(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        char x = ascii_lower(a.data[i]), y = ascii_lower(b.data[i]);
        x = x == '-' || x == ' ' || x == '.' ? '_' : x;
        y = y == '-' || y == ' ' || y == '.' ? '_' : y;
        if (x != y)
            return false;
    }
    return true;
}

static const struct tool_signature *find_exact(const struct tool_signature *const *tools, size_t n_tools,
                                               struct str name)
{
    for (size_t i = 0; i < n_tools; i++) {
        if (str_equal(str_of(tools[i]->name), name))
            return tools[i];
    }
    return NULL;
}

static const struct tool_signature *find_like(const struct tool_signature *const *tools, size_t n_tools,
                                              struct str name)
{
    for (size_t i = 0; i < n_tools; i++) {
        if (same_name(str_of(tools[i]->name), name))
            return tools[i];
    }
    return NULL;
}

const struct tool_signature *signature_find(const struct tool_signature *const *tools, size_t n_tools, struct str name,
                                            enum signature_match *match)
{
    enum signature_match how = SIGNATURE_EXACT;
    const struct tool_signature *found = find_exact(tools, n_tools, name);
    name = str_trim(name);
    static const char *const prefixes[] = {"functions.", "function.", "tools.", "tool."};
    for (size_t i = 0; !found && i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (str_starts_with_nocase(name, str_of(prefixes[i])))
            name = str_slice(name, strlen(prefixes[i]), name.len);
    }
    if (!found) {
        how = SIGNATURE_NOCASE;
        found = find_like(tools, n_tools, name);
    }
    for (size_t i = 0; !found && i < sizeof aliases / sizeof aliases[0]; i++) {
        how = SIGNATURE_ALIAS;
        if (same_name(str_of(aliases[i].alias), name))
            found = find_exact(tools, n_tools, str_of(aliases[i].name));
    }
    if (found && match)
        *match = how;
    return found;
}

bool signature_name_takes_code(struct str name)
{
    static const char interpreter[] = "PythonInterpreter";
    bool found = same_name(name, str_of(interpreter));
    for (size_t i = 0; !found && i < sizeof aliases / sizeof aliases[0]; i++)
        found = strcmp(aliases[i].name, interpreter) == 0 && same_name(name, str_of(aliases[i].alias));
    return found;
}

/* ---- The example ---- */

/* A value that fits a parameter's schema and shows its form. */
static json_t *example_value(const char *key, const json_t *schema, int depth)
{
    const json_t *choice = json_array_get(json_object_get(schema, "enum"), 0);
    const json_t *given = json_array_get(json_object_get(schema, "examples"), 0);
    const json_t *type = json_object_get(schema, "type");
    const char *name = json_is_array(type) ? json_string_value(json_array_get(type, 0)) : json_string_value(type);
    if (given || choice)
        return json_deep_copy(given ? given : choice);
    if (name && strcmp(name, "array") == 0) {
        json_t *array = json_array();
        if (depth < 4)
            json_push(array, example_value(key, json_object_get(schema, "items"), depth + 1));
        return array;
    }
    if (name && (strcmp(name, "integer") == 0 || strcmp(name, "number") == 0))
        return json_integer((json_int_t)json_get_number(schema, "minimum", 1));
    if (name && strcmp(name, "boolean") == 0)
        return json_true();
    if (name && strcmp(name, "object") == 0)
        return json_object();
    if (strcmp(key, "url") == 0)
        return json_string("https://example.org/");
    char *text = mem_printf("the %s", key);
    json_t *value = json_from_str(str_of(text));
    free(text);
    return value;
}

char *signature_example(const struct tool_signature *signature)
{
    json_t *call = json_object(), *arguments = json_object();
    size_t i;
    json_t *name;
    json_array_foreach (json_object_get(signature->parameters, "required"), i, name) {
        const char *key = json_string_value(name);
        const json_t *schema = json_object_get(json_object_get(signature->parameters, "properties"), key ? key : "");
        if (key)
            json_put(arguments, key, example_value(key, schema, 0));
    }
    json_put_str(call, "name", str_of(signature->name));
    json_put(call, "arguments", arguments);
    char *text = json_to_text(call);
    char *example = mem_printf("<tool_call>\n%s\n%s</tool_call>", text,
                               signature->takes_code ? "<code>\nprint(1 + 1)\n</code>\n" : "");
    free(text);
    json_decref(call);
    return example;
}
