#include "core/str.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

struct str str_of(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

struct str str_make(const char *data, size_t len)
{
    return (struct str){data, len};
}

bool str_equal(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool str_equal_ascii_nocase(struct str a, struct str b)
{
    return a.len == b.len && str_starts_with_nocase(a, b);
}

int str_compare(struct str a, struct str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    if (order)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

bool str_starts_with(struct str s, struct str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

bool str_ends_with(struct str s, struct str suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.data + s.len - suffix.len, suffix.data, suffix.len) == 0);
}

bool str_starts_with_nocase(struct str s, struct str prefix)
{
    if (s.len < prefix.len)
        return false;
    for (size_t i = 0; i < prefix.len; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what has a length has data */
        if (ascii_lower(s.data[i]) != ascii_lower(prefix.data[i]))
            return false;
    return true;
}

size_t str_find(struct str haystack, struct str needle, size_t from)
{
    if (from > haystack.len)
        return STR_NONE;
    if (needle.len == 0)
        return from;
    if (haystack.len - from < needle.len)
        return STR_NONE;
    const char *hit = memmem(haystack.data + from, haystack.len - from, needle.data, needle.len);
    return hit ? (size_t)(hit - haystack.data) : STR_NONE;
}

size_t str_find_nocase(struct str haystack, struct str needle, size_t from)
{
    for (size_t i = from; i <= haystack.len && haystack.len - i >= needle.len; i++)
        if (str_starts_with_nocase(str_slice(haystack, i, haystack.len), needle))
            return i;
    return STR_NONE;
}

size_t str_find_char(struct str s, char c, size_t from)
{
    if (from >= s.len)
        return STR_NONE;
    const char *hit = memchr(s.data + from, c, s.len - from);
    return hit ? (size_t)(hit - s.data) : STR_NONE;
}

size_t str_rfind_char(struct str s, char c)
{
    const char *hit = s.len ? memrchr(s.data, c, s.len) : NULL;
    return hit ? (size_t)(hit - s.data) : STR_NONE;
}

struct str str_slice(struct str s, size_t from, size_t to)
{
    if (to > s.len)
        to = s.len;
    if (from > to)
        from = to;
    return (struct str){s.data ? s.data + from : NULL, to - from};
}

struct str str_trim(struct str s)
{
    return str_trim_start(str_trim_end(s));
}

struct str str_trim_start(struct str s)
{
    while (s.len && ascii_is_space(s.data[0]))
        s = str_slice(s, 1, s.len);
    return s;
}

struct str str_trim_end(struct str s)
{
    while (s.len && ascii_is_space(s.data[s.len - 1]))
        s.len--;
    return s;
}

bool str_split_next(struct str *rest, char separator, struct str *piece)
{
    if (rest->len == 0)
        return false;
    size_t end = str_find_char(*rest, separator, 0);
    if (end == STR_NONE) {
        *piece = *rest;
        *rest = str_slice(*rest, rest->len, rest->len);
    } else {
        *piece = str_slice(*rest, 0, end);
        *rest = str_slice(*rest, end + 1, rest->len);
    }
    return true;
}

char *str_dup(struct str s)
{
    char *copy = mem_alloc(s.len + 1);
    if (s.len)
        memcpy(copy, s.data, s.len);
    copy[s.len] = '\0';
    return copy;
}

bool str_to_int64(struct str s, int64_t *out)
{
    size_t i = 0;
    bool negative = false;
    if (s.len && (s.data[0] == '-' || s.data[0] == '+'))
        negative = s.data[i++] == '-';
    if (i == s.len)
        return false;
    int64_t value = 0;
    for (; i < s.len; i++) {
        if (!ascii_is_digit(s.data[i]))
            return false;
        int digit = s.data[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *out = value;
    return true;
}

bool str_to_double(struct str s, double *out)
{
    char text[64];
    if (s.len == 0 || s.len >= sizeof text || ascii_is_space(s.data[0]))
        return false;
    memcpy(text, s.data, s.len);
    text[s.len] = '\0';
    static locale_t c_locale;
    if (!c_locale) {
        locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0), none = (locale_t)0;
        if (!__atomic_compare_exchange_n(&c_locale, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            freelocale(made);
    }
    char *end;
    errno = 0;
    double value = strtod_l(text, &end, c_locale);
    if (end != text + s.len || errno == ERANGE)
        return false;
    *out = value;
    return true;
}

bool ascii_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool ascii_is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool ascii_is_alnum(char c)
{
    return ascii_is_alpha(c) || ascii_is_digit(c);
}

char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}
