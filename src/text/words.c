#include "text/words.h"

#include <string.h>
#include <utf8proc.h>

#include "core/utf8.h"

#define STOP_WORD_MAX 10 /* bytes */
#define STOP_WORD_KEY 12 /* a word and NULs up to here, so that words compare without looking for their ends */

/* Sorted. What is left of contractions ("don't", "isn't") is among them. */
static const char stop_words[][STOP_WORD_KEY] = {
    "a",      "about",     "above",   "after",   "again", "against", "all",      "also",       "am",     "an",
    "and",    "any",       "are",     "aren",    "as",    "at",      "be",       "because",    "been",   "before",
    "being",  "below",     "between", "both",    "but",   "by",      "can",      "cannot",     "could",  "couldn",
    "did",    "didn",      "do",      "does",    "doesn", "doing",   "don",      "down",       "during", "each",
    "few",    "for",       "from",    "further", "had",   "hadn",    "has",      "hasn",       "have",   "haven",
    "having", "he",        "her",     "here",    "hers",  "herself", "him",      "himself",    "his",    "how",
    "i",      "if",        "in",      "into",    "is",    "isn",     "it",       "its",        "itself", "just",
    "me",     "more",      "most",    "must",    "mustn", "my",      "myself",   "no",         "nor",    "not",
    "now",    "of",        "off",     "on",      "once",  "only",    "or",       "other",      "ought",  "our",
    "ours",   "ourselves", "out",     "over",    "own",   "same",    "shall",    "she",        "should", "shouldn",
    "so",     "some",      "such",    "than",    "that",  "the",     "their",    "theirs",     "them",   "themselves",
    "then",   "there",     "these",   "they",    "this",  "those",   "through",  "to",         "too",    "under",
    "until",  "up",        "upon",    "very",    "was",   "wasn",    "we",       "were",       "weren",  "what",
    "when",   "where",     "whether", "which",   "while", "who",     "whom",     "whose",      "why",    "will",
    "with",   "would",     "wouldn",  "you",     "your",  "yours",   "yourself", "yourselves",
};

/* Whether a lower-case word is one of the English words too common to search for. Asked of every word of every page, so
 * most are told apart by their first letter alone. */
static bool is_stop_word(struct str word)
{
    size_t low = 0, high = sizeof stop_words / sizeof stop_words[0];
    char key[STOP_WORD_KEY] = {0};
    if (!word.len || word.len > STOP_WORD_MAX)
        return false;
    memcpy(key, word.data, word.len);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = (unsigned char)key[0] - (unsigned char)stop_words[middle][0];
        if (order == 0)
            order = memcmp(key, stop_words[middle], STOP_WORD_KEY);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

/* Scripts written without spaces between words, and Hangul, whose particles cling to words. */
static bool is_unspaced(uint32_t c)
{
    if (c < 0x0E00)
        return false;
    return (c >= 0x0E01 && c <= 0x0E4E && c != 0x0E3F) || (c >= 0x0E80 && c <= 0x0ECF) || /* Thai, Lao */
           (c >= 0x1000 && c <= 0x103F) || (c >= 0x1780 && c <= 0x17D3) ||                /* Burmese, Khmer */
           (c >= 0x3041 && c <= 0x3096) || (c >= 0x30A1 && c <= 0x30FA) || c == 0x30FC || /* kana */
           c == 0x3005 || (c >= 0x31F0 && c <= 0x31FF) || (c >= 0xFF66 && c <= 0xFF9D) ||
           (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) || /* Han */
           (c >= 0x20000 && c <= 0x3FFFD) || (c >= 0xAC00 && c <= 0xD7A3);
}

static bool is_letter_or_digit(uint32_t c)
{
    if (c < 0x80)
        return ascii_is_alnum((char)c);
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return true;
    default:
        return false;
    }
}

/* Part of a word once it has begun. */
static bool continues_word(uint32_t c)
{
    if (is_letter_or_digit(c))
        return true;
    if (c < 0x80)
        return false;
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
        return true;
    default:
        return c == 0xAD || c == 0x200C || c == 0x200D; /* soft hyphen, joiners */
    }
}

static void term_add(struct word *word, uint32_t c)
{
    char bytes[4];
    size_t n = utf8_encode(c, bytes);
    if (word->length + n > WORD_MAX_BYTES)
        return;
    memcpy(word->term + word->length, bytes, n);
    word->length += n;
}

static void term_add_folded(struct word *word, uint32_t c)
{
    if (c < 0x80) {
        term_add(word, (unsigned char)ascii_lower((char)c));
        return;
    }
    utf8proc_int32_t parts[32];
    int last_bound_class = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char(
        (utf8proc_int32_t)c, parts, 32, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE,
        &last_bound_class);
    for (utf8proc_ssize_t i = 0; i < n && i < 32; i++) {
        uint32_t part = (uint32_t)parts[i];
        bool accent = part >= 0x300 && part <= 0x36F;
        if (!accent && continues_word(part))
            term_add(word, part);
    }
}

/* At the apostrophe of "page's" or "don't": the bytes to skip, 0 when it is something else. */
static size_t contraction_length(struct str rest)
{
    static const char *const endings[] = {"s", "t", "d", "m", "ll", "re", "ve"};
    size_t quote = rest.len && rest.data[0] == '\'' ? 1 : str_starts_with(rest, STR("\xE2\x80\x99")) ? 3 : 0;
    if (!quote)
        return 0;
    struct str after = str_slice(rest, quote, rest.len);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        struct str ending = str_of(endings[i]);
        if (!str_starts_with_nocase(after, ending))
            continue;
        struct str behind = str_slice(after, ending.len, after.len);
        size_t length;
        if (behind.len == 0 || !continues_word(utf8_decode(behind, &length)))
            return quote + ending.len;
    }
    return 0;
}

static bool is_lower_or_digit(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static void read_word(struct words *words, struct word *out)
{
    struct str text = words->text;
    bool only_ascii_letters = true;
    while (words->at < text.len) {
        unsigned char ascii = lower((unsigned char)text.data[words->at]);
        if (is_lower_or_digit(ascii)) { /* most are; what follows does the same for any character */
            only_ascii_letters = only_ascii_letters && ascii >= 'a';
            if (out->length < WORD_MAX_BYTES)
                out->term[out->length++] = (char)ascii;
            words->at++;
            continue;
        }
        size_t length;
        uint32_t c = utf8_decode(str_slice(text, words->at, text.len), &length);
        if (c == UTF8_INVALID || is_unspaced(c) || !continues_word(c))
            break;
        only_ascii_letters = only_ascii_letters && c < 0x80 && ascii_is_alpha((char)c);
        if (out->length < WORD_MAX_BYTES)
            term_add_folded(out, c);
        words->at += length;
    }
    out->to = words->at;
    if (only_ascii_letters)
        words->at += contraction_length(str_slice(text, words->at, text.len));
}

/* One pair of characters, or a character that stands alone. False when the character at hand ended a pair already and
 * begins none. */
static bool read_pair(struct words *words, uint32_t first, size_t first_length, struct word *out)
{
    struct str text = words->text;
    bool ends_pair = words->paired;
    words->at += first_length;
    words->paired = false;
    term_add(out, first);
    out->to = words->at;
    size_t length;
    uint32_t second = words->at < text.len ? utf8_decode(str_slice(text, words->at, text.len), &length) : UTF8_INVALID;
    if (second != UTF8_INVALID && is_unspaced(second)) {
        term_add(out, second);
        out->to = words->at + length;
        words->paired = true;
        return true;
    }
    return !ends_pair;
}

/* Takes the last word's ending off; words with a digit or a foreign letter in them stay. */
static void take_ending_off(struct word *word)
{
    bool letters = true;
    for (size_t i = 0; i < word->length; i++)
        letters = letters && ascii_is_alpha(word->term[i]);
    if (letters)
        word->length = stem_english(word->term, word->length);
}

/* A Greek letter that stands alone is a symbol, which texts write out as often as not: "TNF-α", "TNF-alpha". */
static void spell_greek_letter(struct word *word)
{
    static const char *const names[] = {"alpha",   "beta", "gamma", "delta",  "epsilon", "zeta", "eta",
                                        "theta",   "iota", "kappa", "lambda", "mu",      "nu",   "xi",
                                        "omicron", "pi",   "rho",   "sigma",  "sigma",   "tau",  "upsilon",
                                        "phi",     "chi",  "psi",   "omega"};
    if (word->length != 2)
        return;
    size_t length;
    uint32_t c = utf8_decode(str_make(word->term, word->length), &length);
    if (c < 0x3B1 || c > 0x3C9)
        return;
    word->length = strlen(names[c - 0x3B1]);
    memcpy(word->term, names[c - 0x3B1], word->length);
}

/* Remembers a word for the compound it may be part of, and finds out whether it ends one. */
static void note_word(struct words *words, const struct word *word)
{
    struct str between = str_slice(words->text, words->to, word->from);
    words->has_compound = words->length > 0 && words->length + word->length <= WORD_MAX_BYTES &&
                          (str_equal(between, STR("-")) || str_equal(between, STR("\xE2\x80\x90")) ||
                           str_equal(between, STR("\xE2\x80\x91")));
    if (words->has_compound) {
        memcpy(words->before, words->term, words->length);
        words->before_length = words->length;
        words->before_from = words->from;
    }
    memcpy(words->term, word->term, word->length);
    words->length = word->length;
    words->from = word->from;
    words->to = word->to;
}

static void give_compound(struct words *words, struct word *out)
{
    words->has_compound = false;
    memcpy(out->term, words->before, words->before_length);
    memcpy(out->term + words->before_length, words->term, words->length);
    out->length = words->before_length + words->length;
    out->from = words->before_from;
    out->to = words->to;
    take_ending_off(out);
}

void words_init(struct words *words, struct str text)
{
    *words = (struct words){.text = text};
}

bool words_next(struct words *words, struct word *out)
{
    struct str text = words->text;
    bool found = false;
    while (!found && (words->has_compound || words->at < text.len)) {
        if (words->has_compound) {
            give_compound(words, out);
            found = true;
            continue;
        }
        unsigned char ascii = (unsigned char)text.data[words->at];
        if (ascii < 0x80 && !is_lower_or_digit(lower(ascii))) {
            words->at++;
            continue;
        }
        size_t length;
        uint32_t c = utf8_decode(str_slice(text, words->at, text.len), &length);
        if (c == UTF8_INVALID || (!is_unspaced(c) && !is_letter_or_digit(c))) {
            words->at += length;
            continue;
        }
        out->from = words->at;
        out->length = 0;
        if (is_unspaced(c)) {
            found = read_pair(words, c, length, out);
            continue;
        }
        read_word(words, out);
        spell_greek_letter(out);
        note_word(words, out);
        found = out->length && (words->keep_stop_words || !is_stop_word((struct str){out->term, out->length}));
        if (found)
            take_ending_off(out);
    }
    if (found)
        out->term[out->length] = '\0';
    return found;
}
