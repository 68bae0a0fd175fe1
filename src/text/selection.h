/* src/text/selection.h
 *
 * The part of a long text that bears on a question, for a reader whose window is smaller than the text.
 *
 * The passages (text/passages.h) that rank best for the question (text/rank.h) are taken up to a budget and written in
 * the order of the text. Its beginning always comes along, since it says what the whole is; what is left of the budget
 * goes to the neighbours of the best passages, and then to the text from its beginning. Where something is left out
 * stands "[…]", and behind it, in brackets, the headings above what follows, unless it begins with its heading. Pure;
 * linear in the text but for sorting its passages, which is done once for all budgets.
 */
#ifndef FATHOM_TEXT_SELECTION_H
#define FATHOM_TEXT_SELECTION_H

#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"

struct selection; /* of one text and question; one thread at a time */

/* Cuts and ranks. `text` is borrowed until selection_destroy, `question` for the call. */
struct selection *selection_create(struct str text, struct str question);
void selection_destroy(struct selection *selection); /* NULL is allowed */

struct selection_facts {
    size_t passages; /* of the text */
    size_t taken;    /* of them */
    size_t matching; /* of those taken, how many rank at all */
};

/* Appends to `out` (unbounded) what is selected, estimated at no more than `max_tokens` by text/token_estimate.h, but
 * at least one passage; the whole text where it fits. `facts` may be NULL. */
void selection_write(struct selection *selection, int64_t max_tokens, struct buf *out, struct selection_facts *facts);

#endif
