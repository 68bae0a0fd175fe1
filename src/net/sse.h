/* src/net/sse.h
 *
 * Server-sent events: an incremental parser of text/event-stream (WHATWG HTML, "Server-sent events", 9.2.5 and 9.2.6).
 *
 * Bytes may be cut anywhere, also inside CRLF or the byte order mark; the events are the same. Memory is bounded by
 * one event.
 */
#ifndef FATHOM_NET_SSE_H
#define FATHOM_NET_SSE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

enum sse_kind {
    SSE_MESSAGE, /* an event with its data */
    SSE_COMMENT, /* a line that begins with a colon, as keep-alives do; `data` is what follows the colon */
};

/* All borrowed until the callback returns. */
struct sse_event {
    enum sse_kind kind;
    struct str type; /* "message" unless the server named one */
    struct str data; /* data lines joined by \n */
    struct str id;   /* the last event id that was seen, empty at first */
};

/* False: the reader has enough; the parser takes nothing more. */
typedef bool (*sse_event_fn)(void *user, const struct sse_event *event);

struct sse_parser {
    sse_event_fn on_event;
    void *user;
    struct buf line;   /* an unfinished line of earlier chunks */
    struct buf data;   /* data lines of the open event, each followed by \n */
    struct buf type;   /* of the open event */
    struct buf id;     /* last event id */
    size_t max_event;  /* bytes */
    int64_t retry_ms;  /* last "retry:", -1 when there was none */
    bool has_data;     /* the open event has a data line */
    bool after_cr;     /* the last byte was CR, so LF belongs to it */
    bool bom_checked;  /* the start of the stream is behind us */
    bool stopped;      /* on_event returned false */
    enum status error; /* kept: a failed parser stays failed */
};

/* `max_event` caps the bytes of one event, and of one line. */
void sse_parser_init(struct sse_parser *parser, size_t max_event, sse_event_fn on_event, void *user);
void sse_parser_finish(struct sse_parser *parser); /* NULL and zeroed are allowed */

/* Takes the next bytes and reports the events they complete. STATUS_TOO_BIG when max_event is passed; then, and after
 * on_event returned false, nothing more is taken. on_event must not call finish. */
enum status sse_parser_feed(struct sse_parser *parser, struct str bytes) STATUS_CHECKED;

/* The stream is over. The standard drops an event that no blank line ended, but servers close right behind the last
 * line: an event is delivered if its last line was ended. Returns true when an unfinished line was dropped, which
 * hints at a cut. */
bool sse_parser_end(struct sse_parser *parser);

#endif
