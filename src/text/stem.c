/* Porter's stemmer. The word is `word[0..length)`; "measure" is his m: how many vowel-consonant sequences a stem has.
 */
#include <string.h>

#include "text/words.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct stem {
    char *word;
    size_t length;
};

static bool is_consonant(const struct stem *s, size_t i)
{
    switch (s->word[i]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
        return false;
    case 'y': /* a consonant at the start and after a vowel; a row of y alternates */
    {
        bool consonant = true;
        size_t start = i;
        while (start > 0 && s->word[start - 1] == 'y')
            start--;
        if (start > 0)
            consonant = !is_consonant(s, start - 1);
        return (i - start) % 2 == 0 ? consonant : !consonant;
    }
    }
    return true;
}

static size_t measure(const struct stem *s, size_t length)
{
    size_t m = 0;
    for (size_t i = 1; i < length; i++)
        m += is_consonant(s, i) && !is_consonant(s, i - 1);
    return m;
}

static bool has_vowel(const struct stem *s, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_consonant(s, i))
            return true;
    return false;
}

static bool ends_double_consonant(const struct stem *s, size_t length)
{
    return length >= 2 && s->word[length - 1] == s->word[length - 2] && is_consonant(s, length - 1);
}

/* consonant, vowel, consonant other than w, x, y: "hop", where a lost e comes back ("hoping" -> "hope") */
static bool ends_cvc(const struct stem *s, size_t length)
{
    if (length < 3 || !is_consonant(s, length - 1) || is_consonant(s, length - 2) || !is_consonant(s, length - 3))
        return false;
    char last = s->word[length - 1];
    return last != 'w' && last != 'x' && last != 'y';
}

/* Whether the word ends in `suffix` of `n` bytes with something before it; *rest is the length without it. */
static bool ends_in_bytes(const struct stem *s, const char *suffix, size_t n, size_t *rest)
{
    /* Of the many that are tried most differ in the last letter. */
    if (n >= s->length || s->word[s->length - 1] != suffix[n - 1] || memcmp(s->word + s->length - n, suffix, n) != 0)
        return false;
    *rest = s->length - n;
    return true;
}

#define ends_in(s, suffix, rest) ends_in_bytes(s, suffix, sizeof(suffix) - 1, rest)

static void replace_end(struct stem *s, size_t rest, const char *with)
{
    size_t n = strlen(with);
    memcpy(s->word + rest, with, n);
    s->length = rest + n;
}

struct suffix_rule {
    const char *suffix;
    size_t length; /* of the suffix */
    const char *with;
};

#define RULE(suffix, with)               \
    {                                    \
        suffix, sizeof(suffix) - 1, with \
    }

/* Of the suffixes the longest that fits decides (a table lists longer ones first); it is replaced when what stands
 * before it has a measure above `above`. */
static void apply_rules(struct stem *s, const struct suffix_rule *rules, size_t n_rules, size_t above)
{
    for (size_t i = 0; i < n_rules; i++) {
        size_t rest;
        if (!ends_in_bytes(s, rules[i].suffix, rules[i].length, &rest))
            continue;
        if (measure(s, rest) > above)
            replace_end(s, rest, rules[i].with);
        return;
    }
}

static void strip_plural(struct stem *s)
{
    size_t rest;
    if (s->word[s->length - 1] != 's')
        return;
    if (ends_in(s, "sses", &rest) || ends_in(s, "ies", &rest))
        s->length -= 2;
    else if (s->length > 1 && s->word[s->length - 2] != 's')
        s->length--;
}

static void strip_past_and_gerund(struct stem *s)
{
    size_t rest;
    if (ends_in(s, "eed", &rest)) {
        if (measure(s, rest) > 0)
            s->length--;
        return;
    }
    if (!((ends_in(s, "ed", &rest) || ends_in(s, "ing", &rest)) && has_vowel(s, rest)))
        return;
    s->length = rest;
    size_t unused;
    if (ends_in(s, "at", &unused) || ends_in(s, "bl", &unused) || ends_in(s, "iz", &unused)) {
        replace_end(s, rest, "e");
    } else if (ends_double_consonant(s, rest)) {
        if (!strchr("lsz", s->word[rest - 1]))
            s->length--;
    } else if (measure(s, rest) == 1 && ends_cvc(s, rest)) {
        replace_end(s, rest, "e");
    }
}

static void strip_last_e_and_l(struct stem *s)
{
    if (s->word[s->length - 1] == 'e') {
        size_t m = measure(s, s->length - 1);
        if (m > 1 || (m == 1 && !ends_cvc(s, s->length - 1)))
            s->length--;
    }
    if (s->word[s->length - 1] == 'l' && ends_double_consonant(s, s->length) && measure(s, s->length) > 1)
        s->length--;
}

static const struct suffix_rule compound_suffixes[] = {
    RULE("ational", "ate"), RULE("ization", "ize"), RULE("iveness", "ive"), RULE("fulness", "ful"),
    RULE("ousness", "ous"), RULE("tional", "tion"), RULE("biliti", "ble"),  RULE("entli", "ent"),
    RULE("ousli", "ous"),   RULE("ation", "ate"),   RULE("alism", "al"),    RULE("aliti", "al"),
    RULE("iviti", "ive"),   RULE("enci", "ence"),   RULE("anci", "ance"),   RULE("izer", "ize"),
    RULE("alli", "al"),     RULE("ator", "ate"),    RULE("logi", "log"),    RULE("bli", "ble"),
    RULE("eli", "e"),
};

static const struct suffix_rule simple_suffixes[] = {
    RULE("icate", "ic"), RULE("ative", ""), RULE("alize", "al"), RULE("iciti", "ic"),
    RULE("ical", "ic"),  RULE("ness", ""),  RULE("ful", ""),
};

static const struct suffix_rule final_suffixes[] = {
    RULE("ement", ""), RULE("ance", ""), RULE("ence", ""), RULE("able", ""), RULE("ible", ""), RULE("ment", ""),
    RULE("ant", ""),   RULE("ent", ""),  RULE("ism", ""),  RULE("ate", ""),  RULE("iti", ""),  RULE("ous", ""),
    RULE("ive", ""),   RULE("ize", ""),  RULE("al", ""),   RULE("er", ""),   RULE("ic", ""),   RULE("ou", ""),
};

/* "ion" goes only behind s or t, which count for the measure and stay. */
static void strip_final_suffix(struct stem *s)
{
    size_t rest;
    if (!ends_in(s, "ion", &rest))
        apply_rules(s, final_suffixes, COUNT(final_suffixes), 1);
    else if (strchr("st", s->word[rest - 1]) && measure(s, rest) > 1)
        s->length = rest;
}

size_t stem_english(char *word, size_t length)
{
    if (length <= 2)
        return length;
    struct stem s = {word, length};
    strip_plural(&s);
    strip_past_and_gerund(&s);
    if (s.word[s.length - 1] == 'y' && has_vowel(&s, s.length - 1))
        s.word[s.length - 1] = 'i';
    apply_rules(&s, compound_suffixes, COUNT(compound_suffixes), 0);
    apply_rules(&s, simple_suffixes, COUNT(simple_suffixes), 0);
    strip_final_suffix(&s);
    strip_last_e_and_l(&s);
    return s.length;
}
