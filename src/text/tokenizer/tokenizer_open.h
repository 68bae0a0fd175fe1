/* src/text/tokenizer/tokenizer_open.h
 *
 * An open tokenizer. Only for tokenizer*.c.
 */
#ifndef FATHOM_TEXT_TOKENIZER_TOKENIZER_OPEN_H
#define FATHOM_TEXT_TOKENIZER_TOKENIZER_OPEN_H

#include "text/tokenizer/added.h"
#include "text/tokenizer/bpe.h"
#include "text/tokenizer/image.h"
#include "text/tokenizer/steps.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_internal.h"
#include "text/tokenizer/unigram.h"

struct tokenizer {
    struct image image;
    const struct tokenizer_about *about;
    const char *texts;
    const uint32_t *places;
    struct added_tokens *added;
    struct steps *steps;
    struct bpe *bpe; /* the model is one of the two */
    struct unigram *unigram;
};

/* The text of a token; false where no token has this id. */
bool tokenizer_text_at(const struct tokenizer *tokenizer, uint32_t id, struct str *text);

#endif
