#include "text/tokenizer/added.h"

enum status added_tokens_compile(const struct tokenizer_spec *spec, struct image_writer *image, struct error *error)
{
    (void)spec, (void)image, (void)error;
    return STATUS_OK;
}

struct added_tokens *added_tokens_open(const struct image *image)
{
    (void)image;
    return NULL;
}

void added_tokens_destroy(struct added_tokens *added)
{
    (void)added;
}

bool added_tokens_next(const struct added_tokens *added, struct str text, size_t at, bool normalized, bool plain,
                       struct added_match *match)
{
    (void)added, (void)text, (void)at, (void)normalized, (void)plain, (void)match;
    return false;
}

bool added_tokens_at(const struct added_tokens *added, uint32_t id, struct str *content, bool *special)
{
    (void)added, (void)id, (void)content, (void)special;
    return false;
}

bool added_tokens_begin_anew(const struct added_tokens *added, struct str text)
{
    (void)added, (void)text;
    return false;
}
