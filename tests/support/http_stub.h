/* tests/support/http_stub.h
 *
 * A scripted HTTP/1.1 server on loopback, on a thread of its own, for tests of whatever speaks HTTP.
 *
 * For each whole request the handler writes a script: bytes to send, pauses, ways to end. The server plays it and goes
 * on with the connection unless the script ended it. The handler runs on the server's thread; what it shares with the
 * test it guards itself.
 */
#ifndef FATHOM_TESTS_HTTP_STUB_H
#define FATHOM_TESTS_HTTP_STUB_H

#include <stddef.h>

#include "core/str.h"

struct http_stub;
struct http_stub_script;

/* Borrowed until the handler returns. */
struct http_stub_request {
    struct str method;
    struct str target; /* as it stands in the request line */
    struct str head;   /* request line and headers, with the empty line */
    struct str body;
    int connection; /* counts from 1 in the order of acceptance */
    int number;     /* of the request, over all connections, from 1 */
};

typedef void (*http_stub_fn)(void *user, const struct http_stub_request *request, struct http_stub_script *script);

/* Listens on a free port of `address` ("127.0.0.1", "127.0.0.2", "::1"); NULL means 127.0.0.1. Aborts when it cannot.
 */
struct http_stub *http_stub_start(const char *address, http_stub_fn handler, void *user);

/* Closes all connections and joins the thread. NULL is allowed. */
void http_stub_stop(struct http_stub *stub);

int http_stub_port(const struct http_stub *stub);

/* So far; any thread. */
int http_stub_connections(struct http_stub *stub);
int http_stub_requests(struct http_stub *stub);

/* A header of a request by its name in any case, without blanks around it; empty when absent. */
struct str http_stub_header(const struct http_stub_request *request, const char *name);

/* Keeps a part of a request, as much as fits with a NUL. */
void http_stub_copy(char *out, size_t size, struct str text);

/* ---- scripts; bytes are copied ---- */

void http_stub_send(struct http_stub_script *script, struct str bytes);
void http_stub_sendf(struct http_stub_script *script, const char *format, ...) __attribute__((format(printf, 2, 3)));
void http_stub_pause(struct http_stub_script *script, int ms);
void http_stub_endless(struct http_stub_script *script, struct str bytes); /* again and again, until the peer leaves */
void http_stub_close(struct http_stub_script *script);
void http_stub_reset(struct http_stub_script *script); /* with a TCP reset */
void http_stub_hang(struct http_stub_script *script);  /* nothing more, and the connection stays open */

/* A whole response with Content-Length. `headers` are extra lines, each ended by \r\n; NULL for none. */
void http_stub_reply(struct http_stub_script *script, int code, const char *headers, struct str body);

#endif
