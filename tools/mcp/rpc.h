/* tools/mcp/rpc.h
 *
 * JSON-RPC 2.0 (jsonrpc.org/specification) as the Model Context Protocol uses it: requests in both directions, each
 * with an answer, and notifications without. Knows nothing of how texts travel; no input or output, no time.
 *
 * What comes in is untrusted. A message is one JSON object; an array of them (revision 2025-03-26 had such) is taken
 * apart. An answer counts once and only for a request that waits for it; everything else is dropped and reported as
 * garbage, which never ends the conversation.
 */
#ifndef FATHOM_TOOLS_MCP_RPC_H
#define FATHOM_TOOLS_MCP_RPC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/json.h"
#include "core/str.h"

#define MCP_MAX_MESSAGE ((size_t)16 * 1024 * 1024)
#define MCP_MAX_DEPTH   100 /* of objects and arrays */

enum {
    MCP_ERROR_METHOD_NOT_FOUND = -32601,
    MCP_ERROR_INVALID_PARAMS = -32602,
};

enum mcp_fate {
    MCP_ANSWERED,      /* there is a result */
    MCP_REFUSED,       /* the server answered with an error: code and message */
    MCP_LOST,          /* the connection went; whether the server acted on it nobody knows */
    MCP_NOT_DELIVERED, /* the server certainly did not act on it */
};

/* What a request came to. Borrowed until the callback returns. */
struct mcp_reply {
    enum mcp_fate fate;
    const json_t *result; /* MCP_ANSWERED: an object, maybe empty; else NULL */
    int64_t code;         /* MCP_REFUSED */
    const char *message;  /* one clean line, unless MCP_ANSWERED: the server's words, or what happened */
    const json_t *data;   /* MCP_REFUSED: the error's "data"; NULL where there is none */
};

/* Comes once, unless the request is forgotten before; never from inside mcp_rpc_request. */
typedef void (*mcp_reply_fn)(void *user, const struct mcp_reply *reply);

struct mcp_rpc;

/* `origin` is what mcp_rpc_take was told: the request whose channel a message came on, 0 where that is not known. */
struct mcp_rpc_options {
    /* Takes the text of a message away, without a newline in it. `id` is the request's, 0 for what has no answer;
     * `method` is NULL for an answer, `params` (borrowed) where there are none. */
    void (*send)(void *user, struct str text, int64_t id, const char *method, const json_t *params);

    /* The server asks; `id` goes to mcp_rpc_respond or mcp_rpc_refuse, now or later. `params` may be NULL. */
    void (*on_request)(void *user, const char *method, const json_t *params, const json_t *id, int64_t origin);
    void (*on_notification)(void *user, const char *method, const json_t *params, int64_t origin);

    /* Something came that is no message, or an answer to nothing. `what` is for a log. */
    void (*on_garbage)(void *user, const char *what);
    void *user;
};

struct mcp_rpc *mcp_rpc_create(const struct mcp_rpc_options *options);

/* Requests that still wait get no reply. NULL is allowed. */
void mcp_rpc_destroy(struct mcp_rpc *rpc);

/* The number that the next request will have, for what has to be said inside it (progressToken). */
int64_t mcp_rpc_next_id(const struct mcp_rpc *rpc);

/* Sends a request and returns its number, which is > 0 and never used twice. Takes the reference to `params`; NULL for
 * none. */
int64_t mcp_rpc_request(struct mcp_rpc *rpc, const char *method, json_t *params, mcp_reply_fn done, void *user);

bool mcp_rpc_waits(const struct mcp_rpc *rpc, int64_t id);

/* No reply is wanted any more: one that comes is dropped without a word. */
void mcp_rpc_forget(struct mcp_rpc *rpc, int64_t id);

void mcp_rpc_notify(struct mcp_rpc *rpc, const char *method, json_t *params);
void mcp_rpc_respond(struct mcp_rpc *rpc, const json_t *id, json_t *result);
void mcp_rpc_refuse(struct mcp_rpc *rpc, const json_t *id, int code, const char *message);

/* Takes in what the other side sent. */
void mcp_rpc_take(struct mcp_rpc *rpc, struct str text, int64_t origin);

/* The request will not be answered; `message` says why. Nothing happens when it does not wait. */
void mcp_rpc_fail(struct mcp_rpc *rpc, int64_t id, enum mcp_fate fate, const char *message);
void mcp_rpc_fail_all(struct mcp_rpc *rpc, enum mcp_fate fate, const char *message);

#endif
