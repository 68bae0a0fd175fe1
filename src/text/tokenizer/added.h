/* src/text/tokenizer/added.h
 *
 * The tokens that were added to a vocabulary (special ones such as <|im_start|>, and ordinary ones): they are cut out
 * of the text before anything else, leftmost and longest first.
 */
#ifndef FATHOM_TEXT_TOKENIZER_ADDED_H
#define FATHOM_TEXT_TOKENIZER_ADDED_H

#include "text/tokenizer/image.h"
#include "text/tokenizer/spec.h"

struct added_tokens;

enum status added_tokens_compile(const struct tokenizer_spec *spec, struct image_writer *image,
                                 struct error *error) STATUS_CHECKED;
struct added_tokens *added_tokens_open(const struct image *image);
void added_tokens_destroy(struct added_tokens *added);

struct added_match {
    size_t from, to; /* bytes, white space that the token takes along included */
    uint32_t id;
};

/* The first match at or after `at`. `normalized` chooses between those that are looked for in the text as it came and
 * those looked for behind the normalizers; `plain` leaves special ones out. False where there is none. */
bool added_tokens_next(const struct added_tokens *added, struct str text, size_t at, bool normalized, bool plain,
                       struct added_match *match);

/* By id, the last of those that share it; false when the id is not an added token's. `special` may be NULL. */
bool added_tokens_at(const struct added_tokens *added, uint32_t id, struct str *content, bool *special);

/* Whether `text` begins with an added token that takes nothing before it, whatever that is. */
bool added_tokens_begin_anew(const struct added_tokens *added, struct str text);

#endif
