/* tests/support/retrieval_set.h
 *
 * The public retrieval sets under ../shared/data/retrieval: their documents as a corpus, and what a ranking of them is
 * worth.
 */
#ifndef TESTS_SUPPORT_RETRIEVAL_SET_H
#define TESTS_SUPPORT_RETRIEVAL_SET_H

#include "store/corpus.h"

struct retrieval_query {
    char *id, *text;
};

struct retrieval_judgement {
    char *query, *document;
};

struct retrieval_document {
    char *id, *title, *text;
};

struct retrieval_set {
    struct retrieval_document *documents;
    struct retrieval_query *queries;
    struct retrieval_judgement *judgements; /* the relevant ones, grouped by query */
    size_t n_documents, n_queries, n_judgements;
    size_t documents_capacity, queries_capacity, judgements_capacity;
};

/* Loads "scifact" or "cranfield" from `folder`. False when it is not there. */
bool retrieval_load(const char *folder, const char *name, struct retrieval_set *out);
void retrieval_finish(struct retrieval_set *set);

/* Writes the documents as JSON Lines. */
void retrieval_write_lines(const struct retrieval_set *set, const char *path);

/* nDCG@10 (binary gains) of one query's ranked document ids. */
double retrieval_ndcg(const struct retrieval_set *set, const char *query, const char *const *ranked, size_t n);

/* Searches the corpus made of retrieval_write_lines for every query: the mean nDCG@10, negative when a search fails.
 * *milliseconds (may be NULL) is what a search took on average. */
double retrieval_evaluate(const struct retrieval_set *set, struct corpus *corpus, double *milliseconds);

#endif
