/* src/text/html/write.h
 *
 * A marked tree to Markdown, or to plain text.
 *
 * The Markdown is CommonMark 0.31 (spec.commonmark.org) with the tables, task lists, strikethrough and footnotes of
 * GitHub Flavored Markdown; formulas are TeX between dollar signs. What would be taken for a mark is escaped, so a
 * CommonMark parser gives the same text again, except that white space is collapsed and characters without width go.
 * What Markdown has no form for is written as a reader would expect it: a definition behind ": ", spanning cells
 * repeated where they stand, ruby and superscripts as base(reading) and x^2.
 *
 * Plain text has the same blocks without marks: items and quotations are lines, cells are parted by " | " and stand
 * once. It is what a reader sees, so alternative texts of pictures are not part of it, except those of formulas.
 */
#ifndef FATHOM_TEXT_HTML_WRITE_H
#define FATHOM_TEXT_HTML_WRITE_H

#include "text/html/links.h"
#include "text/html/tree.h"

struct html_write_options {
    const struct html_base *base; /* against which links are resolved; NULL: nothing is known of it */
    bool drop_links;              /* the text of links without their addresses, images as their alternative text */
    bool drop_images;             /* no alternative texts either, except those of formulas */
    bool plain_text;              /* no marks at all; drops links, too */
};

/* Appends everything of `tree` that is not marked, in document order, ending in a line end; nothing when nothing is
 * there. `marks` has one byte of enum html_mark per node, NULL when nothing is marked. False when the cap of `out` was
 * reached: then it ends in the middle of the text, at a character. Linear in the tree; what is written is bounded by a
 * small multiple of the text and the links. */
bool html_tree_write(const struct html_tree *tree, const uint8_t *marks, const struct html_write_options *options,
                     struct buf *out);

#endif
