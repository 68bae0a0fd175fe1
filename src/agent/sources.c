#include "agent/sources.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/utf8.h"

struct page_key {
    struct str bare; /* what identifies the page, a part of its url */
    uint64_t hash;   /* of the bare link in lower case */
    bool is_web;
};

struct sources {
    struct result_source *items;
    struct page_key *keys; /* of the item with the same index */
    size_t count, capacity, keys_capacity;
};

#define MAX_URL_BYTES   4096
#define MAX_TITLE_BYTES 512

struct sources *sources_create(void)
{
    return mem_zalloc(sizeof(struct sources));
}

void sources_destroy(struct sources *sources)
{
    if (!sources)
        return;
    for (size_t i = 0; i < sources->count; i++) {
        free((char *)sources->items[i].url.data);
        free((char *)sources->items[i].title.data);
    }
    free(sources->items);
    free(sources->keys);
    free(sources);
}

/* FNV-1a. */
static uint64_t hash_folded(struct str s)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < s.len; i++)
        hash = (hash ^ (unsigned char)ascii_lower(s.data[i])) * 1099511628211u;
    return hash;
}

static struct page_key make_key(struct str url)
{
    struct page_key key = {.bare = url};
    size_t scheme = str_starts_with_nocase(url, STR("http://"))    ? 7
                    : str_starts_with_nocase(url, STR("https://")) ? 8
                                                                   : 0;
    if (scheme > 0) {
        key.is_web = true;
        key.bare = str_slice(url, scheme, str_find_char(url, '#', 0));
        if (str_starts_with_nocase(key.bare, STR("www.")))
            key.bare = str_slice(key.bare, 4, key.bare.len);
        while (key.bare.len > 0 && key.bare.data[key.bare.len - 1] == '/')
            key.bare.len--;
    }
    key.hash = hash_folded(key.bare);
    return key;
}

/* The same page? Outside the host, case is compared as well: paths may be told apart by it. */
static bool same_page(const struct page_key *a, const struct page_key *b)
{
    if (a->hash != b->hash || a->is_web != b->is_web || !str_equal_ascii_nocase(a->bare, b->bare))
        return false;
    size_t host_a = a->is_web ? str_find_char(a->bare, '/', 0) : 0;
    return host_a == STR_NONE ||
           str_equal(str_slice(a->bare, host_a, a->bare.len), str_slice(b->bare, host_a, b->bare.len));
}

static struct result_source *find_page(struct sources *sources, const struct page_key *key)
{
    for (size_t i = 0; i < sources->count; i++)
        if (same_page(&sources->keys[i], key))
            return &sources->items[i];
    return NULL;
}

static struct str keep_title(struct str title)
{
    title = str_slice(title, 0, utf8_floor(title, MAX_TITLE_BYTES));
    return str_make(str_dup(title), title.len);
}

void sources_add(struct sources *sources, struct str url, struct str title, int64_t round)
{
    url = str_trim(url);
    if (url.len == 0 || url.len > MAX_URL_BYTES)
        return;
    struct page_key key = make_key(url);
    struct result_source *known = find_page(sources, &key);
    if (known) {
        if (known->title.len == 0 && title.len > 0) {
            free((char *)known->title.data);
            known->title = keep_title(title);
        }
        return;
    }
    if (sources->count == SOURCES_MAX)
        return;
    struct str kept = str_make(str_dup(url), url.len);
    sources->items = mem_grow(sources->items, sources->count, &sources->capacity, sizeof *sources->items);
    sources->keys = mem_grow(sources->keys, sources->count, &sources->keys_capacity, sizeof *sources->keys);
    sources->items[sources->count] =
        (struct result_source){.url = kept, .title = keep_title(title), .first_seen_round = round};
    sources->keys[sources->count++] = make_key(kept);
}

/* Whether a link that goes on with `rest` of a text is over there: punctuation of a sentence ends it, more of a path or
 * a query does not. */
static bool link_ends(struct str rest)
{
    if (rest.len > 0 && rest.data[0] == '/')
        rest = str_slice(rest, 1, rest.len);
    if (rest.len == 0)
        return true;
    char c = rest.data[0];
    if (ascii_is_alnum(c) || c == '/' || c == '_' || c == '-' || c == '%' || c == '~' || c == '+' || c == '=')
        return false;
    if (c == '.' || c == '?' || c == '&' || c == ':' || c == '@')
        return rest.len < 2 || !(ascii_is_alnum(rest.data[1]) || rest.data[1] == '_' || rest.data[1] == '%');
    return true;
}

/* Whether a host that stands behind `before` begins there and is not the end of a longer one. */
static bool host_begins(struct str before)
{
    if (before.len == 0)
        return true;
    if (str_ends_with(before, STR("/")))
        return str_ends_with(before, STR("//"));
    if (before.len >= 4 && str_equal_ascii_nocase(str_slice(before, before.len - 4, before.len), STR("www.")))
        return host_begins(str_slice(before, 0, before.len - 4));
    char c = before.data[before.len - 1];
    return !(ascii_is_alnum(c) || c == '.' || c == '-' || c == '_' || c == '@' || c == '%' || c == '=');
}

static bool is_cited(const struct page_key *key, struct str text)
{
    for (size_t at = 0; (at = str_find_nocase(text, key->bare, at)) != STR_NONE; at++) {
        struct page_key here = {str_slice(text, at, at + key->bare.len), key->hash, key->is_web};
        if (link_ends(str_slice(text, at + key->bare.len, text.len)) && same_page(&here, key) &&
            (!key->is_web || host_begins(str_slice(text, 0, at))))
            return true;
    }
    return false;
}

void sources_mark_cited(struct sources *sources, struct str prediction)
{
    for (size_t i = 0; i < sources->count; i++)
        sources->items[i].cited = sources->keys[i].bare.len > 0 && is_cited(&sources->keys[i], prediction);
}

const struct result_source *sources_list(const struct sources *sources, size_t *count)
{
    *count = sources->count;
    return sources->items;
}
