/* src/net/freshness.h
 *
 * How long a response may be used again, by the rules for a cache of one user (RFC 9111): `s-maxage` and `private` are
 * not for it. Pure: time is a parameter.
 */
#ifndef FATHOM_NET_FRESHNESS_H
#define FATHOM_NET_FRESHNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/str.h"

#define FRESHNESS_MAX_S           INT64_C(31536000) /* a year; larger values mean no more */
#define FRESHNESS_MAX_HEURISTIC_S INT64_C(86400)    /* of a page that only says when it was changed */
#define FRESHNESS_MAX_VALIDATOR   1024              /* bytes; longer ones are not kept */

/* Values of headers; several of one name joined by commas. NULL where absent. */
struct freshness_headers {
    const char *cache_control, *pragma, *expires, *date, *age, *last_modified, *vary;
};

struct freshness {
    bool store;         /* may be kept at all: no `no-store`, and it varies with nothing that we send differently */
    bool must_confirm;  /* past its time only with the server's consent (`must-revalidate`, `no-cache`) */
    int64_t lifetime_s; /* from now on; 0: to be confirmed at every use. At most FRESHNESS_MAX_S */
};

/* Judges a response that has come at `now`, seconds since 1970. A directive that does not parse counts as stale;
 * without any the lifetime is a tenth of the time since Last-Modified, and without that 0. */
struct freshness freshness_judge(const struct freshness_headers *headers, int64_t now);

/* Whether an ETag is one that can be sent back: of the form of RFC 9110, 8.8.3, and not longer than
 * FRESHNESS_MAX_VALIDATOR. NULL is none. */
bool freshness_is_etag(const char *value);

/* The same for Last-Modified: a date. */
bool freshness_is_date(const char *value, int64_t now);

#endif
