/* src/net/http_internal.h
 *
 * What the files of the HTTP client share. Not for other rooms.
 *
 *     http_client.c    the client: sockets, timers, and when a request is finished
 *     http_request.c   one request: its options, its hops, its end
 *     http_transfer.c  one hop: the curl handle, its callbacks, deadlines
 *     http_outcome.c   what a request came to, in words
 *
 * libcurl must not be called from its own callbacks, so these only take notes (in struct http_request). Whatever
 * follows, also the start of a request, is done in a turn of its own: http_client_queue() leads to
 * http_request_settle(). Once a request is queued its callbacks pass nothing on.
 */
#ifndef FATHOM_NET_HTTP_INTERNAL_H
#define FATHOM_NET_HTTP_INTERNAL_H

#include <curl/curl.h>

#include "loop/loop.h"
#include "net/http.h"
#include "net/resolve.h"

enum { N_TRAFFIC = 2, N_SETS = 2 };

/* One of the two kinds of traffic. */
struct http_lane {
    struct http_client *client;
    CURLM *multi;
    struct loop_timer *timer; /* curl's own */
    bool kick_deferred;       /* curl asked to be called at once */
};

/* Sockets whose readiness is looked at together. */
struct http_set {
    struct http_client *client;
    int epoll;
    struct loop_watch *watch;
};

struct http_client {
    struct loop *loop;
    const struct guard *guard;
    char *proxy, *user_agent, *ca_file;
    struct http_lane lanes[N_TRAFFIC];
    struct http_set sets[N_SETS];
    struct loop_timer *calm_timer; /* active while the calm set is left alone */
    bool destroying, settle_deferred;

    struct http_request *requests;            /* all, doubly linked */
    struct http_request *queue, **queue_last; /* to be settled, in order */
    size_t n_requests;
};

enum http_phase {
    PHASE_RESOLVING, /* the target is looked up for the guard, because a proxy will do the connecting */
    PHASE_CONNECTING,
    PHASE_WAITING,   /* connected; the request is being sent, or no byte of its body has come */
    PHASE_RECEIVING, /* of the body */
};

struct http_request {
    struct http_client *client;
    struct http_lane *lane;
    struct http_request *previous, *next, *next_queued;
    bool queued, in_multi;
    bool hop_due; /* the next settling starts a hop */

    char *url;    /* of this hop, as it is sent */
    char *target; /* "host" or "host:port" for messages, without the brackets of IPv6 alone */
    char *method; /* NULL: GET, or POST with a body */
    struct curl_slist *headers;
    struct buf body;
    struct http_body reader; /* length 0: nothing is sent */
    int64_t connect_timeout_ms, first_byte_timeout_ms, stall_timeout_ms, total_timeout_ms;
    int max_redirects;
    bool guarded, accept_encoding;
    http_check_fn check;
    http_max_body_fn max_body_of;
    http_headers_fn on_headers;
    http_data_fn on_data;
    http_done_fn done;
    void *user;

    CURL *easy; /* NULL until the first hop */
    struct resolve *resolve;
    struct loop_timer *timer; /* runs to the nearest deadline or to an earlier time */
    enum http_phase phase;
    int64_t started_ms, hop_started_ms;
    int64_t last_byte_ms; /* in either direction */

    /* Notes of curl's callbacks about this hop. */
    CURLcode result;
    bool canceled, too_big, headers_too_big, reader_failed;
    bool head_complete; /* of the response that is not a 1xx */
    bool streaming;     /* the body goes to on_data */
    bool redirected;    /* the response names another place */
    bool refused;       /* by the guard, on a connection that stood already */
    int sockets_refused, sockets_opened;
    bool no_descriptors;   /* left for a socket */
    uint64_t sent;         /* bytes of the reader */
    size_t header_bytes;   /* of all heads of this hop */
    uint64_t ignored_body; /* bytes of a redirect's body */
    char curl_message[CURL_ERROR_SIZE];

    char *effective_url;
    struct buf addresses;
    struct http_response response; /* once its status is not STATUS_OK, the outcome is decided */
};

/* ---- http_client.c ---- */

/* Hands the request to curl, or takes it back if curl has it. Not inside curl's callbacks. */
void http_client_add(struct http_request *request);
void http_client_remove(struct http_request *request);

/* Settles the request in a later turn. */
void http_client_queue(struct http_request *request);

/* ---- http_request.c ---- */

/* Starts the next hop, or ends the request: calls done and frees it. */
void http_request_settle(struct http_request *request);

/* ---- http_transfer.c ---- */

/* Makes the curl handle ready for the hop to request->url, whose host is `host`. */
void http_transfer_prepare(struct http_request *request, const char *host);

/* The hop has come to `phase` now. */
void http_transfer_enter(struct http_request *request, enum http_phase phase);

/* Notes an address that the guard let through for this hop. */
void http_transfer_note_address(struct http_request *request, const char *numeric);

/* The callback of request->timer. */
void http_transfer_check_deadline(void *request);

/* ---- http_outcome.c ---- */

/* Sets status and error of the response from the notes about the hop, and fills in code, version and timing. */
void http_outcome_decide(struct http_request *request);

/* Decides for a deadline that has passed at `now_ms`. */
void http_outcome_timed_out(struct http_request *request, int64_t now_ms);

/* Fills code and version in. */
void http_outcome_read_head(struct http_request *request);

/* A header of the last response, or NULL. */
const char *http_outcome_header(const struct http_request *request, const char *name);

#endif
