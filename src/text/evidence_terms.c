#include <string.h>

#include "core/utf8.h"
#include "text/evidence_internal.h"

#define FAMILY_PREFIX 5 /* letters that words of one family begin with */
#define PAIR_WINDOW   6

static const double family_share = 0.6;
static const double repetition_share = 0.15; /* of a word that is there more than once */

bool evidence_is_identifier_byte(char c)
{
    return ascii_is_alnum(c) || c == '_';
}

/* The identifier that a word is a part of. */
static struct str identifier_around(struct str text, const struct word *word)
{
    size_t from = word->from, to = word->to;
    while (from > 0 && evidence_is_identifier_byte(text.data[from - 1]))
        from--;
    while (to < text.len && evidence_is_identifier_byte(text.data[to]))
        to++;
    return str_slice(text, from, to);
}

static void lower_copy(struct str text, char *out)
{
    size_t length = text.len < WORD_MAX_BYTES ? text.len : WORD_MAX_BYTES;
    for (size_t i = 0; i < length; i++)
        out[i] = (char)(text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] + 32 : text.data[i]);
    out[length] = '\0';
}

static void join(const char *first, const char *second, char *out)
{
    size_t a = strlen(first), b = strlen(second);
    out[0] = '\0';
    if (a + b > WORD_MAX_BYTES || !ascii_is_alpha(first[0]) || !ascii_is_alpha(second[0]))
        return;
    memcpy(out, first, a);
    memcpy(out + a, second, b + 1);
    out[stem_english(out, a + b)] = '\0';
}

static void add_term(struct terms *terms, const char *text, bool identifier)
{
    for (size_t i = 0; i < terms->count; i++)
        if (terms->items[i].identifier == identifier && strcmp(terms->items[i].text, text) == 0)
            return;
    if (terms->count == MAX_TERMS)
        return;
    struct term *term = &terms->items[terms->count++];
    *term = (struct term){.length = strlen(text), .identifier = identifier};
    memcpy(term->text, text, term->length + 1);
}

/* The 2 of "open(2)", which says nothing by itself. */
static bool is_section(struct str text, const struct word *word)
{
    return word->length == 1 && ascii_is_digit(word->term[0]) && word->from > 1 && text.data[word->from - 1] == '(' &&
           evidence_is_identifier_byte(text.data[word->from - 2]);
}

void evidence_terms_init(struct terms *terms, struct str text)
{
    struct words words;
    struct word word;
    terms->count = 0;
    words_init(&words, text);
    while (words_next(&words, &word))
        if (!is_section(text, &word))
            add_term(terms, word.term, false);
    for (size_t i = 0; i + 1 < terms->count; i++)
        join(terms->items[i].text, terms->items[i + 1].text, terms->items[i].compound);
    words_init(&words, text);
    while (words_next(&words, &word)) {
        struct str whole = identifier_around(text, &word);
        size_t end = (size_t)(whole.data - text.data) + whole.len;
        bool called = end < text.len && text.data[end] == '(';
        char lower[WORD_MAX_BYTES + 1];
        lower_copy(whole, lower);
        if (str_find_char(whole, '_', 0) != STR_NONE || (called && whole.len > 1))
            add_term(terms, lower, true);
    }
}

void evidence_raise(float *value, double to)
{
    if (*value < to)
        *value = (float)to;
}

/* A word once more. */
static void repeat(float *value)
{
    if (*value < 1)
        *value = 1;
    else
        *value += (float)(repetition_share * (1.6 - *value));
}

/* Whether the term is a character of a script without blanks, which texts give in pairs. */
static bool is_lone_character(const struct term *term)
{
    size_t length;
    return term->length > 1 && utf8_decode(str_make(term->text, term->length), &length) != UTF8_INVALID &&
           length == term->length && length > 2;
}

/* Words with one stem longer than the stemmer sees: "interrupt", "interruption"; none of them much longer. */
static bool is_family(const struct term *term, const struct word *word)
{
    if (is_lone_character(term))
        return strstr(word->term, term->text) != NULL;
    if (term->text[0] != word->term[0])
        return false;
    size_t least = term->length < word->length ? term->length : word->length, common = 0;
    size_t most = term->length + word->length - least;
    while (common < least && term->text[common] == word->term[common])
        common++;
    return common >= FAMILY_PREFIX && most - common <= 4 && 3 * common >= 2 * most;
}

size_t evidence_credit_add(struct credit *credit, const struct terms *terms, struct str text)
{
    size_t last_at[MAX_TERMS] = {0}, position = 1;
    char before[WORD_MAX_BYTES + 1] = "", joined[WORD_MAX_BYTES + 1], lower[WORD_MAX_BYTES + 1];
    struct words words;
    struct word word;
    words_init(&words, text);
    for (; words_next(&words, &word); position++) {
        join(before, word.term, joined);
        lower_copy(identifier_around(text, &word), lower);
        for (size_t i = 0; i < terms->count; i++) {
            const struct term *term = &terms->items[i];
            bool same = strcmp(term->text, term->identifier ? lower : word.term) == 0;
            bool compound = !term->identifier && joined[0] && strcmp(term->text, joined) == 0;
            bool parts = term->compound[0] && strcmp(term->compound, word.term) == 0;
            if (parts)
                evidence_raise(&credit->has[i + 1], 1);
            if (same || compound || parts)
                repeat(&credit->has[i]);
            else if (!term->identifier && is_family(term, &word))
                evidence_raise(&credit->has[i], family_share);
            if (!same || term->identifier)
                continue;
            last_at[i] = position;
            if (i > 0 && last_at[i - 1] && position - last_at[i - 1] <= PAIR_WINDOW)
                evidence_raise(&credit->near[i - 1], 1 / (double)(position - last_at[i - 1]));
            if (i + 1 < terms->count && last_at[i + 1] && position - last_at[i + 1] <= PAIR_WINDOW)
                evidence_raise(&credit->near[i], 0.7 / (double)(position - last_at[i + 1]));
        }
        memcpy(before, word.term, word.length + 1);
    }
    return position - 1;
}
