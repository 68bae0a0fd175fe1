/* src/text/passages.h
 *
 * Cuts Markdown or plain text into passages of some 200 to 400 tokens, along its structure: a heading starts a passage,
 * blocks (paragraphs, lists, tables, code) stay whole where they fit, a block too long is cut at lines, sentences, and
 * at last at any character. Passages are ranges of the text; together they cover all of it but white space. Linear in
 * the text, pure.
 */
#ifndef FATHOM_TEXT_PASSAGES_H
#define FATHOM_TEXT_PASSAGES_H

#include "core/str.h"

struct passage {
    size_t from, to; /* bytes of the text */
    char *headings;  /* the headings above, outermost first, "Shell > Options"; NULL where there are none. Owned by the
                        list */
};

struct passages {
    struct passage *items;
    size_t count;
    size_t capacity;
};

/* Cuts `text`. `target_tokens` is the size aimed at (0 means 300); no passage is estimated above twice that. `out` is
 * overwritten and to be given to passages_finish. */
void passages_cut(struct str text, size_t target_tokens, struct passages *out);

void passages_finish(struct passages *passages);

#endif
