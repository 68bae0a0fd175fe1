/* src/agent/prompt_count.h
 *
 * How many tokens a prompt has, exactly: what tokenizing the whole text that the chat template writes would give, at
 * the cost of what is new. Every part of the prompt (opening, messages, generation prompt) is written and counted once
 * for each variant it takes (protocol/template.h). The counts of parts are added up where the tokenizer says that
 * nothing merges across the boundary, which is where a part holds a token of the template; what lies between two such
 * places is counted as one text, again whenever it changes.
 *
 * Reads the transcript; one thread at a time.
 */
#ifndef FATHOM_AGENT_PROMPT_COUNT_H
#define FATHOM_AGENT_PROMPT_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/str.h"
#include "protocol/prompt_view.h"
#include "protocol/template.h"

struct prompt_count;
struct tokenizer;
struct transcript;

struct prompt_count_options {
    const struct tokenizer *tokenizer; /* this and the next two must outlive the count */
    const struct chat_template *chat_template;
    const struct transcript *transcript;
    struct prompt_view_options shown;  /* what requests show of the transcript */
    struct template_options rendering; /* with `chat` off, what the tokenizer puts around a text is counted too. The
                                          date is copied */
};

struct prompt_count *prompt_count_create(const struct prompt_count_options *options);

/* NULL is allowed. */
void prompt_count_destroy(struct prompt_count *count);

/* The last message of the transcript is new, or has another text. */
void prompt_count_changed(struct prompt_count *count);

/* Tokens of a prompt of the whole transcript, generation prompt included. */
int64_t prompt_count_total(struct prompt_count *count);

/* The same if the last message had the plain text `text`. */
int64_t prompt_count_with_last(struct prompt_count *count, struct str text);

/* Whether earlier thought is sent in a field of its own (struct template_options). Counts of both ways are kept. */
void prompt_count_set_thought_field(struct prompt_count *count, bool thought_field);
bool prompt_count_thought_field(const struct prompt_count *count);

#endif
