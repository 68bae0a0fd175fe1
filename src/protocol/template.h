/* src/protocol/template.h
 *
 * Chat templates for /v1/completions: how a list of messages is written as the one text that a model was trained to
 * continue. Named ones, equal to the byte with what the models' own templates give for the same messages.
 *
 * Rendering gives a list of wire pieces (the inside of the JSON string "prompt"): static markers and chunks borrowed
 * from the view. Nothing is copied or escaped.
 */
#ifndef FATHOM_PROTOCOL_TEMPLATE_H
#define FATHOM_PROTOCOL_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/str.h"
#include "protocol/prompt_view.h"

struct chat_template; /* static data */

struct template_options {
    bool bos; /* write the beginning-of-sequence token. Off for servers that add it when they tokenize a prompt, as
                 vLLM, SGLang and llama.cpp do: twice harms */
    bool open_think; /* open `<think>` for the model behind the generation prompt */
};

struct template_pieces {
    struct str *pieces;
    size_t count;
    size_t capacity;
};

/* "chatml", "llama3", "mistral", "mistral-v7", "gemma", "plain"; NULL when there is none of this name. */
const struct chat_template *template_find(struct str name);

/* The names, in the order above, for help and errors. Returns how many; `names` lives forever. */
size_t template_names(const char *const **names);

const char *template_name(const struct chat_template *chat_template);

/* The strings at which a server should stop, plain text, without those of the tag protocol. */
size_t template_stops(const struct chat_template *chat_template, const char *const **stops);

void template_pieces_init(struct template_pieces *pieces);
void template_pieces_finish(struct template_pieces *pieces);

/* Replaces the contents of `pieces` with `view` written in the template and ending in the generation prompt. The pieces
 * borrow from the view's text. */
void template_render(const struct chat_template *chat_template, const struct prompt_view *view,
                     const struct template_options *options, struct template_pieces *pieces);

size_t template_pieces_bytes(const struct template_pieces *pieces);

/* Tokens that the template adds to each message, and once to a prompt (generation prompt, beginning of sequence). NULL
 * gives what is safe for a chat server whose template is not known. */
int64_t template_message_tokens(const struct chat_template *chat_template);
int64_t template_prompt_tokens(const struct chat_template *chat_template);

#endif
