/* tools/mcp/internal.h
 *
 * What the files of the MCP client share. Not for others.
 */
#ifndef FATHOM_TOOLS_MCP_INTERNAL_H
#define FATHOM_TOOLS_MCP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/json.h"
#include "loop/loop.h"
#include "tools/mcp/mcp.h"
#include "tools/mcp/rpc.h"
#include "tools/mcp/transport.h"

struct mcp_call;
struct mcp_question;

/* One tool of a server, published at some time. Lives as long as the server. */
struct mcp_tool {
    struct tool tool; /* first, so that a struct tool * is one of these */
    struct tool_signature signature;
    struct mcp_server *server;
    char *remote;      /* its name as the server knows it */
    json_t *described; /* as the server gave it, to see whether it has changed */
};

enum mcp_state {
    MCP_STARTING, /* also after a crash, until the tools are known again */
    MCP_READY,
    MCP_RESTING, /* between a crash and the next start */
    MCP_FAILED,  /* for good */
    MCP_STOPPING,
    MCP_STOPPED,
};

struct mcp_server {
    struct loop *loop;
    struct mcp_options options; /* deep copies */
    struct mcp_watcher watcher;
    enum mcp_state state;
    struct mcp_transport *transport; /* NULL between two connections */
    struct mcp_rpc *rpc;
    int64_t connection;          /* counts connections, so that nothing of one is mistaken for the next one's */
    bool announced;              /* `ready` has come */
    bool too_late;               /* its start took too long and is being broken off */
    int restarts;                /* in a row */
    int64_t ready_at_ms;         /* by the loop's clock */
    struct loop_timer *patience; /* until the tools must be known */
    struct loop_timer *rest;     /* until the next start; the turn in which a start that failed is told */
    struct error failure;

    /* how the two sides talk: handshake.c */
    bool stateless;     /* revision 2026-07-28: no handshake, every request says who asks and in which revision */
    bool asked_both;    /* both ways of beginning were tried */
    char *refusal;      /* what the first way came to */
    bool tells_changes; /* the server says when its tools change; a stateless one wants to be asked for that */
    bool subscribed;
    int subscriptions; /* that have ended */

    /* tools/list */
    json_t *pages;     /* the tools listed so far; NULL while nothing is being listed */
    json_t *cursors;   /* that were followed: an object with them as keys */
    int64_t list_id;   /* the request under way */
    size_t list_bytes; /* of what was listed so far */
    bool list_again;   /* the list changed while it was being read */
    struct loop_timer *relist;
    json_t *offered; /* an array of tools as the server describes them */

    /* what is published */
    struct mcp_tool **made; /* all there ever were */
    size_t n_made, made_capacity;
    size_t made_bytes; /* of their descriptions */
    struct tool **published;
    size_t n_published;

    struct mcp_call *calls;         /* under way, newest first */
    struct mcp_question *question;  /* the person is being asked; at most one at a time */
    int64_t talk_began_ms, n_talks; /* how much it has said to the person lately */

    void (*stopped)(void *user);
    void *stopped_user;
};

/* ---- server.c ---- */

/* One sentence for the person, unless the server talks too much. */
void mcp_say(struct mcp_server *server, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Breaks the connection off for a reason of ours; the rest follows when it has ended. */
void mcp_give_up(struct mcp_server *server, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The answer to roots/list. */
json_t *mcp_list_roots(const struct mcp_server *server);

/* ---- handshake.c ---- */

/* Agrees with a new connection's server on a revision, then lists its tools. */
void mcp_handshake_start(struct mcp_server *server);

/* mcp_rpc_request, with what the revision wants in every request. */
int64_t mcp_request(struct mcp_server *server, const char *method, json_t *params, mcp_reply_fn done, void *user);

/* Asks a stateless server to say when its tools change, unless that is under way. */
void mcp_subscribe(struct mcp_server *server);

/* ---- headers.c: what a stateless server at an address wants beside the message ---- */

struct mcp_headers {
    struct http_header *list;
    size_t count, capacity;
};

void mcp_headers_make(const struct mcp_server *server, const char *method, const json_t *params,
                      struct mcp_headers *out);
void mcp_headers_finish(struct mcp_headers *headers); /* zeroed is allowed */

/* Whether the schema's "x-mcp-header" members keep to the rules: a tool that breaks them is not to be offered. */
bool mcp_headers_are_fine(const json_t *schema);

/* ---- list.c ---- */

/* Asks for the tools, from the first page on. mcp_listed follows, or the connection ends. */
void mcp_list_start(struct mcp_server *server);
void mcp_list_drop(struct mcp_server *server);

/* server.c: the tools are known (`offered` is set; `changed` says whether it is another list than before), or could not
 * be learnt. */
void mcp_listed(struct mcp_server *server, bool changed);
void mcp_list_failed(struct mcp_server *server, const char *why);

/* ---- call.c ---- */

void mcp_tool_start(struct tool *self, struct tool_run *run);

/* Sends the calls that waited for the server. */
void mcp_calls_resume(struct mcp_server *server);

/* Fails those that wait for a server which will not come. */
void mcp_calls_refuse(struct mcp_server *server);

/* The call whose progress or question this is: by the request's number, else the only one there is. NULL when that
 * cannot be told. */
struct mcp_call *mcp_call_find(struct mcp_server *server, int64_t id);
void mcp_call_progress(struct mcp_server *server, const json_t *params);

struct tool_run *mcp_call_run(const struct mcp_call *call);

/* The answer to a question that a stateless server's result asked; takes the reference. */
void mcp_call_answer(struct mcp_call *call, json_t *answer);

/* The call's clock stands still while the person is asked. */
void mcp_call_pause(struct mcp_call *call, bool pause);

/* ---- question.c ---- */

/* elicitation/create: asks the person who started the run that the call belongs to. */
void mcp_question_ask(struct mcp_server *server, const json_t *params, const json_t *id, int64_t origin);

/* The same for a question inside a result: the answer goes to mcp_call_answer, never from inside. False when nobody can
 * be asked. */
bool mcp_question_for_call(struct mcp_server *server, struct mcp_call *call, const json_t *params);

/* A call is over; its question, if it has one, must not touch it any more. */
void mcp_question_forget_call(struct mcp_server *server, const struct mcp_call *call);

/* ---- content.c ---- */

struct mcp_images;

/* Appends what a tools/call result says, as text for a model. Links are reported to `run` as sources (NULL: not).
 * `images` says what its images show; NULL is allowed. */
void mcp_content_text(const json_t *result, struct tool_run *run, const struct mcp_images *images, struct buf *out);

/* ---- images.c ---- */

#define MCP_MAX_CAPTIONS 4 /* of one result; further images are only named */

/* Has the images of a result looked at; `done` comes once, never from inside, unless they are destroyed before. NULL
 * when there is none, or no model that could see it. */
struct mcp_images *mcp_images_start(const json_t *result, struct tool_run *run, void (*done)(void *user), void *user);

/* What the result's image number `index` shows, from 0; NULL where nobody knows. */
const char *mcp_images_caption(const struct mcp_images *images, size_t index);
void mcp_images_destroy(struct mcp_images *images); /* NULL is allowed */

#endif
