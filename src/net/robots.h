/* src/net/robots.h
 *
 * robots.txt (RFC 9309): what a site asks programs not to fetch. Pure; fetching it is the caller's part.
 *
 * Lenient as the RFC wants: a byte order mark, any line ends, comments, blanks and unknown lines are passed over;
 * groups for one program are taken together, and of what is longer than ROBOTS_MAX_BYTES the beginning counts.
 */
#ifndef FATHOM_NET_ROBOTS_H
#define FATHOM_NET_ROBOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"

#define ROBOTS_MAX_BYTES ((size_t)500 * 1024) /* RFC 9309, 2.5 */
#define ROBOTS_PRODUCT   "Fathom"             /* our product token */

struct robots;

/* Reads the rules for the program that calls itself `product`: those of the groups that name it (in any case), else
 * those of the groups for "*". Never fails; what holds no rules allows everything. */
struct robots *robots_parse(struct str text, struct str product);

void robots_destroy(struct robots *robots); /* NULL is allowed */

/* Whether `target` (path and query of a URL, "/" at least) may be fetched: the rule with the longest pattern that
 * matches decides, Allow where two are equally long. "*" stands for any bytes, "$" at a pattern's end for the end of
 * the target; percent-escapes compare as the bytes they stand for. /robots.txt itself is always allowed. `robots` NULL:
 * everything is. */
bool robots_allows(const struct robots *robots, struct str target);

#endif
