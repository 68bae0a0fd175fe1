/* tools/mcp/mcp.h
 *
 * A client of the Model Context Protocol (modelcontextprotocol.io): servers that the user names offer tools, which
 * appear to the model beside the others.
 *
 * A server is a program that speaks over its stdin and stdout, or a web address (streamable HTTP). Revisions 2025-11-25
 * and 2025-06-18 are spoken, the older ones that servers still answer with (2025-03-26, 2024-11-05), and 2026-07-28,
 * which knows no handshake and no session, with servers that speak nothing else. Of what a
 * client may offer, this one answers `ping`, `roots/list` and, where a person can be asked, `elicitation/create`;
 * sampling is refused. Authorization is a header that the user configures; there is no OAuth.
 *
 * All text that comes from a server is untrusted. It is bounded here, and cleaned by the engine like every
 * observation.
 *
 * One struct mcp_server serves all runs of the process. Everything happens on the loop's thread. Life:
 * mcp_server_start, `ready` once, then any number of `changed`; mcp_server_stop, `stopped`, mcp_server_destroy.
 */
#ifndef FATHOM_TOOLS_MCP_MCP_H
#define FATHOM_TOOLS_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/str.h"
#include "engine/tool.h"
#include "net/http.h"
#include "tools/common/program.h"

struct loop;
struct mcp_server;

#define MCP_DEFAULT_STARTUP_TIMEOUT_MS 30000
#define MCP_DEFAULT_TIMEOUT_MS         60000
#define MCP_DEFAULT_MAX_TIMEOUT_MS     300000

/* All strings are copied. Exactly one of program.command and url is given. */
struct mcp_options {
    const char *name;               /* what the user calls the server; letters, digits, "_" and "-" */
    struct program_options program; /* confinement PROGRAM_NONE where nothing else was asked for */
    const char *url;                /* http or https */
    const struct http_header *headers;
    size_t n_headers;
    struct http_client *http; /* borrowed until mcp_server_destroy; for url */

    const char *const *tools; /* names, as the server gives them, of the tools to offer; NULL: all */
    size_t n_tools;
    const char *const *roots; /* folders that roots/list names, absolute paths */
    size_t n_roots;
    int64_t startup_timeout_ms; /* until the tools are known; 0: MCP_DEFAULT_STARTUP_TIMEOUT_MS */
    int64_t timeout_ms;         /* a call without a sign of life; progress is one. 0: MCP_DEFAULT_TIMEOUT_MS */
    int64_t max_timeout_ms;     /* a call as a whole; 0: MCP_DEFAULT_MAX_TIMEOUT_MS, or timeout_ms where that is more */
    int64_t max_output_tokens;  /* of a call; 0: the run's cap */
    enum tool_permission permission;
};

/* Every callback runs in a turn of its own, never from inside a function of this header. */
struct mcp_watcher {
    /* Once: the server's tools are known (`error` NULL), or it could not be started or is too late. `error` is for a
     * person and holds the last words of a program; borrowed. A failed server has no tools and stays so. */
    void (*ready)(void *user, struct mcp_server *server, const struct error *error);

    /* What the server offers has changed since mcp_server_publish: tools came or went, it died for good, or is back. */
    void (*changed)(void *user, struct mcp_server *server);

    /* One sentence for a person: the server's log from "warning" up, a restart, a tool that was left out. */
    void (*say)(void *user, struct mcp_server *server, const char *sentence);
    void *user;
};

/* Starts a server; failures come through `ready`. `watcher` is copied; none of its members may be NULL. */
struct mcp_server *mcp_server_start(struct loop *loop, const struct mcp_options *options,
                                    const struct mcp_watcher *watcher);

const char *mcp_server_name(const struct mcp_server *server);

/* Makes tools of what the server offers now. `taken` says whether another tool goes by a name already (NULL: none
 * does); such a tool is called SERVER_TOOL instead, and left out when that is taken too. A tool that has not changed
 * stays the same object; one that went or changed is no longer listed, but lives until mcp_server_destroy, and passes
 * calls on to the server, which will have its say. Returns whether the list is another than before. */
bool mcp_server_publish(struct mcp_server *server, bool (*taken)(void *user, struct str name), void *user);

/* The published tools, in the server's order. Borrowed until the next mcp_server_publish. */
struct tool *const *mcp_server_tools(const struct mcp_server *server, size_t *count);

/* Ends the server in an orderly way: stdin is closed and the program gets 2 s to end by itself, then SIGTERM and 1 s
 * more; a session at an address is given back. Calls under way fail. `stopped` comes once, never from inside this
 * call; no callback of the watcher comes any more. */
void mcp_server_stop(struct mcp_server *server, void (*stopped)(void *user), void *user);

/* Frees the server and all its tools; one that was not stopped is ended at once. NULL is allowed. No call may be under
 * way. Only as the last act before loop_destroy, or after `stopped`. */
void mcp_server_destroy(struct mcp_server *server);

#endif
