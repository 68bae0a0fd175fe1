/* src/protocol/prompt_view.h
 *
 * What is sent to the model: the transcript under the profile's rule for thought. A view owns its list of messages and
 * borrows all text in wire form (the inside of a JSON string), so making one costs a few words per message however long
 * they are.
 *
 * A view stays good while the transcript it was made from lives and its last message is not rewritten.
 */
#ifndef FATHOM_PROTOCOL_PROMPT_VIEW_H
#define FATHOM_PROTOCOL_PROMPT_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"
#include "protocol/message.h"

struct transcript;

struct prompt_message {
    enum message_role role;
    struct str wire;         /* content */
    struct str wire_thought; /* for the reasoning field; empty unless the view was made with THOUGHT_FIELD */

    /* With THOUGHT_INLINE, the thought in `wire` and what follows it, for a server that keeps thought in a field of its
     * own: these may be sent in place of `wire`. Both empty where there is no thought. */
    struct str split_thought, split_rest;
};

struct prompt_view {
    struct prompt_message *messages;
    size_t count;
    size_t capacity;
};

struct prompt_view_options {
    enum thought_history thought;
    bool
        reopen_thought; /* with THOUGHT_INLINE: put back the `<think>` that a template wrote for the model. For
                           /v1/completions, where our own template writes it; a chat server's template does so itself */
};

void prompt_view_init(struct prompt_view *view);

/* Frees the list. NULL and zeroed are allowed. */
void prompt_view_finish(struct prompt_view *view);

/* Makes `view` (initialized; earlier contents are forgotten) show the whole transcript. */
void prompt_view_build(struct prompt_view *view, const struct transcript *transcript,
                       const struct prompt_view_options *options);

/* Adds one message whose wire form the caller owns, for prompts that have no transcript (a page summary). */
void prompt_view_add(struct prompt_view *view, enum message_role role, struct str wire);

#endif
