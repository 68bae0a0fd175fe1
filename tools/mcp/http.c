/* tools/mcp/http.c: an MCP server at an address, by streamable HTTP (specification 2025-11-25, "Transports").
 *
 * Every message of ours is a POST of its own, and the answer to a request comes as the body of its response: one JSON
 * object, or a stream of events that ends with it. A stream that breaks is taken up again by a GET with the last
 * event's id. One more GET hears what the server says of itself. */
#include "tools/mcp/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/mem.h"
#include "loop/loop.h"
#include "net/sse.h"

#define CONNECT_TIMEOUT_MS 10000
#define NOTICE_TIMEOUT_MS  10000 /* for a message that has no answer to be accepted */
#define DELETE_TIMEOUT_MS  2000

/* A stream that ended is asked for again after what the server said with "retry:", within bounds. */
#define DEFAULT_RETRY_MS INT64_C(1000)
#define MIN_RETRY_MS     INT64_C(50)
#define MAX_RETRY_MS     INT64_C(60000)
#define MAX_SILENT_TRIES 5 /* in a row without an event */

/* A stream may bring many messages; that of the server's own talk lasts as long as the program. */
#define MAX_STREAM_BYTES ((size_t)256 * 1024 * 1024)
#define MAX_TALK_BYTES   ((size_t)1024 * 1024 * 1024)

#define MAX_HEADERS 64
#define MAX_SESSION 1024

enum exchange_kind {
    EXCHANGE_REQUEST, /* POST, an answer is wanted */
    EXCHANGE_NOTICE,  /* POST of a notification or an answer */
    EXCHANGE_TALK,    /* GET: what the server has to say by itself */
    EXCHANGE_END,     /* DELETE */
};

struct link;

/* A request with its answer, over as many HTTP requests as that takes. */
struct exchange {
    struct link *link;
    struct exchange *next;
    enum exchange_kind kind;
    int64_t id;
    bool handshake; /* nothing else is sent before the server has it */
    struct buf text;
    struct http_header *headers; /* of this message; copies */
    size_t n_headers;
    struct http_request *request; /* NULL while the timer runs */
    struct loop_timer *timer;     /* until the stream is asked for again */
    struct sse_parser events;
    bool too_big;         /* an event of it was more than is taken */
    bool streamed, heard; /* the response is a stream of events; an event came on it */
    bool dropped;         /* nobody wants it any more */
    int silent_tries;
    char *last_event; /* NULL before one came with an id */
};

struct link {
    struct mcp_transport transport;
    struct mcp_listener listener;
    struct loop *loop;
    const struct mcp_options *options;
    char *session, *version; /* NULL before they are known */
    struct exchange *exchanges;
    struct exchange *held; /* wait for the handshake, in their order */
    bool in_handshake, closing, closed, abandoned;
    struct error why;
};

static void exchange_start(struct exchange *exchange);

/* ---- the end of the whole ---- */

static void set_free(struct link *link)
{
    free(link->session);
    free(link->version);
    free(link);
}

static void finish(void *user)
{
    struct link *link = user;
    if (link->abandoned)
        set_free(link);
    else
        link->listener.closed(link->listener.user, &link->why);
}

static void check_finished(struct link *link)
{
    if (!link->closing || link->exchanges != NULL || link->closed)
        return;
    link->closed = true;
    loop_defer(link->loop, finish, link);
}

static void exchange_free(struct exchange *exchange)
{
    loop_timer_destroy(exchange->timer);
    sse_parser_finish(&exchange->events);
    buf_finish(&exchange->text);
    for (size_t i = 0; i < exchange->n_headers; i++) {
        free((char *)(uintptr_t)exchange->headers[i].name);
        free((char *)(uintptr_t)exchange->headers[i].value);
    }
    free(exchange->headers);
    free(exchange->last_event);
    free(exchange);
}

static void exchange_over(struct exchange *exchange)
{
    struct link *link = exchange->link;
    struct exchange **at = &link->exchanges;
    while (*at != exchange)
        at = &(*at)->next;
    *at = exchange->next;
    exchange_free(exchange);
    check_finished(link);
}

static void drop(struct exchange *exchange)
{
    if (exchange->dropped)
        return;
    exchange->dropped = true;
    if (exchange->request != NULL)
        http_request_cancel(exchange->request); /* its end follows */
    else
        loop_timer_start(exchange->timer, 0);
}

/* Ends everything under way; `closed` follows when all of it is gone. */
static void shut(struct link *link, const struct error *why)
{
    if (link->closing)
        return;
    link->closing = true;
    link->why = *why;
    for (struct exchange *exchange = link->exchanges; exchange != NULL; exchange = exchange->next)
        drop(exchange);
    while (link->held != NULL) {
        struct exchange *exchange = link->held;
        link->held = exchange->next;
        exchange_free(exchange);
    }
}

/* ---- what comes ---- */

static bool event_came(void *user, const struct sse_event *event)
{
    struct exchange *exchange = user;
    if (event->kind != SSE_MESSAGE)
        return true;
    exchange->heard = true;
    if (str_trim(event->data).len > 0) /* an empty one only brings an id */
        exchange->link->listener.message(exchange->link->listener.user, event->data, exchange->id);
    return !exchange->dropped;
}

static const char too_large[] = "its answer is too large. Ask for less at once.";

static void data_came(void *user, struct str data)
{
    struct exchange *exchange = user;
    if (sse_parser_feed(&exchange->events, data) == STATUS_OK)
        return;
    exchange->too_big = true;
    log_message(LOG_WARNING, "mcp", "%s sent an event that is too large", exchange->link->options->name);
}

static bool is_type(const struct http_response *response, const char *type)
{
    const char *given = http_response_header(response, "content-type");
    return given != NULL && str_starts_with_nocase(str_of(given), str_of(type));
}

static void note_session(struct link *link, const struct http_response *head)
{
    const char *session = http_response_header(head, "mcp-session-id");
    if (session == NULL || link->session != NULL || *session == '\0' || strlen(session) > MAX_SESSION)
        return;
    for (const char *c = session; *c != '\0'; c++) {
        if (*c < 0x21 || *c > 0x7e)
            return;
    }
    link->session = mem_strdup(session);
}

static bool head_came(void *user, const struct http_response *head)
{
    struct exchange *exchange = user;
    if (exchange->kind == EXCHANGE_REQUEST && head->code == 200)
        note_session(exchange->link, head);
    exchange->streamed = head->code == 200 && is_type(head, "text/event-stream");
    return exchange->streamed;
}

/* Events come one at a time; all else is kept whole, and one message has its bound. */
static size_t body_cap(void *user, const struct http_response *head)
{
    (void)user;
    return is_type(head, "text/event-stream") ? SIZE_MAX : MCP_MAX_MESSAGE;
}

/* ---- what becomes of it ---- */

static void lose(struct exchange *exchange, enum mcp_fate fate, const char *why)
{
    struct link *link = exchange->link;
    if (exchange->kind == EXCHANGE_REQUEST && !exchange->dropped)
        link->listener.lost(link->listener.user, exchange->id, fate, why);
    exchange_over(exchange);
}

/* The server has forgotten the session: 404 says so, and servers built on the usual kit's examples say 400. A server
 * that keeps no streams may answer a GET in the same way and mean nothing by it. */
static bool session_is_gone(const struct exchange *exchange, const struct http_response *response)
{
    if (exchange->link->session == NULL || exchange->kind == EXCHANGE_TALK || exchange->last_event != NULL)
        return false;
    return response->code == 404 ||
           (response->code == 400 && str_find_nocase(buf_str(&response->body), STR("session"), 0) != STR_NONE);
}

static void describe_code(const struct http_response *response, char *out, size_t size)
{
    const char *remedy = "";
    if (response->code == 401 || response->code == 403)
        remedy = "; it wants another authorization header than the configured one (OAuth is not supported)";
    else if (response->code == 404 || response->code == 405)
        remedy = "; there is no MCP endpoint of streamable HTTP at this address";
    else if (response->code == 429)
        remedy = "; it gets too many requests";
    snprintf(out, size, "it answered with HTTP %d%s", response->code, remedy);
}

static void ask_again(void *user)
{
    struct exchange *exchange = user;
    if (exchange->dropped)
        exchange_over(exchange);
    else
        exchange_start(exchange);
}

/* A stream has ended without what was wanted: it is asked for again, if that makes sense. */
static void stream_ended(struct exchange *exchange)
{
    struct link *link = exchange->link;
    bool talk = exchange->kind == EXCHANGE_TALK;
    exchange->silent_tries = exchange->heard ? 0 : exchange->silent_tries + 1;
    if (!talk && !link->listener.waits(link->listener.user, exchange->id)) {
        exchange_over(exchange);
    } else if (!talk && exchange->too_big) {
        lose(exchange, MCP_REFUSED, too_large);
    } else if (exchange->silent_tries >= MAX_SILENT_TRIES || (!talk && exchange->last_event == NULL)) {
        lose(exchange, MCP_LOST, "the connection to it broke before its answer had come");
    } else {
        int64_t wait = exchange->events.retry_ms;
        wait = wait < 0 ? DEFAULT_RETRY_MS << (exchange->silent_tries > 4 ? 4 : exchange->silent_tries) : wait;
        wait = wait < MIN_RETRY_MS ? MIN_RETRY_MS : wait > MAX_RETRY_MS ? MAX_RETRY_MS : wait;
        loop_timer_start(exchange->timer, wait);
    }
}

static void release_held(struct link *link)
{
    link->in_handshake = false;
    while (link->held != NULL) {
        struct exchange *exchange = link->held;
        link->held = exchange->next;
        exchange->next = link->exchanges;
        link->exchanges = exchange;
        exchange_start(exchange);
    }
}

static void listen_to_talk(struct link *link);

static void notice_accepted(struct exchange *exchange)
{
    struct link *link = exchange->link;
    bool handshake = exchange->handshake;
    exchange_over(exchange);
    if (handshake && !link->closing) {
        release_held(link);
        listen_to_talk(link);
    }
}

static void answered(struct exchange *exchange, const struct http_response *response)
{
    struct link *link = exchange->link;
    char why[200];
    describe_code(response, why, sizeof why);
    if (exchange->kind == EXCHANGE_TALK || exchange->last_event != NULL) {
        lose(exchange, MCP_LOST, why); /* it keeps no streams, which it need not */
        return;
    }
    if (exchange->kind == EXCHANGE_NOTICE) {
        if (response->code / 100 != 2)
            log_message(LOG_WARNING, "mcp", "%s: %s to a notification", link->options->name, why);
        notice_accepted(exchange);
        return;
    }
    /* Errors too may come as JSON-RPC. Where the body is no answer to the request, it is lost all the same. */
    if (exchange->kind == EXCHANGE_REQUEST && response->body.len > 0 && is_type(response, "application/json"))
        link->listener.message(link->listener.user, buf_str(&response->body), exchange->id);
    lose(exchange, MCP_LOST, response->code / 100 == 2 ? "it sent no answer to the request" : why);
}

static void done(void *user, struct http_response *response)
{
    struct exchange *exchange = user;
    struct link *link = exchange->link;
    exchange->request = NULL;
    if (exchange->streamed && !exchange->dropped)
        sse_parser_end(&exchange->events);
    if (exchange->events.id.len > 0) {
        free(exchange->last_event);
        exchange->last_event = str_dup(buf_str(&exchange->events.id));
    }
    if (exchange->dropped || exchange->kind == EXCHANGE_END) {
        exchange_over(exchange);
    } else if (response->status == STATUS_OK && session_is_gone(exchange, response)) {
        const struct error why = {.status = STATUS_NOT_FOUND, .message = "the server has ended the session"};
        lose(exchange, MCP_NOT_DELIVERED, why.message);
        shut(link, &why);
        check_finished(link);
    } else if (exchange->streamed) {
        stream_ended(exchange);
    } else if (response->status == STATUS_OK) {
        answered(exchange, response);
    } else if (response->status == STATUS_TOO_BIG && exchange->kind == EXCHANGE_REQUEST) {
        lose(exchange, MCP_REFUSED, too_large);
    } else if (exchange->kind == EXCHANGE_NOTICE) {
        log_message(LOG_WARNING, "mcp", "%s: %s", link->options->name, response->error.message);
        notice_accepted(exchange);
    } else if (exchange->kind == EXCHANGE_TALK || exchange->last_event != NULL) {
        exchange->heard = false;
        stream_ended(exchange);
    } else {
        lose(exchange, MCP_LOST, response->error.message);
    }
}

/* ---- what goes ---- */

static void exchange_start(struct exchange *exchange)
{
    struct link *link = exchange->link;
    const struct mcp_options *options = link->options;
    struct http_header headers[2 * MAX_HEADERS + 6];
    size_t count = 0;
    bool post =
        (exchange->kind == EXCHANGE_REQUEST && exchange->last_event == NULL) || exchange->kind == EXCHANGE_NOTICE;
    headers[count++] =
        (struct http_header){"Accept", post ? "application/json, text/event-stream" : "text/event-stream"};
    if (post)
        headers[count++] = (struct http_header){"Content-Type", "application/json"};
    if (link->version != NULL)
        headers[count++] = (struct http_header){"MCP-Protocol-Version", link->version};
    if (link->session != NULL)
        headers[count++] = (struct http_header){"Mcp-Session-Id", link->session};
    if (exchange->last_event != NULL)
        headers[count++] = (struct http_header){"Last-Event-ID", exchange->last_event};
    for (size_t i = 0; i < exchange->n_headers; i++)
        headers[count++] = exchange->headers[i];
    for (size_t i = 0; i < options->n_headers && i < MAX_HEADERS; i++)
        headers[count++] = options->headers[i];

    /* A new stream begins without the rest of the old one. */
    sse_parser_finish(&exchange->events);
    sse_parser_init(&exchange->events, MCP_MAX_MESSAGE, event_came, exchange);
    exchange->streamed = exchange->heard = false;
    const struct http_options request = {
        .traffic = HTTP_CONFIGURED,
        .url = options->url,
        .method = post                             ? "POST"
                  : exchange->kind == EXCHANGE_END ? "DELETE"
                                                   : "GET",
        .headers = headers,
        .n_headers = count,
        .body = post ? buf_str(&exchange->text) : STR(""),
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .total_timeout_ms = exchange->kind == EXCHANGE_NOTICE ? NOTICE_TIMEOUT_MS
                            : exchange->kind == EXCHANGE_END  ? DELETE_TIMEOUT_MS
                                                              : 0,
        .max_body = exchange->kind == EXCHANGE_TALK ? MAX_TALK_BYTES : MAX_STREAM_BYTES,
        .max_body_of = body_cap,
        .accept_encoding = true,
        .on_headers = head_came,
        .on_data = data_came,
    };
    exchange->request = http_request_start(options->http, &request, done, exchange);
}

static struct exchange *exchange_create(struct link *link, enum exchange_kind kind)
{
    struct exchange *exchange = mem_zalloc(sizeof *exchange);
    exchange->link = link;
    exchange->kind = kind;
    exchange->timer = loop_timer_create(link->loop, ask_again, exchange);
    buf_init(&exchange->text, BUF_UNBOUNDED);
    return exchange;
}

static void add(struct link *link, struct exchange *exchange)
{
    exchange->next = link->exchanges;
    link->exchanges = exchange;
    exchange_start(exchange);
}

static void listen_to_talk(struct link *link)
{
    add(link, exchange_create(link, EXCHANGE_TALK));
}

static void copy_headers(struct exchange *exchange, const struct mcp_outgoing *message)
{
    exchange->n_headers = message->n_headers < MAX_HEADERS ? message->n_headers : MAX_HEADERS;
    exchange->headers = mem_calloc(exchange->n_headers + 1, sizeof *exchange->headers);
    for (size_t i = 0; i < exchange->n_headers; i++)
        exchange->headers[i] =
            (struct http_header){mem_strdup(message->headers[i].name), mem_strdup(message->headers[i].value)};
}

static void http_send(struct mcp_transport *transport, const struct mcp_outgoing *message)
{
    struct link *link = (struct link *)transport;
    if (link->closing)
        return;
    struct exchange *exchange = exchange_create(link, message->id > 0 ? EXCHANGE_REQUEST : EXCHANGE_NOTICE);
    exchange->id = message->id;
    exchange->handshake = message->method != NULL && strcmp(message->method, "notifications/initialized") == 0;
    buf_add(&exchange->text, message->text);
    copy_headers(exchange, message);
    if (link->in_handshake) {
        struct exchange **at = &link->held;
        while (*at != NULL)
            at = &(*at)->next;
        *at = exchange;
        return;
    }
    link->in_handshake = exchange->handshake;
    add(link, exchange);
}

static void http_forget(struct mcp_transport *transport, int64_t id)
{
    struct link *link = (struct link *)transport;
    for (struct exchange *exchange = link->exchanges; exchange != NULL; exchange = exchange->next) {
        if (exchange->kind == EXCHANGE_REQUEST && exchange->id == id)
            drop(exchange);
    }
    for (struct exchange **at = &link->held; *at != NULL; at = &(*at)->next) {
        struct exchange *exchange = *at;
        if (exchange->kind != EXCHANGE_REQUEST || exchange->id != id)
            continue;
        *at = exchange->next;
        exchange_free(exchange);
        return;
    }
}

static void http_agreed(struct mcp_transport *transport, const char *version)
{
    struct link *link = (struct link *)transport;
    free(link->version);
    link->version = mem_strdup(version);
}

static void http_close(struct mcp_transport *transport)
{
    struct link *link = (struct link *)transport;
    const struct error why = {.status = STATUS_CANCELED, .message = "it was stopped"};
    if (link->closing)
        return;
    shut(link, &why);
    if (link->session != NULL)
        add(link, exchange_create(link, EXCHANGE_END));
    check_finished(link);
}

static void http_destroy(struct mcp_transport *transport)
{
    struct link *link = (struct link *)transport;
    const struct error why = {.status = STATUS_CANCELED, .message = "it was stopped"};
    link->abandoned = true;
    if (link->closed) {
        loop_defer_cancel(link->loop, finish, link);
        set_free(link);
        return;
    }
    shut(link, &why);
    check_finished(link);
}

static const struct mcp_transport_type http_type = {
    .send = http_send,
    .forget = http_forget,
    .agreed = http_agreed,
    .close = http_close,
    .destroy = http_destroy,
};

struct mcp_transport *mcp_http_open(struct loop *loop, const struct mcp_options *options,
                                    const struct mcp_listener *listener)
{
    struct link *link = mem_zalloc(sizeof *link);
    link->transport.type = &http_type;
    link->listener = *listener;
    link->loop = loop;
    link->options = options;
    return &link->transport;
}
