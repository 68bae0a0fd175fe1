/* src/store/page_cache_internal.h
 *
 * What the files of the page cache share. Not for others. page_cache_file.c has the file: opening it, what to do when
 * it is damaged, its statements. page_cache.c has the pages in it.
 */
#ifndef FATHOM_STORE_PAGE_CACHE_INTERNAL_H
#define FATHOM_STORE_PAGE_CACHE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "store/page_cache.h"

#define PAGE_CACHE_APPLICATION 0x46745063 /* "FtPc", PRAGMA application_id */
#define PAGE_CACHE_FORMAT      1          /* PRAGMA user_version */

enum page_sql {
    PAGE_SQL_BEGIN,
    PAGE_SQL_COMMIT,
    PAGE_SQL_ROLLBACK,
    PAGE_SQL_FIND,
    PAGE_SQL_USE,
    PAGE_SQL_ADD,
    PAGE_SQL_ADD_BODY,
    PAGE_SQL_CONFIRM,
    PAGE_SQL_REMOVE,
    PAGE_SQL_REMOVE_OLD,
    PAGE_SQL_REMOVE_UNUSED,
    PAGE_SQL_SIZE,
    PAGE_SQL_SHRINK,
    PAGE_SQL_COUNT
};

struct page_cache {
    char *path;
    int64_t max_bytes, max_age_s;

    pthread_mutex_t lock; /* of all below */
    sqlite3 *db;          /* NULL: not open */
    sqlite3_stmt *statements[PAGE_SQL_COUNT];
    dev_t device; /* which file `db` is: another process may have put a new one in its place */
    ino_t inode;
    bool off;      /* it cannot be used; no further try */
    bool had_said; /* that a write failed */
    char *notice;
};

/* Opens the file unless it is open. The lock is held for this and all that follows. */
bool page_cache_ready(struct page_cache *cache);

void page_cache_close(struct page_cache *cache);

/* A statement without parameters yet; NULL when it cannot be prepared, which page_cache_step takes, too. */
sqlite3_stmt *page_cache_statement(struct page_cache *cache, enum page_sql which);

/* Runs it to its next row, or with `row` NULL to its end and resets it. False on failure: then the cache has been dealt
 * with, and what was begun is undone. */
bool page_cache_step(struct page_cache *cache, sqlite3_stmt *statement, bool *row);

/* page_cache_statement and page_cache_step for one without parameters. */
bool page_cache_do(struct page_cache *cache, enum page_sql which);

#endif
