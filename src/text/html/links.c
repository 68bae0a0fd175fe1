#include "text/html/links.h"

#include <stdlib.h>
#include <string.h>

/* ---- characters ---- */

enum where { IN_FRAGMENT, IN_PATH, IN_QUERY, IN_HOST };

#define BIT(c) ((uint64_t)1 << ((c)&63))

/* The ASCII characters that are written as %XX (in a host: that make it none), after the URL Standard, section 1.3: of
 * those below 64, and of the others. */
#define LOW  ((BIT(33) - 1) | BIT('"') | BIT('<') | BIT('>'))
#define HIGH BIT(127)
static const uint64_t encoded[][2] = {
    [IN_FRAGMENT] = {LOW, HIGH | BIT('`')},
    [IN_PATH] = {LOW, HIGH | BIT('`') | BIT('{') | BIT('}')},
    [IN_QUERY] = {LOW | BIT('\''), HIGH},
    [IN_HOST] = {LOW, HIGH | BIT('^') | BIT('|')},
};

static bool is_encoded(char c, enum where where)
{
    unsigned char byte = (unsigned char)c;
    return byte >= 0x80 || (encoded[where][byte >> 6] >> (byte & 63) & 1);
}

/* Whether a character goes into a path as it is and ends nothing. */
static bool is_plain(char c)
{
    static const uint64_t special[] = {LOW | BIT('/') | BIT('?') | BIT('#'),
                                       HIGH | BIT('`') | BIT('{') | BIT('}') | BIT('\\')};
    unsigned char byte = (unsigned char)c;
    return byte < 0x80 && !(special[byte >> 6] >> (byte & 63) & 1);
}

static char lower(char c)
{
    return (char)(c | ((unsigned)(c - 'A') < 26U ? 32 : 0));
}

static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

static char *put(char *at, char c, enum where where)
{
    static const char digits[] = "0123456789ABCDEF";
    unsigned char byte = (unsigned char)c;
    if (!is_encoded(c, where)) {
        *at++ = c;
        return at;
    }
    *at++ = '%';
    *at++ = digits[byte >> 4];
    *at++ = digits[byte & 15];
    return at;
}

/* ---- parts ---- */

/* "." or "..", or with dots as %2e: how many. 0 for any other segment. */
static int dots(const char *segment, const char *end)
{
    int n = 0;
    while (segment < end && n < 3) {
        if (*segment == '.')
            segment++;
        else if (end - segment >= 3 && segment[0] == '%' && segment[1] == '2' && ascii_lower(segment[2]) == 'e')
            segment += 3;
        else
            return 0;
        n++;
    }
    return n < 3 ? n : 0;
}

/* Writes a path up to its "?" or "#" behind `root`, which is the path's first "/"; `at` is behind a "/", where the
 * first segment goes. *rest becomes what follows. */
static char *put_path(char *root, char *at, struct str path, struct str *rest)
{
    char *segment = at;
    for (size_t i = 0;; i++) {
        size_t run = i;
        while (i < path.len && is_plain(path.data[i]))
            i++;
        if (i > run)
            memcpy(at, path.data + run, i - run);
        at += i - run;
        bool end = i >= path.len || path.data[i] == '?' || path.data[i] == '#';
        if (!end && !is_slash(path.data[i])) {
            at = put(at, path.data[i], IN_PATH);
            continue;
        }
        int n = segment < at && (*segment == '.' || *segment == '%') ? dots(segment, at) : 0;
        if (n > 0)
            at = segment;
        if (n == 2 && at - 1 > root)
            for (at--; at[-1] != '/';)
                at--;
        if (n == 0 && !end)
            *at++ = '/';
        segment = at;
        if (end) {
            *rest = str_slice(path, i, path.len);
            return at;
        }
    }
}

/* Writes "?query" and "#fragment", or what of them is there. */
static char *put_rest(char *at, struct str rest)
{
    enum where where = IN_QUERY;
    for (size_t i = 0; i < rest.len; i++) {
        if (rest.data[i] == '#')
            where = IN_FRAGMENT;
        at = put(at, rest.data[i], where);
    }
    return at;
}

/* Writes the authority that `rest` begins with, in lower case but for what stands before an "@", without the scheme's
 * own port. NULL when there is no host. */
static char *put_authority(char *at, bool secure, struct str *rest)
{
    size_t end = 0, name = 0;
    while (end < rest->len && !is_slash(rest->data[end]) && rest->data[end] != '?' && rest->data[end] != '#') {
        if (rest->data[end] == '@')
            name = end + 1;
        end++;
    }
    struct str host = str_slice(*rest, name, end), port = secure ? STR(":443") : STR(":80");
    if (str_ends_with(host, port))
        host.len -= port.len;
    else if (str_ends_with(host, STR(":")))
        host.len--;
    if (host.len == 0 || host.data[0] == ':')
        return NULL;
    for (size_t i = 0; i < name; i++)
        at = put(at, rest->data[i], IN_QUERY);
    for (size_t i = 0; i < host.len; i++) {
        if ((unsigned char)host.data[i] < 0x80 && is_encoded(host.data[i], IN_HOST))
            return NULL;
        *at++ = lower(host.data[i]);
    }
    *rest = str_slice(*rest, end, rest->len);
    return at;
}

/* Writes an address from its authority on. */
static char *put_from_authority(char *at, bool secure, struct str rest)
{
    at = put_authority(at, secure, &rest);
    if (!at)
        return NULL;
    char *root = at;
    *at++ = '/';
    if (rest.len && is_slash(rest.data[0]))
        rest = str_slice(rest, 1, rest.len);
    at = put_path(root, at, rest, &rest);
    return put_rest(at, rest);
}

/* ---- references ---- */

/* Without control characters and blanks around; those inside that do not count go to `room`, which takes as many bytes
 * as the reference has. */
static struct str clean(struct str reference, char *room)
{
    while (reference.len && (unsigned char)reference.data[0] <= ' ')
        reference = str_slice(reference, 1, reference.len);
    while (reference.len && (unsigned char)reference.data[reference.len - 1] <= ' ')
        reference.len--;
    bool broken = false;
    for (size_t i = 0; i < reference.len; i++)
        broken |= (unsigned char)reference.data[i] < ' ';
    if (!broken)
        return reference;
    size_t kept = 0;
    for (size_t i = 0; i < reference.len; i++)
        if (reference.data[i] != '\n' && reference.data[i] != '\r' && reference.data[i] != '\t')
            room[kept++] = reference.data[i];
    return str_make(room, kept);
}

/* The length of the scheme, 0 without one. */
static size_t scheme_length(struct str reference)
{
    size_t i = 0;
    if (!reference.len || !ascii_is_alpha(reference.data[0]))
        return 0;
    while (i < reference.len && (ascii_is_alnum(reference.data[i]) || (i && memchr("+-.", reference.data[i], 3))))
        i++;
    return i < reference.len && reference.data[i] == ':' ? i : 0;
}

static char *copy(char *at, const char *bytes, size_t length)
{
    memcpy(at, bytes, length);
    return at + length;
}

/* Writes the address of a reference without a scheme, against a base that is known. */
static char *put_relative(const struct html_base *base, struct str reference, char *at)
{
    bool secure = base->scheme_end == 6;
    if (reference.len >= 2 && is_slash(reference.data[0]) && is_slash(reference.data[1])) {
        at = copy(at, base->address, base->scheme_end);
        at = copy(at, "//", 2);
        return put_from_authority(at, secure, str_slice(reference, 2, reference.len));
    }
    char first = reference.len ? reference.data[0] : '#';
    if (first == '?' || first == '#') {
        at = copy(at, base->address, first == '?' ? base->path_end : base->length);
        return put_rest(at, reference);
    }
    char *root = at + base->host_end;
    if (is_slash(first)) {
        at = copy(at, base->address, base->host_end + 1);
        reference = str_slice(reference, 1, reference.len);
    } else {
        at = copy(at, base->address, base->folder_end);
    }
    at = put_path(root, at, reference, &reference);
    return put_rest(at, reference);
}

/* Writes the address of a reference with a scheme. NULL for what is not of the web. */
static char *put_absolute(const struct html_base *base, struct str reference, size_t scheme, char *at)
{
    struct str name = str_slice(reference, 0, scheme), rest = str_slice(reference, scheme + 1, reference.len);
    bool secure = str_equal_ascii_nocase(name, STR("https"));
    if (!secure && !str_equal_ascii_nocase(name, STR("http")))
        return NULL;
    size_t slashes = 0;
    while (slashes < rest.len && is_slash(rest.data[slashes]))
        slashes++;
    if (slashes < 2 && base->address && base->scheme_end == scheme + 1)
        return put_relative(base, rest, at);
    at = secure ? copy(at, "https://", 8) : copy(at, "http://", 7);
    return put_from_authority(at, secure, str_slice(rest, slashes, rest.len));
}

/* Writes a reference that cannot be made absolute, cleaned. */
static char *put_as_it_is(struct str reference, char *at)
{
    enum where where = IN_PATH;
    for (size_t i = 0; i < reference.len; i++) {
        if (reference.data[i] == '?' && where == IN_PATH)
            where = IN_QUERY;
        if (reference.data[i] == '#')
            where = IN_FRAGMENT;
        at = put(at, reference.data[i], where);
    }
    return at;
}

static bool is_within(const struct html_base *base, const char *address, size_t length)
{
    if (!base->page || length < base->page_length || memcmp(address, base->page, base->page_length) != 0)
        return false;
    return length == base->page_length || address[base->page_length] == '#';
}

enum html_link html_base_resolve(const struct html_base *base, struct str reference, struct buf *out)
{
    if (reference.len > HTML_MAX_ADDRESS)
        return LINK_NONE;
    char room[HTML_MAX_ADDRESS];
    reference = clean(reference, room);
    char *start = buf_reserve(out, base->length + 3 * reference.len + 16), *at;
    if (!start)
        return LINK_NONE;
    if (reference.len == 0 || reference.data[0] == '#') {
        buf_commit(out, (size_t)(put_rest(start, reference) - start));
        return LINK_WITHIN;
    }
    size_t scheme = scheme_length(reference);
    if (scheme)
        at = put_absolute(base, reference, scheme, start);
    else
        at = base->address ? put_relative(base, reference, start) : put_as_it_is(reference, start);
    if (!at) {
        buf_commit(out, 0);
        return LINK_NONE;
    }
    size_t length = (size_t)(at - start);
    const char *fragment = memchr(start, '#', length);
    if (fragment && is_within(base, start, length)) {
        size_t skipped = (size_t)(fragment - start);
        memmove(start, fragment, length - skipped);
        buf_commit(out, length - skipped);
        return LINK_WITHIN;
    }
    buf_commit(out, length);
    return LINK_ADDRESS;
}

/* ---- the base ---- */

/* Takes an address over; false when it is none that links could stand against. */
static bool take(struct html_base *base, struct str address)
{
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    bool ok = html_base_resolve(base, address, &out) == LINK_ADDRESS && str_starts_with(buf_str(&out), STR("http"));
    struct str text = buf_str(&out);
    size_t end = str_find_char(text, '#', 0), scheme = str_find_char(text, ':', 0);
    buf_truncate(&out, end);
    text = buf_str(&out);
    if (!ok || scheme == STR_NONE || !str_starts_with(str_slice(text, scheme, text.len), STR("://"))) {
        buf_finish(&out);
        return false;
    }
    base->scheme_end = scheme + 1;
    base->host_end = str_find_char(text, '/', scheme + 3);
    size_t query = str_find_char(text, '?', base->host_end);
    base->path_end = query == STR_NONE ? text.len : query;
    base->folder_end = str_rfind_char(str_slice(text, 0, base->path_end), '/') + 1;
    base->length = text.len;
    free(base->address);
    base->address = buf_take(&out);
    return true;
}

void html_base_init(struct html_base *base, struct str page_url, struct str href)
{
    *base = (struct html_base){0};
    if (take(base, page_url)) {
        base->page = str_dup(str_make(base->address, base->length));
        base->page_length = base->length;
    }
    if (href.len)
        (void)take(base, href);
}

void html_base_finish(struct html_base *base)
{
    if (!base)
        return;
    free(base->address);
    free(base->page);
    *base = (struct html_base){0};
}
