/* src/text/rank_internal.h
 *
 * What the files of ranking share.
 *
 *     rank.c             the terms of a question, what of them each piece of text has, and the scores
 *     rank_sentences.c   sentences and snippets
 */
#ifndef FATHOM_TEXT_RANK_INTERNAL_H
#define FATHOM_TEXT_RANK_INTERNAL_H

#include "text/rank.h"
#include "text/words.h"

#define QUERY_TERMS 64
#define QUERY_TABLE 256 /* a power of two, well above QUERY_TERMS */

/* The distinct terms of a question in its order. */
struct query {
    char terms[QUERY_TERMS][WORD_MAX_BYTES + 1];
    size_t count;
    unsigned char table[QUERY_TABLE]; /* index + 1 */
};

/* A word of a piece that is a term of the question. */
struct hit {
    uint16_t position; /* in words, no further than 65535 */
    uint16_t term;
};

/* A piece with at least one term of the question: how often it has each of them, and each pair (i, i + 1). */
struct candidate {
    size_t index;
    float counts[QUERY_TERMS];
    float pairs[QUERY_TERMS];
    size_t length; /* words */
    size_t first_hit, n_hits;
};

/* One ranking, from the question over its pieces to their scores. */
struct ranking {
    struct query query;
    double length_weight; /* BM25's b */
    bool connected;       /* the pieces follow each other in one text: passages, whose hits are kept */
    struct candidate *candidates;
    struct hit *hits;
    size_t count, capacity, n_hits, hits_capacity;
    size_t n_pieces, total_length;
};

void ranking_init(struct ranking *ranking, struct str query, double length_weight);

/* Takes the next piece in; those that are not to be found are not added. */
void ranking_add(struct ranking *ranking, size_t index, struct str heading, struct str text);

/* Scores all candidates and ends the ranking. The caller frees the array, which has *count elements, best first. */
struct ranked *ranking_finish(struct ranking *ranking, size_t *count);

#endif
