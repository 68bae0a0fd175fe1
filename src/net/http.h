/* src/net/http.h
 *
 * The HTTP client: many requests at once on one loop, none of which blocks it.
 *
 * There are two kinds of traffic, and they share nothing, neither connections nor name cache:
 *
 * HTTP_GUARDED     for every address that a model or a page named. Only http and https; every connection, and every
 *                  request on a connection that is used again, passes the address guard (net/guard.h). Redirects are
 *                  followed up to a limit, each hop checked like a new request. Proxies named in the environment are
 *                  ignored.
 * HTTP_CONFIGURED  for addresses that the user configured: model servers, search services. Not guarded. Redirects are
 *                  never followed, so a key never travels to another origin. Proxies named in the environment are
 *                  used, except for loopback addresses.
 *
 * No cookies, no .netrc, no Alt-Svc, no HSTS, no multiplexing of requests on one connection. Ports are not restricted.
 *
 * Callbacks run on the loop's thread. Inside all of them requests may be started and canceled; http_client_destroy is
 * allowed in none of them.
 */
#ifndef FATHOM_NET_HTTP_H
#define FATHOM_NET_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

struct guard;
struct loop;
struct http_client;
struct http_request;

#define HTTP_DEFAULT_MAX_BODY           ((size_t)10 * 1024 * 1024)
#define HTTP_DEFAULT_CONNECT_TIMEOUT_MS 30000

struct http_client_options {
    const struct guard *guard; /* borrowed until http_client_destroy; NULL: one without exemptions */
    const char *proxy;         /* for guarded traffic; NULL: none. The proxy's own address need not pass the guard */
    const char *user_agent;    /* NULL: "fathom/VERSION" */
    const char *ca_file;       /* certificates to trust in place of the system's; NULL: the system's */
};

/* Creates a client that works on `loop`. `options` are copied, except the guard; NULL means all defaults. */
struct http_client *http_client_create(struct loop *loop, const struct http_client_options *options);

/* Ends the client. Requests still under way get their done callback with STATUS_CANCELED before this returns; it waits
 * neither for a peer nor for a name look-up. NULL is allowed. */
void http_client_destroy(struct http_client *client);

enum http_traffic { HTTP_GUARDED, HTTP_CONFIGURED };

struct http_header {
    const char *name, *value;
};

/* A request body that is not in one piece. `read` writes up to `size` (> 0) bytes that stand at `offset` (< length) to
 * `out` and returns how many, at least 1; 0 makes the request fail. Offsets ascend, but a request that is sent again
 * on a new connection begins at 0 anew. Called until done, perhaps never. */
struct http_body {
    uint64_t length;
    size_t (*read)(void *user, uint64_t offset, char *out, size_t size);
    void *user;
};

struct http_response;

/* The head of the final response has come (not of a redirect that is followed, not of a 1xx). Only code, version and
 * headers are set in `head`. True: the body goes to on_data. False: it is collected in the response, as for an error
 * body. */
typedef bool (*http_headers_fn)(void *user, const struct http_response *head);

/* More of the decoded body, in any cut. Borrowed until the callback returns. */
typedef void (*http_data_fn)(void *user, struct str data);

/* Whether a request may go to `url`: asked before the request and before each redirect, with the absolute URL without
 * user and password. STATUS_OK, or the status and error that the request shall end with. */
typedef enum status (*http_check_fn)(void *user, const char *url, struct error *error);

/* How many bytes of body this response may have, given its head (as in http_headers_fn); more than max_body is
 * max_body.
 */
typedef size_t (*http_max_body_fn)(void *user, const struct http_response *head);

typedef void (*http_done_fn)(void *user, struct http_response *response);

struct http_options {
    enum http_traffic traffic;
    const char *url;                   /* absolute */
    const char *method;                /* NULL: GET, or POST when there is a body */
    const struct http_header *headers; /* more of them; a value of NULL suppresses one that would be sent by itself */
    size_t n_headers;
    struct str body;                /* bytes to send; copied */
    const struct http_body *reader; /* or what gives them; the struct is copied, its user must live until done */

    int64_t connect_timeout_ms;    /* look-up, connection and TLS together; 0: HTTP_DEFAULT_CONNECT_TIMEOUT_MS */
    int64_t first_byte_timeout_ms; /* from the last byte sent to the first byte of the body; 0: none */
    int64_t stall_timeout_ms;      /* between two bytes of the body, whatever they say; 0: none */
    int64_t total_timeout_ms;      /* for the whole, redirects included; 0: none */
    size_t max_body;               /* most bytes of decoded body, collected or streamed; 0: HTTP_DEFAULT_MAX_BODY */
    int max_redirects;             /* guarded traffic only; 0: none is followed */
    bool accept_encoding;          /* offer the content encodings that can be decoded */

    http_max_body_fn max_body_of; /* NULL: max_body for every response */

    http_check_fn check;        /* NULL: no further check */
    http_headers_fn on_headers; /* NULL: as if it returned on_data != NULL */
    http_data_fn on_data;       /* NULL: the body is collected */
};

struct http_timing {
    int64_t connect_ms;    /* until the connection stood, look-up and TLS included; 0 when one was used again */
    int64_t first_byte_ms; /* until the first byte of the last response; -1 when none came */
    int64_t total_ms;
};

/* What came of a request. Borrowed until the callback returns; `body` may be taken with buf_take.
 *
 * STATUS_OK        a whole response with any HTTP status code; see `code`
 * STATUS_INVALID   URL, method or header is malformed
 * STATUS_REFUSED   the guard, the scheme or `check` forbids it; or configured traffic was redirected
 * STATUS_NETWORK   no such host, no connection, it broke, it does not speak HTTP, or more than max_redirects
 * STATUS_TIMEOUT   one of the time-outs
 * STATUS_TOO_BIG   max_body was passed; body holds the beginning
 * STATUS_IO        the reader gave nothing, or this process has no descriptors left
 * STATUS_CANCELED  http_request_cancel or http_client_destroy */
struct http_response {
    enum status status;
    struct error error; /* in plain words, with host and remedy, unless status is STATUS_OK; no internal address */
    int code;           /* HTTP status code; 0 when no response came */
    int version;        /* 10, 11, 20, 30; 0 when unknown */
    struct buf body;    /* decoded; what came before a failure, too. Empty when it was streamed */
    uint64_t received;  /* decoded bytes of body, collected or streamed */
    const char *effective_url; /* of the last hop, without user and password */
    const char *addresses; /* numeric, of the peers of all hops, separated by blanks: what the guard let through (with
                              a proxy, all that it may have connected to). Empty when no connection stood, or when
                              there are too many to list */
    int redirects;         /* hops that were followed */
    struct http_timing timing;
    struct http_request *request; /* for http_response_header */
};

/* Starts a request. Everything `options` points to is copied, except what is said to be borrowed. `done` comes exactly
 * once, never from inside this call or http_request_cancel. The handle is valid until `done` returns. */
struct http_request *http_request_start(struct http_client *client, const struct http_options *options,
                                        http_done_fn done, void *user);

/* Ends the request: no other callback of it is called, and `done` comes with STATUS_CANCELED in a later turn. Further
 * calls change nothing. */
void http_request_cancel(struct http_request *request);

/* A header of the last response, by its name in any case: the first of several, or NULL. Trailing and leading blanks
 * are cut. Borrowed until the callback returns. */
const char *http_response_header(const struct http_response *response, const char *name);

/* All values of a header that came several times, joined by ", " (RFC 9110, 5.3); the first hundred. A fresh string, or
 * NULL when there is none. */
char *http_response_header_list(const struct http_response *response, const char *name);

/* How many requests are under way, for both kinds of traffic together. */
size_t http_client_in_flight(const struct http_client *client);

#endif
