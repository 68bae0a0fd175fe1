#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "store/corpus_internal.h"
#include "text/rank.h"

#define SNIPPET_BYTES 300
#define MAX_LIMIT     1000
#define MAX_QUERY     16384 /* bytes; a longer query is cut */

void corpus_results_finish(struct corpus_results *results)
{
    if (!results)
        return;
    for (size_t i = 0; i < results->count; i++) {
        free(results->hits[i].url);
        free(results->hits[i].title);
        free(results->hits[i].headings);
        free(results->hits[i].snippet);
    }
    free(results->hits);
    *results = (struct corpus_results){0};
}

/* Reads link, title and hash of a document. */
static enum status read_row(struct corpus *corpus, int64_t id, struct corpus_hit *hit, unsigned char hash[HASH_BYTES],
                            struct error *error)
{
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_DOCUMENT_BY_ID);
    if (statement)
        sqlite3_bind_int64(statement, 1, id);
    bool row = false;
    enum status status = corpus_step(corpus, statement, &row, error);
    if (status != STATUS_OK)
        return status;
    if (!row)
        return error_set(error, STATUS_INVALID, "the corpus is damaged: a document is missing");
    hit->url = str_dup(corpus_column(statement, 0));
    hit->title = str_dup(corpus_column(statement, 1));
    struct str bytes = corpus_column(statement, 2);
    memset(hash, 0, HASH_BYTES);
    if (bytes.len == HASH_BYTES)
        memcpy(hash, bytes.data, HASH_BYTES);
    sqlite3_reset(statement);
    return STATUS_OK;
}

static enum status read_snippet(struct corpus *corpus, int64_t passage, struct str query, struct corpus_hit *hit,
                                struct error *error)
{
    struct buf text, snippet;
    buf_init(&text, BUF_UNBOUNDED);
    buf_init(&snippet, SNIPPET_BYTES + 16);
    size_t from = 0, to = 0;
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_READ_PASSAGE);
    if (statement)
        sqlite3_bind_int64(statement, 1, passage);
    bool row = false;
    enum status status = corpus_step(corpus, statement, &row, error);
    if (status == STATUS_OK && row) {
        from = (size_t)sqlite3_column_int64(statement, 0);
        to = (size_t)sqlite3_column_int64(statement, 1);
        if (sqlite3_column_type(statement, 2) != SQLITE_NULL)
            hit->headings = str_dup(corpus_column(statement, 2));
        sqlite3_reset(statement);
        status = corpus_read_text(corpus, passage >> PASSAGE_BITS, &text, error);
    }
    if (status == STATUS_OK) {
        struct str body = str_slice(buf_str(&text), from, to);
        if (rank_snippet(body, query, SNIPPET_BYTES, &snippet) != STATUS_OK)
            buf_reset(&snippet);
        hit->snippet = str_dup(buf_str(&snippet));
    }
    buf_finish(&snippet);
    buf_finish(&text);
    return status;
}

static void hit_finish(struct corpus_hit *hit)
{
    free(hit->url);
    free(hit->title);
    free(hit->headings);
    free(hit->snippet);
}

/* Turns candidates into hits. Of documents with equal texts the best is shown. */
static enum status read_hits(struct corpus *corpus, struct str query, const struct corpus_candidate *candidates,
                             size_t n, size_t limit, struct corpus_results *out, struct error *error)
{
    unsigned char(*hashes)[HASH_BYTES] = mem_calloc(n + 1, HASH_BYTES);
    out->hits = mem_calloc(n + 1, sizeof *out->hits);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < n && out->count < limit && status == STATUS_OK; i++) {
        struct corpus_hit hit = {.score = candidates[i].score};
        int64_t id = corpus->lengths.document_ids[candidates[i].document];
        status = read_row(corpus, id, &hit, hashes[out->count], error);
        bool repeated = false;
        for (size_t k = 0; status == STATUS_OK && k < out->count; k++)
            repeated = repeated || memcmp(hashes[k], hashes[out->count], HASH_BYTES) == 0;
        if (status == STATUS_OK && !repeated)
            status = read_snippet(corpus, (id << PASSAGE_BITS) + (int64_t)candidates[i].passage, query, &hit, error);
        if (status == STATUS_OK && !repeated)
            out->hits[out->count++] = hit;
        else
            hit_finish(&hit);
    }
    free(hashes);
    return status;
}

enum status corpus_search(struct corpus *corpus, struct str query, size_t limit, struct corpus_results *out,
                          struct error *error)
{
    struct corpus_results results = {0};
    struct corpus_candidate *candidates = NULL;
    size_t count = 0;
    limit = limit < MAX_LIMIT ? limit : MAX_LIMIT;
    query = str_slice(query, 0, MAX_QUERY);
    /* one transaction, so that lengths, postings and texts are of one state although another process is writing */
    int code = sqlite3_exec(corpus->db, "BEGIN", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return corpus_failure(corpus, code, error);
    enum status status = corpus_load_lengths(corpus, error);
    if (status == STATUS_OK) /* some more, since equal texts fall together */
        status = corpus_score(corpus, query, limit ? 2 * limit + 8 : 0, &candidates, &count, error);
    if (status == STATUS_OK)
        status = read_hits(corpus, query, candidates, count, limit, &results, error);
    free(candidates);
    sqlite3_exec(corpus->db, "COMMIT", NULL, NULL, NULL);
    if (status != STATUS_OK) {
        corpus_results_finish(&results);
        return status;
    }
    *out = results;
    return STATUS_OK;
}
