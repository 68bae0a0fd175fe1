/* tools/visit/rewrite_internal.h
 *
 * An address in parts, for the rules of rewrite.c (what is read better elsewhere) and unwrap.c (what only leads on).
 */
#ifndef FATHOM_TOOLS_VISIT_REWRITE_INTERNAL_H
#define FATHOM_TOOLS_VISIT_REWRITE_INTERNAL_H

#include "net/url.h"
#include "tools/visit/internal.h"

#define REWRITE_MAX_SEGMENTS 64

struct rewriting {
    struct str whole; /* as it was given; borrowed, like the fragment */
    struct str fragment;
    struct url url;
    char *origin;                              /* "https://host:port" */
    char *tail;                                /* path and query */
    struct str segments[REWRITE_MAX_SEGMENTS]; /* of the path, still encoded, without empty ones at the ends */
    size_t n;                                  /* at least 1 */
};

/* False for what is no http or https address of at least one and at most REWRITE_MAX_SEGMENTS segments, one of which
 * may be empty; nothing to finish then. */
bool rewrite_init(struct rewriting *page, struct str url, struct str fragment);
void rewrite_finish(struct rewriting *page);

/* Segment `at`, or the empty one. */
struct str rewrite_segment(const struct rewriting *page, size_t at);

/* The path from segment `at` to its end. */
struct str rewrite_rest(const struct rewriting *page, size_t at);

/* Whether the host is `name` or below it; "=name" stands for the host alone, "name." for that name under any ending
 * ("google." for google.co.uk). */
bool rewrite_is_host(const struct rewriting *page, const char *name);

/* The decoded value of a parameter of the query, fresh; NULL where it is not there. */
char *rewrite_parameter(const struct rewriting *page, const char *name);

/* The address with one parameter of the query set (value as it is to be written), or gone where `value` is NULL. */
char *rewrite_set_parameter(const struct rewriting *page, const char *name, const char *value);

bool rewrite_is_digits(struct str text); /* at least one */
bool rewrite_is_hex(struct str text);

/* Whether it is an identifier of arXiv. */
bool rewrite_is_arxiv(struct str id);

/* With %XX undone; "+" stays. */
char *rewrite_decode(struct str text);

#endif
