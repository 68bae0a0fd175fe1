/* src/text/html/content.h
 *
 * Which nodes of a page are its content. The page is cut into blocks (blocks.h), each gets a row of numbers
 * (features.h), a model of decision trees (content_model.inc, made by scripts/train-content) tells how likely a block
 * is content, and those are kept that make the best of it for the page as a whole.
 */
#ifndef FATHOM_TEXT_HTML_CONTENT_H
#define FATHOM_TEXT_HTML_CONTENT_H

#include "text/html/tree.h"

struct html_content_options {
    bool whole_page;    /* everything that a reader sees */
    bool keep_comments; /* readers' comments, too */
};

/* Sets `marks`, one byte of enum html_mark per node, all of them. A page with text never gets all of it dropped,
 * unless all of it is a footer or a note that scripts are needed; where a reader sees nothing, or nothing but a banner,
 * or nothing in the main element, as on pages that scripts reveal, what is hidden is taken for visible. Linear in the
 * page. The marks depend on nothing but the tree and the options. */
void html_mark_content(const struct html_tree *tree, const struct html_content_options *options, uint8_t *marks);

#endif
