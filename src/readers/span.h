/* src/readers/span.h
 *
 * The text of one paragraph as it is put together from runs: emphasis that begins and ends at words, links, and
 * formulas on one line.
 */
#ifndef FATHOM_READERS_SPAN_H
#define FATHOM_READERS_SPAN_H

#include "core/buf.h"
#include "core/str.h"

enum { SPAN_BOLD = 1, SPAN_ITALIC = 2, SPAN_STRIKE = 4 };

struct span {
    struct buf text; /* capped */
    unsigned open;   /* SPAN_… whose opening marks are written */
    size_t link_at;  /* where the text of the open link begins, behind its bracket; 0: no link */
    char *link;
};

void span_init(struct span *span, size_t cap);
void span_finish(struct span *span);
void span_reset(struct span *span);

/* Adds text with these marks. White space alone keeps the marks as they are. */
void span_text(struct span *span, struct str text, unsigned marks);

/* A link's text begins; its address is copied. An empty address, or a link inside a link, changes nothing. */
void span_link_begin(struct span *span, struct str address);
void span_link_end(struct span *span);

/* Closes what is open and gives the text, borrowed until the next change. */
struct str span_end(struct span *span);

/* ---- formulas (Office MathML) ---- */

/* Begins and ends an element of a formula: fractions become a/b, powers x^2, roots √x. Returns false for elements
 * that are none of these. `starts` is a stack of offsets kept by the caller, one for each true. */
bool span_math_begin(struct span *span, const char *name, size_t *start);
void span_math_end(struct span *span, const char *name, size_t start);

#endif
