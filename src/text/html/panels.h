/* src/text/html/panels.h
 *
 * Parts of a page that are folded away and that a control which a person sees opens: answers below their questions, the
 * panels of tabs. They say that they are hidden, but the page offers them: their title stands there to be clicked. What
 * is hidden without a control of its own is not among them.
 *
 * By WAI-ARIA 1.2: a panel (role tabpanel or region, or content of <details>) is named by the control's aria-controls,
 * or names the control by its aria-labelledby; a control is a button, a tab or a summary with text, before the panel.
 */
#ifndef FATHOM_TEXT_HTML_PANELS_H
#define FATHOM_TEXT_HTML_PANELS_H

#include "text/html/tree.h"

/* The controls seen so far; zeroed at first. */
struct html_panels {
    uint64_t *slots; /* hashes of what they say, 0 where free; a power of two of them */
    size_t size, count;
};

/* Notes what an element opens if it is a control. To be called for every element that a person sees, in the order of
 * the page. */
void html_panels_see(struct html_panels *panels, const struct html_tree *tree, uint32_t node);

/* Whether a control that was seen opens an element that says it is hidden. */
bool html_panels_open(const struct html_panels *panels, const struct html_tree *tree, uint32_t node);

void html_panels_finish(struct html_panels *panels);

#endif
