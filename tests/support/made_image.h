/* tests/support/made_image.h
 *
 * The image of one part of a tokenizer, for tests of that part alone:
 *
 *     part_compile(&spec, made_image_begin(&made), &error);
 *     part = part_open(made_image_end(&made));
 *     made_image_finish(&made);   when the part is destroyed
 */
#ifndef FATHOM_TESTS_MADE_IMAGE_H
#define FATHOM_TESTS_MADE_IMAGE_H

#include "text/tokenizer/image.h"

struct made_image {
    struct image_writer writer;
    struct image image;
    struct buf written;
    void *aligned; /* the same at an address as a mapping has it */
};

struct image_writer *made_image_begin(struct made_image *made);

/* Fails the test when the image is refused. */
const struct image *made_image_end(struct made_image *made);

void made_image_finish(struct made_image *made);

#endif
