#include "support/made_image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct image_writer *made_image_begin(struct made_image *made)
{
    static const char no_hash[HASH_HEX_SIZE] = "";
    buf_init(&made->written, BUF_UNBOUNDED);
    image_begin(&made->writer, &made->written, no_hash);
    return &made->writer;
}

const struct image *made_image_end(struct made_image *made)
{
    struct error error = {0};
    image_end(&made->writer);
    made->aligned = aligned_alloc(64, (made->written.len + 63) / 64 * 64);
    assert_non_null(made->aligned);
    memcpy(made->aligned, made->written.data, made->written.len);
    if (image_open(&made->image, str_make(made->aligned, made->written.len), &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return &made->image;
}

void made_image_finish(struct made_image *made)
{
    free(made->aligned);
    buf_finish(&made->written);
}
