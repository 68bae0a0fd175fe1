/* src/text/tokenizer/added_internal.h
 *
 * What added_compile.c writes for added.c to read. IMAGE_ADDED: head, records by id, the texts behind one another.
 * IMAGE_ADDED_MATCHER: the tries of the tokens looked for in raw text and of those looked for in normalized text; their
 * values are indexes of records.
 */
#ifndef FATHOM_TEXT_TOKENIZER_ADDED_INTERNAL_H
#define FATHOM_TEXT_TOKENIZER_ADDED_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "text/tokenizer/byte_trie.h"

enum added_flags {
    ADDED_SPECIAL = 1,
    ADDED_SINGLE_WORD = 2,
    ADDED_LSTRIP = 4,
    ADDED_RSTRIP = 8,
    ADDED_ANEW = 16, /* no other token can reach into it from before, and it takes nothing from there */
};

struct added_head {
    uint32_t count;
    uint32_t raw_units_len; /* bytes */
    uint32_t normalizes;    /* whether there are normalizers */
    uint32_t longest;       /* bytes of the longest token */
};

struct added_record {
    uint32_t id;
    uint32_t flags;
    uint32_t text, text_len;
};

/* added_overlap.c: which patterns another occurrence of a pattern, of itself too, may reach into from before or lie
 * around. Empty ones are not. */
void added_find_overlaps(const struct str *patterns, size_t count, bool *overlapped);

#endif
