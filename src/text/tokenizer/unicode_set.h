/* src/text/tokenizer/unicode_set.h
 *
 * Sets of code points, to work out what a bracket expression stands for and to write it down as one for PCRE2, whose
 * own edition of Unicode may be another.
 */
#ifndef FATHOM_TEXT_TOKENIZER_UNICODE_SET_H
#define FATHOM_TEXT_TOKENIZER_UNICODE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"

struct unicode_set;

/* Empty. */
struct unicode_set *unicode_set_create(void);
void unicode_set_destroy(struct unicode_set *set);

void unicode_set_add(struct unicode_set *set, uint32_t from, uint32_t to); /* both in it */
void unicode_set_add_classes(struct unicode_set *set, uint64_t bits);      /* those with any bit of unicode_class.h */
void unicode_set_add_set(struct unicode_set *set, const struct unicode_set *other);
void unicode_set_keep(struct unicode_set *set, const struct unicode_set *other); /* what is in both */
void unicode_set_clear(struct unicode_set *set);
void unicode_set_invert(struct unicode_set *set);

bool unicode_set_has(const struct unicode_set *set, uint32_t code_point);

/* The first code point at or after `from` that is in it; 0x110000 where there is none. */
uint32_t unicode_set_next(const struct unicode_set *set, uint32_t from);

/* Appends a bracket expression of PCRE2's with UTF and UCP that matches these and no other code points. */
void unicode_set_write(const struct unicode_set *set, struct buf *out);

#endif
