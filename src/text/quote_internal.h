/* src/text/quote_internal.h
 *
 * Text in the normal form in which quotations are looked for.
 *
 *     quote_text.c    writes it
 *     quote_check.c   looks for one text in another
 */
#ifndef FATHOM_TEXT_QUOTE_INTERNAL_H
#define FATHOM_TEXT_QUOTE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"

struct quote_text {
    struct buf bytes; /* letters, digits and signs; a blank between two numbers; nothing else */
    struct buf edges; /* a bit for each byte: a word begins or ends before it */
    bool apart;       /* something that is not written stood behind the last byte */
    int last;         /* what the last byte belongs to; see quote_text.c */
    size_t part;      /* where this part began: edges and blanks look no farther back */
};

struct quote_search {
    struct str raw; /* borrowed */
    struct quote_text text;
    size_t work; /* bytes looked at so far */
};

void quote_text_init(struct quote_text *text, size_t cap);
void quote_text_finish(struct quote_text *text);

/* Appends a text as a part of its own. */
void quote_text_add(struct quote_text *text, struct str markdown);

/* Whether a word begins or ends before byte `at`; so it is at both ends. */
bool quote_is_edge(const struct quote_text *text, size_t at);

/* The length of the address that begins at `at`; 0 where none does. */
size_t quote_address_length(struct str text, size_t at);

#endif
