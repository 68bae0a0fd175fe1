/* tools/mcp/list.c: what a server offers, page by page, and the tools that are made of it. */
#include "tools/mcp/internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "protocol/clean.h"

#define MAX_PAGES       100
#define MAX_TOOLS       1000
#define MAX_NAME        64
#define MAX_DESCRIPTION ((size_t)8 * 1024)
#define MAX_SCHEMA      ((size_t)64 * 1024)

/* Of a list, as JSON; and of all tools that a server has ever had, which live as long as it does, since a run may still
 * call one that has gone. */
#define MAX_LIST ((size_t)8 * 1024 * 1024)
#define MAX_MADE ((size_t)16 * 1024 * 1024)

/* ---- listing ---- */

static void ask_page(struct mcp_server *server, const char *cursor);

void mcp_list_drop(struct mcp_server *server)
{
    if (server->pages != NULL)
        mcp_rpc_forget(server->rpc, server->list_id);
    json_decref(server->pages);
    json_decref(server->cursors);
    server->pages = server->cursors = NULL;
    server->list_again = false;
}

static void list_complete(struct mcp_server *server)
{
    bool again = server->list_again, changed = !json_equal(server->offered, server->pages);
    json_decref(server->offered);
    server->offered = server->pages;
    server->pages = NULL;
    json_decref(server->cursors);
    server->cursors = NULL;
    server->list_again = false;
    mcp_listed(server, changed);
    if (again && server->state == MCP_READY)
        mcp_list_start(server);
}

static size_t size_of(const json_t *tool)
{
    return json_dumpb(tool, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
}

static bool is_full(const struct mcp_server *server)
{
    return json_array_size(server->pages) >= MAX_TOOLS || server->list_bytes > MAX_LIST;
}

static void page_came(void *user, const struct mcp_reply *reply)
{
    struct mcp_server *server = user;
    const char *cursor = json_get_string(reply->result, "nextCursor");
    size_t i;
    json_t *tool;
    if (reply->fate != MCP_ANSWERED) {
        mcp_list_drop(server);
        mcp_list_failed(server, reply->message);
        return;
    }
    json_array_foreach (json_object_get(reply->result, "tools"), i, tool) {
        server->list_bytes += size_of(tool);
        if (!is_full(server))
            json_push(server->pages, json_incref(tool));
    }
    if (cursor == NULL) {
        list_complete(server);
    } else if (json_object_get(server->cursors, cursor) != NULL || json_object_size(server->cursors) >= MAX_PAGES ||
               is_full(server)) {
        mcp_say(server, "its list of tools does not end; the first %zu are taken", json_array_size(server->pages));
        list_complete(server);
    } else {
        json_put(server->cursors, cursor, json_true());
        ask_page(server, cursor);
    }
}

static void ask_page(struct mcp_server *server, const char *cursor)
{
    json_t *params = NULL;
    if (cursor != NULL) {
        params = json_object();
        json_put_str(params, "cursor", str_of(cursor));
    }
    server->list_id = mcp_request(server, "tools/list", params, page_came, server);
}

void mcp_list_start(struct mcp_server *server)
{
    server->pages = json_array();
    server->cursors = json_object();
    server->list_bytes = 0;
    server->list_again = false;
    ask_page(server, NULL);
}

/* ---- names ---- */

/* Only what can stand in a call and in a template: letters, digits, "_", "-" and "."; others become "_". */
static void add_name(struct buf *out, struct str name)
{
    for (size_t i = 0; i < name.len && out->len < MAX_NAME; i++) {
        char c = name.data[i];
        bool fine = ascii_is_alnum(c) || c == '_' || c == '-' || c == '.';
        if (((unsigned char)c & 0xC0) != 0x80) /* one "_" for each character that is none of them */
            buf_add_char(out, fine ? c : '_');
    }
}

struct naming {
    struct mcp_server *server;
    bool (*taken)(void *user, struct str name);
    void *user;
    struct tool **list; /* so far */
    size_t count;
};

static bool is_taken(const struct naming *naming, struct str name)
{
    const struct tool_signature **own = mem_calloc(naming->count + 1, sizeof(struct tool_signature *));
    for (size_t i = 0; i < naming->count; i++)
        own[i] = naming->list[i]->signature;
    enum signature_match match = SIGNATURE_ALIAS;
    bool taken = signature_find(own, naming->count, name, &match) != NULL && match != SIGNATURE_ALIAS;
    free(own);
    return taken || (naming->taken != NULL && naming->taken(naming->user, name));
}

/* The name that the model gets to see; false when there is none left. */
static bool choose_name(const struct naming *naming, struct str remote, struct buf *out)
{
    add_name(out, remote);
    if (!is_taken(naming, buf_str(out)))
        return true;
    buf_reset(out);
    add_name(out, str_of(naming->server->options.name));
    buf_add_char(out, '_');
    add_name(out, remote);
    return !is_taken(naming, buf_str(out));
}

/* ---- tools ---- */

static bool is_wanted(const struct mcp_server *server, const char *name)
{
    for (size_t i = 0; i < server->options.n_tools; i++) {
        if (strcmp(server->options.tools[i], name) == 0)
            return true;
    }
    return server->options.tools == NULL;
}

/* A description stands in the prompt: it is as untrusted as an observation, and cleaned like one. */
static json_t *clean_description(const json_t *described)
{
    struct str text = json_get_str(described, "description");
    struct buf clean;
    buf_init(&clean, BUF_UNBOUNDED);
    if (text.len == 0)
        text = json_get_str(described, "title");
    text = str_slice(text, 0, utf8_floor(text, MAX_DESCRIPTION));
    if (clean_text(&clean, str_trim(text)) != STATUS_OK)
        abort(); /* the buffer has no cap */
    json_t *value = json_from_str(buf_str(&clean));
    buf_finish(&clean);
    return value;
}

/* The schema of the arguments, cleaned; NULL when it is none or too large. */
static json_t *clean_schema(const json_t *described)
{
    const json_t *schema = json_object_get(described, "inputSchema");
    if (schema == NULL) {
        json_t *any = json_object();
        json_put_str(any, "type", STR("object"));
        json_put(any, "properties", json_object());
        return any;
    }
    struct buf text, clean;
    json_t *value = NULL;
    buf_init(&text, MAX_SCHEMA);
    buf_init(&clean, 2 * MAX_SCHEMA);
    if (!json_is_object(schema) || json_write(&text, schema) != STATUS_OK ||
        clean_text(&clean, buf_str(&text)) != STATUS_OK || json_parse(buf_str(&clean), &value, NULL) != STATUS_OK)
        value = NULL;
    buf_finish(&text);
    buf_finish(&clean);
    return value;
}

static bool hint(const json_t *described, const char *name)
{
    return json_is_true(json_object_get(json_object_get(described, "annotations"), name));
}

/* NULL, and a word to the person, when the server's description makes no tool. */
static struct mcp_tool *make_tool(struct mcp_server *server, const json_t *described, struct str name)
{
    const char *remote = json_get_string(described, "name");
    size_t size = size_of(described);
    if (size > MAX_MADE - server->made_bytes) {
        mcp_say(server, "its tool %s is left out: it has changed its tools too often", remote);
        return NULL;
    }
    json_t *schema = clean_schema(described), *shown = json_object();
    struct error error = {0};
    struct mcp_tool *tool = mem_zalloc(sizeof *tool);
    enum status status = STATUS_INVALID;
    json_put_str(shown, "name", name);
    json_put(shown, "description", clean_description(described));
    if (schema != NULL) {
        json_put(shown, "parameters", schema);
        char *text = json_to_text(shown);
        status = signature_load(str_of(text), &tool->signature, &error);
        free(text);
    }
    json_decref(shown);
    if (status != STATUS_OK) {
        mcp_say(server, "its tool %s is left out: its inputSchema is none, or larger than %zu KB", remote,
                MAX_SCHEMA / 1024);
        free(tool);
        return NULL;
    }
    server->made_bytes += size;
    tool->server = server;
    tool->remote = mem_strdup(remote);
    tool->described = json_deep_copy(described);
    tool->tool = (struct tool){
        .signature = &tool->signature,
        .idempotent = hint(described, "idempotentHint") || hint(described, "readOnlyHint"),
        .permission = server->options.permission,
        .timeout_ms = server->options.max_timeout_ms,
        .max_output_tokens = server->options.max_output_tokens,
        .start = mcp_tool_start,
    };
    server->made = mem_grow(server->made, server->n_made, &server->made_capacity, sizeof *server->made);
    server->made[server->n_made++] = tool;
    return tool;
}

/* The tool that was made of this before, if any. */
static struct mcp_tool *find_made(const struct mcp_server *server, const json_t *described, struct str name)
{
    for (size_t i = server->n_made; i > 0; i--) {
        struct mcp_tool *tool = server->made[i - 1];
        if (str_equal(str_of(tool->signature.name), name) && json_equal(tool->described, described))
            return tool;
    }
    return NULL;
}

static void publish_one(struct naming *naming, const json_t *described)
{
    struct mcp_server *server = naming->server;
    const char *remote = json_get_string(described, "name");
    if (remote == NULL || *remote == '\0' || !is_wanted(server, remote))
        return;
    if (server->stateless && !mcp_headers_are_fine(json_object_get(described, "inputSchema"))) {
        mcp_say(server, "its tool %s is left out: an x-mcp-header of it breaks the rules", remote);
        return;
    }
    struct buf name;
    buf_init(&name, BUF_UNBOUNDED);
    if (choose_name(naming, str_of(remote), &name)) {
        struct mcp_tool *tool = find_made(server, described, buf_str(&name));
        if (tool == NULL)
            tool = make_tool(server, described, buf_str(&name));
        if (tool != NULL)
            naming->list[naming->count++] = &tool->tool;
    } else {
        mcp_say(server, "its tool %s is left out: there is another one of this name", remote);
    }
    buf_finish(&name);
}

/* A name in `tools` that the server does not have is a slip of the user's. */
static void say_missing(struct mcp_server *server)
{
    for (size_t i = 0; i < server->options.n_tools && server->state == MCP_READY; i++) {
        bool found = false;
        size_t j;
        json_t *described;
        json_array_foreach (server->offered, j, described) {
            const char *name = json_get_string(described, "name");
            found = found || (name != NULL && strcmp(name, server->options.tools[i]) == 0);
        }
        if (!found)
            mcp_say(server, "it has no tool \"%s\"", server->options.tools[i]);
    }
}

bool mcp_server_publish(struct mcp_server *server, bool (*taken)(void *user, struct str name), void *user)
{
    struct naming naming = {.server = server, .taken = taken, .user = user};
    naming.list = mem_calloc(json_array_size(server->offered) + 1, sizeof *naming.list);
    size_t i;
    json_t *described;
    json_array_foreach (server->offered, i, described)
        publish_one(&naming, described);
    say_missing(server);
    bool same = naming.count == server->n_published &&
                (naming.count == 0 || memcmp(naming.list, server->published, naming.count * sizeof *naming.list) == 0);
    free(server->published);
    server->published = naming.list;
    server->n_published = naming.count;
    return !same;
}

struct tool *const *mcp_server_tools(const struct mcp_server *server, size_t *count)
{
    *count = server->n_published;
    return server->published;
}
