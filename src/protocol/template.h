/* src/protocol/template.h
 *
 * Chat templates: how a list of messages is written as the one text that a model was trained to continue. For
 * /v1/completions we write that text ourselves; of a chat server's prompt we know by it how many tokens it has. Named
 * ones, equal to the byte with what the models' own templates give for the same messages; others are learnt from a
 * server (protocol/template_learn.h).
 *
 * Rendering gives a list of wire pieces (the inside of the JSON string "prompt"): static markers and chunks borrowed
 * from the view. Nothing is copied or escaped.
 *
 * A prompt is made of parts: the opening (beginning of sequence, a default system prompt), one part per message, and
 * the generation prompt. What a part says depends on its message and on a few facts of its place, which
 * template_variant gives as a number: the same message in the same variant gives the same text. So whoever counts
 * prompts need not read a message again while its variant stays.
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
    bool chat; /* as the model's own template does it on a chat server that is sent the messages of the view: with its
                  rule for earlier thought, its generation prompt and always its beginning of sequence. Else the view
                  alone says what becomes of thought, and `bos` and `open_think` hold */
    bool thought_field; /* with `chat`: thought is sent in a field of its own (split_thought, split_rest) */
    struct str date;    /* "2026-03-01", for templates that say what day it is; else they say their own default */
};

struct template_pieces {
    struct str *pieces;
    size_t count;
    size_t capacity;
};

/* By name, NULL when there is none. The list is in docs/models.md; the first eight are those of the models that are
 * served with /v1/completions most:
 *
 *     chatml           Yi, Hermes and most others: <|im_start|>role … <|im_end|>
 *     llama3           Llama 3: header ids and <|eot_id|>; contents are trimmed
 *     mistral          Mistral and Mixtral up to v0.2 (tokenizer V1): the system prompt opens the first user message
 *     mistral-v3       Mistral 7B v0.3, Large 2407 (V3): the system prompt opens the last user message
 *     mistral-tekken   Nemo, Ministral (V3 Tekken): as before, without blanks
 *     mistral-v7       Mistral Small 3, Large 2411 (V7): [SYSTEM_PROMPT]
 *     gemma            Gemma 2 and 3: the system prompt opens the first user message; contents are trimmed
 *     plain            models without a template: "User:" and "Assistant:" lines */
const struct chat_template *template_find(struct str name);

/* Which named template a Jinja text (tokenizer_config.json's "chat_template") is; NULL when not known for sure. */
const struct chat_template *template_detect(struct str jinja);

/* "qwen3"; "learnt" for one that was learnt from a server. Borrowed. */
const char *template_name(const struct chat_template *chat_template);

/* Frees one that was learnt or read; the named ones are static. NULL is allowed. */
void template_destroy(const struct chat_template *chat_template);

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

/* What the variants of one view rest on. Plain data; of use while the view is unchanged. */
struct template_context {
    const struct chat_template *chat_template;
    const struct prompt_view *view;
    const struct template_options *options;
    size_t host;       /* the user message that takes the system prompt in; view->count where none does */
    size_t last_query; /* the last user message that is no tool's result; view->count where there is none */
    size_t last_user;
};

void template_context_init(struct template_context *context, const struct chat_template *chat_template,
                           const struct prompt_view *view, const struct template_options *options);

/* Parts are numbered: 0 the opening, i + 1 the message i, view->count + 1 the generation prompt. */
unsigned template_variant(const struct template_context *context, size_t part);

/* Appends a part's pieces. */
void template_render_part(const struct template_context *context, size_t part, struct template_pieces *pieces);

/* Tokens that the template adds to each message, and once to a prompt (generation prompt, beginning of sequence). NULL
 * gives what is safe for a chat server whose template is not known. */
int64_t template_message_tokens(const struct chat_template *chat_template);
int64_t template_prompt_tokens(const struct chat_template *chat_template);

#endif
