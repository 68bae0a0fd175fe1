/* src/model/reply.h
 *
 * What an OpenAI-compatible server replies, turned into one stream of text in the tag protocol. Pure: it is fed the
 * JSON objects of a reply, one for each event of a stream or a single one, and writes text to a callback.
 *
 * - Thought in a field of its own (`reasoning_content`, `reasoning`, `thinking`, `reasoning_details`, content parts of
 * type "thinking") comes first, as <think>…</think>, and once: the first field that is seen counts, and content that
 * repeats it between tags loses the repetition. With nothing behind it the thought stays open.
 * - Native tool calls, streamed in pieces or whole, become <tool_call> blocks at the end.
 * - Only the first choice is read.
 */
#ifndef FATHOM_MODEL_REPLY_H
#define FATHOM_MODEL_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/str.h"
#include "model/reply_frame.h"
#include "protocol/generation.h"

#define REPLY_MAX_TEXT       ((size_t)32 * 1024 * 1024) /* bytes of a native call's arguments, of repeated thought */
#define REPLY_MAX_TOOL_CALLS 64

enum reply_field {
    REPLY_FIELD_NONE,
    REPLY_REASONING_CONTENT,
    REPLY_REASONING,
    REPLY_THINKING,
    REPLY_DETAILS,
    REPLY_PARTS
};

enum reply_end {
    REPLY_OPEN,     /* no finish reason yet */
    REPLY_FINISHED, /* `reason` holds */
    REPLY_ABORTED,  /* the server gave up: abort, error, out of resources */
};

struct reply_tool_call {
    bool used;
    char *id;
    struct buf name, arguments;
};

struct reply {
    void (*text)(void *user, struct str text);
    void *user;

    enum reply_end end;
    enum finish_reason reason;
    struct usage usage;
    char *served_model;
    enum reply_field field; /* where thought came from */
    json_t *error;          /* an error object in place of a completion; owned */
    size_t text_bytes;      /* written so far, white space not counted */

    /* Private. */
    enum { REPLY_START, REPLY_THOUGHT, REPLY_CONTENT_HEAD, REPLY_REPEATED, REPLY_CONTENT } state;
    struct buf held;             /* thought: the start of what may be a tag; content: its head, or repeated thought */
    size_t newlines;             /* of the thought, kept back until more of it comes */
    uint64_t hash, hashed_bytes; /* of the thought without white space */
    bool content_thought;        /* the content itself opened with <think> */
    char last;                   /* last byte written */
    struct reply_frame frame;
    struct reply_tool_call *calls;
    size_t n_calls, calls_capacity;
};

void reply_init(struct reply *reply, void (*text)(void *user, struct str text), void *user);
void reply_finish(struct reply *reply); /* NULL and zeroed are allowed */

/* Takes one JSON object of the reply. False when it is no part of a completion (no choices, usage or error in it):
 * garbage. */
bool reply_object(struct reply *reply, const json_t *object);

/* The same with the object as text, as an event of a stream has it. False when it is no JSON; an object that is no part
 * of a completion is passed over. */
bool reply_event(struct reply *reply, struct str event);

/* The reply is over: writes what was kept back, and the native calls. */
void reply_close(struct reply *reply);

#endif
