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
    uint32_t *by_rank, n_ranks; /* what merges make, in their order */
    struct error *error;
};

/* bpe_perfect.c: a perfect hash (Belazzougui, Botelho, Dietzfelbinger, "Hash, displace, and compress", 2009) of `count`
 * keys. `hash` gives the hash of key `i` under a seed. False, and nothing is to be finished, when none was found. */
struct bpe_perfect_table {
    struct bpe_perfect shape;
    uint16_t *seeds;  /* by bucket */
    uint32_t *owners; /* by place: key, or UINT32_MAX, which one at least has */
};
typedef uint64_t (*bpe_hash_fn)(const void *user, size_t i, uint64_t seed);
bool bpe_perfect_make(struct bpe_perfect_table *table, size_t count, bpe_hash_fn hash, const void *user);
void bpe_perfect_finish(struct bpe_perfect_table *table);
void bpe_perfect_write_seeds(const struct bpe_perfect_table *table, enum image_section section,
                             struct image_writer *image);

/* Merges the symbols of `text` by the model's own list, or its ranks; gives how many are left, moved to the front. */
size_t bpe_compile_merge(const struct bpe_compiler *c, struct bpe_symbol *symbols, size_t count, const char *text);

/* bpe_compile_characters.c: adds IMAGE_CHARACTERS. Splits and single bytes are there by then. */
void bpe_compile_characters(const struct bpe_compiler *c, struct image_writer *image);

#endif
