/* tests/support/small_tokenizer.h
 *
 * Small vocabularies of the usual kinds, made on the spot.
 */
#ifndef FATHOM_TESTS_SMALL_TOKENIZER_H
#define FATHOM_TESTS_SMALL_TOKENIZER_H

#include <stdbool.h>

#include "text/tokenizer/tokenizer.h"

enum small_kind {
    SMALL_BYTES,     /* bytes, split by Qwen's pattern */
    SMALL_BYTES_BOS, /* split by GPT-2's pattern, with a token that begins a text */
    SMALL_BLANKS,    /* characters and bytes for what has none, blanks written ▁, as Llama 2 */
    SMALL_KINDS
};

struct small_tokenizer {
    struct tokenizer *tokenizer;
    void *image;
};

/* `chat_tokens`: the marks of all chat templates are tokens of the vocabulary; else they are ordinary text. Fails the
 * test when it cannot be made. */
void small_tokenizer_init(struct small_tokenizer *small, enum small_kind kind, bool chat_tokens);

/* The same of a tokenizer.json. */
void small_tokenizer_open(struct small_tokenizer *small, struct str file);

void small_tokenizer_finish(struct small_tokenizer *small);

#endif
