/* Addresses in parts. */
#include "core/mem.h"
#include "tools/visit/rewrite_internal.h"

#include <stdlib.h>
#include <string.h>

bool rewrite_init(struct rewriting *page, struct str url, struct str fragment)
{
    *page = (struct rewriting){.whole = url, .fragment = fragment};
    if (url_parse(url, &page->url, NULL) != STATUS_OK)
        return false;
    struct str rest = str_of(page->url.path), segment;
    while (str_starts_with(rest, STR("/")))
        rest = str_slice(rest, 1, rest.len);
    bool web = strcmp(page->url.scheme, "http") == 0 || strcmp(page->url.scheme, "https") == 0;
    while (page->n < REWRITE_MAX_SEGMENTS && str_split_next(&rest, '/', &segment))
        page->segments[page->n++] = segment;
    if (!web || rest.len > 0) {
        url_finish(&page->url);
        return false;
    }
    if (page->n == 0)
        page->segments[page->n++] = STR("");
    page->origin = url_origin(url);
    page->tail =
        mem_printf("%s%s%s", page->url.path, page->url.query ? "?" : "", page->url.query ? page->url.query : "");
    return true;
}

void rewrite_finish(struct rewriting *page)
{
    free(page->origin);
    free(page->tail);
    url_finish(&page->url);
}

struct str rewrite_segment(const struct rewriting *page, size_t at)
{
    return at < page->n ? page->segments[at] : STR("");
}

struct str rewrite_rest(const struct rewriting *page, size_t at)
{
    if (at >= page->n)
        return STR("");
    struct str path = str_of(page->url.path);
    return str_slice(path, (size_t)(page->segments[at].data - path.data), path.len);
}

bool rewrite_is_host(const struct rewriting *page, const char *name)
{
    struct str host = str_of(page->url.host), wanted = str_of(name);
    if (str_starts_with(wanted, STR("=")))
        return str_equal(host, str_slice(wanted, 1, wanted.len));
    if (str_ends_with(wanted, STR("."))) {
        if (str_starts_with(host, STR("www.")))
            host = str_slice(host, 4, host.len);
        return str_starts_with(host, wanted);
    }
    if (!str_ends_with(host, wanted))
        return false;
    return host.len == wanted.len || host.data[host.len - wanted.len - 1] == '.';
}

static int hex_value(char c)
{
    if (ascii_is_digit(c))
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *rewrite_decode(struct str text)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    for (size_t i = 0; i < text.len; i++) {
        int high = i + 2 < text.len ? hex_value(text.data[i + 1]) : -1;
        int low = i + 2 < text.len ? hex_value(text.data[i + 2]) : -1;
        bool escape = text.data[i] == '%' && high >= 0 && low >= 0 && high + low > 0;
        buf_add_char(&out, escape ? (char)(high * 16 + low) : text.data[i]);
        i += escape ? 2 : 0;
    }
    return buf_take(&out);
}

/* The next "name=value" of a query. */
static bool next_parameter(struct str *query, struct str *whole, struct str *name, struct str *value)
{
    if (!str_split_next(query, '&', whole))
        return false;
    size_t equals = str_find_char(*whole, '=', 0);
    *name = str_slice(*whole, 0, equals);
    *value = equals == STR_NONE ? STR("") : str_slice(*whole, equals + 1, whole->len);
    return true;
}

char *rewrite_parameter(const struct rewriting *page, const char *name)
{
    struct str query = str_of(page->url.query), whole, key, value;
    while (next_parameter(&query, &whole, &key, &value)) {
        if (str_equal(key, str_of(name)))
            return rewrite_decode(value);
    }
    return NULL;
}

char *rewrite_set_parameter(const struct rewriting *page, const char *name, const char *value)
{
    struct buf out;
    struct str query = str_of(page->url.query), whole, key, before;
    buf_init(&out, BUF_UNBOUNDED);
    buf_addf(&out, "%s%s", page->origin, page->url.path);
    char separator = '?';
    while (next_parameter(&query, &whole, &key, &before)) {
        if (str_equal(key, str_of(name)))
            continue;
        buf_addf(&out, "%c%.*s", separator, STR_ARG(whole));
        separator = '&';
    }
    if (value)
        buf_addf(&out, "%c%s=%s", separator, name, value);
    return buf_take(&out);
}

bool rewrite_is_digits(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_digit(text.data[i]))
            return false;
    }
    return text.len > 0;
}

bool rewrite_is_hex(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (hex_value(text.data[i]) < 0)
            return false;
    }
    return text.len > 0;
}
