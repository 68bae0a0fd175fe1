/* src/text/tokenizer/unigram.h
 *
 * Unigram language model (Kudo 2018): of all ways to cut a piece into tokens, the most probable one, found by Viterbi
 * over a trie, with unknown characters at the least score minus 10, as SentencePiece and Hugging Face do it.
 */
#ifndef FATHOM_TEXT_TOKENIZER_UNIGRAM_H
#define FATHOM_TEXT_TOKENIZER_UNIGRAM_H

#include "text/tokenizer/image.h"
#include "text/tokenizer/spec.h"
#include "text/tokenizer/splitter.h"
#include "text/tokenizer/tokenizer.h"

struct unigram;

enum status unigram_compile(const struct model_spec *model, struct image_writer *image,
                            struct error *error) STATUS_CHECKED;
struct unigram *unigram_open(const struct image *image);
void unigram_destroy(struct unigram *unigram);
int64_t unigram_encode(const struct unigram *unigram, const char *text, const struct split_piece *pieces, size_t n,
                       struct token_ids *out);

#endif
