/* src/text/html/visible.h
 *
 * Which elements a reader does not see, or which are never text. What a page hides is where instructions to language
 * models are hidden, too, so it is left out by what the element itself says: `hidden`, aria-hidden, an inline style,
 * the classes that the usual style sheets give to text for screen readers.
 */
#ifndef FATHOM_TEXT_HTML_VISIBLE_H
#define FATHOM_TEXT_HTML_VISIBLE_H

#include "text/html/tree.h"

/* 0, MARK_DROPPED for what is never text, or that and MARK_HIDDEN, for the element itself, not for what it is in.
 * `see_hidden`: hidden elements count as visible. */
uint8_t html_visibility(const struct html_tree *tree, uint32_t node, bool see_hidden);

#endif
