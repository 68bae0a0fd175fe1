/* src/net/politeness.h
 *
 * How often a site is asked: at most a few requests to it at once, a small gap between the starts of two, and none
 * while it has asked for a pause (Retry-After). Pure: time is a parameter, milliseconds of a clock that never goes
 * back; who waits is told its turn by politeness_next.
 *
 * A site is the registrable domain of the host by the public suffix list: en.wikipedia.org and de.wikipedia.org are one
 * site, a.github.io and b.github.io are two. A host that is itself a public suffix, and a numeric address, stand for
 * themselves. This machine's own loopback (127.0.0.0/8, ::1, and the name localhost; not names below it) is a site for
 * each port, and unless `loopback_too` is set neither limit nor gap hold for it: it is nobody else's server. A pause
 * that it asks for is kept all the same.
 *
 * Whoever came first to a site goes first. Sites do not wait for each other.
 */
#ifndef FATHOM_NET_POLITENESS_H
#define FATHOM_NET_POLITENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/str.h"

struct politeness;
struct politeness_place; /* in a site's queue, then among its requests under way */

struct politeness_options {
    int max_parallel; /* requests to one site at once; > 0 */
    int64_t gap_ms;   /* between the starts of two; 0: none */
    bool loopback_too;
};

struct politeness *politeness_create(const struct politeness_options *options);

/* Frees all places, too. NULL is allowed. */
void politeness_destroy(struct politeness *politeness);

/* Takes a place behind those who wait for the site of `url`. The handle is valid until politeness_leave. */
struct politeness_place *politeness_enter(struct politeness *politeness, struct str url, void *user);

/* Ends the request under way, or the wait for it. NULL is allowed. */
void politeness_leave(struct politeness *politeness, struct politeness_place *place);

/* The `user` of a place whose turn has come at `now_ms`, which from then on is under way; NULL when there is none, and
 * then `*next_ms` is when to ask again (INT64_MAX: after the next call that changes something). To be called until NULL
 * after every change. */
void *politeness_next(struct politeness *politeness, int64_t now_ms, int64_t *next_ms);

/* The site of `url` has asked for `wait_ms` without requests; a longer pause that stands already stays. */
void politeness_pause(struct politeness *politeness, struct str url, int64_t now_ms, int64_t wait_ms);

/* How long the pause of the place's site still lasts; 0 when there is none. */
int64_t politeness_paused_ms(const struct politeness_place *place, int64_t now_ms);

/* The site of a URL as described above ("wikipedia.org", "192.0.2.7", "127.0.0.1:8080"), a fresh string; "" for what is
 * no URL. `loopback` (may be NULL) tells whether it is this machine. */
char *politeness_site(struct str url, bool *loopback);

#endif
