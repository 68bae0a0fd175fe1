/* src/text/evidence_internal.h
 *
 * What the files of the choice of quotations share.
 *
 *     evidence_terms.c   the question's terms, and how much of them a piece of text has
 *     evidence.c         sentences with what they stand in, their score, and the best of them
 */
#ifndef FATHOM_TEXT_EVIDENCE_INTERNAL_H
#define FATHOM_TEXT_EVIDENCE_INTERNAL_H

#include <stdbool.h>

#include "text/evidence.h"
#include "text/words.h"

#define MAX_TERMS 64

struct term {
    char text[WORD_MAX_BYTES + 1];
    size_t length;
    bool identifier;                   /* the whole of one, in lower case; else a word of text/words.h */
    char compound[WORD_MAX_BYTES + 1]; /* with the term behind it, written as one; empty for the last */
};

struct terms {
    struct term items[MAX_TERMS];
    size_t count;
};

/* For each term how much of it a text has, 0 to 1, and how near it stands to the next one. */
struct credit {
    float has[MAX_TERMS];
    float near[MAX_TERMS];
};

/* The terms of a question, and behind them its identifiers as a whole. */
void evidence_terms_init(struct terms *terms, struct str text);

/* Counts a text in. Returns its words. */
size_t evidence_credit_add(struct credit *credit, const struct terms *terms, struct str text);

void evidence_raise(float *value, double to);
bool evidence_is_identifier_byte(char c);

#endif
