/* src/text/tokenizer/image.h
 *
 * The compiled form of a tokenizer: a header and numbered sections, each an array of plain data that is used where it
 * lies. No pointers; offsets only. Byte order and sizes are those of the machine that wrote it; the header says which,
 * and an image from elsewhere is refused, not converted.
 *
 * Each part of the tokenizer writes its own sections (X_compile) and finds them again (X_open). Once image_open has
 * checked the hash of the whole, their contents are what the same program wrote: no part checks them again.
 */
#ifndef FATHOM_TEXT_TOKENIZER_IMAGE_H
#define FATHOM_TEXT_TOKENIZER_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/hash.h"
#include "core/status.h"
#include "core/str.h"

/* To be raised with every change of what any section holds or of how text is read: older images are compiled anew. */
#define IMAGE_VERSION 7

enum image_section {
    IMAGE_ABOUT,         /* struct tokenizer_about: the model, the vocabulary's size, ids around a text */
    IMAGE_CHAT_TEMPLATE, /* text */
    IMAGE_TOKEN_TEXT,    /* texts of tokens that are nowhere else in the image */
    IMAGE_TOKEN_PLACES,  /* uint32_t per id: where its text is (tokenizer_internal.h) */
    IMAGE_WHOLE,         /* bpe: pieces that are one token as a whole */
    IMAGE_PAIRS,         /* bpe: which two tokens merge */
    IMAGE_BYTES,         /* bpe: struct bpe_head, the first tokens of bytes among it */
    IMAGE_UNIGRAM,       /* unigram.c */
    IMAGE_UNIGRAM_TRIE,  /* unigram.c */
    IMAGE_ADDED,         /* added.c: the added tokens */
    IMAGE_ADDED_MATCHER, /* added.c: their automaton */
    IMAGE_STEPS,         /* steps.c: normalizers, pre-tokenizers and decoders, in order */
    IMAGE_WHOLE_SEEDS,   /* bpe: what makes the hash of IMAGE_WHOLE free of collisions */
    IMAGE_WHOLE_TEXT,    /* bpe: the texts too long for IMAGE_WHOLE itself */
    IMAGE_SPLITS,        /* bpe: where IMAGE_PAIRS says what each token was merged from */
    IMAGE_DOUBLES,       /* bpe: which two bytes merge */
    IMAGE_CHARACTERS,    /* bpe: which characters are always a token, or part of one */
    IMAGE_PAIR_SEEDS,    /* bpe: what makes the hash of IMAGE_PAIRS free of collisions */
    IMAGE_MERGED,        /* bpe: what each merge gives, where that is not plain from its rank */
    IMAGE_SECTIONS = 24, /* room for more */
};

struct image_writer {
    struct buf *out; /* borrowed */
    size_t start;    /* where the image begins in it */
};

void image_begin(struct image_writer *writer, struct buf *out, const char source_hash[HASH_HEX_SIZE]);

/* Appends a section, aligned to 64 bytes. Each may be written once; one that is not written reads as empty. */
void image_add(struct image_writer *writer, enum image_section section, const void *bytes, size_t len);

/* What was added as this section. Borrowed until the next one is added. */
struct str image_added(const struct image_writer *writer, enum image_section section);

/* Writes the header: no section after this. */
void image_end(struct image_writer *writer);

struct image {
    const unsigned char *bytes;
    size_t len;
};

/* Checks magic, version, machine and the hash of the whole. STATUS_INVALID. */
enum status image_open(struct image *image, struct str bytes, struct error *error) STATUS_CHECKED;

/* Borrowed; empty where it was not written. */
struct str image_section(const struct image *image, enum image_section section);

const char *image_source_hash(const struct image *image);

#endif
