#include "text/evidence_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "text/sentences.h"

#define MAX_CODE  300  /* bytes of a block of code that is shown as a whole */
#define MAX_TERM  120  /* bytes of a term that is defined */
#define MAX_BACK  8000 /* bytes before a sentence in which the term it belongs to is looked for */
#define MAX_UNITS 50000

/* How much a word counts that stands beside the sentence instead of in it. */
static const double title_share = 0.7;
static const double heading_share = 0.45;
static const double definition_share = 0.4;
static const double neighbour_share = 0.25;
static const double term_share = 1.25; /* of a word in the term that is defined */
static const double type_weight = 0.5; /* of the word behind "which": an answer gives an instance of it instead */

static const double rarity_power = 0.9; /* dampens how much more rare words count than others */
static const double pair_weight = 0.35;
static const double length_share = 0.18;
static const double kind_bonus[] = {
    [ANSWER_NUMBER] = 0.6, [ANSWER_TIME] = 0.6, [ANSWER_FILE] = 0.5, [ANSWER_NAME] = 0.1};
static const double definition_bonus = 0.15;
static const double subject_bonus = 0.4; /* for a text whose title begins with a word of the question */
static const double trust_weight = 0.2;

/* ---- units ---- */

/* A sentence, or a short block of code. */
struct unit {
    struct evidence found;
    enum sentence_kind kind;
    struct credit own;
    const struct credit *heading; /* owned by the list, as is the next; NULL for none */
    struct credit *definition;
    size_t length; /* words */
    bool answers;  /* holds what the question wants to be told */
};

struct units {
    struct unit *items;
    size_t count, capacity;
    struct credit *titles;    /* one for each source */
    struct credit **contexts; /* of headings and definitions */
    size_t n_contexts, contexts_capacity;
};

static void units_finish(struct units *units)
{
    for (size_t i = 0; i < units->n_contexts; i++)
        free(units->contexts[i]);
    free(units->contexts);
    free(units->titles);
    free(units->items);
}

/* A bullet is no term, and a definition is none either. */
static bool is_term(struct str term)
{
    bool word = false;
    for (size_t i = 0; i < term.len; i++)
        word |= ascii_is_alnum(term.data[i]);
    return term.len < MAX_TERM && !str_starts_with(term, STR("#")) && (word || term.len > 3) &&
           !str_starts_with(term, STR(": "));
}

/* The term that a definition explains, for a sentence inside one ("term\n: text\n  more text"): without it the sentence
 * says nothing of what it is about. */
static struct str defined_term(struct str text, size_t at)
{
    size_t least = at > MAX_BACK ? at - MAX_BACK : 0;
    for (int lines = 0; lines < 40 && at > least; lines++) {
        size_t start = at;
        while (start > least && text.data[start - 1] != '\n')
            start--;
        struct str line = str_slice(text, start, text.len);
        if (str_starts_with(line, STR(": "))) {
            size_t end = start ? start - 1 : 0, from = end;
            while (from > least && text.data[from - 1] != '\n')
                from--;
            struct str term = str_trim(str_slice(text, from, end));
            if (term.len)
                return is_term(term) ? term : (struct str){0};
            at = from; /* one term may have several paragraphs with the mark of a definition */
            continue;
        }
        if (start == least || !(str_starts_with(line, STR("  ")) || str_starts_with(line, STR("\n"))))
            return (struct str){0};
        at = start - 1;
    }
    return (struct str){0};
}

/* Splits a sentence that begins with the term it defines; the term of one that stands further inside its definition is
 * looked for above it. */
static void split_term(struct str text, size_t from, struct evidence *found)
{
    struct str *quote = &found->quote;
    size_t split = str_find(*quote, STR("\n: "), 0);
    if (split != STR_NONE && split < MAX_TERM) {
        struct str term = str_trim(str_slice(*quote, 0, split));
        *quote = str_slice(*quote, split + 3, quote->len);
        if (is_term(term))
            found->term = term;
        return;
    }
    found->term = defined_term(text, from);
    if (str_starts_with(*quote, STR(": ")))
        *quote = str_slice(*quote, 2, quote->len);
}

/* ---- what a question wants to be told ---- */

static bool is_space_or_mark(char c)
{
    return (unsigned char)c < 0x80 && !ascii_is_alnum(c) && !strchr("_/.-", c);
}

/* Whether one token has the kind. */
static bool token_has_kind(struct str token, char before, char after, enum answer_kind kind)
{
    size_t digits = 0, uppers = 0, dots = 0, slashes = 0, letters = 0, underscores = 0;
    for (size_t i = 0; i < token.len; i++) {
        char c = token.data[i];
        digits += ascii_is_digit(c);
        letters += ascii_is_alpha(c);
        uppers += c >= 'A' && c <= 'Z';
        dots += c == '.';
        slashes += c == '/';
        underscores += c == '_';
    }
    switch (kind) {
    case ANSWER_ANY:
        return false;
    case ANSWER_NUMBER: /* not the 2 of open(2), no version, no truth value */
        return digits && !letters && !slashes && !underscores && dots < 2 && (before != '(' || digits > 2) &&
               !str_equal(token, STR("0")) && !str_equal(token, STR("1"));
    case ANSWER_TIME:
        return !letters && !slashes && ((digits >= 2 && dots) || (digits == 4 && strchr("12", token.data[0])));
    case ANSWER_FILE:
        return letters && (slashes || (dots && ascii_is_alpha(token.data[token.len - 1])));
    case ANSWER_NAME:
        if (letters && after == '(')
            return true;
        return letters && uppers && (underscores || (uppers > 1 && uppers + digits >= letters) || before == ' ');
    }
    return false;
}

/* Whether a text tells something of the kind that the question does not say itself. */
static bool has_kind(struct str text, const struct evidence_query *query)
{
    for (size_t at = 0; at < text.len;) {
        size_t from = at;
        while (at < text.len && !is_space_or_mark(text.data[at]))
            at++;
        size_t end = at;
        while (end > from && strchr(".-", text.data[end - 1]))
            end--;
        struct str token = str_slice(text, from, end);
        if (token.len &&
            token_has_kind(token, from ? text.data[from - 1] : '.', end < text.len ? text.data[end] : '.',
                           query->kind) &&
            str_find_nocase(query->terms, token, 0) == STR_NONE)
            return true;
        at += at == from || at < text.len;
    }
    return false;
}

/* ---- reading the sources ---- */

static struct credit *add_context(struct units *units)
{
    units->contexts = mem_grow(units->contexts, units->n_contexts, &units->contexts_capacity, sizeof *units->contexts);
    return units->contexts[units->n_contexts++] = mem_zalloc(sizeof(struct credit));
}

static void merge(struct credit *into, const struct credit *from, double share)
{
    for (size_t i = 0; i < MAX_TERMS; i++) {
        evidence_raise(&into->has[i], share * from->has[i]);
        evidence_raise(&into->near[i], from->near[i]);
    }
}

/* Takes a unit in; one of the same definition as the last shares its context. */
static void add_unit(struct units *units, const struct terms *terms, const struct evidence_query *query,
                     const struct unit *fresh)
{
    units->items = mem_grow(units->items, units->count, &units->capacity, sizeof *units->items);
    struct unit *unit = &units->items[units->count++];
    *unit = *fresh;
    const struct evidence *found = &unit->found;
    const struct unit *last = units->count > 1 ? unit - 1 : NULL;
    struct credit term = {0};
    unit->length =
        evidence_credit_add(&term, terms, found->term) + evidence_credit_add(&unit->own, terms, found->quote);
    if (found->term.len) {
        bool goes_on = last && last->definition && last->found.term.data == found->term.data;
        struct credit *whole = goes_on ? last->definition : add_context(units);
        merge(whole, &unit->own, 1);
        unit->definition = whole;
    }
    merge(&unit->own, &term, term_share);
    unit->answers = has_kind(found->quote, query) || (query->kind != ANSWER_NUMBER && has_kind(found->term, query));
}

static const struct credit *add_heading(struct units *units, const struct terms *terms, struct str heading)
{
    struct credit *credit = add_context(units);
    evidence_credit_add(credit, terms, heading);
    return credit;
}

/* Lines of code that follow each other are one unit. */
static bool continues_code(const struct unit *last, struct str text, const struct sentence *sentence)
{
    size_t end = (size_t)(last->found.quote.data - text.data) + last->found.quote.len;
    return last->kind == SENTENCE_CODE && end < sentence->from && !str_trim(str_slice(text, end, sentence->from)).len;
}

static void read_source(struct units *units, const struct terms *terms, const struct evidence_query *query,
                        const struct evidence_source *source, size_t index)
{
    struct sentences iterator;
    struct sentence sentence;
    const struct credit *heading = NULL;
    struct unit pending = {0};
    size_t first = units->count;
    bool has_pending = false;
    evidence_credit_add(&units->titles[index], terms, source->title);
    sentences_init(&iterator, source->text);
    while (units->count < MAX_UNITS && units->n_contexts < MAX_UNITS && sentences_next(&iterator, &sentence)) {
        struct str quote = str_slice(source->text, sentence.from, sentence.to);
        if (has_pending && sentence.kind == SENTENCE_CODE && continues_code(&pending, source->text, &sentence)) {
            pending.found.quote.len = (size_t)(quote.data + quote.len - pending.found.quote.data);
            continue;
        }
        if (has_pending)
            add_unit(units, terms, query, &pending);
        has_pending = sentence.kind != SENTENCE_HEADING;
        if (!has_pending) {
            heading = add_heading(units, terms, quote);
            continue;
        }
        pending = (struct unit){.found = {.source = index, .quote = quote}, .kind = sentence.kind, .heading = heading};
        split_term(source->text, sentence.from, &pending.found);
    }
    if (has_pending)
        add_unit(units, terms, query, &pending);
    if (first < units->count) /* what a text begins with tells what it is about, as its title does */
        merge(&units->titles[index], &units->items[first].own, 1);
}

/* ---- scoring ---- */

/* What a term is worth: the rarer among the sentences, the more. */
static void weigh_terms(const struct units *units, const struct terms *terms, const struct credit *type,
                        double *weights)
{
    for (size_t t = 0; t < terms->count; t++) {
        double having = 0, all = (double)units->count;
        for (size_t i = 0; i < units->count; i++)
            having += fmin(1, units->items[i].own.has[t]);
        weights[t] = log(1 + (all - having + 0.5) / (having + 0.5));
        if (type->has[t] > 0)
            weights[t] *= type_weight;
    }
}

static double share_of(const struct unit *unit, const struct credit *title, const struct unit *before,
                       const struct unit *after, size_t term)
{
    double own = unit->own.has[term];
    if (own >= 1)
        return own;
    double beside = fmax(before ? before->own.has[term] : 0, after ? after->own.has[term] : 0);
    double missing = (1 - own) * (1 - title_share * fmin(1, title->has[term]));
    missing *= 1 - neighbour_share * fmin(1, beside);
    if (unit->heading)
        missing *= 1 - heading_share * fmin(1, unit->heading->has[term]);
    if (unit->definition)
        missing *= 1 - definition_share * fmin(1, unit->definition->has[term]);
    return 1 - missing;
}

static void score_unit(const struct units *units, size_t index, const struct terms *terms, const double *weights,
                       const struct evidence_query *query, double mean_length)
{
    struct unit *unit = &units->items[index];
    const struct unit *before = index > 0 ? unit - 1 : NULL, *after = index + 1 < units->count ? unit + 1 : NULL;
    before = before && before->found.source == unit->found.source ? before : NULL;
    after = after && after->found.source == unit->found.source ? after : NULL;
    double total = 0, covered = 0, full = 0, shares = 0, pairs = 0;
    bool any = false;
    for (size_t t = 0; t < terms->count; t++) {
        double share = share_of(unit, &units->titles[unit->found.source], before, after, t);
        double weight = pow(weights[t], rarity_power);
        total += weights[t];
        covered += weights[t] * fmin(1, share);
        full += weight;
        shares += weight * share;
        if (t + 1 < terms->count)
            pairs += unit->own.near[t] * pow(fmin(weights[t], weights[t + 1]), rarity_power);
        any |= unit->own.has[t] > 0;
    }
    if (total <= 0 || (!any && !unit->answers))
        return;
    unit->found.coverage = covered / total;
    double score = (shares + pair_weight * pairs) / full;
    score /= 1 - length_share + length_share * fmin(4, (double)unit->length / mean_length);
    if (unit->answers)
        score *= 1 + kind_bonus[query->kind];
    if (unit->found.term.len && query->kind == ANSWER_NAME)
        score *= 1 + definition_bonus;
    unit->found.score = score;
}

/* Whether a title begins with a word of the question as it is written there: "gets(3) - get a string". */
static bool is_subject(struct str title, struct str terms)
{
    size_t end = 0;
    while (end < title.len && !ascii_is_space(title.data[end]) && title.data[end] != '(')
        end++;
    struct str name = str_slice(title, 0, end);
    for (size_t at = 0; name.len && (at = str_find_nocase(terms, name, at)) != STR_NONE; at++) {
        size_t behind = at + name.len;
        if ((at == 0 || !evidence_is_identifier_byte(terms.data[at - 1])) &&
            (behind == terms.len || !evidence_is_identifier_byte(terms.data[behind])))
            return true;
    }
    return false;
}

static int by_score(const void *a, const void *b)
{
    const struct unit *x = *(const struct unit *const *)a, *y = *(const struct unit *const *)b;
    if (x->found.score != y->found.score)
        return x->found.score < y->found.score ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* Whether a unit says nothing by itself, or what one that was taken says already. */
static bool is_idle(const struct unit *unit, const struct evidence *taken, size_t n_taken)
{
    struct str quote = unit->found.quote;
    size_t blanks = 0;
    for (size_t at = 0; (at = str_find_char(quote, ' ', at)) != STR_NONE; at++)
        blanks++;
    size_t commas = 0;
    for (size_t at = 0; (at = str_find_char(quote, ',', at)) != STR_NONE; at++)
        commas++;
    if (commas > 2 && 2 * commas > blanks) /* an enumeration */
        return true;
    bool spaced = quote.len > 0 && (unsigned char)quote.data[0] < 0x80;
    bool ended = quote.len > 0 && strchr(".!?:)\"'", quote.data[quote.len - 1]);
    if (unit->kind == SENTENCE_CODE ? quote.len > MAX_CODE
                                    : spaced && !unit->found.term.len && blanks < (ended ? 2 : 5))
        return true;
    for (size_t i = 0; i < n_taken; i++)
        if (str_equal(taken[i].term, unit->found.term) &&
            (str_find(taken[i].quote, quote, 0) != STR_NONE || str_find(quote, taken[i].quote, 0) != STR_NONE))
            return true;
    return false;
}

static size_t take_best(const struct units *units, struct evidence *out, size_t limit)
{
    const struct unit **order = mem_calloc(units->count + 1, sizeof *order);
    size_t count = 0, taken = 0;
    for (size_t i = 0; i < units->count; i++)
        if (units->items[i].found.score > 0)
            order[count++] = &units->items[i];
    qsort(order, count, sizeof *order, by_score);
    for (size_t i = 0; i < count && taken < limit; i++)
        if (!is_idle(order[i], out, taken))
            out[taken++] = order[i]->found;
    free(order);
    return taken;
}

size_t evidence_find(const struct evidence_source *sources, size_t n_sources, const struct evidence_query *query,
                     struct evidence *out, size_t limit)
{
    struct terms *terms = mem_alloc(sizeof *terms);
    struct units units = {.titles = mem_calloc(n_sources + 1, sizeof *units.titles)};
    double weights[MAX_TERMS], words = 0;
    evidence_terms_init(terms, query->terms);
    for (size_t i = 0; i < n_sources; i++)
        read_source(&units, terms, query, &sources[i], i);
    struct credit type = {0};
    evidence_credit_add(&type, terms, query->type);
    weigh_terms(&units, terms, &type, weights);
    for (size_t i = 0; i < units.count; i++)
        words += (double)units.items[i].length;
    double mean_length = fmax(1, words / fmax(1, (double)units.count));
    double *factors = mem_calloc(n_sources + 1, sizeof *factors);
    for (size_t i = 0; i < n_sources; i++)
        factors[i] = (1 + trust_weight * sources[i].trust) *
                     (is_subject(sources[i].title, query->terms) ? 1 + subject_bonus : 1);
    for (size_t i = 0; i < units.count; i++) {
        score_unit(&units, i, terms, weights, query, mean_length);
        units.items[i].found.score *= factors[units.items[i].found.source];
    }
    free(factors);
    size_t taken = take_best(&units, out, limit);
    units_finish(&units);
    free(terms);
    return taken;
}
