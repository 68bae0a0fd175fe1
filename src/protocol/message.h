/* src/protocol/message.h
 *
 * The words that transcript, prompt view and templates share. There is no tool role: what tools return goes back to the
 * model as a user message (protocol.md, "Transcript and prompt view").
 */
#ifndef FATHOM_PROTOCOL_MESSAGE_H
#define FATHOM_PROTOCOL_MESSAGE_H

#include <stddef.h>

enum message_role { MESSAGE_SYSTEM, MESSAGE_USER, MESSAGE_ASSISTANT };

/* "system", "user", "assistant", as in the messages of a request and of the result. Static. */
const char *message_role_name(enum message_role role);

/* What becomes of the thought of earlier turns when they are sent again. */
enum thought_history {
    THOUGHT_INLINE, /* stays in the content, byte for byte as the model wrote it */
    THOUGHT_FIELD,  /* goes into a reasoning field of its own */
    THOUGHT_DROP,   /* is left out */
};

/* Where the thought of an assistant message stands in its text, in bytes: [from, to) lies between the tags, `rest` is
 * where the text behind `</think>` begins. from == to == rest == 0 says that there is none. Where the server's template
 * wrote the opening tag, `from` is 0; thought that was never closed has to == rest == the text's length. */
struct thought_range {
    size_t from, to, rest;
};

#endif
