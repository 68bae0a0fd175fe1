#include "text/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/markdown.h"
#include "text/words.h"

#define QUERY_TERMS 64
#define TABLE_SIZE  256 /* a power of two, well above QUERY_TERMS */
#define PAIR_WINDOW 8   /* words within which two neighbours of the query count as a pair */
#define PAIR_WEIGHT 0.3

static const double saturation = 1.2; /* BM25's k1 */

/* The distinct terms of a query in its order. */
struct query {
    char terms[QUERY_TERMS][WORD_MAX_BYTES + 1];
    size_t count;
    unsigned char table[TABLE_SIZE]; /* index + 1 */
};

/* How often one piece has each term of the query, and each pair (i, i + 1). Only what occurs is kept. */
struct tally {
    float counts[QUERY_TERMS];
    float pairs[QUERY_TERMS];
    size_t length; /* words */
};

static size_t hash_term(const char *term)
{
    uint32_t hash = 2166136261u;
    for (; *term; term++)
        hash = (hash ^ (unsigned char)*term) * 16777619u;
    return hash % TABLE_SIZE;
}

/* Index of a term, or -1. With `add`, a new one is taken in while there is room. */
static int query_find(struct query *query, const char *term, bool add)
{
    size_t slot = hash_term(term);
    for (; query->table[slot]; slot = (slot + 1) % TABLE_SIZE)
        if (strcmp(query->terms[query->table[slot] - 1], term) == 0)
            return query->table[slot] - 1;
    if (!add || query->count == QUERY_TERMS)
        return -1;
    strcpy(query->terms[query->count++], term);
    query->table[slot] = (unsigned char)query->count;
    return (int)query->count - 1;
}

static void query_init(struct query *query, struct str text)
{
    memset(query, 0, sizeof *query);
    struct words words;
    struct word word;
    words_init(&words, text);
    while (query->count < QUERY_TERMS && words_next(&words, &word))
        query_find(query, word.term, true);
}

/* Counts a piece of text in; several calls for one tally add up. */
static void tally_add(struct tally *tally, struct query *query, struct str text)
{
    size_t last_at[QUERY_TERMS] = {0}; /* position of the term's last occurrence, from 1 */
    struct words words;
    struct word word;
    words_init(&words, text);
    for (size_t position = 1; words_next(&words, &word); position++) {
        tally->length++;
        int term = query_find(query, word.term, false);
        if (term < 0)
            continue;
        tally->counts[term] += 1;
        last_at[term] = position;
        if (term > 0 && last_at[term - 1] && position - last_at[term - 1] <= PAIR_WINDOW)
            tally->pairs[term - 1] += 1 / (float)(position - last_at[term - 1]);
        if ((size_t)term + 1 < query->count && last_at[term + 1] && position - last_at[term + 1] <= PAIR_WINDOW)
            tally->pairs[term] += 1 / (float)(position - last_at[term + 1]);
    }
}

/* A piece with at least one term of the query. */
struct candidate {
    size_t index;
    struct tally tally;
};

struct ranking {
    struct query query;
    struct candidate *candidates;
    size_t count, capacity;
    size_t n_pieces, total_length;
    double length_weight; /* BM25's b */
};

static void ranking_add(struct ranking *ranking, size_t index, struct str heading, struct str text)
{
    struct tally tally = {0};
    tally_add(&tally, &ranking->query, heading);
    tally_add(&tally, &ranking->query, text);
    ranking->n_pieces++;
    ranking->total_length += tally.length;
    bool any = false;
    for (size_t i = 0; i < ranking->query.count; i++)
        any = any || tally.counts[i] > 0;
    if (!any)
        return;
    ranking->candidates =
        mem_grow(ranking->candidates, ranking->count, &ranking->capacity, sizeof *ranking->candidates);
    ranking->candidates[ranking->count++] = (struct candidate){index, tally};
}

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Scores all candidates and ends the ranking. The caller frees the array, which has *count elements, best first. */
static struct ranked *ranking_finish(struct ranking *ranking, size_t *count)
{
    size_t n = ranking->query.count;
    double idf[QUERY_TERMS + 1] = {0}; /* one more, since a pair looks at the next */
    for (size_t t = 0; t < n; t++) {
        size_t having = 0;
        for (size_t i = 0; i < ranking->count; i++)
            having += ranking->candidates[i].tally.counts[t] > 0;
        idf[t] = log(1 + ((double)(ranking->n_pieces - having) + 0.5) / ((double)having + 0.5));
    }
    double average = ranking->n_pieces ? (double)ranking->total_length / (double)ranking->n_pieces : 1;
    struct ranked *ranked = mem_calloc(ranking->count + 1, sizeof *ranked);
    for (size_t i = 0; i < ranking->count; i++) {
        const struct tally *tally = &ranking->candidates[i].tally;
        double relative = average > 0 ? (double)tally->length / average : 1;
        double norm = saturation * (1 - ranking->length_weight + ranking->length_weight * relative);
        double score = 0;
        for (size_t t = 0; t < n; t++) {
            double tf = tally->counts[t], pair = tally->pairs[t];
            score += idf[t] * tf * (saturation + 1) / (tf + norm);
            if (pair > 0)
                score += PAIR_WEIGHT * fmin(idf[t], idf[t + 1]) * pair * (saturation + 1) / (pair + norm);
        }
        ranked[i] = (struct ranked){ranking->candidates[i].index, score};
    }
    qsort(ranked, ranking->count, sizeof *ranked, compare_ranked);
    *count = ranking->count;
    free(ranking->candidates);
    return ranked;
}

static size_t take_best(struct ranking *ranking, struct ranked *out, size_t limit)
{
    size_t count;
    struct ranked *ranked = ranking_finish(ranking, &count);
    if (count > limit)
        count = limit;
    if (count)
        memcpy(out, ranked, count * sizeof *out);
    free(ranked);
    return count;
}

size_t rank_passages(struct str text, const struct passages *passages, struct str query, struct ranked *out,
                     size_t limit)
{
    struct ranking ranking = {.length_weight = 0.75};
    query_init(&ranking.query, query);
    for (size_t i = 0; i < passages->count; i++) {
        const struct passage *passage = &passages->items[i];
        ranking_add(&ranking, i, str_of(passage->headings), str_slice(text, passage->from, passage->to));
    }
    return take_best(&ranking, out, limit);
}

size_t rank_texts(const struct str *texts, size_t n_texts, struct str query, struct ranked *out, size_t limit)
{
    struct ranking ranking = {.length_weight = 0.75};
    query_init(&ranking.query, query);
    for (size_t i = 0; i < n_texts; i++)
        ranking_add(&ranking, i, (struct str){0}, texts[i]);
    return take_best(&ranking, out, limit);
}

/* A hash of the terms of a sentence, by which repetitions are found. */
static uint64_t fingerprint(struct str text)
{
    uint64_t hash = 14695981039346656037u;
    struct words words;
    struct word word;
    words_init(&words, text);
    while (words_next(&words, &word))
        for (size_t i = 0; i <= word.length; i++)
            hash = (hash ^ (unsigned char)word.term[i]) * 1099511628211u;
    return hash;
}

/* Sentences are short, so their length counts little: with a high b the shortest would win. */
static struct ranked *rank_list(struct str text, const struct sentence *sentences, size_t n, struct str query,
                                bool prose, size_t *count)
{
    struct ranking ranking = {.length_weight = 0.3};
    query_init(&ranking.query, query);
    for (size_t i = 0; i < n; i++) {
        bool wanted = !prose || (sentences[i].kind != SENTENCE_HEADING && sentences[i].kind != SENTENCE_CODE);
        if (wanted)
            ranking_add(&ranking, i, (struct str){0}, str_slice(text, sentences[i].from, sentences[i].to));
    }
    return ranking_finish(&ranking, count);
}

static struct sentence *all_sentences(struct str text, size_t *count)
{
    struct sentences iterator;
    struct sentence *list = NULL, sentence;
    size_t n = 0, capacity = 0;
    sentences_init(&iterator, text);
    while (sentences_next(&iterator, &sentence)) {
        list = mem_grow(list, n, &capacity, sizeof *list);
        list[n++] = sentence;
    }
    *count = n;
    return list;
}

size_t rank_sentences(struct str text, struct str query, struct ranked_sentence *out, size_t limit)
{
    size_t n, count, kept = 0;
    struct sentence *sentences = all_sentences(text, &n);
    struct ranked *ranked = rank_list(text, sentences, n, query, true, &count);
    uint64_t *seen = mem_calloc(limit + 1, sizeof *seen);
    for (size_t i = 0; i < count && kept < limit; i++) {
        const struct sentence *sentence = &sentences[ranked[i].index];
        uint64_t print = fingerprint(str_slice(text, sentence->from, sentence->to));
        bool repeated = false;
        for (size_t k = 0; k < kept; k++)
            repeated = repeated || seen[k] == print;
        if (repeated)
            continue;
        seen[kept] = print;
        out[kept++] = (struct ranked_sentence){*sentence, ranked[i].score};
    }
    free(seen);
    free(ranked);
    free(sentences);
    return kept;
}

enum status rank_snippet(struct str text, struct str query, size_t max_bytes, struct buf *out)
{
    size_t n, count;
    struct sentence *sentences = all_sentences(text, &n);
    struct ranked *ranked = rank_list(text, sentences, n, query, false, &count);
    size_t first = count ? ranked[0].index : 0, last = first;
    free(ranked);
    if (n && sentences[first].kind == SENTENCE_HEADING && first + 1 < n)
        last++;
    while (n) {
        size_t length = sentences[last].to - sentences[first].from;
        if (last + 1 < n && length + (sentences[last + 1].to - sentences[last].to) <= max_bytes)
            last++;
        else if (first > 0 && length + (sentences[first].from - sentences[first - 1].from) <= max_bytes)
            first--;
        else
            break;
    }
    struct buf line;
    buf_init(&line, max_bytes);
    bool cut = false;
    if (n) {
        struct str raw = str_slice(text, sentences[first].from, sentences[last].to);
        /* marks shorten the line, so more than max_bytes are looked at; what is over is cut */
        cut = raw.len > 4 * max_bytes;
        raw = str_slice(raw, 0, 4 * max_bytes);
        cut = markdown_to_line(raw, &line) != STATUS_OK || cut || last + 1 < n;
    }
    enum status status = STATUS_OK;
    if (n && first > 0)
        status = buf_append_str(out, STR("… "));
    if (status == STATUS_OK)
        status = buf_append_str(out, buf_str(&line));
    if (status == STATUS_OK && cut)
        status = buf_append_str(out, STR(" …"));
    buf_finish(&line);
    free(sentences);
    return status;
}
