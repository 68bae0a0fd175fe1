/* src/net/url.h
 *
 * URLs, read the way the HTTP client reads them, so what a check saw is what is fetched (RFC 3986 with curl's
 * leniency: blanks and non-ASCII bytes are percent-encoded, odd spellings of IPv4 addresses become the usual one).
 *
 * Results are fresh NUL-terminated strings that the caller frees. URLs longer than URL_MAX_LENGTH are refused.
 */
#ifndef FATHOM_NET_URL_H
#define FATHOM_NET_URL_H

#include <stdbool.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

#define URL_MAX_LENGTH ((size_t)16 * 1024)

/* The parts of an absolute URL, each fresh. Absent ones are NULL, except path, which is at least "/". */
struct url {
    char *scheme;   /* lower case */
    char *user;     /* still encoded */
    char *password; /* still encoded */
    char *host;     /* lower case, ASCII form, without a trailing dot; IPv6 addresses in brackets */
    int port;       /* the scheme's own where none is given; 0 when the scheme has none */
    char *path;
    char *query;
    char *fragment;
};

/* STATUS_INVALID when it is no absolute URL with a host; nothing to finish then. */
enum status url_parse(struct str text, struct url *url, struct error *error) STATUS_CHECKED;
void url_finish(struct url *url); /* NULL and zeroed are allowed */

/* Resolves `reference` (absolute, or relative to `base`, RFC 3986, 5.2), fragment kept; user and password of `base` do
 * not carry over. `base` may be empty when `reference` is absolute. STATUS_INVALID. */
enum status url_join(struct str base, struct str reference, char **out, struct error *error) STATUS_CHECKED;

/* One spelling for equal pages: scheme and host in lower case, no default port, no user and password, no fragment, dot
 * segments resolved, percent-escapes in capitals and of unreserved characters undone, a stray "%" escaped, "/" for an
 * empty path.
 * STATUS_INVALID. */
enum status url_canonical(struct str text, char **out, struct error *error) STATUS_CHECKED;

/* Which page an address means, for telling whether two lists hold the same one: "example.org/a?id=1". That is
 * url_canonical without
 *     the scheme              http and https count as one
 *     "www.", "m.", "mobile.", "amp." before a host, "en.m.wikipedia.org" for "en.wikipedia.org"
 *     parameters that track   utm_…, gclid, fbclid, msclkid, mc_cid, ref_src and the like
 *     AMP                     "/amp", ".amp.html", "?amp=1", and the roads over google.com/amp/ and cdn.ampproject.org
 *     slashes at the end of the path
 * It is a key, not an address to fetch: the parameters that are left stay in their order, and servers may tell apart
 * what is one here. A text that is no http or https URL gives itself, trimmed. Never NULL. */
char *url_identity(struct str text);

/* Without user and password, else as it is spelled; for messages and logs. A text that is no URL gives "(not a
 * URL)". */
char *url_without_credentials(struct str text);

/* Whether both have the same scheme, host and port. False when either is no URL. */
bool url_same_origin(struct str a, struct str b);

/* "https://host:port" without a default port, or NULL. */
char *url_origin(struct str text);

/* The host as in struct url, or NULL. */
char *url_host(struct str text);

/* Appends `text` as a query value or path segment: everything but unreserved characters becomes %XX. */
enum status url_encode(struct buf *out, struct str text) STATUS_CHECKED;

/* Appends "?name=value" to a URL under construction, or "&name=value" when it has a query already; both are encoded. */
enum status url_add_query(struct buf *url, struct str name, struct str value) STATUS_CHECKED;

#endif
