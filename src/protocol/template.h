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

/* By name, NULL when there is none:
 *
 *     chatml           Qwen, Yi, Hermes and most others: <|im_start|>role … <|im_end|>
 *     llama3           Llama 3: header ids and <|eot_id|>; contents are trimmed
 *     mistral          Mistral and Mixtral up to v0.2 (tokenizer V1): the system prompt opens the first user message
 *     mistral-v3       Mistral 7B v0.3, Large 2407 (V3): the system prompt opens the last user message
 *     mistral-tekken   Nemo, Ministral (V3 Tekken): as before, without blanks
 *     mistral-v7       Mistral Small 3, Large 2411 (V7): [SYSTEM_PROMPT]
 *     gemma            Gemma 2 and 3: the system prompt opens the first user message; contents are trimmed
 *     plain            models without a template: "User:" and "Assistant:" lines */
const struct chat_template *template_find(struct str name);

/* The names in the order above, for help and errors. Static. */
size_t template_count(void);
const char *template_name_at(size_t index);

/* The strings at which a server should stop, plain text, without those of the tag protocol. */
size_t template_stops(const struct chat_template *chat_template, const char *const **stops);

void template_pieces_init(struct template_pieces *pieces);
void template_pieces_finish(struct template_pieces *pieces);

/* Replaces the contents of `pieces` with `view` written in the template and ending in the generation prompt. The pieces
 * borrow from the view's text. */
void template_render(const struct chat_template *chat_template, const struct prompt_view *view,
                     const struct template_options *options, struct template_pieces *pieces);

/* Tokens that the template adds to each message, and once to a prompt (generation prompt, beginning of sequence). NULL
 * gives what is safe for a chat server whose template is not known. */
int64_t template_message_tokens(const struct chat_template *chat_template);
int64_t template_prompt_tokens(const struct chat_template *chat_template);

#endif
