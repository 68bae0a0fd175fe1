#include "net/url.h"

#include <curl/curl.h>
#include <idn2.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

#define PARSE_FLAGS (CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE)

static enum status not_a_url(struct error *error, struct str text, const char *why)
{
    error_set(error, STATUS_INVALID, "\"%.*s\" is no usable URL: %s", STR_ARG(str_slice(text, 0, 200)), why);
    return STATUS_INVALID;
}

/* A fresh copy of one part, in memory of ours; NULL when absent. */
static char *get_part(CURLU *url, CURLUPart part)
{
    char *curls = NULL;
    if (curl_url_get(url, part, &curls, 0) != CURLUE_OK)
        return NULL;
    char *ours = mem_strdup(curls);
    curl_free(curls);
    return ours;
}

/* Nothing but what a name or a numeric address is made of. Percent-escapes are undone by now, and some characters
 * become
 * "/" or "?" when they are mapped. */
static bool is_plain_host(const char *host)
{
    for (const char *c = host; *c; c++)
        if (!ascii_is_alnum(*c) && !strchr("-._", *c))
            return false;
    return *host;
}

static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

/* The host in the form in which it is looked up: internationalized names in ASCII (UTS 46), as browsers do it and where
 * curl would go by the locale's charset; no dot at the end. NULL when there is no such host. */
static char *map_host(const char *host)
{
    char *mapped = NULL;
    if (is_ascii(host)) {
        mapped = mem_strdup(host);
    } else {
        char *ascii = NULL;
        if (idn2_to_ascii_8z(host, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) != IDN2_OK)
            return NULL;
        mapped = mem_strdup(ascii);
        idn2_free(ascii);
    }
    size_t len = strlen(mapped);
    if (len > 1 && mapped[len - 1] == '.')
        mapped[--len] = '\0';
    if (mapped[0] == '[' ||
        (is_plain_host(mapped) && mapped[0] != '.' && mapped[len - 1] != '.' && !strstr(mapped, "..")))
        return mapped;
    free(mapped);
    return NULL;
}

/* Maps the host in place. The whole is then parsed once more, since what came of a mapping, of percent-escapes or of a
 * dot that is gone may be another spelling of an IPv4 address. */
static CURLUcode settle_host(CURLU *url)
{
    char *host = get_part(url, CURLUPART_HOST), *mapped = host && *host ? map_host(host) : NULL, *whole = NULL;
    CURLUcode code = mapped || !host || !*host ? CURLUE_OK : CURLUE_BAD_HOSTNAME;
    if (mapped)
        code = curl_url_set(url, CURLUPART_HOST, mapped, 0);
    if (mapped && code == CURLUE_OK)
        whole = get_part(url, CURLUPART_URL);
    if (whole)
        code = curl_url_set(url, CURLUPART_URL, whole, PARSE_FLAGS);
    free(whole);
    free(mapped);
    free(host);
    return code;
}

/* Puts an absolute URL into a fresh curl handle. */
static enum status open_url(struct str text, CURLU **out, struct error *error)
{
    text = str_trim(text);
    if (text.len == 0)
        return not_a_url(error, text, "it is empty");
    if (text.len > URL_MAX_LENGTH)
        return not_a_url(error, text, "it is too long");
    if (memchr(text.data, '\0', text.len))
        return not_a_url(error, text, "it holds a NUL");
    CURLU *url = curl_url();
    if (!url)
        abort();
    char *copy = str_dup(text);
    CURLUcode code = curl_url_set(url, CURLUPART_URL, copy, PARSE_FLAGS);
    free(copy);
    if (code == CURLUE_OK)
        code = settle_host(url);
    if (code != CURLUE_OK) {
        curl_url_cleanup(url);
        return not_a_url(error, text, curl_url_strerror(code));
    }
    *out = url;
    return STATUS_OK;
}

static void lower(char *text)
{
    for (; *text; text++)
        *text = ascii_lower(*text);
}

static int default_port(const char *scheme)
{
    if (strcmp(scheme, "http") == 0)
        return 80;
    return strcmp(scheme, "https") == 0 ? 443 : 0;
}

enum status url_parse(struct str text, struct url *out, struct error *error)
{
    CURLU *handle = NULL;
    enum status status = open_url(text, &handle, error);
    if (status != STATUS_OK)
        return status;
    struct url url = {
        .scheme = get_part(handle, CURLUPART_SCHEME),
        .user = get_part(handle, CURLUPART_USER),
        .password = get_part(handle, CURLUPART_PASSWORD),
        .host = get_part(handle, CURLUPART_HOST),
        .path = get_part(handle, CURLUPART_PATH),
        .query = get_part(handle, CURLUPART_QUERY),
        .fragment = get_part(handle, CURLUPART_FRAGMENT),
    };
    char *port = get_part(handle, CURLUPART_PORT);
    curl_url_cleanup(handle);
    if (!url.scheme || !url.host || !*url.host || !url.path) {
        free(port);
        url_finish(&url);
        return not_a_url(error, text, "it has no host, or one that cannot be read");
    }
    lower(url.scheme);
    lower(url.host);
    url.port = port ? atoi(port) : default_port(url.scheme);
    free(port);
    *out = url;
    return STATUS_OK;
}

void url_finish(struct url *url)
{
    if (!url)
        return;
    free(url->scheme);
    free(url->user);
    free(url->password);
    free(url->host);
    free(url->path);
    free(url->query);
    free(url->fragment);
    *url = (struct url){0};
}

static bool has_scheme(struct str reference)
{
    size_t i = 0;
    while (i < reference.len && (ascii_is_alnum(reference.data[i]) || strchr("+-.", reference.data[i])))
        i++;
    return i > 0 && i < reference.len && reference.data[i] == ':' && ascii_is_alpha(reference.data[0]);
}

static void add_origin(struct buf *out, const struct url *url)
{
    buf_addf(out, "%s://%s", url->scheme, url->host);
    if (url->port != 0 && url->port != default_port(url->scheme))
        buf_addf(out, ":%d", url->port);
}

/* Writes what RFC 3986, 5.2.2 composes for a reference without a scheme; dot segments are still in it. */
static void compose(struct buf *out, const struct url *base, struct str reference)
{
    char first = reference.len > 0 ? reference.data[0] : '#';
    if (str_starts_with(reference, STR("//"))) {
        buf_addf(out, "%s:", base->scheme);
        buf_add(out, reference);
        return;
    }
    add_origin(out, base);
    if (first == '?' || first == '#') {
        buf_add_text(out, base->path);
        if (first == '#' && base->query)
            buf_addf(out, "?%s", base->query);
    } else if (first != '/') {
        struct str path = str_of(base->path);
        buf_add(out, str_slice(path, 0, str_rfind_char(path, '/') + 1));
    }
    buf_add(out, reference);
}

enum status url_join(struct str base, struct str reference, char **out, struct error *error)
{
    reference = str_trim(reference);
    struct buf composed;
    buf_init(&composed, BUF_UNBOUNDED); /* both parts are checked against URL_MAX_LENGTH */
    enum status status = STATUS_OK;
    if (reference.len > URL_MAX_LENGTH) {
        status = not_a_url(error, reference, "it is too long");
    } else if (has_scheme(reference)) {
        buf_add(&composed, reference);
    } else {
        struct url parts;
        status = url_parse(base, &parts, error);
        if (status == STATUS_OK) {
            compose(&composed, &parts, reference);
            url_finish(&parts);
        }
    }
    CURLU *handle = NULL;
    if (status == STATUS_OK)
        status = open_url(buf_str(&composed), &handle, error);
    if (status == STATUS_OK) {
        *out = get_part(handle, CURLUPART_URL);
        curl_url_cleanup(handle);
        if (!*out)
            status = not_a_url(error, buf_str(&composed), "it cannot be put together");
    }
    buf_finish(&composed);
    return status;
}

static bool is_unreserved(char c)
{
    return ascii_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

static int hex_value(char c)
{
    if (ascii_is_digit(c))
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC 3986, 6.2.2.1 and 6.2.2.2. A "%" that begins no escape is escaped itself, else it could begin one with what
 * follows once that is undone. */
static void normalize_escapes(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool room = i + 2 < text.len;
        int high = room ? hex_value(text.data[i + 1]) : -1, low = room ? hex_value(text.data[i + 2]) : -1;
        bool is_escape = text.data[i] == '%' && high >= 0 && low >= 0;
        char c = is_escape ? (char)(high * 16 + low) : text.data[i];
        if (text.data[i] != '%' || (is_escape && is_unreserved(c)))
            buf_add_char(out, c);
        else
            buf_addf(out, "%%%02X", (unsigned)(unsigned char)c);
        i += is_escape ? 2 : 0;
    }
}

/* One pass: parses `text` and writes it with its escapes normalized. */
static enum status canonical_pass(struct str text, struct buf *out, struct error *error)
{
    struct url url;
    enum status status = url_parse(text, &url, error);
    if (status != STATUS_OK)
        return status;
    add_origin(out, &url);
    normalize_escapes(out, str_of(url.path));
    if (url.query) {
        buf_add_char(out, '?');
        normalize_escapes(out, str_of(url.query));
    }
    url_finish(&url);
    return STATUS_OK;
}

enum status url_canonical(struct str text, char **out, struct error *error)
{
    struct buf first, second;
    buf_init(&first, BUF_UNBOUNDED);
    buf_init(&second, BUF_UNBOUNDED);
    enum status status = canonical_pass(text, &first, error);
    if (status == STATUS_OK) /* dots that were escaped are dot segments now */
        status = canonical_pass(buf_str(&first), &second, error);
    if (status == STATUS_OK)
        *out = buf_take(&second);
    buf_finish(&first);
    buf_finish(&second);
    return status;
}

char *url_without_credentials(struct str text)
{
    CURLU *handle = NULL;
    if (open_url(text, &handle, NULL) != STATUS_OK)
        return mem_strdup("(not a URL)");
    curl_url_set(handle, CURLUPART_USER, NULL, 0);
    curl_url_set(handle, CURLUPART_PASSWORD, NULL, 0);
    char *out = get_part(handle, CURLUPART_URL);
    curl_url_cleanup(handle);
    return out ? out : mem_strdup("(not a URL)");
}

char *url_origin(struct str text)
{
    struct url url;
    if (url_parse(text, &url, NULL) != STATUS_OK)
        return NULL;
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    add_origin(&out, &url);
    url_finish(&url);
    return buf_take(&out);
}

bool url_same_origin(struct str a, struct str b)
{
    char *origin_a = url_origin(a), *origin_b = url_origin(b);
    bool same = origin_a && origin_b && strcmp(origin_a, origin_b) == 0;
    free(origin_a);
    free(origin_b);
    return same;
}

char *url_host(struct str text)
{
    struct url url;
    if (url_parse(text, &url, NULL) != STATUS_OK)
        return NULL;
    char *host = url.host;
    url.host = NULL;
    url_finish(&url);
    return host;
}

enum status url_encode(struct buf *out, struct str text)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t before = out->len;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        unsigned char byte = (unsigned char)c;
        char escape[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        enum status status = is_unreserved(c) ? buf_append_char(out, c) : buf_append(out, escape, sizeof escape);
        if (status != STATUS_OK) {
            buf_truncate(out, before);
            return status;
        }
    }
    return STATUS_OK;
}

enum status url_add_query(struct buf *url, struct str name, struct str value)
{
    size_t before = url->len;
    bool more = str_find_char(buf_str(url), '?', 0) != STR_NONE;
    if (buf_append_char(url, more ? '&' : '?') == STATUS_OK && url_encode(url, name) == STATUS_OK &&
        buf_append_char(url, '=') == STATUS_OK && url_encode(url, value) == STATUS_OK)
        return STATUS_OK;
    buf_truncate(url, before);
    return STATUS_TOO_BIG;
}
