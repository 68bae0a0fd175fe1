/* The local search beside SQLite's own bm25() with Porter stemming, on SciFact and Cranfield, in one run.
 *
 *   bench_retrieval [FOLDER]     FOLDER has scifact/ and cranfield/; ../shared/data/retrieval by default */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"
#include "support/retrieval_set.h"

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The words of a query as FTS5 takes them: quoted, joined by OR. */
static char *as_fts_query(struct str text)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    for (size_t i = 0; i < text.len;) {
        size_t from = i;
        while (i < text.len && (ascii_is_alnum(text.data[i]) || (unsigned char)text.data[i] >= 0x80))
            i++;
        if (i > from)
            buf_addf(&out, "%s\"%.*s\"", out.len ? " OR " : "", STR_ARG(str_slice(text, from, i)));
        else
            i++;
    }
    return buf_take(&out);
}

/* The peer: title and text in one FTS5 table, ranked by bm25(). */
static double evaluate_peer(const struct retrieval_set *set, double *milliseconds)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    sqlite3_open(":memory:", &db);
    sqlite3_exec(db, "CREATE VIRTUAL TABLE document USING fts5 (title, text, tokenize = 'porter unicode61')", NULL,
                 NULL, NULL);
    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "INSERT INTO document (rowid, title, text) VALUES (?1, ?2, ?3)", -1, &statement, NULL);
    for (size_t i = 0; i < set->n_documents; i++) {
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)i);
        sqlite3_bind_text(statement, 2, set->documents[i].title, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, set->documents[i].text, -1, SQLITE_STATIC);
        sqlite3_step(statement);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "SELECT rowid FROM document WHERE document MATCH ?1 ORDER BY rank LIMIT 10", -1, &statement,
                       NULL);
    double sum = 0, begin = now_ms();
    for (size_t i = 0; i < set->n_queries; i++) {
        char *query = as_fts_query(str_of(set->queries[i].text));
        const char *ids[10];
        size_t n = 0;
        sqlite3_bind_text(statement, 1, query, -1, SQLITE_STATIC);
        while (n < 10 && sqlite3_step(statement) == SQLITE_ROW)
            ids[n++] = set->documents[sqlite3_column_int64(statement, 0)].id;
        sqlite3_reset(statement);
        sum += retrieval_ndcg(set, set->queries[i].id, ids, n);
        free(query);
    }
    *milliseconds = (now_ms() - begin) / (double)set->n_queries;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return sum / (double)set->n_queries;
}

static bool measure(const char *folder, const char *name)
{
    struct retrieval_set set;
    if (!retrieval_load(folder, name, &set)) {
        printf("%-10s is not in %s\n", name, folder);
        return true;
    }
    char scratch[] = "/tmp/fathom-retrieval-XXXXXX";
    if (!mkdtemp(scratch))
        return false;
    char *lines = mem_printf("%s/set.jsonl", scratch), *file = mem_printf("%s/set.db", scratch);
    retrieval_write_lines(&set, lines);
    struct corpus *corpus;
    struct error error;
    double ours_ms = 0, peer_ms = 0, begin = now_ms();
    bool good = corpus_open(file, CORPUS_CREATE, &corpus, &error) == STATUS_OK;
    if (good && corpus_index(corpus, (const char *const[]){lines}, 1, NULL, NULL, &error) == STATUS_OK) {
        double indexed_ms = now_ms() - begin;
        double ours = retrieval_evaluate(&set, corpus, &ours_ms), peer = evaluate_peer(&set, &peer_ms);
        printf("%-10s nDCG@10 %.4f  (%.2f ms a query)   FTS5 bm25, Porter %.4f (%.2f ms)   %zu documents indexed in "
               "%.0f ms\n",
               name, ours, ours_ms, peer, peer_ms, set.n_documents, indexed_ms);
    } else {
        printf("%-10s %s\n", name, error.message);
        good = false;
    }
    if (good)
        corpus_close(corpus);
    unlink(lines);
    unlink(file);
    rmdir(scratch);
    free(lines);
    free(file);
    retrieval_finish(&set);
    return good;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : SHARED_DATA "/retrieval";
    bool good = measure(folder, "scifact");
    good = measure(folder, "cranfield") && good;
    return good ? 0 : 1;
}
