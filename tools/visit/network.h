/* tools/visit/network.h
 *
 * What the pages of all calls share on their way through the network, and how far one of them is. For the files that
 * fetch: fetch.c takes a page through the steps, copy.c is its way through the page cache, queue.c its place among the
 * requests to a site, robots.c the site's robots.txt, network.c makes and frees it all.
 *
 * A page first looks for a copy in the cache. Where that is none, or is past its time, robots.txt is asked if wanted,
 * then the page waits for its turn at the site and is requested, with a condition where there is a copy. What comes is
 * written to the cache by the job that reads it.
 */
#ifndef FATHOM_TOOLS_VISIT_NETWORK_H
#define FATHOM_TOOLS_VISIT_NETWORK_H

#include "store/page_cache.h"
#include "tools/visit/internal.h"

struct politeness;
struct politeness_place;
struct robots_file;
struct loop_timer;

/* A place in the queue of a site. Zeroed is none. */
struct site_turn {
    struct politeness_place *place; /* NULL: none is taken */
    bool waiting;                   /* and its turn has not come */
    int64_t patience_until_ms;      /* by the loop's clock: a pause of the site that lasts longer is not waited for */
    int64_t refused_ms;             /* > 0: the site is in such a pause, and this long; the place is gone */
    void (*come)(void *user);       /* the turn has come, or it never will; in a turn of the loop of its own */
    void *user;
    struct site_turn *previous, *next; /* among those that wait */
};

struct network {
    struct page_cache *cache; /* NULL: none is kept */
    size_t max_document_bytes;

    struct politeness *politeness;
    struct loop *loop;         /* of the first call; one process has one */
    struct loop_timer *timer;  /* to the next turn of a site that waits */
    bool pump_deferred;        /* turns are given out in the next turn of the loop */
    struct site_turn *waiting; /* all */

    bool robots;                      /* heed them */
    struct robots_file *robots_files; /* by origin, the newest first */
    size_t n_robots_files;
};

/* What a page's answer means for its entry in the cache. */
enum copy_write {
    COPY_KEEP,
    COPY_STORE,   /* the page is new */
    COPY_CONFIRM, /* it has not changed: new times for the entry */
    COPY_REMOVE,  /* it must not be kept any longer */
};

enum robots_verdict {
    ROBOTS_UNKNOWN, /* the origin's robots.txt was not fetched yet */
    ROBOTS_ALLOW,
    ROBOTS_FORBID,
    ROBOTS_UNREADABLE, /* it could not be fetched, which counts as a no (RFC 9309, 2.3.1.4) */
};

struct fetching {
    char *key; /* the canonical form of page->target, as `copy` is filed; NULL where nothing is cached */
    bool has_copy;
    struct page_entry copy;
    enum copy_write write;
    struct page_entry entry; /* what is written; the body is the page's */
    char *cache_notice;      /* of the job that wrote */
    bool conditional;        /* the request under way asks whether the copy still holds */
    struct site_turn turn;

    /* robots.txt */
    struct robots_file *robots_file; /* the one that is waited for */
    struct visit_page *robots_next;  /* the next page that waits for it */
    char *robots_missing;            /* where a redirect was stopped, since that origin's robots.txt is not known yet */
    int robots_stops;                /* so often */
    enum robots_verdict robots_verdict; /* of the hop that was refused; ROBOTS_ALLOW where none was */
};

/* ---- network.c ---- */

struct network *visit_network_create(const struct visit_options *options);
void visit_network_destroy(struct network *network); /* NULL is allowed */

/* The page's state, begun anew for page->target. */
struct fetching *visit_fetching_begin(struct visit_page *page);
void visit_fetching_free(struct visit_page *page);

/* ---- copy.c: blocking ones belong on the pool ---- */

/* Looks for a copy and calls `then` in a later turn. */
void visit_copy_find(struct visit_page *page, void (*then)(struct visit_page *page));

/* Whether the copy may be used unasked. */
bool visit_copy_is_fresh(const struct visit_page *page);

/* Whether it may be used when the site cannot be asked. */
bool visit_copy_may_do(const struct visit_page *page);

/* Makes the copy the page's document. */
void visit_copy_use(struct visit_page *page, bool outdated);

/* Writes the condition of a request into `headers` (room for two more); returns how many. */
size_t visit_copy_conditions(struct visit_page *page, struct http_header *headers);

/* Notes what becomes of the entry, given a response 200 or 304. */
void visit_copy_note(struct visit_page *page, const struct http_response *response);

/* Does what was noted. Blocks. */
void visit_copy_write(struct visit_page *page);

/* Says what a person should know of the cache. */
void visit_copy_say(struct visit_page *page);

/* ---- queue.c ---- */

/* The longest pause that a site may ask for and still be waited for. */
#define LONGEST_PAUSE_MS 30000

/* Waits for a turn at the site of `url`, at most as long as the call has time. `come` is called once, unless the turn
 * is ended before. */
void site_turn_start(struct network *network, struct site_turn *turn, struct visit_call *call, const char *url);

/* Gives the place back. Nothing happens where none is taken. */
void site_turn_end(struct network *network, struct site_turn *turn);

/* Before the network goes: no page is left. */
void site_turns_stop(struct network *network);

/* The site of `url` asked for a pause. */
void site_pause(struct network *network, const char *url, int64_t ms);

/* ---- robots.c ---- */

enum robots_verdict visit_robots_verdict(const struct network *network, const char *url);

/* Has the robots.txt of the origin of `url` fetched unless it is known, then calls visit_fetch_after_robots in a later
 * turn. */
void visit_robots_ask(struct visit_page *page, const char *url);

void visit_robots_free(struct network *network);

/* The page does not wait any more. */
void visit_robots_forget(struct visit_page *page);

/* fetch.c: robots.txt is known. */
void visit_fetch_after_robots(struct visit_page *page);

#endif
