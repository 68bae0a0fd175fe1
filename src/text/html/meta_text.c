/* Texts of fields: made clean, and compared. */
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/html/entity.h"
#include "text/html/meta_internal.h"
#include "text/plain.h"

#define MAX_MENTION 300 /* bytes of a class that are looked at */
#define MAX_WORDS   64  /* of a text that are compared */

/* The length of a blank outside ASCII, or of a character that is not seen, at the beginning; 0 without one. */
static size_t wide_blank(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.data;
    if (s.len >= 2 && p[0] == 0xC2 && (p[1] == 0xA0 || p[1] == 0xAD))
        return 2;
    if (s.len >= 3 && p[0] == 0xE2 && p[1] == 0x80 && (p[2] <= 0x8F || p[2] == 0xA8 || p[2] == 0xA9 || p[2] == 0xAF))
        return 3;
    if (s.len >= 3 &&
        ((p[0] == 0xE3 && p[1] == 0x80 && p[2] == 0x80) || (p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF)))
        return 3;
    return 0;
}

/* Whether the blank of that length is one that takes no room: a joiner, a soft hyphen, a mark of direction. */
static bool is_invisible(struct str s, size_t length)
{
    const unsigned char *p = (const unsigned char *)s.data;
    return (length == 2 && p[1] == 0xAD) || (length == 3 && p[0] == 0xEF) ||
           (length == 3 && p[0] == 0xE2 && p[2] >= 0x8B && p[2] <= 0x8F);
}

static void add_line(struct str text, size_t max_bytes, struct buf *out)
{
    size_t from = out->len;
    bool space = false;
    for (size_t i = 0; i < text.len;) {
        struct str rest = str_slice(text, i, text.len);
        unsigned char c = (unsigned char)text.data[i];
        size_t blank = c < 0x80 ? c <= ' ' || c == 0x7F : wide_blank(rest);
        if (blank) {
            space |= !is_invisible(rest, blank);
            i += blank;
            continue;
        }
        size_t length;
        utf8_decode(rest, &length);
        if (out->len - from + space + length > max_bytes)
            return;
        if (space && out->len > from)
            buf_add_char(out, ' ');
        space = false;
        buf_add(out, str_slice(text, i, i + length));
        i += length;
    }
}

void meta_clean(struct str value, size_t max_bytes, struct buf *out)
{
    value = str_trim(value);
    value = str_slice(value, 0, utf8_floor(value, max_bytes * 4));
    if (str_find_char(value, '&', 0) == STR_NONE && str_find_char(value, '<', 0) == STR_NONE) {
        add_line(value, max_bytes, out);
        return;
    }
    struct buf plain;
    buf_init(&plain, BUF_UNBOUNDED); /* about as long as `value` */
    if (plain_from_markup(&plain, value) == STATUS_OK)
        add_line(buf_str(&plain), max_bytes, out);
    buf_finish(&plain);
}

/* One of 1,024 for the two bytes that a word begins with, the same for small letters and capitals. */
static unsigned beginning(const char *at)
{
    return ((unsigned)at[0] & 31) << 5 | ((unsigned)at[1] & 31);
}

void meta_words_init(struct meta_words *set, const char *const *words)
{
    *set = (struct meta_words){.words = words};
    for (; *words; words++) {
        set->beginnings[beginning(*words) / 64] |= (uint64_t)1 << (beginning(*words) % 64);
        set->thirds |= (*words)[2] ? (uint32_t)1 << ((unsigned)(*words)[2] & 31) : UINT32_MAX;
    }
}

static inline bool is_beginning(const struct meta_words *set, unsigned two)
{
    return set->beginnings[two / 64] >> (two % 64) & 1;
}

bool meta_words_begin(const struct meta_words *set, const char *text)
{
    return is_beginning(set, beginning(text));
}

static bool word_at(const struct meta_words *set, const char *text, size_t length)
{
    for (const char *const *word = set->words; *word; word++) {
        size_t k = 0;
        while ((*word)[k] && k < length && (*word)[k] == ascii_lower(text[k]))
            k++;
        if (!(*word)[k])
            return true;
    }
    return false;
}

bool meta_words_find(const struct meta_words *set, struct str value)
{
    size_t length = value.len < MAX_MENTION ? value.len : MAX_MENTION;
    unsigned two = length ? (unsigned)value.data[0] & 31 : 0;
    for (size_t i = 0; i + 1 < length; i++) {
        two = (two << 5 | ((unsigned)value.data[i + 1] & 31)) & 1023;
        if (!is_beginning(set, two) || (i + 2 < length && !(set->thirds >> ((unsigned)value.data[i + 2] & 31) & 1)))
            continue;
        if (word_at(set, value.data + i, length - i))
            return true;
    }
    return false;
}

bool meta_mentions(struct str value, const char *const *words)
{
    struct meta_words set;
    if (value.len == 0)
        return false;
    meta_words_init(&set, words);
    return meta_words_find(&set, value);
}

/* Whether a sign of three bytes begins that parts words: dashes, quotes, those of Chinese and Japanese. */
static bool is_wide_sign(struct str text, size_t at)
{
    if (at + 2 >= text.len)
        return false;
    const unsigned char *p = (const unsigned char *)text.data + at;
    return (p[0] == 0xE2 && p[1] == 0x80) || (p[0] == 0xE3 && p[1] == 0x80) ||
           (p[0] == 0xEF && (p[1] == 0xBC || p[1] == 0xBD));
}

/* Hashes of the words of a text, in lower case as far as ASCII goes; kana and ideographs are words by themselves. */
static size_t words_of(struct str text, uint32_t words[MAX_WORDS])
{
    size_t n = 0;
    uint32_t hash = 0;
    for (size_t i = 0; i <= text.len; i++) {
        unsigned char c = i < text.len ? (unsigned char)text.data[i] : ' ';
        bool is_sign = is_wide_sign(text, i), is_letter = !is_sign && (c >= 0x80 || ascii_is_alnum((char)c));
        if (!is_letter || (c >= 0xE3 && c <= 0xE9)) {
            if (hash && n < MAX_WORDS)
                words[n++] = hash;
            hash = 0;
        }
        if (is_letter) {
            hash = (hash ? hash : 2166136261u) ^ (unsigned char)ascii_lower((char)c);
            hash *= 16777619u;
        }
        i += is_sign ? 2 : 0;
    }
    return n;
}

double meta_likeness(struct str a, struct str b)
{
    uint32_t first[MAX_WORDS], second[MAX_WORDS];
    size_t n = words_of(a, first), m = words_of(b, second), same = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < m; k++) {
            if (first[i] == second[k]) {
                second[k] = 0;
                same++;
                break;
            }
        }
    }
    return n + m ? 2.0 * (double)same / (double)(n + m) : 0;
}
