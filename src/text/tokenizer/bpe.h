/* src/text/tokenizer/bpe.h
 *
 * Byte-pair encoding of one piece of text: the pair of neighbours that comes first in the list of merges is joined,
 * again and again (Sennrich, Haddow, Birch 2016). Three ways, from fast to slow: a piece that is one token as a whole
 * is looked up; one that was seen before comes from a cache that all threads share; else it is merged, in time linear
 * but for a small factor, however long it is.
 */
#ifndef FATHOM_TEXT_TOKENIZER_BPE_H
#define FATHOM_TEXT_TOKENIZER_BPE_H

#include "text/tokenizer/image.h"
#include "text/tokenizer/spec.h"
#include "text/tokenizer/splitter.h"
#include "text/tokenizer/tokenizer.h"

struct bpe;

enum status bpe_compile(const struct model_spec *model, struct image_writer *image, struct error *error) STATUS_CHECKED;

struct bpe *bpe_open(const struct image *image);
void bpe_destroy(struct bpe *bpe);

/* Once the model's sections are written: gives each id below `count` whose text they hold, and hold as texts[id], the
 * place of it in `places`, and leaves the others. Places are below 2^22. */
void bpe_find_places(const struct image_writer *image, const struct str *texts, uint32_t count, uint32_t *places);

/* The text at such a place. Borrowed from the image. */
struct str bpe_text(const struct bpe *bpe, uint32_t place);

/* Encodes `n` pieces of `text` one by one and returns the number of their tokens; appends the ids where `out` is not
 * NULL. */
int64_t bpe_encode(const struct bpe *bpe, const char *text, const struct split_piece *pieces, size_t n,
                   struct token_ids *out);

#endif
