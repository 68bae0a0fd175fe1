/* src/text/html/visible.h
 *
 * Which elements a reader does not see, or which are never text. What a page hides is where instructions to language
 * models are hidden, too, so it is left out by what the element itself says: `hidden`, `popover`, aria-hidden, an
 * inline style, the classes that the usual style sheets give to text for screen readers. Style sheets are not read.
 *
 * Some of what is hidden is about to come into view: parts that frameworks stream behind the page and put in place by a
 * script, what is transparent until it is scrolled to, what a search opens. That is taken for visible only where it is
 * a good part of the page, as a page that is made this way has it; a hidden paragraph beside a visible text is out.
 */
#ifndef FATHOM_TEXT_HTML_VISIBLE_H
#define FATHOM_TEXT_HTML_VISIBLE_H

#include "text/html/tree.h"

/* How an element looks by itself; each is less visible than the one before. */
enum html_look { HTML_LOOK_SHOWN, HTML_LOOK_APPEARS, HTML_LOOK_HIDDEN };

/* By the value of a style attribute. Comments, escapes and what the syntax leaves open are read as they hide most. What
 * is transparent and moved, or the main part of a page (`is_main`), is about to appear. Linear. */
enum html_look html_look_of_style(struct str style, bool is_main);

/* By all attributes of a start tag. */
enum html_look html_look_of(enum html_element element, const struct html_attribute_value *attributes,
                            size_t n_attributes);

/* 0, MARK_DROPPED for what is never text, or that and MARK_HIDDEN, for the element itself, not for what it is in.
 * `seen`: the least visible look that counts as visible. */
uint8_t html_visibility(const struct html_tree *tree, uint32_t node, enum html_look seen);

/* The hidden element that holds the text of the main part of a page of which nothing else is to be seen, the main
 * element itself or one in it, as where a script takes a cover away; 0 where there is none. Linear. */
uint32_t html_covered_main(const struct html_tree *tree);

/* Whether what is about to come into view is a good part of the page's text. Linear in the page. */
bool html_text_appears(const struct html_tree *tree);

#endif
