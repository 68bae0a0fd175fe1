#include "text/rank_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"

#define PAIR_WINDOW 8 /* words within which two neighbours of the question count as a pair */
#define SPAN_WORDS  20
#define LINK_BYTES  2048 /* a longer address counts as text */

/* BM25's k1, for pieces that stand alone and for passages: what a text is about, several of them repeat. */
static const double saturation = 1.2, passage_saturation = 1.6;
static const double pair_weight = 0.3;
/* Of passages: what the words of the question that stand close together count beside all of them, how much of the
 * neighbours' scores a passage has, since what it is about often stands before it, and how much the first passage of a
 * text is ahead of those far behind. */
static const double span_weight = 0.6;
static const double neighbour_share = 0.3;
static const double first_bonus = 0.1;
/* Pairs of hiragana are endings and particles more often than words. */
static const double hiragana_weight = 0.2;

/* ---- the question ---- */

static size_t hash_term(const char *term)
{
    uint32_t hash = 2166136261u;
    for (; *term; term++)
        hash = (hash ^ (unsigned char)*term) * 16777619u;
    return hash % QUERY_TABLE;
}

/* Index of a term, or -1. With `add`, a new one is taken in while there is room. */
static int query_find(struct query *query, const char *term, bool add)
{
    size_t slot = hash_term(term);
    for (; query->table[slot]; slot = (slot + 1) % QUERY_TABLE)
        if (strcmp(query->terms[query->table[slot] - 1], term) == 0)
            return query->table[slot] - 1;
    if (!add || query->count == QUERY_TERMS)
        return -1;
    strcpy(query->terms[query->count++], term);
    query->table[slot] = (unsigned char)query->count;
    return (int)query->count - 1;
}

/* Words that stand for what is asked in a question and say nothing of it. */
static bool is_placeholder(struct str word)
{
    static const char *const words[] = {"else",    "one",       "ones", "someone", "somebody",
                                        "someway", "something", "way",  "ways"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_equal_ascii_nocase(word, str_of(words[i])))
            return true;
    return false;
}

static void query_read(struct query *query, struct str text, bool placeholders)
{
    struct words words;
    struct word word;
    words_init(&words, text);
    while (query->count < QUERY_TERMS && words_next(&words, &word))
        if (placeholders || !is_placeholder(str_slice(text, word.from, word.to)))
            query_find(query, word.term, true);
}

static bool is_hiragana(uint32_t c)
{
    return c >= 0x3041 && c <= 0x3096;
}

static double term_weight(const char *term)
{
    struct str rest = str_of(term);
    while (rest.len) {
        size_t length;
        if (!is_hiragana(utf8_decode(rest, &length)))
            return 1;
        rest = str_slice(rest, length, rest.len);
    }
    return hiragana_weight;
}

/* ---- the pieces ---- */

void ranking_init(struct ranking *ranking, struct str query, double length_weight)
{
    memset(ranking, 0, sizeof *ranking);
    ranking->length_weight = length_weight;
    query_read(&ranking->query, query, false);
    if (!ranking->query.count)
        query_read(&ranking->query, query, true);
}

static void keep_hit(struct ranking *ranking, size_t position, int term)
{
    ranking->hits = mem_grow(ranking->hits, ranking->n_hits, &ranking->hits_capacity, sizeof *ranking->hits);
    ranking->hits[ranking->n_hits++] =
        (struct hit){(uint16_t)(position < UINT16_MAX ? position : UINT16_MAX), (uint16_t)term};
}

/* Counts a stretch of a piece in. */
static void count_terms(struct ranking *ranking, struct candidate *candidate, struct str text)
{
    struct query *query = &ranking->query;
    size_t last_at[QUERY_TERMS] = {0}; /* position of the term's last occurrence, from 1 */
    struct words words;
    struct word word;
    words_init(&words, text);
    for (size_t position = 1; words_next(&words, &word); position++) {
        candidate->length++;
        int term = query_find(query, word.term, false);
        if (term < 0)
            continue;
        candidate->counts[term] += 1;
        last_at[term] = position;
        if (ranking->connected) {
            keep_hit(ranking, candidate->length, term);
            continue;
        }
        if (term > 0 && last_at[term - 1] && position - last_at[term - 1] <= PAIR_WINDOW)
            candidate->pairs[term - 1] += 1 / (float)(position - last_at[term - 1]);
        if ((size_t)term + 1 < query->count && last_at[term + 1] && position - last_at[term + 1] <= PAIR_WINDOW)
            candidate->pairs[term] += 1 / (float)(position - last_at[term + 1]);
    }
}

/* Counts Markdown in, without the addresses of links: "[text](address)". */
static void count_text(struct ranking *ranking, struct candidate *candidate, struct str text)
{
    size_t at = 0, link;
    while ((link = str_find(text, STR("]("), at)) != STR_NONE) {
        count_terms(ranking, candidate, str_slice(text, at, link));
        size_t end = str_find_char(str_slice(text, 0, link + LINK_BYTES), ')', link);
        at = end == STR_NONE ? link + 2 : end;
    }
    count_terms(ranking, candidate, str_slice(text, at, text.len));
}

void ranking_add(struct ranking *ranking, size_t index, struct str heading, struct str text)
{
    struct candidate candidate = {.index = index, .first_hit = ranking->n_hits};
    count_terms(ranking, &candidate, heading);
    count_text(ranking, &candidate, text);
    candidate.n_hits = ranking->n_hits - candidate.first_hit;
    ranking->n_pieces++;
    ranking->total_length += candidate.length;
    bool any = false;
    for (size_t i = 0; i < ranking->query.count; i++)
        any = any || candidate.counts[i] > 0;
    if (!any)
        return;
    ranking->candidates =
        mem_grow(ranking->candidates, ranking->count, &ranking->capacity, sizeof *ranking->candidates);
    ranking->candidates[ranking->count++] = candidate;
}

/* ---- scores ---- */

/* What each term is worth: the rarer among the pieces, the more. */
static void weigh_terms(const struct ranking *ranking, double *weights)
{
    for (size_t t = 0; t < ranking->query.count; t++) {
        size_t having = 0;
        for (size_t i = 0; i < ranking->count; i++)
            having += ranking->candidates[i].counts[t] > 0;
        weights[t] = log(1 + ((double)(ranking->n_pieces - having) + 0.5) / ((double)having + 0.5)) *
                     term_weight(ranking->query.terms[t]);
    }
}

static double score_terms(const struct ranking *ranking, const struct candidate *candidate, const double *weights)
{
    double average = (double)ranking->total_length / (double)ranking->n_pieces;
    double relative = average > 0 ? (double)candidate->length / average : 1;
    double k1 = ranking->connected ? passage_saturation : saturation;
    double norm = k1 * (1 - ranking->length_weight + ranking->length_weight * relative);
    double score = 0;
    for (size_t t = 0; t < ranking->query.count; t++) {
        double tf = candidate->counts[t], pair = candidate->pairs[t];
        score += weights[t] * tf * (k1 + 1) / (tf + norm);
        if (pair > 0)
            score += pair_weight * fmin(weights[t], weights[t + 1]) * pair * (k1 + 1) / (pair + norm);
    }
    return score;
}

/* The most that the distinct terms within a span of words are worth together. */
static double score_span(const struct ranking *ranking, const struct candidate *candidate, const double *weights)
{
    const struct hit *hits = ranking->hits + candidate->first_hit;
    size_t inside[QUERY_TERMS] = {0}, first = 0;
    double sum = 0, best = 0;
    for (size_t i = 0; i < candidate->n_hits; i++) {
        sum += inside[hits[i].term]++ ? 0 : weights[hits[i].term];
        for (; hits[i].position - hits[first].position > SPAN_WORDS; first++)
            sum -= --inside[hits[first].term] ? 0 : weights[hits[first].term];
        best = fmax(best, sum);
    }
    return best;
}

/* Lets passages share in their neighbours' scores, and the first ones be ahead. `scores` are of the candidates. */
static void connect(const struct ranking *ranking, double *scores)
{
    const struct candidate *candidates = ranking->candidates;
    double before = 0; /* the own score of the candidate before */
    for (size_t i = 0; i < ranking->count; i++) {
        double own = scores[i], neighbours = 0;
        if (i > 0 && candidates[i - 1].index + 1 == candidates[i].index)
            neighbours += before;
        if (i + 1 < ranking->count && candidates[i + 1].index == candidates[i].index + 1)
            neighbours += scores[i + 1];
        before = own;
        scores[i] = (own + neighbour_share * neighbours / 2) * (1 + first_bonus / (double)(1 + candidates[i].index));
    }
}

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

struct ranked *ranking_finish(struct ranking *ranking, size_t *count)
{
    double weights[QUERY_TERMS + 1] = {0}; /* one more, since a pair looks at the next */
    double *scores = mem_calloc(ranking->count + 1, sizeof *scores);
    struct ranked *ranked = mem_calloc(ranking->count + 1, sizeof *ranked);
    weigh_terms(ranking, weights);
    for (size_t i = 0; i < ranking->count; i++) {
        scores[i] = score_terms(ranking, &ranking->candidates[i], weights);
        if (ranking->connected)
            scores[i] += span_weight * score_span(ranking, &ranking->candidates[i], weights);
    }
    if (ranking->connected)
        connect(ranking, scores);
    for (size_t i = 0; i < ranking->count; i++)
        ranked[i] = (struct ranked){ranking->candidates[i].index, scores[i]};
    qsort(ranked, ranking->count, sizeof *ranked, compare_ranked);
    *count = ranking->count;
    free(scores);
    free(ranking->hits);
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
    struct ranking ranking;
    ranking_init(&ranking, query, 0.75);
    ranking.connected = true;
    for (size_t i = 0; i < passages->count; i++) {
        const struct passage *passage = &passages->items[i];
        ranking_add(&ranking, i, str_of(passage->headings), str_slice(text, passage->from, passage->to));
    }
    return take_best(&ranking, out, limit);
}

size_t rank_texts(const struct str *texts, size_t n_texts, struct str query, struct ranked *out, size_t limit)
{
    struct ranking ranking;
    ranking_init(&ranking, query, 0.75);
    for (size_t i = 0; i < n_texts; i++)
        ranking_add(&ranking, i, (struct str){0}, texts[i]);
    return take_best(&ranking, out, limit);
}
