/* src/text/tokenizer/tokenizer_internal.h
 *
 * What compile.c writes for tokenizer.c to read: IMAGE_ABOUT, IMAGE_TOKEN_TEXT and IMAGE_TOKEN_PLACES; and hashes for
 * the store.
 */
#ifndef FATHOM_TEXT_TOKENIZER_TOKENIZER_INTERNAL_H
#define FATHOM_TEXT_TOKENIZER_TOKENIZER_INTERNAL_H

#include <stdint.h>

#include "core/hash.h"
#include "core/str.h"

struct tokenizer_source;

/* A post-processor that puts more tokens than this around a text is refused. */
#define TOKENIZER_FRAME_MAX 64

/* The section IMAGE_ABOUT. */
struct tokenizer_about {
    uint32_t model;      /* enum model_kind */
    uint32_t byte_level; /* model_spec's */
    uint32_t vocabulary; /* largest id + 1, of the model and the added tokens: as many as IMAGE_TOKEN_PLACES holds */
    uint32_t n_before, n_after;
    uint32_t frame[2 * TOKENIZER_FRAME_MAX]; /* the ids before a text, then those after it */
};

/* In IMAGE_TOKEN_PLACES: no token has this id; or its text is in IMAGE_TOKEN_TEXT, where the other bits say, behind its
 * uint32_t length. Else bpe_text knows the place. An added token's text goes before that of the model's token with the
 * same id. In a byte-level vocabulary texts are bytes, also those of added tokens: what the ByteLevel decoder makes of
 * them. */
#define TOKENIZER_NO_TOKEN 0x80000000u
#define TOKENIZER_APART    0x40000000u

/* XXH3, for names and checks of cache files. SHA-256 would do, but its library takes longer to get going than all else
 * that opening a compiled tokenizer needs. */
uint64_t tokenizer_quick_hash(struct str bytes, uint64_t seed);

/* What image_source_hash gives for an image that was compiled from this. */
void tokenizer_source_hash(const struct tokenizer_source *source, char hex[HASH_HEX_SIZE]);

#endif
