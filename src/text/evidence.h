/* src/text/evidence.h
 *
 * Which sentences of several texts answer a question best, for an answer made of quotations.
 *
 * A sentence is judged with what it stands in: the term it defines, the headings above it, the title of its text and
 * its neighbours, since what is asked about is often named only there. Words count by how rare they are among all
 * sentences; a word of the question that no text has counts as the rarest, so that the coverage is low when the texts
 * speak of something else. Words of one family (equal beginnings) and compounds written apart ("file system") count
 * too, identifiers (open_by_handle, open(2)) also as a whole. Pure; linear in the texts; equal scores keep their order.
 */
#ifndef FATHOM_TEXT_EVIDENCE_H
#define FATHOM_TEXT_EVIDENCE_H

#include <stddef.h>

#include "core/str.h"

/* What a question wants to be told. */
enum answer_kind {
    ANSWER_ANY,
    ANSWER_NUMBER, /* how many, how long */
    ANSWER_TIME,   /* a date, a year, a version */
    ANSWER_FILE,   /* a path or the name of a file */
    ANSWER_NAME,   /* "which flag", "who": something with a name */
};

struct evidence_source {
    struct str text; /* Markdown or plain text */
    struct str title;
    double trust; /* 0 to 1: how much its place in search results speaks for it */
};

struct evidence_query {
    struct str terms; /* the words that matter, as they are written */
    struct str type;  /* those of them that say what sort of thing is asked for: "flag" of "which flag"; may be empty */
    enum answer_kind kind;
};

/* A sentence that bears on the question; the text of the sources is borrowed. */
struct evidence {
    size_t source;
    struct str term;  /* what the quote defines; empty when it is no definition */
    struct str quote; /* Markdown */
    double score;     /* > 0 */
    double coverage;  /* how much of the question the sentence and its surroundings have, by weight, 0 to 1 */
};

/* Writes the at most `limit` best sentences, best first, and returns how many. Headings, single words, rows of marks
 * and what an earlier one says already are left out. */
size_t evidence_find(const struct evidence_source *sources, size_t n_sources, const struct evidence_query *query,
                     struct evidence *out, size_t limit);

#endif
