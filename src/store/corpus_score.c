/* Scoring. Documents are ranked by BM25 over title, headings and text together, mixed with the BM25 of their best
 * passage, which counts for long documents; neighbours in the query that stand near each other in a passage add to
 * both. Then the terms that most of the best passages share are added to the query with little weight (relevance
 * feedback, RM3), and all is scored again.
 *
 * The postings come straight from FTS5's index through fts5vocab, since its own bm25() knows neither passages nor
 * documents. The constants were chosen on flat ground: SciFact and Cranfield together, where each can be off by a third
 * without harm. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "store/corpus_internal.h"
#include "text/words.h"

#define MAX_TERMS         96                  /* of a query that are looked up */
#define PAIR_WINDOW       12                  /* terms within which two neighbours of the query count */
#define FEEDBACK_DOCS     10                  /* whose best passages are believed */
#define FEEDBACK_SHARED   3                   /* in so many of them a term must be */
#define FEEDBACK_ROWS     40000               /* occurrences that are read for them at most, of one term a quarter */
#define FEEDBACK_TERMS    20                  /* that are added */
#define MAX_FEEDBACK_TEXT ((size_t)256 << 10) /* of a document, to be unpacked for this */

static const double saturation = 1.3;     /* k1 */
static const double length_weight = 0.72; /* b */
static const double title_weight = 2.5;
static const double heading_weight = 1.5;
static const double pair_weight = 0.3;
static const double passage_share = 0.25; /* of the best passage in the score */
static const double feedback_share = 0.13;
static const double feedback_trust = 5; /* power of a score: how much more the best are believed than the rest */

/* A term in one passage. */
struct posting {
    uint32_t document, passage; /* indices into the lengths; the passage's is that of all documents */
    uint32_t first_position, n_positions;
    float weight; /* occurrences, weighted by field */
    float title;  /* of that, in the title, which stands in the first passage alone */
};

struct postings {
    struct posting *items;
    size_t count, capacity;
    uint32_t *positions;
    size_t n_positions, positions_capacity;
    size_t n_documents;
    double idf;
};

struct scorer {
    struct corpus *corpus;
    const struct corpus_lengths *lengths;
    double *documents; /* score of each */
    double *passages;
    size_t rows_read; /* occurrences looked at so far, which is what a search costs */
    struct error *error;
};

/* ---- lengths ---- */

void corpus_lengths_finish(struct corpus_lengths *lengths)
{
    free(lengths->document_ids);
    free(lengths->documents);
    free(lengths->first_passage);
    free(lengths->passages);
    *lengths = (struct corpus_lengths){0};
}

static enum status read_document_lengths(struct corpus *corpus, struct corpus_lengths *out, struct error *error)
{
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_DOCUMENT_LENGTHS);
    size_t capacity = 0, ids_capacity = 0;
    double total = 0;
    enum status status;
    bool row = false;
    while ((status = corpus_step(corpus, statement, &row, error)) == STATUS_OK && row) {
        out->documents = mem_grow(out->documents, out->n_documents, &capacity, sizeof *out->documents);
        out->document_ids = mem_grow(out->document_ids, out->n_documents, &ids_capacity, sizeof *out->document_ids);
        out->document_ids[out->n_documents] = sqlite3_column_int64(statement, 0);
        out->documents[out->n_documents] = (uint32_t)sqlite3_column_int64(statement, 1);
        total += out->documents[out->n_documents++];
    }
    if (statement)
        sqlite3_reset(statement);
    out->mean_document = out->n_documents && total > 0 ? total / (double)out->n_documents : 1;
    return status;
}

static enum status read_passage_lengths(struct corpus *corpus, struct corpus_lengths *out, struct error *error)
{
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_PASSAGE_LENGTHS);
    size_t capacity = 0, document = 0;
    double total = 0;
    out->first_passage = mem_calloc(out->n_documents + 1, sizeof *out->first_passage);
    enum status status;
    bool row = false;
    while ((status = corpus_step(corpus, statement, &row, error)) == STATUS_OK && row) {
        int64_t id = sqlite3_column_int64(statement, 0) >> PASSAGE_BITS;
        while (document < out->n_documents && out->document_ids[document] < id)
            out->first_passage[++document] = (uint32_t)out->n_passages;
        if (document == out->n_documents || out->document_ids[document] != id)
            continue; /* of no document: damage that need not stop a search */
        out->passages = mem_grow(out->passages, out->n_passages, &capacity, sizeof *out->passages);
        out->passages[out->n_passages] = (uint32_t)sqlite3_column_int64(statement, 1);
        total += out->passages[out->n_passages++];
    }
    if (statement)
        sqlite3_reset(statement);
    while (document < out->n_documents)
        out->first_passage[++document] = (uint32_t)out->n_passages;
    out->mean_passage = out->n_passages && total > 0 ? total / (double)out->n_passages : 1;
    return status;
}

enum status corpus_load_lengths(struct corpus *corpus, struct error *error)
{
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_DATA_VERSION);
    bool row = false;
    enum status status = corpus_step(corpus, statement, &row, error);
    if (status != STATUS_OK)
        return status;
    int64_t version = sqlite3_column_int64(statement, 0) + 1; /* so that it is never 0 */
    sqlite3_reset(statement);
    if (corpus->lengths.version == version)
        return STATUS_OK;
    struct corpus_lengths fresh = {0};
    status = read_document_lengths(corpus, &fresh, error);
    if (status == STATUS_OK)
        status = read_passage_lengths(corpus, &fresh, error);
    if (status != STATUS_OK) {
        corpus_lengths_finish(&fresh);
        return status;
    }
    fresh.version = version;
    corpus_lengths_finish(&corpus->lengths);
    corpus->lengths = fresh;
    return STATUS_OK;
}

/* ---- postings ---- */

static void postings_finish(struct postings *postings)
{
    free(postings->items);
    free(postings->positions);
    *postings = (struct postings){0};
}

static void add_instance(const struct scorer *scorer, struct postings *out, size_t document, size_t ordinal,
                         char column, uint32_t offset)
{
    uint32_t passage = scorer->lengths->first_passage[document] + (uint32_t)ordinal;
    if (passage >= scorer->lengths->first_passage[document + 1])
        return;
    struct posting *last = out->count ? &out->items[out->count - 1] : NULL;
    if (!last || last->passage != passage) {
        out->n_documents += !last || last->document != document;
        out->items = mem_grow(out->items, out->count, &out->capacity, sizeof *out->items);
        last = &out->items[out->count++];
        *last = (struct posting){
            .document = (uint32_t)document, .passage = passage, .first_position = (uint32_t)out->n_positions};
    }
    double weight = column == 't' ? title_weight : column == 'h' ? heading_weight : 1;
    last->weight += (float)weight;
    last->title += (float)(column == 't' ? weight : 0);
    out->positions = mem_grow(out->positions, out->n_positions, &out->positions_capacity, sizeof *out->positions);
    /* the fields lie far apart, so that no pair spans two of them */
    out->positions[out->n_positions++] = offset + (column == 't' ? 0x10000000 : column == 'h' ? 0x20000000 : 0);
    last->n_positions++;
}

/* Reads where a term stands. With more than `max_rows` occurrences it stops and leaves *out empty. */
static enum status read_postings(struct scorer *scorer, struct str term, size_t max_rows, struct postings *out)
{
    const struct corpus_lengths *lengths = scorer->lengths;
    *out = (struct postings){0};
    sqlite3_stmt *statement = corpus_statement(scorer->corpus, SQL_TERM_INSTANCES);
    corpus_bind_str(statement, 1, term);
    size_t document = 0, rows = 0;
    enum status status;
    bool row = false;
    while ((status = corpus_step(scorer->corpus, statement, &row, scorer->error)) == STATUS_OK && row) {
        int64_t id = sqlite3_column_int64(statement, 0);
        while (document < lengths->n_documents && lengths->document_ids[document] < id >> PASSAGE_BITS)
            document++;
        if (document == lengths->n_documents || ++rows > max_rows)
            break;
        if (lengths->document_ids[document] != id >> PASSAGE_BITS)
            continue;
        const unsigned char *column = sqlite3_column_text(statement, 1);
        add_instance(scorer, out, document, (size_t)(id & ((1 << PASSAGE_BITS) - 1)), column ? (char)column[0] : 'b',
                     (uint32_t)sqlite3_column_int64(statement, 2));
    }
    if (statement)
        sqlite3_reset(statement);
    scorer->rows_read += rows;
    if (status != STATUS_OK || rows > max_rows)
        postings_finish(out);
    double all = (double)lengths->n_documents, having = (double)out->n_documents;
    out->idf = log(1 + (all - having + 0.5) / (having + 0.5));
    return status;
}

static double bm25(double occurrences, double length, double mean)
{
    double norm = saturation * (1 - length_weight + length_weight * length / mean);
    return occurrences * (saturation + 1) / (occurrences + norm);
}

/* Adds what a term, or a pair of them, is worth to each document and passage. */
static void add_scores(struct scorer *scorer, const struct postings *postings, double weight)
{
    const struct corpus_lengths *lengths = scorer->lengths;
    double in_document = 0, title = 0;
    for (size_t i = 0; i < postings->count; i++) {
        const struct posting *posting = &postings->items[i];
        title = in_document > 0 ? title : posting->title;
        double in_passage = posting->weight + (posting->title > 0 ? 0 : title);
        scorer->passages[posting->passage] +=
            weight * bm25(in_passage, lengths->passages[posting->passage], lengths->mean_passage);
        in_document += posting->weight;
        if (i + 1 < postings->count && postings->items[i + 1].document == posting->document)
            continue;
        scorer->documents[posting->document] +=
            weight * bm25(in_document, lengths->documents[posting->document], lengths->mean_document);
        in_document = 0;
    }
}

/* How near two terms stand in one passage: each occurrence of the first counts one over the distance to the nearest
 * second. */
static double closeness(const struct postings *a, const struct posting *x, const struct postings *b,
                        const struct posting *y)
{
    double sum = 0;
    size_t k = 0;
    for (size_t i = 0; i < x->n_positions; i++) {
        int64_t at = a->positions[x->first_position + i];
        const uint32_t *others = b->positions + y->first_position;
        while (k + 1 < y->n_positions && llabs(others[k + 1] - at) <= llabs(others[k] - at))
            k++;
        int64_t distance = llabs((int64_t)others[k] - at);
        if (distance > 0 && distance <= PAIR_WINDOW)
            sum += 1 / (double)distance;
    }
    return sum;
}

static void add_pair_scores(struct scorer *scorer, const struct postings *a, const struct postings *b)
{
    struct postings pairs = {0};
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        const struct posting *x = &a->items[i], *y = &b->items[k];
        if (x->passage != y->passage) {
            *(x->passage < y->passage ? &i : &k) += 1;
            continue;
        }
        double near = closeness(a, x, b, y);
        if (near > 0) {
            pairs.items = mem_grow(pairs.items, pairs.count, &pairs.capacity, sizeof *pairs.items);
            pairs.items[pairs.count++] =
                (struct posting){.document = x->document, .passage = x->passage, .weight = (float)near};
        }
        i++;
        k++;
    }
    add_scores(scorer, &pairs, pair_weight * fmin(a->idf, b->idf));
    postings_finish(&pairs);
}

/* ---- the best ---- */

static bool is_better(const struct corpus_candidate *a, const struct corpus_candidate *b)
{
    return a->score != b->score ? a->score > b->score : a->document < b->document;
}

/* Keeps the best `limit` in order; `*count` are there. */
static void keep_best(struct corpus_candidate *best, size_t *count, size_t limit, struct corpus_candidate candidate)
{
    if (*count == limit && !is_better(&candidate, &best[limit - 1]))
        return;
    size_t at = *count < limit ? (*count)++ : limit - 1;
    for (; at > 0 && is_better(&candidate, &best[at - 1]); at--)
        best[at] = best[at - 1];
    best[at] = candidate;
}

static size_t find_best(const struct scorer *scorer, struct corpus_candidate *best, size_t limit)
{
    const struct corpus_lengths *lengths = scorer->lengths;
    size_t count = 0;
    for (size_t i = 0; i < lengths->n_documents && limit; i++) {
        if (scorer->documents[i] <= 0)
            continue;
        size_t first = lengths->first_passage[i], passage = 0;
        for (size_t k = first; k < lengths->first_passage[i + 1]; k++)
            if (scorer->passages[k] > scorer->passages[first + passage])
                passage = k - first;
        double mixed = (1 - passage_share) * scorer->documents[i] + passage_share * scorer->passages[first + passage];
        keep_best(best, &count, limit, (struct corpus_candidate){i, passage, mixed});
    }
    return count;
}

/* ---- relevance feedback ---- */

struct shared_term {
    char term[WORD_MAX_BYTES + 1];
    double weight;
    size_t documents, last_document; /* in how many, and the last of them + 1 */
};

struct vocabulary {
    struct shared_term *terms;
    size_t count, capacity;
    uint32_t *slots; /* index + 1 */
    size_t n_slots;  /* a power of two */
};

static size_t slot_of(const struct vocabulary *vocabulary, const char *term)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *c = term; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t slot = (size_t)hash & (vocabulary->n_slots - 1);
    while (vocabulary->slots[slot] && strcmp(vocabulary->terms[vocabulary->slots[slot] - 1].term, term) != 0)
        slot = (slot + 1) & (vocabulary->n_slots - 1);
    return slot;
}

static void grow_slots(struct vocabulary *vocabulary)
{
    vocabulary->n_slots = vocabulary->n_slots ? 2 * vocabulary->n_slots : 1024;
    free(vocabulary->slots);
    vocabulary->slots = mem_calloc(vocabulary->n_slots, sizeof *vocabulary->slots);
    for (size_t i = 0; i < vocabulary->count; i++)
        vocabulary->slots[slot_of(vocabulary, vocabulary->terms[i].term)] = (uint32_t)i + 1;
}

static void count_term(struct vocabulary *vocabulary, const char *term, size_t document, double weight)
{
    if (2 * (vocabulary->count + 1) > vocabulary->n_slots)
        grow_slots(vocabulary);
    size_t slot = slot_of(vocabulary, term);
    if (!vocabulary->slots[slot]) {
        vocabulary->terms =
            mem_grow(vocabulary->terms, vocabulary->count, &vocabulary->capacity, sizeof *vocabulary->terms);
        struct shared_term *fresh = &vocabulary->terms[vocabulary->count++];
        *fresh = (struct shared_term){0};
        strcpy(fresh->term, term);
        vocabulary->slots[slot] = (uint32_t)vocabulary->count;
    }
    struct shared_term *found = &vocabulary->terms[vocabulary->slots[slot] - 1];
    found->weight += weight;
    found->documents += found->last_document != document + 1;
    found->last_document = document + 1;
}

static void learn_text(struct vocabulary *vocabulary, struct str text, size_t number, double weight)
{
    struct words words;
    struct word word;
    words_init(&words, text);
    while (words_next(&words, &word))
        count_term(vocabulary, word.term, number, weight);
}

/* Counts the terms of a candidate's title and best passage. */
static enum status learn_from(struct scorer *scorer, const struct corpus_candidate *candidate, size_t number,
                              double share, struct vocabulary *vocabulary)
{
    struct corpus *corpus = scorer->corpus;
    int64_t id = scorer->lengths->document_ids[candidate->document];
    size_t passage = scorer->lengths->first_passage[candidate->document] + candidate->passage;
    double weight = share / fmax(1, scorer->lengths->passages[passage]);
    struct buf text;
    buf_init(&text, MAX_FEEDBACK_TEXT);
    enum status status = corpus_read_text(corpus, id, &text, NULL);
    if (status == STATUS_TOO_BIG || status == STATUS_NOT_FOUND)
        status = STATUS_OK;
    bool row = false;
    sqlite3_stmt *statement = corpus_statement(corpus, SQL_READ_PASSAGE);
    if (statement)
        sqlite3_bind_int64(statement, 1, (id << PASSAGE_BITS) + (int64_t)candidate->passage);
    if (status == STATUS_OK)
        status = corpus_step(corpus, statement, &row, scorer->error);
    if (row) {
        size_t from = (size_t)sqlite3_column_int64(statement, 0), to = (size_t)sqlite3_column_int64(statement, 1);
        learn_text(vocabulary, str_slice(buf_str(&text), from, to), number, weight);
        sqlite3_reset(statement);
    }
    buf_finish(&text);
    row = false;
    statement = corpus_statement(corpus, SQL_DOCUMENT_BY_ID);
    if (statement)
        sqlite3_bind_int64(statement, 1, id);
    if (status == STATUS_OK)
        status = corpus_step(corpus, statement, &row, scorer->error);
    if (row) {
        learn_text(vocabulary, corpus_column(statement, 1), number, weight);
        sqlite3_reset(statement);
    }
    return status;
}

static int compare_shared(const void *a, const void *b)
{
    const struct shared_term *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return strcmp(x->term, y->term);
}

/* Adds the terms that the best passages share. `query_weight` is the number of the query's own terms. */
static enum status add_feedback(struct scorer *scorer, const struct corpus_candidate *best, size_t count,
                                double query_weight)
{
    struct vocabulary vocabulary = {0};
    double total = 0, kept_weight = 0;
    enum status status = STATUS_OK;
    count = count < FEEDBACK_DOCS ? count : FEEDBACK_DOCS;
    for (size_t i = 0; i < count; i++)
        total += pow(best[i].score, feedback_trust);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = learn_from(scorer, &best[i], i, pow(best[i].score, feedback_trust) / total, &vocabulary);
    size_t kept = 0;
    for (size_t i = 0; i < vocabulary.count; i++)
        if (vocabulary.terms[i].documents >= FEEDBACK_SHARED)
            vocabulary.terms[kept++] = vocabulary.terms[i];
    if (kept)
        qsort(vocabulary.terms, kept, sizeof *vocabulary.terms, compare_shared);
    kept = kept < FEEDBACK_TERMS ? kept : FEEDBACK_TERMS;
    for (size_t i = 0; i < kept; i++)
        kept_weight += vocabulary.terms[i].weight;
    size_t limit = scorer->rows_read + FEEDBACK_ROWS;
    for (size_t i = 0; i < kept && status == STATUS_OK && scorer->rows_read < limit; i++) {
        struct postings postings;
        status = read_postings(scorer, str_of(vocabulary.terms[i].term), FEEDBACK_ROWS / 4, &postings);
        double share = vocabulary.terms[i].weight / kept_weight * feedback_share / (1 - feedback_share);
        add_scores(scorer, &postings, share * query_weight * postings.idf);
        postings_finish(&postings);
    }
    free(vocabulary.terms);
    free(vocabulary.slots);
    return status;
}

/* ---- all ---- */

/* The distinct terms of a query in its order. */
static size_t query_terms(struct str query, struct word *terms)
{
    struct words words;
    struct word word;
    size_t n = 0;
    words_init(&words, query);
    while (n < MAX_TERMS && words_next(&words, &word)) {
        size_t i = 0;
        while (i < n && strcmp(terms[i].term, word.term) != 0)
            i++;
        if (i == n)
            terms[n++] = word;
    }
    return n;
}

static enum status score_terms(struct scorer *scorer, const struct word *terms, size_t n)
{
    struct postings *postings = mem_calloc(n + 1, sizeof *postings);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < n && status == STATUS_OK; i++) {
        status = read_postings(scorer, str_make(terms[i].term, terms[i].length), SIZE_MAX, &postings[i]);
        add_scores(scorer, &postings[i], postings[i].idf);
        if (i)
            add_pair_scores(scorer, &postings[i - 1], &postings[i]);
    }
    for (size_t i = 0; i < n; i++)
        postings_finish(&postings[i]);
    free(postings);
    return status;
}

enum status corpus_score(struct corpus *corpus, struct str query, size_t limit, struct corpus_candidate **out,
                         size_t *count, struct error *error)
{
    struct word *terms = mem_calloc(MAX_TERMS, sizeof *terms);
    size_t n = query_terms(query, terms);
    struct scorer scorer = {
        .corpus = corpus,
        .lengths = &corpus->lengths,
        .documents = mem_calloc(corpus->lengths.n_documents + 1, sizeof(double)),
        .passages = mem_calloc(corpus->lengths.n_passages + 1, sizeof(double)),
        .error = error,
    };
    size_t room = limit > FEEDBACK_DOCS ? limit : FEEDBACK_DOCS;
    struct corpus_candidate *best = mem_calloc(room + 1, sizeof *best);
    enum status status = score_terms(&scorer, terms, n);
    size_t found = find_best(&scorer, best, room);
    if (status == STATUS_OK && found >= FEEDBACK_SHARED) {
        status = add_feedback(&scorer, best, found, (double)n);
        found = find_best(&scorer, best, room);
    }
    free(scorer.documents);
    free(scorer.passages);
    free(terms);
    if (status != STATUS_OK) {
        free(best);
        return status;
    }
    *out = best;
    *count = found < limit ? found : limit;
    return STATUS_OK;
}
