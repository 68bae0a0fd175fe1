/* src/model/openai_internal.h
 *
 * What the files of the server client share: the client, its endpoints, and a completion under way.
 *
 *     openai.c           the client: options, preparing, names
 *     openai_endpoint.c  one endpoint: what it is, its models and its window
 *     openai_render.c    how an endpoint writes a chat
 *     openai_pool.c      which endpoint serves a call, and when
 *     openai_call.c      one completion: tries, retries, and its end
 *     openai_try.c       one HTTP request of a call and what came of it
 */
#ifndef FATHOM_MODEL_OPENAI_INTERNAL_H
#define FATHOM_MODEL_OPENAI_INTERNAL_H

#include "core/buf.h"
#include "loop/loop.h"
#include "model/client.h"
#include "model/fault.h"
#include "model/openai.h"
#include "model/reply.h"
#include "model/request.h"
#include "net/http.h"
#include "net/sse.h"

#define MAX_LISTED_MODELS 200

struct look;        /* a round of questions to an endpoint */
struct render_talk; /* questions about how it writes a chat */

struct endpoint {
    struct openai_client *client;
    char *base_url;
    char *shown_url; /* without user and password */
    char *host;      /* for people */
    struct http_header *headers;
    size_t n_headers;
    char *authorization; /* borrowed by headers; NULL without a key */

    /* learnt */
    struct request_habits habits;
    const char *server; /* static; NULL unknown */
    char **models;
    size_t n_models;
    char *model; /* that requests name; NULL unknown */
    bool answered, model_listed;
    int64_t window;
    bool window_is_learnt; /* from a refusal: nothing overrules it */
    bool asked_rendering;
    struct openai_rendering rendering; /* the template is owned */
    bool gives_reasons;                /* a completion ended with a finish reason */
    bool ended_without; /* one ended with [DONE] alone; when the next does too, that is how this server ends */

    /* health */
    bool down;          /* no connection; looked at again by the timer */
    bool rejected;      /* a final refusal that concerns the endpoint: 401, 402, 403, 404 */
    int64_t cool_until; /* better not before; others are preferred */
    int64_t rest_until; /* Retry-After: nothing is sent before */
    unsigned failures;  /* in a row */
    struct error error; /* of the last failure */
    struct loop_timer *recovery;
    int64_t recovery_delay;
    struct look *look;
    struct render_talk *talk;

    /* calls */
    size_t in_flight;
    struct model_call *queue; /* waiting for a place, in order of arrival */
};

struct prepare_waiter {
    void (*done)(void *user);
    void *user;
};

struct openai_client {
    struct model_client base;
    struct loop *loop;
    struct http_client *http;
    struct openai_options options; /* numbers only; what it borrowed is in the members below */
    struct endpoint *endpoints;
    size_t n_endpoints;
    char *model, *name;
    bool model_given;
    json_t *extra_body;
    char **texts; /* keys and values of headers, owned: what no text may show */
    size_t n_texts, texts_capacity;
    struct http_header *headers;
    size_t n_headers;
    uint64_t chance;

    enum { PREPARE_NOT, PREPARE_RUNNING, PREPARE_DONE } prepared;
    size_t looks_pending;
    struct prepare_waiter *waiters;
    size_t n_waiters, waiters_capacity;

    struct model_call *calls, **calls_end; /* all of them, in order of arrival */
    uint64_t next_round_robin;
};

enum call_state {
    CALL_NEW,
    CALL_PREPARING, /* for the client */
    CALL_QUEUED,    /* for a place at its endpoint */
    CALL_WAITING,   /* for any endpoint to come up, or for one's Retry-After */
    CALL_BACKOFF,   /* between two tries */
    CALL_TRYING,    /* holds a place; an HTTP request is under way */
    CALL_ENDING,
};

struct call_mark {
    bool final;   /* this endpoint refused this call for good */
    bool excused; /* its first failed connection was not counted */
    int failures; /* tries of this call that failed there */
};

struct model_call {
    struct openai_client *client;
    struct model_request request;
    struct model_handlers handlers;
    void *user;
    struct model_call *next, **link; /* in client->calls */
    struct model_call *queue_next;   /* in an endpoint's queue */
    enum call_state state;
    struct endpoint *endpoint; /* of the try, or whose queue this is in */
    struct call_mark *marks;   /* one for each endpoint */
    struct loop_timer *timer;  /* back-off, waiting, or the rest of a finished reply */
    struct loop_timer *deadline;
    bool canceled;
    bool served;    /* the queue gave it its turn */
    bool delivered; /* something of this try was delivered */

    int failed_tries, tries;
    int empty_replies, refusals;
    bool filtered; /* a content filter stopped one try */
    int64_t wait_began, waited_ms, wait_deadline;
    struct error error;
    struct model_result result; /* once state is CALL_ENDING */
    char *served_model;
    int64_t known_window; /* the one last told */

    /* the try */
    struct http_request *http;
    struct request_body body;
    struct reply reply;
    struct sse_parser sse;
    struct buf json;
    enum { BODY_UNKNOWN, BODY_EVENTS, BODY_JSON, BODY_OTHER } body_kind;
    bool done_event, garbage;
    int code; /* HTTP status */
};

/* ---- openai.c ---- */

void client_start_preparing(struct openai_client *client);
struct fault_scene endpoint_scene(const struct endpoint *endpoint, const json_t *sent);

/* ---- openai_endpoint.c ---- */

/* STATUS_INVALID when the URL is none. */
enum status endpoint_init(struct endpoint *endpoint, struct openai_client *client,
                          const struct openai_endpoint *options, struct error *error) STATUS_CHECKED;
void endpoint_finish(struct endpoint *endpoint);

/* Asks the endpoint for its models and window; endpoint->look must be NULL. `done` comes once, never from inside,
 * unless endpoint_finish comes before. */
void endpoint_look(struct endpoint *endpoint, void (*done)(struct endpoint *endpoint));

/* Whether a request ended before a connection stood. A connection that was used again and broke counts too. */
bool no_connection(const struct http_response *response);

/* Whether the window is worth asking for again: Ollama tells it only once the model is loaded. */
bool endpoint_window_is_open(const struct endpoint *endpoint);

/* The window, where nothing better is known. Numbers below 1 change nothing. */
void endpoint_set_window(struct endpoint *endpoint, int64_t window);

/* The base URL without /v1, to be freed. */
char *endpoint_root_url(const struct endpoint *endpoint);

/* ---- openai_render.c ---- */

/* Asks the endpoint, once in its life and where that may help, how it writes a chat; its server and models are known as
 * far as they will be. False when nothing is asked; else `done` comes once, never from inside, by `deadline` at the
 * latest. */
bool endpoint_ask_rendering(struct endpoint *endpoint, int64_t deadline, void (*done)(void *user), void *user);

/* Forgets what was learnt; answers that still come are for nobody. `done` comes all the same. */
void endpoint_finish_rendering(struct endpoint *endpoint);

/* ---- openai_pool.c ---- */

/* Finds a place for the call and starts its next try, or puts it to wait, or ends it. */
void pool_acquire(struct model_call *call);

/* Gives the call's place back and serves who waits for it. */
void pool_release(struct model_call *call);

/* Takes the call out of any queue. */
void pool_forget(struct model_call *call);

void pool_endpoint_failed(struct endpoint *endpoint, bool connection, int64_t rest_ms, const struct error *error);
void pool_endpoint_worked(struct endpoint *endpoint);

/* Whether another endpoint is well and has failed this call less often than `endpoint`, where it has just failed: then
 * it is asked at once. */
bool pool_has_other(const struct model_call *call, const struct endpoint *endpoint);

int64_t pool_down_wait_ms(const struct openai_client *client);

/* ---- openai_call.c ---- */

struct model_call *openai_start(struct model_client *client, const struct model_request *request,
                                const struct model_handlers *handlers, void *user);
void openai_cancel(struct model_client *client, struct model_call *call);
void call_notice(struct model_call *call, enum model_notice_kind kind, int64_t delay_ms, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void call_tell_window(struct model_call *call);
void call_begin_waiting(struct model_call *call);
void call_end_waiting(struct model_call *call);

/* Ends the call; its done follows in a later turn. `error` NULL with MODEL_OK. */
void call_finish(struct model_call *call, enum model_failure failure, enum finish_reason reason,
                 const struct error *error);

/* ---- openai_try.c ---- */

void try_start(struct model_call *call);
void try_finish(struct model_call *call); /* frees what belongs to the try */

/* What came of a try, for openai_call.c to act on. */
enum outcome_kind {
    OUTCOME_COMPLETE, /* a usable completion; the reply has its reason */
    OUTCOME_EMPTY,    /* a whole completion without text */
    OUTCOME_FAILED,   /* it may work another time */
    OUTCOME_NO_CONNECTION,
    OUTCOME_REFUSED, /* see fault */
    OUTCOME_CANCELED,
};

struct outcome {
    enum outcome_kind kind;
    int64_t retry_after_ms; /* -1 */
    bool blameless;         /* a failure that says nothing of the endpoint's health */
    struct fault fault;     /* REFUSED; of others only its error */
};

void call_try_ended(struct model_call *call, const struct outcome *outcome);

#endif
