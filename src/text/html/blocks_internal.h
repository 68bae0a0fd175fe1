/* src/text/html/blocks_internal.h
 *
 * What blocks.c (cuts the page) and block_text.c (measures the characters of a block) share. Not for other modules.
 */
#ifndef FATHOM_TEXT_HTML_BLOCKS_INTERNAL_H
#define FATHOM_TEXT_HTML_BLOCKS_INTERNAL_H

#include "text/html/blocks.h"
#include "text/html/hints.h"

struct block_reader {
    const struct html_hints *hints;
    struct word_reader words;
    bool word_is_capital;
    enum { AFTER_OTHER, AFTER_SENTENCE, AFTER_COUNTED_SENTENCE, AFTER_COLON } after; /* what the last character was */
    uint32_t wide; /* characters of scripts without spaces */
};

/* Between blocks. */
void block_text_begin(struct block_reader *reader);
void block_text_end(struct block_reader *reader, struct html_block *block);

/* Counts the characters of `text`, which go on where the last ones of this block ended. `place`: bits of where it is.
 */
void block_text_add(struct block_reader *reader, struct str text, uint32_t place, struct html_block *block);

/* A line break within a block. */
void block_text_break(struct block_reader *reader, struct html_block *block);

#endif
