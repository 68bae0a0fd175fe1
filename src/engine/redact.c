#include "engine/redact.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "net/guard.h"
#include "net/url.h"

#define SHORTEST_SECRET 8

struct redaction {
    char **secrets; /* longest first, so that a key that begins like another does not leave its end behind */
    size_t n_secrets;
    char **places;
    size_t n_places;
};

static int longest_first(const void *a, const void *b)
{
    size_t x = strlen(*(char *const *)a), y = strlen(*(char *const *)b);
    return (x < y) - (x > y);
}

static void add_secret(struct redaction *redaction, const char *secret)
{
    struct buf encoded;
    redaction->secrets[redaction->n_secrets++] = mem_strdup(secret);
    buf_init(&encoded, BUF_UNBOUNDED);
    if (url_encode(&encoded, str_of(secret)) == STATUS_OK && !str_equal(buf_str(&encoded), str_of(secret)))
        redaction->secrets[redaction->n_secrets++] = buf_take(&encoded);
    buf_finish(&encoded);
}

struct redaction *redaction_create(const char *const *secrets, size_t n_secrets, const char *const *places,
                                   size_t n_places)
{
    struct redaction *redaction = mem_zalloc(sizeof *redaction);
    redaction->secrets = mem_calloc(2 * n_secrets, sizeof *redaction->secrets);
    redaction->places = mem_calloc(n_places, sizeof *redaction->places);
    for (size_t i = 0; i < n_secrets; i++) {
        if (secrets[i] && strlen(secrets[i]) >= SHORTEST_SECRET)
            add_secret(redaction, secrets[i]);
    }
    qsort(redaction->secrets, redaction->n_secrets, sizeof *redaction->secrets, longest_first);
    for (size_t i = 0; i < n_places; i++) {
        if (places[i] && strlen(places[i]) > 1) /* "/" is no secret */
            redaction->places[redaction->n_places++] = mem_strdup(places[i]);
    }
    return redaction;
}

void redaction_destroy(struct redaction *redaction)
{
    if (!redaction)
        return;
    for (size_t i = 0; i < redaction->n_secrets; i++)
        free(redaction->secrets[i]);
    for (size_t i = 0; i < redaction->n_places; i++)
        free(redaction->places[i]);
    free(redaction->secrets);
    free(redaction->places);
    free(redaction);
}

/* ---- secrets ---- */

struct str redact_secrets(const struct redaction *redaction, struct str text, struct buf *copy)
{
    for (size_t i = 0; i < redaction->n_secrets; i++) {
        struct str secret = str_of(redaction->secrets[i]);
        size_t at = str_find(text, secret, 0);
        if (at == STR_NONE)
            continue;
        struct buf next;
        buf_init(&next, BUF_UNBOUNDED);
        size_t from = 0;
        for (; at != STR_NONE; at = str_find(text, secret, from)) {
            buf_add(&next, str_slice(text, from, at));
            buf_add_text(&next, "[removed]");
            from = at + secret.len;
        }
        buf_add(&next, str_slice(text, from, text.len));
        buf_finish(copy);
        *copy = next;
        text = buf_str(copy);
    }
    return text;
}

/* ---- places: each function gives the length of what stands at the start of `text`, 0 when it is not of its kind ----
 */

static bool is_name_char(char c)
{
    return ascii_is_alnum(c) || c == '.' || c == '-' || c == '_';
}

/* How many of the first characters are of `set`, at most 64: no address is longer. */
static size_t run_of(struct str text, const char *set)
{
    size_t length = 0;
    while (length < text.len && length < 64 && text.data[length] && strchr(set, text.data[length]))
        length++;
    return length;
}

static size_t port_length(struct str text, size_t at)
{
    size_t end = at + 1;
    if (at >= text.len || text.data[at] != ':')
        return 0;
    while (end < text.len && ascii_is_digit(text.data[end]))
        end++;
    return end > at + 1 ? end - at : 0;
}

/* A numeric address that no fetch may go to. */
static bool is_internal(struct str literal)
{
    char text[INET6_ADDRSTRLEN + 1];
    unsigned char address[sizeof(struct in6_addr)];
    size_t zone = str_find_char(literal, '%', 0);
    literal = str_slice(literal, 0, zone);
    if (literal.len >= sizeof text)
        return false;
    memcpy(text, literal.data, literal.len);
    text[literal.len] = '\0';
    bool numeric = inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
    return numeric && !guard_text_allowed(NULL, text);
}

static size_t address_length(struct str text, bool after_colon)
{
    if (text.data[0] == '[') {
        size_t close = str_find_char(str_slice(text, 0, 64), ']', 1);
        bool internal = close != STR_NONE && is_internal(str_slice(text, 1, close));
        return internal ? close + 1 + port_length(text, close + 1) : 0;
    }
    size_t digits = run_of(text, "0123456789.");
    while (digits > 0 && text.data[digits - 1] == '.')
        digits--;
    if (is_internal(str_slice(text, 0, digits)) &&
        (digits == text.len || !is_name_char(text.data[digits]) || text.data[digits] == '.'))
        return digits + port_length(text, digits);
    size_t length = after_colon ? 0 : run_of(text, "0123456789abcdefABCDEF:."); /* no second half of one */
    if (length > 2 && (text.data[length - 1] == ':' || text.data[length - 1] == '.'))
        length--; /* of the sentence around it */
    bool ends = length == text.len || !is_name_char(text.data[length]) || text.data[length] == '.';
    bool colon = str_find_char(str_slice(text, 0, length), ':', 0) != STR_NONE;
    return colon && ends && is_internal(str_slice(text, 0, length)) ? length : 0;
}

static bool is_inner_name(struct str name)
{
    static const char *const endings[] = {".localhost", ".local",   ".localdomain", ".internal", ".intranet",
                                          ".lan",       ".private", ".corp",        ".home",     ".home.arpa"};
    if (str_equal_ascii_nocase(name, STR("localhost")))
        return true;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        struct str ending = str_of(endings[i]);
        if (name.len > ending.len && str_equal_ascii_nocase(str_slice(name, name.len - ending.len, name.len), ending))
            return true;
    }
    return false;
}

static bool is_place(const struct redaction *redaction, struct str name)
{
    for (size_t i = 0; i < redaction->n_places; i++) {
        if (str_equal_ascii_nocase(name, str_of(redaction->places[i])))
            return true;
    }
    return false;
}

/* Sets *whole to the length of the name that stands here, inner or not. A host among the places may be called like a
 * word of every day ("search"), and counts where it stands as hosts do: behind "//" or before a port. */
static size_t name_length(const struct redaction *redaction, struct str text, bool after_slash, size_t *whole)
{
    size_t length = 0;
    while (length < text.len && is_name_char(text.data[length]))
        length++;
    *whole = length;
    while (length > 0 && text.data[length - 1] == '.')
        length--;
    struct str name = str_slice(text, 0, length);
    size_t port = port_length(text, length);
    bool inner = is_inner_name(name) || ((after_slash || port > 0) && is_place(redaction, name));
    return inner ? length + port : 0;
}

static size_t path_end(struct str text, size_t at)
{
    static const char ends[] = " \t\n\r\"'`,;|)<>]}";
    while (at < text.len && !(text.data[at] && strchr(ends, text.data[at])))
        at++;
    return at;
}

static size_t path_length(const struct redaction *redaction, struct str text)
{
    static const char *const roots[] = {"/dev/",  "/etc/", "/home/", "/media/", "/mnt/", "/opt/", "/private/", "/proc/",
                                        "/root/", "/run/", "/srv/",  "/sys/",   "/tmp/", "/usr/", "/Users/",   "/var/"};
    if (str_starts_with_nocase(text, STR("file://")))
        return path_end(text, 0);
    for (size_t i = 0; i < redaction->n_places; i++) {
        struct str place = str_of(redaction->places[i]);
        bool folder = place.data[0] == '/' && str_starts_with(text, place);
        if (folder && (text.len == place.len || !is_name_char(text.data[place.len])))
            return path_end(text, place.len);
    }
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        if (str_starts_with(text, str_of(roots[i])))
            return path_end(text, 0);
    }
    return 0;
}

void redact_places(const struct redaction *redaction, struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len;) {
        struct str rest = str_slice(text, i, text.len);
        size_t whole = 1, length = 0;
        if (i == 0 || !is_name_char(text.data[i - 1])) {
            const char *instead = "[local path]";
            bool after_slash = i > 0 && text.data[i - 1] == '/'; /* "//host": no path begins there */
            length = after_slash ? 0 : path_length(redaction, rest);
            if (length == 0) {
                instead = "[internal address]";
                length = address_length(rest, i > 0 && text.data[i - 1] == ':');
            }
            if (length == 0 && is_name_char(rest.data[0]))
                length = name_length(redaction, rest, after_slash, &whole);
            if (length > 0) {
                buf_add_text(out, instead);
                i += length;
                continue;
            }
        }
        buf_add(out, str_slice(rest, 0, whole));
        i += whole;
    }
}
