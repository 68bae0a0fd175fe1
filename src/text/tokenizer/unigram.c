#include "text/tokenizer/unigram.h"

enum status unigram_compile(const struct model_spec *model, struct image_writer *image, struct error *error)
{
    (void)model, (void)image, (void)error;
    return STATUS_OK;
}

struct unigram *unigram_open(const struct image *image)
{
    (void)image;
    return NULL;
}

void unigram_destroy(struct unigram *unigram)
{
    (void)unigram;
}

int64_t unigram_encode(const struct unigram *unigram, const char *text, const struct split_piece *pieces, size_t n,
                       struct token_ids *out)
{
    (void)unigram, (void)text, (void)pieces, (void)n, (void)out;
    return 0;
}
