/* tools/mcp/handshake.c: which revision of the protocol is spoken, and what it wants in every request.
 *
 * Up to 2025-11-25 a connection begins with "initialize". From 2026-07-28 on there is no such beginning: each request
 * says for itself who asks and in which revision. Servers that know both answer "initialize", so that is tried first;
 * one that refuses it is asked in the new way, and what it is then is remembered for its next start. */
#include "tools/mcp/internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "tools/common/line.h"

/* With a handshake, newest first: the first is asked for. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
#define STATELESS_VERSION "2026-07-28"

#define MAX_SUBSCRIPTIONS 5     /* that end by themselves */
#define RENEW_MS          10000 /* from the end of one to the next */

static void discover(struct mcp_server *server);

/* ---- what we say of ourselves ---- */

static json_t *describe_client(void)
{
    json_t *client = json_object();
    json_put_str(client, "name", STR("fathom"));
    json_put_str(client, "title", STR("Fathom"));
    json_put_str(client, "version", STR(FATHOM_VERSION));
    return client;
}

static json_t *describe_capabilities(const struct mcp_server *server)
{
    json_t *capabilities = json_object();
    json_put(capabilities, "elicitation", json_object());
    if (server->options.n_roots > 0)
        json_put(capabilities, "roots", json_object());
    return capabilities;
}

int64_t mcp_request(struct mcp_server *server, const char *method, json_t *params, mcp_reply_fn done, void *user)
{
    if (server->stateless) {
        params = params != NULL ? params : json_object();
        json_t *meta = json_object_get(params, "_meta");
        if (meta == NULL)
            json_put(params, "_meta", meta = json_object());
        json_put_str(meta, "io.modelcontextprotocol/protocolVersion", STR(STATELESS_VERSION));
        json_put(meta, "io.modelcontextprotocol/clientInfo", describe_client());
        json_put(meta, "io.modelcontextprotocol/clientCapabilities", describe_capabilities(server));
        json_put_str(meta, "io.modelcontextprotocol/logLevel", STR("warning"));
    }
    return mcp_rpc_request(server->rpc, method, params, done, user);
}

/* ---- both ways on from the beginning ---- */

static void nothing_follows(void *user, const struct mcp_reply *reply)
{
    (void)user;
    (void)reply;
}

static void take_capabilities(struct mcp_server *server, const json_t *capabilities)
{
    const json_t *tools = json_object_get(capabilities, "tools");
    server->tells_changes = json_is_true(json_object_get(tools, "listChanged"));
    if (json_is_object(tools)) {
        mcp_list_start(server);
        return;
    }
    mcp_say(server, "it offers no tools");
    json_decref(server->offered);
    server->offered = json_array();
    mcp_listed(server, true);
}

/* One way of beginning did not work: the other one is tried, once, and the first one's words are kept. */
static void try_other(struct mcp_server *server, const char *why)
{
    if (server->transport == NULL)
        return; /* the connection has just ended, which says more */
    if (server->asked_both) {
        server->stateless = false;
        mcp_give_up(server, STATUS_NETWORK, "%s", server->announced ? why : server->refusal);
        return;
    }
    server->asked_both = true;
    free(server->refusal);
    server->refusal = mem_strdup(why);
    discover(server);
}

static void initialized(void *user, const struct mcp_reply *reply)
{
    struct mcp_server *server = user;
    const json_t *capabilities = json_object_get(reply->result, "capabilities");
    const char *version = json_get_string(reply->result, "protocolVersion");
    size_t i = 0;
    if (reply->fate != MCP_ANSWERED) {
        try_other(server, reply->message);
        return;
    }
    while (i < sizeof versions / sizeof versions[0] && (version == NULL || strcmp(version, versions[i]) != 0))
        i++;
    if (i == sizeof versions / sizeof versions[0]) {
        char *said = line_make(str_of(version), 40);
        mcp_give_up(server, STATUS_UNSUPPORTED, "it speaks revision \"%s\" of the protocol, which is not supported",
                    said);
        free(said);
        return;
    }
    server->transport->type->agreed(server->transport, versions[i]);
    mcp_rpc_notify(server->rpc, "notifications/initialized", NULL);
    if (json_is_object(json_object_get(capabilities, "logging")))
        mcp_rpc_request(server->rpc, "logging/setLevel", json_pack("{s:s}", "level", "warning"), nothing_follows, NULL);
    take_capabilities(server, capabilities);
}

static void initialize(struct mcp_server *server)
{
    json_t *params = json_object();
    json_put_str(params, "protocolVersion", str_of(versions[0]));
    json_put(params, "capabilities", describe_capabilities(server));
    json_put(params, "clientInfo", describe_client());
    mcp_rpc_request(server->rpc, "initialize", params, initialized, server);
}

static void discovered(void *user, const struct mcp_reply *reply)
{
    struct mcp_server *server = user;
    const json_t *capabilities = json_object_get(reply->result, "capabilities");
    if (reply->fate == MCP_ANSWERED && json_is_object(capabilities))
        take_capabilities(server, capabilities);
    else
        try_other(server, reply->message != NULL ? reply->message : "its answer is malformed");
}

static void discover(struct mcp_server *server)
{
    server->stateless = true;
    server->transport->type->agreed(server->transport, STATELESS_VERSION);
    mcp_request(server, "server/discover", NULL, discovered, server);
}

void mcp_handshake_start(struct mcp_server *server)
{
    server->subscribed = false;
    server->asked_both = server->stateless; /* known from an earlier start */
    if (server->stateless)
        discover(server);
    else
        initialize(server);
}

/* ---- changes ---- */

static void subscription_ended(void *user, const struct mcp_reply *reply)
{
    struct mcp_server *server = user;
    (void)reply;
    server->subscribed = false;
    if (server->state == MCP_READY && server->transport != NULL && ++server->subscriptions < MAX_SUBSCRIPTIONS)
        loop_timer_start(server->relist, RENEW_MS); /* the list is read again, and with it this one begins anew */
}

void mcp_subscribe(struct mcp_server *server)
{
    if (!server->stateless || !server->tells_changes || server->subscribed || server->state != MCP_READY)
        return;
    server->subscribed = true;
    json_t *params = json_pack("{s:{s:b}}", "notifications", "toolsListChanged", 1);
    mcp_request(server, "subscriptions/listen", params, subscription_ended, server);
}
