#include "text/tokenizer/steps.h"

enum status steps_compile(const struct tokenizer_spec *spec, struct image_writer *image, struct error *error)
{
    (void)spec, (void)image, (void)error;
    return STATUS_OK;
}

enum status steps_open(const struct image *image, struct steps **out, struct error *error)
{
    (void)image, (void)error;
    *out = NULL;
    return STATUS_OK;
}

void steps_destroy(struct steps *steps)
{
    (void)steps;
}

struct str steps_normalize(const struct steps *steps, struct str text, struct buf *scratch)
{
    (void)steps, (void)scratch;
    return text;
}

const struct splitter *steps_splitter(const struct steps *steps)
{
    (void)steps;
    return NULL;
}

void steps_pre_tokenize(const struct steps *steps, struct str text, bool first, steps_take_fn take, void *user)
{
    (void)steps, (void)text, (void)first, (void)take, (void)user;
}
