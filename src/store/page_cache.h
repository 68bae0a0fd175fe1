/* src/store/page_cache.h
 *
 * Pages that were fetched before, with what a conditional request for them needs: one SQLite file in WAL mode, bodies
 * compressed with zstd. Several processes may have it open at once.
 *
 * The cache knows nothing of HTTP's rules (net/freshness.h does): whoever stores a page says until when it is fresh and
 * whether it may be used after that. Nor does it know the address guard: an entry keeps the addresses that the page
 * came from, and whoever takes it out checks them again.
 *
 * All functions but create block on the disk, so they belong on the pool; a struct page_cache may be used by all its
 * threads at once. A cache that cannot be opened or is damaged is never a reason to fail: the file is moved aside
 * ("NAME.damaged") and begun anew where that helps; else every look-up finds nothing. What a person should know of that
 * is kept for page_cache_notice.
 *
 * Times are seconds since 1970.
 */
#ifndef FATHOM_STORE_PAGE_CACHE_H
#define FATHOM_STORE_PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

struct page_cache;

#define PAGE_CACHE_MAX_BODY ((size_t)64 * 1024 * 1024) /* larger ones are not kept */

struct page_cache_options {
    const char *path;  /* its folder is made, for this user alone; copied */
    int64_t max_bytes; /* of the file; what was not used for longest goes first. > 0 */
    int64_t max_age_s; /* entries stored or confirmed longer ago are not found, and go. > 0 */
};

/* Touches no disk: the file is opened by the first look-up. */
struct page_cache *page_cache_create(const struct page_cache_options *options);

/* No other call may be under way. NULL is allowed. */
void page_cache_destroy(struct page_cache *cache);

/* A page as it was received. Strings are NUL-terminated, NULL where there is none; owned after page_cache_find,
 * borrowed by page_cache_store. */
struct page_entry {
    char *final_url; /* where redirects led; never NULL */
    char *addresses; /* numeric, of all hops, separated by blanks; never NULL */
    char *content_type, *etag, *last_modified;
    struct buf body;
    int64_t stored_at;   /* when it was received or last confirmed */
    int64_t fresh_until; /* may be used unasked before that */
    bool must_confirm;   /* past that it may not be used unless the server confirms it */
};

/* Frees what page_cache_find gave. NULL and zeroed are allowed. */
void page_entry_finish(struct page_entry *entry);

/* Looks up the page stored for `url` (the caller's one spelling of it) and notes that it was used. False when there is
 * none, it is too old at `now`, or the cache cannot be read. */
bool page_cache_find(struct page_cache *cache, struct str url, int64_t now, struct page_entry *out);

/* Stores `entry`, in place of an older one. A page that is too large for the cache only removes the older one. */
void page_cache_store(struct page_cache *cache, struct str url, const struct page_entry *entry);

/* The server confirmed the page (304): its body stays; times and, where not NULL, validators become those of `entry`.
 */
void page_cache_confirm(struct page_cache *cache, struct str url, const struct page_entry *entry);

void page_cache_remove(struct page_cache *cache, struct str url);

/* What a person should know since the last call ("the page cache was damaged …"): one sentence without a path, which
 * the caller frees; NULL when there is nothing. */
char *page_cache_notice(struct page_cache *cache);

#endif
