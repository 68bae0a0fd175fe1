/* Names of months and digits, in many languages and scripts. */
#include <string.h>
#include <utf8proc.h>

#include "core/utf8.h"
#include "text/html/meta_internal.h"

#define MAX_WORD 40

static const char *const months[][12] = {
#define MONTHS(language, ...) {__VA_ARGS__},
#include "text/html/meta_months.inc"
#undef MONTHS
};

/* What is written otherwise too. */
static const struct {
    const char *name;
    unsigned month;
} odd[] = {{"sept", 9}, {"setiembre", 9}, {"mrt", 3}, {"aout", 8}, {"jänner", 1}};

/* A word in small letters; empty when it is too long. */
static void lower_word(struct str word, char out[MAX_WORD + 4])
{
    size_t length = 0;
    out[0] = '\0';
    while (word.len) {
        size_t used;
        uint32_t code = utf8_decode(word, &used);
        if (code == UTF8_INVALID || length + 4 > MAX_WORD) {
            length = 0;
            break;
        }
        length += utf8_encode((uint32_t)utf8proc_tolower((utf8proc_int32_t)code), out + length);
        word = str_slice(word, used, word.len);
    }
    out[length] = '\0';
}

unsigned meta_month(struct str name)
{
    char word[MAX_WORD + 4] = "";
    lower_word(name, word);
    size_t length = strlen(word), letters = 0;
    for (size_t i = 0; i < length; i++)
        letters += ((unsigned char)word[i] & 0xC0) != 0x80;
    if (!length)
        return 0;
    for (size_t i = 0; i < sizeof months / sizeof months[0]; i++)
        for (unsigned month = 0; month < 12; month++)
            if (months[i][month][0] == word[0] && strncmp(months[i][month], word, length) == 0 &&
                (letters >= 3 || !months[i][month][length]))
                return month + 1;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        if (strcmp(odd[i].name, word) == 0)
            return odd[i].month;
    return 0;
}

bool meta_is_month(struct str word)
{
    while (word.len && memchr(".,", word.data[word.len - 1], 2))
        word.len--;
    return meta_month(word) > 0;
}

/* ---- digits ---- */

/* The value of a digit of another script at the start of `text`: Arabic, Persian, Devanagari, Bengali, full width; its
 * length goes to *length. -1 when there is none. */
static int other_digit(struct str text, size_t *length)
{
    static const uint32_t zeros[] = {0x660, 0x6F0, 0x966, 0x9E6, 0xFF10};
    uint32_t code = utf8_decode(text, length);
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
        if (code >= zeros[i] && code < zeros[i] + 10)
            return (int)(code - zeros[i]);
    return -1;
}

/* Whether a byte begins a character of those blocks. */
static bool may_be_digit(char c)
{
    return (unsigned char)c == 0xD9 || (unsigned char)c == 0xDB || (unsigned char)c == 0xE0 || (unsigned char)c == 0xEF;
}

bool meta_may_have_date(struct str text)
{
    size_t count = 0;
    bool wide = false;
    for (size_t i = 0; i < text.len; i++) {
        count += ascii_is_digit(text.data[i]);
        wide |= (unsigned char)text.data[i] >= 0xD9;
    }
    return count >= 5 || wide;
}

struct str meta_plain_digits(struct str text, char out[META_MAX_DATED])
{
    size_t n = 0, length = 1;
    bool found = false;
    for (size_t i = 0; i < text.len && !found; i++)
        found = may_be_digit(text.data[i]);
    for (size_t i = 0; i < text.len && found; i += length) {
        int digit = may_be_digit(text.data[i]) ? other_digit(str_slice(text, i, text.len), &length) : -1;
        length = digit >= 0 ? length : 1;
        out[n++] = digit >= 0 ? (char)('0' + digit) : text.data[i];
    }
    return found ? str_make(out, n) : text;
}
