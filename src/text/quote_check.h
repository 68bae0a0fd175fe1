/* src/text/quote_check.h
 *
 * Whether quotations occur in the text they are said to come from.
 *
 * Only what a quotation says has to agree: letters, digits and the signs that change a number (a minus, a decimal
 * point, %, currencies, < and >), in their order. White space, line breaks with hyphens, punctuation, quote marks,
 * dashes, Markdown (emphasis, links, footnote marks, tables), simple HTML tags and entities, ligatures and other
 * compatibility forms do not count. Case does, but for the first letter, since what stood within a sentence is quoted
 * as one. A quotation begins and ends at words: 185 is not found in 1857.
 *
 * An ellipsis ("…", "...", "[…]") stands for words left out: the parts around it have to follow each other in the text,
 * each not farther from the one before than QUOTE_MAX_GAP. An address (https://…) has to occur as it is. What stands in
 * brackets of its own ("[Shell > Options]") is the quoter's remark and is not looked for.
 *
 * Pure; linear in the text for each quotation, and capped: quotations past QUOTE_MAX_COUNT or QUOTE_MAX_WORK are not
 * looked for. Any thread.
 */
#ifndef FATHOM_TEXT_QUOTE_CHECK_H
#define FATHOM_TEXT_QUOTE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"

#define QUOTE_MAX_GAP   20000                /* bytes of letters and digits */
#define QUOTE_MAX_COUNT 1000                 /* quotations */
#define QUOTE_MAX_WORK  ((size_t)1000000000) /* bytes looked at, all quotations together */

struct quote {
    size_t from, to; /* bytes of the evidence: a sentence, list item, table row or line of code */
    bool found;
};

struct quotes {
    struct quote *items; /* in the order of the evidence; only what was looked for */
    size_t count, capacity;
    size_t n_missing;
};

/* Looks for every sentence of `evidence` in `text`, both Markdown or plain. `out` is overwritten and to be given to
 * quotes_finish. */
void quote_check(struct str text, struct str evidence, struct quotes *out);

void quotes_finish(struct quotes *quotes);

#endif
