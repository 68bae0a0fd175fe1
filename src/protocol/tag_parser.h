/* src/protocol/tag_parser.h
 *
 * Reads a completion while it streams: what is thought, which calls are closed, where the answer stands, and whether
 * the model began to write tool results itself. Implements protocol.md, "Reading a completion".
 *
 * Incremental: the same bytes cut at any places give the same calls, answer and outcome; only the cuts of THOUGHT and
 * TEXT pieces differ. Every byte is searched once, and a second or third time only where the end of the message decides
 * how an open element is to be read. Memory is bounded by max_element_bytes, which limits the open element and, apart
 * from it, the calls that wait for a decision.
 *
 * Tags are the exact lower-case ASCII words without blanks or attributes: <think> </think> <tool_call> </tool_call>
 * <code>
 * </code> <answer> </answer> <tool_response>. Any other spelling is text. (Cleaning is wider: protocol/clean.h.)
 *
 * How thought is told from the rest
 *   - While thought is open nothing inside is acted on; </think> ends it wherever it stands, also inside a call.
 *   - thought_expected and neither <think> nor </think> seen: undecided. Calls are kept back, because a later </think>
 *     makes everything before it thought. <think> or the end of the message releases them.
 *   - After thought was closed, a stray </think> is text, and <think> outside an element opens another thought.
 *   - Thought never closed: on TAG_END_STOP the complete calls and answers after the last <think> count, and the last
 *     of them decides: an answer, or the calls behind the last answer. On TAG_END_LENGTH only when nothing but white
 *     space (or an invented <tool_response>) follows them; otherwise the thought was cut.
 *   - A <tool_response> inside thought ends nothing, and neither does one that precedes every call while thought is
 *     undecided: it ends the message only if no </think> follows.
 *
 * How an element ends
 *   - A call ends at the first </tool_call>. Inside an open <code> that is program text; the program reaches to the
 *     last </code> before the </tool_call> that ends the call, so it may speak of </code> itself. A <code> that is
 *     never closed does not protect: at the end of the message its call ends at the first </tool_call>.
 *   - Inside a JSON string of a call, <code>, <tool_call> and <answer> are text, provided that the string is closed
 *     when </tool_call> comes. </tool_call> and <tool_response> are always tags outside <code>.
 *   - <tool_call> or <answer> outside a string ends an unclosed call; <answer> in an open answer begins it anew.
 *   - An element that holds only white space is none. Neither is an unclosed <tool_call> followed by prose.
 *   - The first answer counts (outside thought); later ones are text.
 */
#ifndef FATHOM_PROTOCOL_TAG_PARSER_H
#define FATHOM_PROTOCOL_TAG_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/str.h"

struct tag_parser;

#define TAG_PARSER_DEFAULT_ELEMENT_BYTES (4u << 20)

struct tag_parser_options {
    bool thought_expected;    /* the profile's models think: calls wait until thought is known to be over */
    bool thought_open;        /* the server's template has written <think> already */
    size_t max_element_bytes; /* 0 takes TAG_PARSER_DEFAULT_ELEMENT_BYTES */
};

/* Repairs, a set. Names from tag_repair_name. */
enum tag_repair {
    TAG_REPAIR_UNCLOSED_THOUGHT = 1 << 0, /* calls or answer were taken out of thought that was never closed */
    TAG_REPAIR_UNCLOSED_CALL = 1 << 1,    /* a call without </tool_call> */
    TAG_REPAIR_UNCLOSED_CODE = 1 << 2,    /* a program without </code> */
    TAG_REPAIR_UNCLOSED_ANSWER = 1 << 3,  /* an answer without </answer> */
    TAG_REPAIR_STRAY_CALL_TAG = 1 << 4,   /* a <tool_call> with nothing of a call behind it was passed over */
};

/* The name of the lowest repair in the set, for example "unclosed-thought"; NULL when the set is empty. */
const char *tag_repair_name(unsigned repairs);

enum tag_event_kind {
    TAG_THOUGHT, /* a piece of thought, for display; any cut. What is undecided comes as TEXT first */
    TAG_TEXT,    /* a piece of text outside thought and elements, for display; any cut */
    TAG_CALL,    /* a call that counts: outside thought, ended. It may start */
    TAG_ANSWER,  /* the answer that counts */
    TAG_CUT, /* the model began a <tool_response>: stop the stream. Nothing but TAG_CALLs and TAG_ANSWER released before
              * it belongs to the message; what is fed afterwards is ignored */
};

struct tag_event {
    enum tag_event_kind kind;
    struct str text;   /* THOUGHT, TEXT: the piece. CALL: all between the tags. ANSWER: its text, blanks trimmed */
    struct str json;   /* CALL: what precedes <code>, or all */
    struct str code;   /* CALL: the program as it stands between <code> and </code> */
    bool has_code;     /* CALL: there was a <code> */
    bool closed;       /* CALL: </tool_call> was there. An unclosed call counts only if call_decode takes it */
    unsigned repairs;  /* CALL, ANSWER: enum tag_repair */
    size_t start, end; /* bytes of the completion, tags included */
};

/* Everything in `event` is borrowed until the function returns. It must not feed the same parser. */
typedef void (*tag_event_fn)(void *user, const struct tag_event *event);

enum tag_end {
    TAG_END_STOP,   /* the model ended by itself or at a stop string */
    TAG_END_LENGTH, /* a cap cut it */
    TAG_END_BROKEN, /* stream broken, cancelled, deadline: only what is closed counts */
};

enum tag_inside { TAG_INSIDE_NOTHING, TAG_INSIDE_THOUGHT, TAG_INSIDE_CALL, TAG_INSIDE_ANSWER };

/* A thought: [start, end) in bytes of the completion with its tags, [text_start, text_end) without. An unclosed thought
 * out of which something was taken ends where that begins. */
struct tag_range {
    size_t start, text_start, text_end, end;
};

/* What is known so far; final after tag_parser_end. Borrowed from the parser and updated by it. */
struct tag_outcome {
    size_t length;       /* bytes that belong to the message: all that were fed, or up to the cut */
    bool thought_seen;   /* <think>, </think> or thought_open */
    bool thought_closed; /* the last thought that was opened is closed */
    bool has_answer;
    size_t n_calls;       /* TAG_CALLs emitted */
    size_t n_empty_calls; /* <tool_call> with only blanks inside, outside thought */
    bool cut;             /* the model wrote a <tool_response>, which begins at cut_offset */
    size_t cut_offset;
    enum tag_inside inside; /* what was open when the message ended (before any repair) */
    unsigned repairs;       /* enum tag_repair, of the whole message */
    const struct tag_range *thoughts;
    size_t n_thoughts;
};

/* `emit` is called from feed and end. `options` NULL takes no thought and the default cap. */
struct tag_parser *tag_parser_create(const struct tag_parser_options *options, tag_event_fn emit, void *user);

/* NULL is allowed. */
void tag_parser_destroy(struct tag_parser *parser);

/* Forgets the message, keeps the options. */
void tag_parser_reset(struct tag_parser *parser);

/* Takes more of the completion. After a cut nothing happens any more.
 * STATUS_TOO_BIG  a call or answer outside thought (or the calls kept back) outgrew the cap, or the list of thoughts
 * did; final for this message */
enum status tag_parser_feed(struct tag_parser *parser, struct str bytes) STATUS_CHECKED;

/* The message is over: emits what only the end decides. Once for each message; STATUS_TOO_BIG as before. */
enum status tag_parser_end(struct tag_parser *parser, enum tag_end how) STATUS_CHECKED;

const struct tag_outcome *tag_parser_outcome(const struct tag_parser *parser);

#endif
