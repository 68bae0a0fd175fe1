/* src/text/html/visible.h
 *
 * Which elements a reader does not see, or which are never text. What a page hides is where instructions to language
 * models are hidden, too, so it is left out by what the element itself says: `hidden`, aria-hidden, an inline style,
 * the classes that the usual style sheets give to text for screen readers.
 *
 * One case is followed further: React streams parts of a page as <div hidden id="S:0"> and puts them in place with a
 * call of $RC("B:0", "S:0"), so a reader sees them; they count as visible when the page has such a call.
 */
#ifndef FATHOM_TEXT_HTML_VISIBLE_H
#define FATHOM_TEXT_HTML_VISIBLE_H

#include "text/html/tree.h"

struct html_visibility {
    const struct html_tree *tree;
    bool see_hidden;
    bool scripts_read;
    uint64_t *revealed; /* hashes of ids; owned */
    size_t n_revealed;
};

/* `see_hidden`: take hidden elements for visible. */
void html_visibility_init(const struct html_tree *tree, bool see_hidden, struct html_visibility *out);
void html_visibility_finish(struct html_visibility *visibility);

/* 0, MARK_DROPPED for what is never text, or that and MARK_HIDDEN, for the element itself, not for what it is in. */
uint8_t html_visibility_mark(struct html_visibility *visibility, uint32_t node);

#endif
