/* src/text/sentences.h
 *
 * Cuts Markdown or plain text into sentences: at full stops, question and exclamation marks (also Chinese and Japanese
 * ones) that are not part of an abbreviation, a number, an address or an initial, and at the borders of Markdown
 * blocks. Headings, list items, table rows and lines of code are sentences of their own kind. Linear in the text, pure.
 */
#ifndef FATHOM_TEXT_SENTENCES_H
#define FATHOM_TEXT_SENTENCES_H

#include "core/str.h"

enum sentence_kind { SENTENCE_PROSE, SENTENCE_HEADING, SENTENCE_LIST_ITEM, SENTENCE_TABLE_ROW, SENTENCE_CODE };

struct sentence {
    size_t from, to; /* bytes of the text, without white space at the ends and without list or heading marks */
    enum sentence_kind kind;
};

struct sentences {
    struct str text;
    size_t at;
    size_t block_end; /* end of the block `at` is in; 0 before the first */
    enum sentence_kind kind;
    bool in_fence;
};

/* Starts at the beginning of `text`, which is borrowed. */
void sentences_init(struct sentences *sentences, struct str text);

/* The next sentence; false at the end. */
bool sentences_next(struct sentences *sentences, struct sentence *out);

#endif
