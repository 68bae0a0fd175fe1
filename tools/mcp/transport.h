/* tools/mcp/transport.h
 *
 * How messages travel to an MCP server and back. One connection: opened once, closed once; a server that comes back
 * gets a new one. Not for others than tools/mcp.
 */
#ifndef FATHOM_TOOLS_MCP_TRANSPORT_H
#define FATHOM_TOOLS_MCP_TRANSPORT_H

#include <stdint.h>

#include "tools/mcp/mcp.h"
#include "tools/mcp/rpc.h"

struct mcp_transport;

/* None but `waits` is called from inside a function of the transport. Inside `message` and `lost` everything may be
 * called but destroy. */
struct mcp_listener {
    /* A message came; `origin` is the request on whose channel it did, 0 where all share one. */
    void (*message)(void *user, struct str text, int64_t origin);

    /* The request will not be answered. `why` is for a person. */
    void (*lost)(void *user, int64_t id, enum mcp_fate fate, const char *why);

    /* Whether anybody still waits for the request's answer. */
    bool (*waits)(void *user, int64_t id);

    /* Once, last: nothing is left of the connection. `error` says why, with a program's last words; its status is
     * STATUS_CANCELED when it was closed from here, STATUS_NOT_FOUND when the server has forgotten the session, so that
     * a new connection is wanted at once. The transport may be destroyed inside. */
    void (*closed)(void *user, const struct error *error);
    void *user;
};

/* A message on its way; all borrowed, and copied by `send`. */
struct mcp_outgoing {
    struct str text;
    int64_t id;                        /* the request's, else 0 */
    const char *method;                /* NULL for an answer */
    const struct http_header *headers; /* what a server at an address must see beside the text */
    size_t n_headers;
};

struct mcp_transport_type {
    void (*send)(struct mcp_transport *transport, const struct mcp_outgoing *message);

    /* The request's answer is not wanted any more. */
    void (*forget)(struct mcp_transport *transport, int64_t id);

    /* The two sides have agreed on a revision. */
    void (*agreed)(struct mcp_transport *transport, const char *version);

    /* Ends the connection in an orderly way; `closed` follows. Further calls change nothing. */
    void (*close)(struct mcp_transport *transport);

    /* After `closed`, or to end the connection without a word. */
    void (*destroy)(struct mcp_transport *transport);
};

struct mcp_transport {
    const struct mcp_transport_type *type;
};

/* Both borrow `options` until destroy. NULL and an error when the program cannot be started at all. */
struct mcp_transport *mcp_stdio_open(struct loop *loop, const struct mcp_options *options,
                                     const struct mcp_listener *listener, struct error *error);
struct mcp_transport *mcp_http_open(struct loop *loop, const struct mcp_options *options,
                                    const struct mcp_listener *listener);

#endif
