/* src/model/client.h
 *
 * A language model, whatever stands behind it: an OpenAI-compatible server, a pool of them, or the built-in reader.
 *
 * A completion is asked for with a prompt view and comes back as one stream of plain text in the tag protocol: a
 * server's separate reasoning field arrives as <think>…</think> before the content, native tool calls arrive as
 * <tool_call> text. Retries, back-off, failover, refused parameters and windows are the client's affair; its user sees
 * deltas, sometimes a restart, and one end. Everything happens on the loop's thread.
 */
#ifndef FATHOM_MODEL_CLIENT_H
#define FATHOM_MODEL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"
#include "core/str.h"
#include "protocol/generation.h"

struct model_client;
struct model_call; /* one completion under way */
struct prompt_view;

/* An image that stands beside the last user message of a prompt. */
struct model_image {
    struct str media_type; /* "image/png" */
    struct str base64;     /* RFC 4648, padded, no line breaks */
};

struct model_request {
    const struct prompt_view *prompt; /* must stay valid and unchanged until `done` */
    const struct model_image *image;  /* the same; NULL: none. /chat/completions only; templates have no place for it */
    struct str date;                  /* "2026-03-01", for templates that say what day it is; the same, may be empty */
    struct sampling sampling;
    int64_t max_tokens;  /* completion cap; > 0 */
    bool server_stops;   /* send the <tool_response> stop strings; false after one cut thought in two */
    uint64_t session;    /* endpoints are sticky by it; 0 for none */
    int64_t deadline_ms; /* on loop_now_ms(); 0 for none. Past it the call ends as cancelled */
    bool one_shot;       /* completions of tools: a 4xx for length is returned, not worked around */
};

enum model_notice_kind {
    MODEL_NOTICE_RETRY,   /* this try failed; another follows after delay_ms */
    MODEL_NOTICE_WAITING, /* all endpoints are down, or the queue is full: no try is burnt. Time in it is not run time
                           */
    MODEL_NOTICE_RESUMED, /* the wait is over */
    MODEL_NOTICE_PARAMETER_DROPPED, /* the endpoint refused a parameter; it was renamed or left out from now on */
    MODEL_NOTICE_WINDOW,            /* the context window became known: `window` tokens */
    MODEL_NOTICE_SERVED_MODEL,      /* the reply names the model that answered */
};

struct model_notice {
    enum model_notice_kind kind;
    int attempt;      /* tries so far, from 1 */
    int64_t delay_ms; /* RETRY */
    int64_t window;   /* WINDOW */
    const char *text; /* one sentence for a person; names the endpoint's host, never a key. Borrowed */
};

struct model_result {
    enum model_failure failure;
    enum finish_reason reason;
    struct usage usage;
    int64_t window;           /* MODEL_CONTEXT_TOO_LONG; 0 unknown */
    int tries;                /* HTTP requests made */
    int64_t waited_ms;        /* time spent in our own queue or waiting for an endpoint to come up */
    bool thought_field;       /* from now on earlier thought is sent to this server in a field of its own */
    const char *served_model; /* as the reply named it; NULL when it did not. Borrowed */
    struct error error;       /* when failure is not MODEL_OK */
};

struct model_handlers {
    /* More text of the completion; any cut, also inside a UTF-8 sequence. Borrowed. May call model_call_cancel. */
    void (*delta)(void *user, struct str text);

    /* The stream broke or was unusable and would be started again: what was delivered so far is void. Return false to
     * keep it instead (a call has started): then the completion ends there with FINISH_BROKEN. Not asked when nothing
     * was delivered. */
    bool (*restart)(void *user);

    /* For whoever watches; NULL is allowed. */
    void (*notice)(void *user, const struct model_notice *notice);

    /* Exactly once, last, never from inside model_start. The call is gone when it returns. */
    void (*done)(void *user, const struct model_result *result);
};

/* What a client offers. Implementations embed this as their first member. No call may be under way when it is
 * destroyed. */
struct model_client {
    const char *name;  /* what is said to a person: "qwen3-8b at http://127.0.0.1:8080/v1" */
    const char *model; /* model name for profiles and results; may become known only after `prepare` */
    bool builtin;      /* the extractive reader: no language model */
    void (*prepare)(struct model_client *client, void (*done)(void *user), void *user);
    struct model_call *(*start)(struct model_client *client, const struct model_request *request,
                                const struct model_handlers *handlers, void *user);
    void (*cancel)(struct model_client *client, struct model_call *call);
    int64_t (*window)(const struct model_client *client); /* tokens; 0 while unknown */
    void (*destroy)(struct model_client *client);
};

/* Finds out what can be known before the first completion: the model's name where none was given, and its context
 * window. Quick, never fails, and optional: a completion that comes first prepares the client by itself. `done` comes
 * exactly once, never from inside this call, unless the client is destroyed before. Afterwards `name` and `model` are
 * final. */
void model_prepare(struct model_client *client, void (*done)(void *user), void *user);

/* Thin calls through the table. model_call_cancel: `done` still comes, on a later turn, with FINISH_CANCELED. */
struct model_call *model_start(struct model_client *client, const struct model_request *request,
                               const struct model_handlers *handlers, void *user);
void model_call_cancel(struct model_client *client, struct model_call *call);
int64_t model_window(const struct model_client *client);
void model_client_destroy(struct model_client *client); /* NULL is allowed */

#endif
