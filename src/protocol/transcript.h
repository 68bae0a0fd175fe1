/* src/protocol/transcript.h
 *
 * Everything that happened in a run, as messages, append-only. What is sent to a model is a prompt view of it
 * (protocol/prompt_view.h).
 *
 * Each message is kept once, as the inside of a JSON string (its wire form), so that a request is a few fixed bytes
 * around borrowed chunks and nobody escapes half a megabyte again every round. A chunk never moves and never changes
 * once its message was appended, so a request in flight may read it while the transcript grows; the exceptions are the
 * three functions that rewrite the last message, which may be called only while no request is under way.
 *
 * Roles alternate always: [system] user assistant user assistant …; an append out of turn is STATUS_ORDER. Observations
 * of one model message form one user message of blocks
 *
 *     <tool_response>\n…\n</tool_response>
 *
 * joined by a newline, with nothing before, between or after them (chat templates know a tool's turn by that). What the
 * program itself has to say stands inside a block.
 *
 * One thread at a time. The transcript owns all text; it copies what it is given.
 */
#ifndef FATHOM_PROTOCOL_TRANSCRIPT_H
#define FATHOM_PROTOCOL_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"
#include "protocol/message.h"

struct transcript;
struct profile;

/* A message as it is kept. All pieces are wire form, lie in the same chunk and are borrowed until the transcript goes;
 * the struct itself only until the next append. */
struct transcript_message {
    enum message_role role;
    struct str wire;     /* the whole content, as the model wrote it */
    struct str reopened; /* the same with the `<think>` in front that the server's template wrote; == wire elsewhere */
    struct str thought;  /* without the tags and without newlines at its ends; empty where there is none */
    struct str rest;     /* what follows the thought, without newlines in front; == wire where there is no thought */
    size_t text_len;     /* bytes of the plain text */
};

/* What one block of an observation message holds: the tool's text (already cleaned and capped), and behind it, after an
 * empty line, what the program has to add (a warning, a notice). Each may be empty; an empty text with a notice is a
 * block of the program's own. */
struct observation {
    struct str text;
    struct str notice;
};

/* Where a demand for the answer stands in the last user message. */
enum demand_place {
    DEMAND_INSIDE,  /* inside the last block, behind its text */
    DEMAND_APPEND,  /* in a block of its own, behind the others */
    DEMAND_REPLACE, /* in a block of its own, in place of the others */
};

/* `max_bytes` caps the sum of the wire forms; an append that would pass it is STATUS_TOO_BIG and changes nothing. */
struct transcript *transcript_create(size_t max_bytes);

/* NULL is allowed. */
void transcript_destroy(struct transcript *transcript);

/* Appends a system or user message. STATUS_ORDER, STATUS_TOO_BIG. */
enum status transcript_append(struct transcript *transcript, enum message_role role, struct str text) STATUS_CHECKED;

/* Appends what the model wrote, byte for byte. `thought` says where its thought stands; NULL where it has none.
 * STATUS_ORDER, STATUS_TOO_BIG; STATUS_INVALID when the range does not lie in the text. */
enum status transcript_append_assistant(struct transcript *transcript, struct str text,
                                        const struct thought_range *thought) STATUS_CHECKED;

/* Appends the results of one model message's calls, in call order, as one user message. `count` >= 1.
 * STATUS_ORDER, STATUS_TOO_BIG. */
enum status transcript_append_observations(struct transcript *transcript, const struct observation *observations,
                                           size_t count) STATUS_CHECKED;

/* Cuts the texts of the last message, when it is one of observations, so that together they take at most `max_bytes`:
 * the smallest are served first, each is cut at a line (else between characters), and the profile's note says how much
 * went. The notes and notices come on top of `max_bytes`. Returns whether anything was cut. Moves the last message: no
 * request may be reading it. */
bool transcript_shorten_last(struct transcript *transcript, const struct profile *profile, size_t max_bytes);

/* Appends to `text` (unbounded) the plain text that the last message, which must be there, would have after
 * transcript_shorten_last. */
void transcript_read_shortened(const struct transcript *transcript, const struct profile *profile, size_t max_bytes,
                               struct buf *text);

/* Puts a demand for the answer (or another word of the program's) into the last message, which must be the user's: a
 * message of observations gets it at `place`; a question gets it behind an empty line, whatever `place` says. Moves the
 * last message: no request may be reading it. STATUS_ORDER when the last message is not the user's, STATUS_TOO_BIG. */
enum status transcript_demand(struct transcript *transcript, struct str text, enum demand_place place) STATUS_CHECKED;

size_t transcript_count(const struct transcript *transcript);
const struct transcript_message *transcript_at(const struct transcript *transcript, size_t index);

/* Bytes of all wire forms. */
size_t transcript_bytes(const struct transcript *transcript);

/* Appends the plain text of a message to `out`. STATUS_TOO_BIG when out's cap is passed. */
enum status transcript_read(const struct transcript *transcript, size_t index, struct buf *out) STATUS_CHECKED;

/* Finds the thought of a completion that follows the protocol's plain case: an optional `<think>` at the start,
 * everything up to the first `</think>`. A `<think>` that is never closed takes the whole text. Zeroes where there is
 * none. The tag parser (protocol/tag_parser.h) knows the ranges of the hard cases. */
struct thought_range thought_range_find(struct str text);

#endif
