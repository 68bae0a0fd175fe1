/* tools/mcp/headers.c: what a server at an address wants to read in the request's head (specification 2026-07-28,
 * "Streamable HTTP", Request Metadata): method and name, and the parameters whose schema says "x-mcp-header". */
#include "tools/mcp/internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/base64.h"
#include "core/mem.h"

#define MAX_VALUE ((size_t)4096)
#define MAX_LIST  32

/* ---- values ---- */

/* Whether a value can stand in a header as it is, and be read back as the same. */
static bool is_plain(struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        if ((value.data[i] < ' ' || value.data[i] > '~') && value.data[i] != '\t')
            return false;
    }
    return value.len > 0 && str_trim(value).len == value.len &&
           !(str_starts_with(value, STR("=?base64?")) && str_ends_with(value, STR("?=")));
}

static void add(struct mcp_headers *headers, const char *prefix, const char *name, struct str value)
{
    struct buf text;
    if (headers->count == MAX_LIST || value.len > MAX_VALUE)
        return;
    buf_init(&text, BUF_UNBOUNDED);
    if (is_plain(value)) {
        buf_add(&text, value);
    } else {
        buf_add_text(&text, "=?base64?");
        if (base64_append(&text, value) != STATUS_OK)
            abort(); /* the buffer has no cap */
        buf_add_text(&text, "?=");
    }
    headers->list = mem_grow(headers->list, headers->count, &headers->capacity, sizeof *headers->list);
    headers->list[headers->count++] = (struct http_header){mem_printf("%s%s", prefix, name), buf_take(&text)};
}

/* ---- parameters ---- */

/* Adds those below an object's schema whose value is in `arguments`. */
static void add_parameters(struct mcp_headers *headers, const json_t *schema, const json_t *arguments, int depth)
{
    const char *key;
    json_t *property;
    json_object_foreach (json_object_get(schema, "properties"), key, property) {
        const json_t *value = json_object_get(arguments, key);
        const char *name = json_get_string(property, "x-mcp-header");
        if (json_is_object(value) && depth < MCP_MAX_DEPTH)
            add_parameters(headers, property, value, depth + 1);
        if (name == NULL)
            continue;
        if (json_is_string(value)) {
            add(headers, "Mcp-Param-", name, str_make(json_string_value(value), json_string_length(value)));
        } else if (json_is_integer(value) || json_is_boolean(value)) {
            char *text = json_to_text(value);
            add(headers, "Mcp-Param-", name, str_of(text));
            free(text);
        }
    }
}

void mcp_headers_make(const struct mcp_server *server, const char *method, const json_t *params,
                      struct mcp_headers *out)
{
    struct str name = json_get_str(params, "name");
    add(out, "", "Mcp-Method", str_of(method));
    if (strcmp(method, "tools/call") != 0)
        return;
    add(out, "", "Mcp-Name", name);
    size_t i;
    json_t *described;
    json_array_foreach (server->offered, i, described) {
        if (str_equal(json_get_str(described, "name"), name)) {
            add_parameters(out, json_object_get(described, "inputSchema"), json_object_get(params, "arguments"), 0);
            return;
        }
    }
}

void mcp_headers_finish(struct mcp_headers *headers)
{
    for (size_t i = 0; i < headers->count; i++) {
        free((char *)(uintptr_t)headers->list[i].name);
        free((char *)(uintptr_t)headers->list[i].value);
    }
    free(headers->list);
    *headers = (struct mcp_headers){0};
}

/* ---- the rules ---- */

static bool is_token(const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        if (!ascii_is_alnum(*c) && strchr("!#$%&'*+-.^_`|~", *c) == NULL)
            return false;
    }
    return *name != '\0';
}

static bool has_header_type(const json_t *property)
{
    const char *type = json_get_string(property, "type");
    return type != NULL &&
           (strcmp(type, "string") == 0 || strcmp(type, "integer") == 0 || strcmp(type, "boolean") == 0);
}

static void check_headers(const json_t *value, bool reachable, json_t *seen, bool *fine);

/* One "x-mcp-header": `seen` holds, in lower case, those that were found before. */
static void check_header(const json_t *schema, const json_t *header, bool reachable, json_t *seen, bool *fine)
{
    char *name = mem_strdup(json_is_string(header) ? json_string_value(header) : "");
    for (char *c = name; *c != '\0'; c++)
        *c = ascii_lower(*c);
    if (!reachable || !is_token(name) || !has_header_type(schema) || json_object_get(seen, name) != NULL)
        *fine = false;
    json_put(seen, name, json_true());
    free(name);
}

/* Looks at every place of a schema; `reachable` says whether only "properties" lead to this one. */
static void check_headers(const json_t *value, bool reachable, json_t *seen, bool *fine)
{
    const char *key, *name;
    json_t *member, *property;
    size_t i;
    json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
        if (strcmp(key, "x-mcp-header") == 0) {
            check_header(value, member, reachable, seen, fine);
        } else if (reachable && strcmp(key, "properties") == 0 && json_is_object(member)) {
            json_object_foreach (member, name, property)
                check_headers(property, true, seen, fine);
        } else {
            check_headers(member, false, seen, fine);
        }
    }
    json_array_foreach (value, i, member)
        check_headers(member, false, seen, fine);
}

bool mcp_headers_are_fine(const json_t *schema)
{
    json_t *seen = json_object();
    bool fine = true;
    check_headers(schema, true, seen, &fine);
    json_decref(seen);
    return fine;
}
