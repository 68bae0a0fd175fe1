#include "support/retrieval_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"

/* A whole file, decompressed where it is compressed; false when it is not there. */
static bool read_whole(const char *folder, const char *name, struct buf *out)
{
    char *path = mem_printf("%s/%s", folder, name);
    gzFile file = gzopen(path, "rb");
    free(path);
    buf_init(out, BUF_UNBOUNDED);
    if (!file)
        return false;
    char chunk[65536];
    int got;
    while ((got = gzread(file, chunk, sizeof chunk)) > 0)
        buf_add(out, str_make(chunk, (size_t)got));
    gzclose(file);
    return out->len > 0;
}

static void add_document(struct retrieval_set *set, struct str id, struct str title, struct str text)
{
    set->documents = mem_grow(set->documents, set->n_documents, &set->documents_capacity, sizeof *set->documents);
    set->documents[set->n_documents++] = (struct retrieval_document){str_dup(id), str_dup(title), str_dup(text)};
}

static void add_query(struct retrieval_set *set, char *id, struct str text)
{
    set->queries = mem_grow(set->queries, set->n_queries, &set->queries_capacity, sizeof *set->queries);
    set->queries[set->n_queries++] = (struct retrieval_query){id, str_dup(str_trim(text))};
}

/* "QUERY ITERATION DOCUMENT GRADE" a line */
static void read_judgements(struct retrieval_set *set, struct str text)
{
    struct str line;
    while (str_split_next(&text, '\n', &line)) {
        char *row = str_dup(line), query[64], document[64];
        int grade;
        if (sscanf(row, "%63s %*s %63s %d", query, document, &grade) == 3 && grade > 0) {
            set->judgements =
                mem_grow(set->judgements, set->n_judgements, &set->judgements_capacity, sizeof *set->judgements);
            set->judgements[set->n_judgements++] =
                (struct retrieval_judgement){mem_strdup(query), mem_strdup(document)};
        }
        free(row);
    }
}

static void read_scifact(struct retrieval_set *set, struct str documents, struct str queries)
{
    struct str line;
    while (str_split_next(&documents, '\n', &line)) {
        json_t *object;
        if (json_parse(line, &object, NULL) != STATUS_OK)
            continue;
        add_document(set, json_get_str(object, "id"), json_get_str(object, "title"), json_get_str(object, "text"));
        json_decref(object);
    }
    while (str_split_next(&queries, '\n', &line)) {
        size_t tab = str_find_char(line, '\t', 0);
        if (tab != STR_NONE)
            add_query(set, str_dup(str_slice(line, 0, tab)), str_slice(line, tab + 1, line.len));
    }
}

/* What stands between <tag> and </tag> at or after *at, which moves behind it; false when there is no more. */
static bool next_element(struct str text, const char *tag, size_t *at, struct str *out)
{
    char open[32], close[32];
    snprintf(open, sizeof open, "<%s>", tag);
    snprintf(close, sizeof close, "</%s>", tag);
    size_t from = str_find(text, str_of(open), *at);
    size_t to = from == STR_NONE ? STR_NONE : str_find(text, str_of(close), from);
    if (to == STR_NONE)
        return false;
    *out = str_trim(str_slice(text, from + strlen(open), to));
    *at = to + strlen(close);
    return true;
}

/* The queries are judged by their position, not by the number they carry. */
static void read_cranfield(struct retrieval_set *set, struct str documents, struct str queries)
{
    size_t at = 0, number = 0;
    struct str element;
    while (next_element(documents, "doc", &at, &element)) {
        struct str id = {0}, title = {0}, text = {0};
        size_t inside = 0;
        if (!next_element(element, "docno", &inside, &id))
            continue;
        if (!next_element(element, "title", &inside, &title) || !next_element(element, "text", &inside, &text))
            text = (struct str){0};
        add_document(set, id, title, text);
    }
    for (at = 0; next_element(queries, "title", &at, &element);)
        add_query(set, mem_printf("%zu", ++number), element);
}

bool retrieval_load(const char *folder, const char *name, struct retrieval_set *out)
{
    bool scifact = strcmp(name, "scifact") == 0;
    char *path = mem_printf("%s/%s", folder, name);
    struct buf documents, queries = {0}, judgements = {0};
    bool there = read_whole(path, scifact ? "corpus.jsonl.gz" : "cran.all.1400.xml.gz", &documents) &&
                 read_whole(path, scifact ? "queries.tsv" : "cran.qry.xml", &queries) &&
                 read_whole(path, scifact ? "qrels.txt" : "cranqrel.trec.txt", &judgements);
    *out = (struct retrieval_set){0};
    if (there) {
        if (scifact)
            read_scifact(out, buf_str(&documents), buf_str(&queries));
        else
            read_cranfield(out, buf_str(&documents), buf_str(&queries));
        read_judgements(out, buf_str(&judgements));
    }
    buf_finish(&documents);
    buf_finish(&queries);
    buf_finish(&judgements);
    free(path);
    return there;
}

void retrieval_finish(struct retrieval_set *set)
{
    for (size_t i = 0; i < set->n_documents; i++) {
        free(set->documents[i].id);
        free(set->documents[i].title);
        free(set->documents[i].text);
    }
    for (size_t i = 0; i < set->n_queries; i++) {
        free(set->queries[i].id);
        free(set->queries[i].text);
    }
    for (size_t i = 0; i < set->n_judgements; i++) {
        free(set->judgements[i].query);
        free(set->judgements[i].document);
    }
    free(set->documents);
    free(set->queries);
    free(set->judgements);
    *set = (struct retrieval_set){0};
}

void retrieval_write_lines(const struct retrieval_set *set, const char *path)
{
    struct buf lines;
    buf_init(&lines, BUF_UNBOUNDED);
    for (size_t i = 0; i < set->n_documents; i++) {
        json_t *object = json_object();
        json_put_str(object, "_id", str_of(set->documents[i].id));
        json_put_str(object, "title", str_of(set->documents[i].title));
        json_put_str(object, "text", str_of(set->documents[i].text));
        if (json_write(&lines, object) != STATUS_OK)
            abort();
        buf_add_char(&lines, '\n');
        json_decref(object);
    }
    if (file_write(path, buf_str(&lines), NULL) != STATUS_OK)
        abort();
    buf_finish(&lines);
}

double retrieval_ndcg(const struct retrieval_set *set, const char *query, const char *const *ranked, size_t n)
{
    double gain = 0, ideal = 0;
    size_t relevant = 0;
    for (size_t i = 0; i < set->n_judgements; i++) {
        if (strcmp(set->judgements[i].query, query) != 0)
            continue;
        if (relevant < 10)
            ideal += 1 / log2((double)relevant + 2);
        relevant++;
        for (size_t k = 0; k < n && k < 10; k++)
            if (strcmp(ranked[k], set->judgements[i].document) == 0)
                gain += 1 / log2((double)k + 2);
    }
    return ideal > 0 ? gain / ideal : 0;
}

double retrieval_evaluate(const struct retrieval_set *set, struct corpus *corpus, double *milliseconds)
{
    double sum = 0;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (size_t i = 0; i < set->n_queries; i++) {
        struct corpus_results results;
        if (corpus_search(corpus, str_of(set->queries[i].text), 10, &results, NULL) != STATUS_OK)
            return -1;
        const char *ids[10];
        for (size_t k = 0; k < results.count; k++)
            ids[k] = strrchr(results.hits[k].url, '/') + 1;
        sum += retrieval_ndcg(set, set->queries[i].id, ids, results.count);
        corpus_results_finish(&results);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double spent = (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
    if (milliseconds)
        *milliseconds = spent / (double)set->n_queries;
    return sum / (double)set->n_queries;
}
