/* src/text/tokenizer/bpe_compile_internal.h
 *
 * What the files that compile a BPE model share: bpe_compile*.c.
 */
#ifndef FATHOM_TEXT_TOKENIZER_BPE_COMPILE_INTERNAL_H
#define FATHOM_TEXT_TOKENIZER_BPE_COMPILE_INTERNAL_H

#include "text/tokenizer/bpe_internal.h"

/* Open addressing: tokens by text, merges by what they join. A slot is an index + 1. */
struct bpe_table {
    uint32_t *slots;
    size_t mask;
};

struct bpe_compiler {
    const struct model_spec *model;
    struct bpe_table by_text, by_pair;
    uint64_t seed; /* of both; not to be foreseen by who makes a vocabulary */
    struct bpe_head *head;
    uint32_t n_ids;
    const struct spec_token **by_id; /* NULL where there is none */
    struct bpe_symbol *made;         /* by id: how the token is merged from its own text; id BPE_NONE where it is not */
    uint64_t *splits;
    struct error *error;
};

/* Merges the symbols of `text` by the model's own list, or its ranks; gives how many are left, moved to the front. */
size_t bpe_compile_merge(const struct bpe_compiler *c, struct bpe_symbol *symbols, size_t count, const char *text);

/* bpe_compile_characters.c: adds IMAGE_CHARACTERS. Splits and single bytes are there by then. */
void bpe_compile_characters(const struct bpe_compiler *c, struct image_writer *image);

#endif
