#include "text/html/entity.h"

#include <string.h>

#include "core/utf8.h"
#include "text/html/entity.inc"

#define LONGEST_NAME 32

/* What bytes 0x80 to 0x9F mean in windows-1252; pages number characters so (HTML Standard, section 13.2.5.80). */
static const uint16_t windows_1252[32] = {
    0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
    0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178,
};

static unsigned digit_of(char c, unsigned base)
{
    unsigned digit = ascii_is_digit(c) ? (unsigned)(c - '0') : 99;
    c = ascii_lower(c);
    if (base == 16 && c >= 'a' && c <= 'f')
        digit = (unsigned)(c - 'a') + 10;
    return digit;
}

static size_t decode_number(struct str s, char *out, size_t *used)
{
    size_t at = 2;
    unsigned base = at < s.len && ascii_lower(s.data[at]) == 'x' ? 16 : 10;
    at += base == 16;
    uint32_t code = 0;
    size_t from = at;
    for (; at < s.len && digit_of(s.data[at], base) < base; at++)
        if (code <= 0x10FFFF)
            code = code * base + digit_of(s.data[at], base);
    if (at == from)
        return 0;
    *used = at + (at < s.len && s.data[at] == ';');
    if (code >= 0x80 && code < 0xA0)
        code = windows_1252[code - 0x80];
    bool control = code < 0x20 && code != '\t' && code != '\n' && code != '\r' && code != '\f';
    if (!code || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        code = 0xFFFD;
    else if (control)
        code = ' ';
    return utf8_encode(code, out);
}

/* The characters of a name, NULL when there is none like it. */
static const char *find_name(struct str name)
{
    size_t low = 0, high = sizeof entity_offsets / sizeof entity_offsets[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *candidate = entity_text + entity_offsets[middle];
        int order = str_compare(name, str_of(candidate));
        if (!order)
            return candidate + name.len + 1;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static size_t take(const char *characters, size_t length, char *out, size_t *used)
{
    *used = length + 1;
    size_t n = strlen(characters);
    memcpy(out, characters, n);
    return n;
}

size_t html_entity_decode(struct str s, bool in_attribute, char out[HTML_ENTITY_MAX_BYTES], size_t *used)
{
    if (s.len > 2 && s.data[1] == '#')
        return decode_number(s, out, used);
    struct str name = str_slice(s, 1, s.len);
    size_t length = 0;
    while (length < name.len && length < LONGEST_NAME && ascii_is_alnum(name.data[length]))
        length++;
    if (length < 2)
        return 0;
    if (length < name.len && name.data[length] == ';') {
        const char *found = find_name(str_slice(name, 0, length + 1));
        if (found)
            return take(found, length + 1, out, used);
    }
    for (size_t shorter = length; shorter >= 2; shorter--) { /* names without a semicolon: the longest that fits */
        const char *found = shorter <= 6 ? find_name(str_slice(name, 0, shorter)) : NULL;
        if (!found)
            continue;
        char next = shorter < name.len ? name.data[shorter] : ' ';
        return in_attribute && (ascii_is_alnum(next) || next == '=') ? 0 : take(found, shorter, out, used);
    }
    return 0;
}

size_t html_decode(struct str s, bool in_attribute, char *out)
{
    char *end = out;
    for (size_t at = 0; at < s.len;) {
        const char *mark = memchr(s.data + at, '&', s.len - at);
        size_t plain = mark ? (size_t)(mark - s.data) - at : s.len - at;
        memcpy(end, s.data + at, plain);
        end += plain;
        at += plain;
        if (!mark)
            break;
        size_t used = 1, written = html_entity_decode(str_slice(s, at, s.len), in_attribute, end, &used);
        if (!written)
            *end++ = '&';
        end += written;
        at += written ? used : 1;
    }
    return (size_t)(end - out);
}
