/* Links that only lead on: search engines and networks count clicks that way, reader services and caches carry the
 * page's address in their own. Following them costs a request at best; at worst they show a page of their own. */
#include "core/mem.h"
#include "tools/visit/rewrite_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = 3, MAX_ENCODED = 8192 };

/* Where a parameter holds the address. `path` is how the path begins. */
static const struct {
    const char *host, *path, *parameters;
} carriers[] = {
    {"google.", "/url", "q url"},
    {"google.", "/imgres", "imgrefurl"},
    {"scholar.google.", "/scholar_url", "url"},
    {"translate.google.", "/translate", "u"},
    {"docs.google.com", "/viewer", "url"},
    {"docs.google.com", "/gview", "url"},
    {"drive.google.com", "/viewer", "url"},
    {"duckduckgo.com", "/l/", "uddg"},
    {"bing.com", "/ck/a", "u"},
    {"facebook.com", "/l.php", "u"},
    {"l.instagram.com", "/", "u"},
    {"l.threads.net", "/", "u"},
    {"out.reddit.com", "/", "url"},
    {"youtube.com", "/redirect", "q"},
    {"linkedin.com", "/redir/redirect", "url"},
    {"linkedin.com", "/safety/go", "url"},
    {"safelinks.protection.outlook.com", "/", "url"},
    {"slack-redir.net", "/link", "url"},
    {"steamcommunity.com", "/linkfilter", "url u"},
    {"vk.com", "/away.php", "to"},
    {"t.umblr.com", "/redirect", "z"},
    {"view.officeapps.live.com", "/op/", "src"},
    {"link.zhihu.com", "/", "target"},
    {"link.csdn.net", "/", "target"},
    {"link.juejin.cn", "/", "target"},
    {"jianshu.com", "/go-wild", "url"},
};

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (ascii_is_digit(c))
        return c - '0' + 52;
    return c == '-' || c == '+' ? 62 : c == '_' || c == '/' ? 63 : -1;
}

/* Bing writes "a1" and the address in base64url. */
static char *decode_bing(struct str text)
{
    struct buf out;
    unsigned bits = 0, n_bits = 0;
    buf_init(&out, MAX_ENCODED);
    for (size_t i = 2; i < text.len && base64_value(text.data[i]) >= 0; i++) {
        bits = (bits << 6 | (unsigned)base64_value(text.data[i])) & 0xffffff;
        n_bits += 6;
        if (n_bits < 8)
            continue;
        n_bits -= 8;
        char byte = (char)(bits >> n_bits & 0xff);
        if (byte == '\0' || buf_append_char(&out, byte) != STATUS_OK)
            break;
    }
    return buf_take(&out);
}

static char *carried(const struct rewriting *page, const char *names)
{
    struct str rest = str_of(names), name;
    while (str_split_next(&rest, ' ', &name)) {
        char *key = str_dup(name), *value = rewrite_parameter(page, key);
        free(key);
        if (value && str_starts_with(str_of(value), STR("a1")) && rewrite_is_host(page, "bing.com")) {
            char *decoded = decode_bing(str_of(value));
            free(value);
            value = decoded;
        }
        if (value)
            return value;
    }
    return NULL;
}

static char *by_parameter(const struct rewriting *page)
{
    for (size_t i = 0; i < sizeof carriers / sizeof carriers[0]; i++) {
        if (!rewrite_is_host(page, carriers[i].host) ||
            !str_starts_with(str_of(page->url.path), str_of(carriers[i].path)))
            continue;
        char *value = carried(page, carriers[i].parameters);
        if (value)
            return value;
    }
    return NULL;
}

/* "/s/host/path" (https) or "/host/path" (http), from segment `at` on, as AMP's caches write it. */
static char *by_amp(const struct rewriting *page, size_t at)
{
    bool secure = str_equal(rewrite_segment(page, at), STR("s"));
    struct str rest = rewrite_rest(page, at + secure);
    if (str_find_char(rewrite_segment(page, at + secure), '.', 0) == STR_NONE)
        return NULL;
    return mem_printf("http%s://%.*s%s%s", secure ? "s" : "", STR_ARG(rest), page->url.query ? "?" : "",
                      page->url.query ? page->url.query : "");
}

/* The address as it stands in the path, query included: https://r.jina.ai/https://… */
static char *by_path(const struct rewriting *page)
{
    struct str tail = str_of(page->tail);
    if (tail.len > 0)
        tail = str_slice(tail, 1, tail.len);
    if (!str_starts_with_nocase(tail, STR("http")))
        return NULL;
    return str_find(tail, STR("://"), 0) == STR_NONE ? rewrite_decode(tail) : str_dup(tail);
}

/* "cache:ID:host/path words" of Google's former cache. */
static char *by_cache(const struct rewriting *page)
{
    char *query = rewrite_parameter(page, "q");
    struct str text = str_of(query);
    char *address = NULL;
    if (str_starts_with(text, STR("cache:"))) {
        text = str_slice(text, 6, text.len);
        size_t colon = str_find_char(text, ':', 0), dot = str_find_char(text, '.', 0);
        if (colon != STR_NONE && dot != STR_NONE && colon < dot && !str_starts_with(text, STR("http")))
            text = str_slice(text, colon + 1, text.len);
        for (size_t i = 0; i < text.len; i++) {
            if (text.data[i] == '+' || ascii_is_space(text.data[i]))
                text = str_slice(text, 0, i);
        }
        bool has_scheme = str_starts_with(text, STR("http://")) || str_starts_with(text, STR("https://"));
        address = mem_printf("%s%.*s", has_scheme ? "" : "https://", STR_ARG(text));
    }
    free(query);
    return address;
}

/* www-example-org.translate.goog: "-" stands for ".", "--" for "-". */
static char *by_translated_host(const struct rewriting *page)
{
    struct str host = str_of(page->url.host), rest = str_of(page->url.query), whole;
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    buf_add_text(&out, "https://");
    host = str_slice(host, 0, host.len - strlen(".translate.goog"));
    for (size_t i = 0; i < host.len; i++) {
        bool twice = host.data[i] == '-' && i + 1 < host.len && host.data[i + 1] == '-';
        buf_add_char(&out, host.data[i] != '-' || twice ? host.data[i] : '.');
        i += twice;
    }
    buf_add_text(&out, page->url.path);
    char separator = '?';
    while (str_split_next(&rest, '&', &whole)) {
        if (str_starts_with(whole, STR("_x_tr_")))
            continue;
        buf_addf(&out, "%c%.*s", separator, STR_ARG(whole));
        separator = '&';
    }
    return buf_take(&out);
}

/* r.search.yahoo.com/…/RU=https%3a%2f%2fexample.org%2f/RK=2/… */
static char *by_yahoo(const struct rewriting *page)
{
    for (size_t i = 0; i < page->n; i++) {
        if (str_starts_with(page->segments[i], STR("RU=")))
            return rewrite_decode(str_slice(page->segments[i], 3, page->segments[i].len));
    }
    return NULL;
}

static char *unwrap_once(const struct rewriting *page)
{
    struct str first = rewrite_segment(page, 0);
    if (rewrite_is_host(page, "=r.jina.ai") || rewrite_is_host(page, "=via.hypothes.is"))
        return by_path(page);
    if (rewrite_is_host(page, "cdn.ampproject.org"))
        return page->n > 1 ? by_amp(page, 1) : NULL;
    if (rewrite_is_host(page, "google.") && str_equal(first, STR("amp")))
        return by_amp(page, 1);
    if (rewrite_is_host(page, "webcache.googleusercontent.com"))
        return by_cache(page);
    if (rewrite_is_host(page, "translate.goog") && strlen(page->url.host) > strlen(".translate.goog"))
        return by_translated_host(page);
    if (rewrite_is_host(page, "r.search.yahoo.com"))
        return by_yahoo(page);
    if (rewrite_is_host(page, "htmlpreview.github.io") && page->url.query)
        return rewrite_decode(str_of(page->url.query));
    return by_parameter(page);
}

/* The usual spelling without a fragment, where it is a web address; frees `address`. */
static char *checked(char *address)
{
    struct url parts;
    char *out = NULL;
    if (address && url_parse(str_of(address), &parts, NULL) == STATUS_OK) {
        bool web = strcmp(parts.scheme, "http") == 0 || strcmp(parts.scheme, "https") == 0;
        struct str text = str_trim(str_of(address));
        size_t fragment = str_find_char(text, '#', 0);
        if (web)
            out = str_dup(str_slice(text, 0, fragment));
        url_finish(&parts);
    }
    free(address);
    return out;
}

char *visit_unwrap(struct str url)
{
    char *inside = NULL;
    for (int layer = 0; layer < MAX_LAYERS; layer++) {
        struct rewriting page;
        if (!rewrite_init(&page, inside ? str_of(inside) : url, STR("")))
            break;
        char *next = checked(unwrap_once(&page));
        rewrite_finish(&page);
        if (!next)
            break;
        free(inside);
        inside = next;
    }
    return inside;
}

struct str visit_archived(struct str url, struct str *time)
{
    size_t at = str_find(url, STR("/web/"), 0);
    *time = STR("");
    if (at == STR_NONE)
        return STR("");
    size_t from = at + strlen("/web/"), end = from;
    while (end < url.len && ascii_is_digit(url.data[end]))
        end++;
    size_t behind = end;
    /* "id_", "if_", "im_" … say how the copy is to be shown */
    while (behind < url.len && behind < end + 3 && url.data[behind] != '/')
        behind++;
    struct str original = str_slice(url, behind + 1, url.len);
    bool shaped = end - from >= 4 && end - from <= 14 && behind < url.len && url.data[behind] == '/' &&
                  (str_starts_with(original, STR("http://")) || str_starts_with(original, STR("https://")));
    if (!shaped)
        return STR("");
    *time = str_slice(url, from, end);
    return original;
}
