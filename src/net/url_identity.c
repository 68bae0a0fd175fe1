/* Which page an address means, whatever road leads to it. */
#include "net/url.h"

#include <stdlib.h>
#include <string.h>

static bool is_in(struct str name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_equal_ascii_nocase(name, str_of(names[i])))
            return true;
    }
    return false;
}

/* Whether a query parameter says where a visitor came from, not which page it is. */
static bool is_tracking(struct str parameter)
{
    static const char *const prefixes[] = {"utm_", "mtm_", "pk_", "hsa_", "at_campaign", "at_medium"};
    static const char *const names[] = {
        "gclid",      "gclsrc",      "dclid",
        "gbraid",     "wbraid",      "fbclid",
        "msclkid",    "yclid",       "ysclid",
        "twclid",     "ttclid",      "igshid",
        "igsh",       "mc_cid",      "mc_eid",
        "_ga",        "_gl",         "_hsenc",
        "_hsmi",      "mkt_tok",     "vero_id",
        "vero_conv",  "oly_anon_id", "oly_enc_id",
        "wickedid",   "ref_src",     "ref_url",
        "srsltid",    "spm",         "s_cid",
        "cmpid",      "ncid",        "__twitter_impression",
        "guccounter",
    };
    size_t end = str_find_char(parameter, '=', 0);
    struct str name = str_slice(parameter, 0, end);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (str_starts_with_nocase(name, str_of(prefixes[i])))
            return true;
    }
    return is_in(name, names, sizeof names / sizeof names[0]);
}

/* Whether a query parameter asks for the AMP form: "amp", "amp=1", "outputType=amp". */
static bool asks_for_amp(struct str parameter)
{
    static const char *const all[] = {"amp", "amp=", "amp=1", "amp=true", "outputtype=amp", "_amp", "_amp=true"};
    return is_in(parameter, all, sizeof all / sizeof all[0]);
}

/* Appends what of the query tells one page from another, with its "?". */
static void add_query(struct buf *out, struct str query)
{
    struct str parameter;
    char separator = '?';
    while (str_split_next(&query, '&', &parameter)) {
        if (parameter.len == 0 || is_tracking(parameter) || asks_for_amp(parameter))
            continue;
        buf_add_char(out, separator);
        buf_add(out, parameter);
        separator = '&';
    }
}

/* Takes `end` off the path. */
static bool drop_end(struct str *path, struct str end)
{
    bool ends = str_ends_with(*path, end);
    path->len -= ends ? end.len : 0;
    return ends;
}

/* Appends the path without what names the AMP form ("/amp", ".amp", ".amp.html") and without slashes at its end. */
static void add_path(struct buf *out, struct str path)
{
    bool html = false;
    while (drop_end(&path, STR("/")) || drop_end(&path, STR("/amp")) || drop_end(&path, STR(".amp")))
        ;
    while (drop_end(&path, STR(".amp.html")))
        html = true;
    buf_add(out, path);
    buf_add(out, html ? STR(".html") : STR(""));
}

/* The host without the label at `at` when that names a form of the site ("www", "m" …) and a name with a dot in it is
 * left without it. */
static bool drop_label(char *host, size_t at)
{
    static const char *const forms[] = {"www", "www2", "www3", "m", "mobile", "amp"};
    struct str rest = str_slice(str_of(host), at, strlen(host));
    size_t dot = str_find_char(rest, '.', 0);
    if (dot == STR_NONE || str_find_char(rest, '.', dot + 1) == STR_NONE ||
        !is_in(str_slice(rest, 0, dot), forms, sizeof forms / sizeof forms[0]))
        return false;
    memmove(host + at, host + at + dot + 1, rest.len - dot);
    return true;
}

/* "en.m.wikipedia.org", "www.example.org", "m.example.org" without the label that only says how it is shown. */
static void drop_form(char *host)
{
    struct str name = str_of(host);
    if (name.len > 0 && (name.data[0] == '[' || ascii_is_digit(name.data[name.len - 1])))
        return; /* a numeric address */
    while (drop_label(host, 0))
        ;
    size_t dot = str_find_char(str_of(host), '.', 0);
    while (dot != STR_NONE && drop_label(host, dot + 1))
        ;
}

/* The address that one of Google's AMP roads leads to, or NULL: google.com/amp/s/HOST/PATH and
 * HOST-WITH-DASHES.cdn.ampproject.org/c/s/HOST/PATH, where "s" stands for https. */
static char *leave_amp_cache(const struct url *url)
{
    struct str host = str_of(url->host), path = str_of(url->path);
    if (str_equal(host, STR("google.com")) && str_starts_with(path, STR("/amp/")))
        path = str_slice(path, 5, path.len);
    else if (str_ends_with(host, STR(".cdn.ampproject.org")) && path.len > 3 && path.data[2] == '/')
        path = str_slice(path, 3, path.len);
    else
        return NULL;
    if (str_starts_with(path, STR("s/")))
        path = str_slice(path, 2, path.len);
    size_t slash = str_find_char(path, '/', 0);
    if (str_find_char(str_slice(path, 0, slash), '.', 0) == STR_NONE)
        return NULL;
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    buf_add_text(&out, "https://");
    buf_add(&out, path);
    if (url->query)
        buf_addf(&out, "?%s", url->query);
    return buf_take(&out);
}

static bool is_web(const struct url *url)
{
    return strcmp(url->scheme, "http") == 0 || strcmp(url->scheme, "https") == 0;
}

/* Reads `text` as an address of the web, written in one way. */
static bool read_web(struct str text, struct url *url)
{
    char *canonical = NULL;
    if (url_canonical(text, &canonical, NULL) != STATUS_OK)
        return false;
    enum status status = url_parse(str_of(canonical), url, NULL);
    free(canonical);
    if (status == STATUS_OK && is_web(url)) {
        drop_form(url->host);
        return true;
    }
    if (status == STATUS_OK)
        url_finish(url);
    return false;
}

char *url_identity(struct str text)
{
    struct url url, inner;
    if (!read_web(text, &url))
        return str_dup(str_trim(text));
    for (bool left = true; left;) { /* each way round is shorter */
        char *target = leave_amp_cache(&url);
        left = target && read_web(str_of(target), &inner);
        if (left) {
            url_finish(&url);
            url = inner;
        }
        free(target);
    }
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    buf_add_text(&out, url.host);
    if (url.port != 80 && url.port != 443)
        buf_addf(&out, ":%d", url.port);
    add_path(&out, str_of(url.path));
    if (url.query)
        add_query(&out, str_of(url.query));
    url_finish(&url);
    return buf_take(&out);
}
