/* src/text/passages.h
 *
 * Cuts Markdown or plain text into passages of some 200 to 400 tokens, along its structure: a heading begins a passage
 * where the one before it is long enough, blocks (paragraphs, items of lists, tables, code) stay whole where they fit,
 * headings and what leads in ("The options are:") stay with what they stand above, and a block too long is cut at
 * lines, sentences, and at last at any character. Passages are ranges of the text; together they cover all of it but
 * white space. Linear in the text, pure.
 */
#ifndef FATHOM_TEXT_PASSAGES_H
#define FATHOM_TEXT_PASSAGES_H

#include "core/str.h"

struct passage {
    size_t from, to; /* bytes of the text */
    /* What stands above, outermost first, "Shell > Options": the headings, and where the passage begins inside a table
     * or the explanation of a term, the table's first row ("Name | Meaning") or the term. NULL where there is none.
     * Owned by the list. */
    char *headings;
};

struct passages {
    struct passage *items;
    size_t count;
    size_t capacity;
};

/* Cuts `text`. `target_tokens` is the size aimed at (0 means 300), with four bytes to a token, which is near the truth
 * for English and errs high for Chinese; most passages lie between two thirds and four thirds of it, and none is larger
 * than twice. `out` is overwritten and to be given to passages_finish. */
void passages_cut(struct str text, size_t target_tokens, struct passages *out);

void passages_finish(struct passages *passages);

#endif
