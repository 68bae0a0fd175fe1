#include "store/page_cache.h"

#include "core/mem.h"
#include "store/page_cache_internal.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define LEVEL 3 /* zstd's own default: some 300 MB/s, and pages become a quarter */

/* What a page takes beside its body, about. */
#define ROW_BYTES 1024

struct page_cache *page_cache_create(const struct page_cache_options *options)
{
    struct page_cache *cache = mem_zalloc(sizeof *cache);
    cache->path = mem_strdup(options->path);
    cache->max_bytes = options->max_bytes;
    cache->max_age_s = options->max_age_s;
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

void page_cache_destroy(struct page_cache *cache)
{
    if (!cache)
        return;
    page_cache_close(cache);
    pthread_mutex_destroy(&cache->lock);
    free(cache->notice);
    free(cache->path);
    free(cache);
}

void page_entry_finish(struct page_entry *entry)
{
    if (!entry)
        return;
    free(entry->final_url);
    free(entry->addresses);
    free(entry->content_type);
    free(entry->etag);
    free(entry->last_modified);
    buf_finish(&entry->body);
    *entry = (struct page_entry){0};
}

char *page_cache_notice(struct page_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    char *notice = cache->notice;
    cache->notice = NULL;
    pthread_mutex_unlock(&cache->lock);
    return notice;
}

/* ---- looking up ---- */

static char *column_text(sqlite3_stmt *statement, int at)
{
    const unsigned char *text = sqlite3_column_text(statement, at);
    return mem_strdup_or_null((const char *)text);
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    if (statement && text)
        sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static void bind_str(sqlite3_stmt *statement, int at, struct str text)
{
    if (statement)
        sqlite3_bind_text64(statement, at, text.data ? text.data : "", text.len, SQLITE_STATIC, SQLITE_UTF8);
}

static void bind_number(sqlite3_stmt *statement, int at, int64_t number)
{
    if (statement)
        sqlite3_bind_int64(statement, at, number);
}

/* Copies the row out; the body is still compressed. */
static void take_row(sqlite3_stmt *row, struct page_entry *out, struct buf *compressed, int64_t *body_bytes)
{
    *out = (struct page_entry){
        .final_url = column_text(row, 1),
        .addresses = column_text(row, 2),
        .content_type = column_text(row, 3),
        .etag = column_text(row, 4),
        .last_modified = column_text(row, 5),
        .stored_at = sqlite3_column_int64(row, 7),
        .fresh_until = sqlite3_column_int64(row, 8),
        .must_confirm = sqlite3_column_int64(row, 9) != 0,
    };
    *body_bytes = sqlite3_column_int64(row, 6);
    const void *bytes = sqlite3_column_blob(row, 10);
    int length = sqlite3_column_bytes(row, 10);
    if (bytes)
        buf_add(compressed, str_make(bytes, (size_t)length));
}

/* The row for `url`, and a note that it was used. Under the lock. */
static bool find_row(struct page_cache *cache, struct str url, int64_t now, struct page_entry *out,
                     struct buf *compressed, int64_t *body_bytes)
{
    bool row = false;
    sqlite3_stmt *find = page_cache_statement(cache, PAGE_SQL_FIND);
    bind_str(find, 1, url);
    bind_number(find, 2, now - cache->max_age_s);
    if (!page_cache_step(cache, find, &row) || !row) {
        if (find && cache->db)
            sqlite3_reset(find);
        return false;
    }
    int64_t id = sqlite3_column_int64(find, 0);
    take_row(find, out, compressed, body_bytes);
    sqlite3_reset(find); /* before writing: a reader that becomes a writer is refused when another wrote in between */
    sqlite3_stmt *use = page_cache_statement(cache, PAGE_SQL_USE);
    bind_number(use, 1, id);
    page_cache_step(cache, use, NULL); /* where it fails, the page may go a little early */
    return true;
}

static bool unpack(struct str compressed, int64_t body_bytes, struct buf *out)
{
    if (body_bytes < 0 || body_bytes > (int64_t)PAGE_CACHE_MAX_BODY ||
        ZSTD_getFrameContentSize(compressed.data, compressed.len) != (unsigned long long)body_bytes)
        return false;
    buf_init(out, (size_t)body_bytes);
    char *place = buf_reserve(out, (size_t)body_bytes);
    size_t written = ZSTD_decompress(place, (size_t)body_bytes, compressed.data, compressed.len);
    if (ZSTD_isError(written) || written != (size_t)body_bytes)
        return false;
    buf_commit(out, written);
    return true;
}

bool page_cache_find(struct page_cache *cache, struct str url, int64_t now, struct page_entry *out)
{
    struct page_entry entry = {0};
    struct buf compressed;
    int64_t body_bytes = 0;
    buf_init(&compressed, BUF_UNBOUNDED);
    pthread_mutex_lock(&cache->lock);
    bool found = page_cache_ready(cache) && find_row(cache, url, now, &entry, &compressed, &body_bytes);
    pthread_mutex_unlock(&cache->lock);
    bool whole = found && entry.final_url && entry.addresses && unpack(buf_str(&compressed), body_bytes, &entry.body);
    buf_finish(&compressed);
    if (whole) {
        *out = entry;
        return true;
    }
    page_entry_finish(&entry);
    if (found) /* its bytes have changed on the disk */
        page_cache_remove(cache, url);
    return false;
}

/* ---- storing ---- */

static bool pack(struct str body, struct buf *out)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (!context)
        abort();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t bound = ZSTD_compressBound(body.len);
    char *place = buf_reserve(out, bound);
    size_t written = ZSTD_compress2(context, place, bound, body.data ? body.data : "", body.len);
    ZSTD_freeCCtx(context);
    if (ZSTD_isError(written))
        return false;
    buf_commit(out, written);
    return true;
}

/* Bytes in use, and bytes that are free within the file. */
static bool read_size(struct page_cache *cache, int64_t *used, int64_t *unused)
{
    bool row = false;
    sqlite3_stmt *size = page_cache_statement(cache, PAGE_SQL_SIZE);
    if (!page_cache_step(cache, size, &row) || !row)
        return false;
    *used = sqlite3_column_int64(size, 0);
    *unused = sqlite3_column_int64(size, 1);
    sqlite3_reset(size);
    return true;
}

/* Three quarters of the bound: the write-ahead log takes the rest. */
static int64_t room(const struct page_cache *cache)
{
    return cache->max_bytes - cache->max_bytes / 4;
}

/* Has pages go until `bytes` more fit. */
static bool make_room(struct page_cache *cache, int64_t bytes)
{
    int64_t used = 0, unused = 0, before = -1;
    while (read_size(cache, &used, &unused)) {
        if (used + bytes <= room(cache) || used == before)
            return true;
        before = used;
        if (!page_cache_do(cache, PAGE_SQL_REMOVE_UNUSED))
            return false;
    }
    return false;
}

static bool remove_row(struct page_cache *cache, struct str url)
{
    sqlite3_stmt *remove = page_cache_statement(cache, PAGE_SQL_REMOVE);
    bind_str(remove, 1, url);
    return page_cache_step(cache, remove, NULL);
}

static bool remove_old(struct page_cache *cache, int64_t now)
{
    sqlite3_stmt *remove = page_cache_statement(cache, PAGE_SQL_REMOVE_OLD);
    bind_number(remove, 1, now - cache->max_age_s);
    return page_cache_step(cache, remove, NULL);
}

static bool add_row(struct page_cache *cache, struct str url, const struct page_entry *entry, struct str compressed)
{
    sqlite3_stmt *add = page_cache_statement(cache, PAGE_SQL_ADD);
    bind_str(add, 1, url);
    bind_text(add, 2, entry->final_url);
    bind_text(add, 3, entry->addresses);
    bind_text(add, 4, entry->content_type);
    bind_text(add, 5, entry->etag);
    bind_text(add, 6, entry->last_modified);
    bind_number(add, 7, (int64_t)entry->body.len);
    bind_number(add, 8, entry->stored_at);
    bind_number(add, 9, entry->fresh_until);
    bind_number(add, 10, entry->must_confirm);
    if (!page_cache_step(cache, add, NULL))
        return false;
    sqlite3_stmt *body = page_cache_statement(cache, PAGE_SQL_ADD_BODY);
    if (body)
        sqlite3_bind_blob64(body, 1, compressed.data, compressed.len, SQLITE_STATIC);
    return page_cache_step(cache, body, NULL);
}

/* Gives back to the disk what is free, where that is much. */
static void shrink(struct page_cache *cache)
{
    int64_t used, unused;
    if (read_size(cache, &used, &unused) && unused > cache->max_bytes / 8)
        page_cache_do(cache, PAGE_SQL_SHRINK);
}

void page_cache_store(struct page_cache *cache, struct str url, const struct page_entry *entry)
{
    struct buf compressed;
    buf_init(&compressed, BUF_UNBOUNDED);
    bool fits = entry->body.len <= PAGE_CACHE_MAX_BODY && pack(buf_str(&entry->body), &compressed) &&
                (int64_t)compressed.len + ROW_BYTES <= room(cache) / 2;
    pthread_mutex_lock(&cache->lock);
    if (page_cache_ready(cache) && page_cache_do(cache, PAGE_SQL_BEGIN)) {
        bool done = remove_row(cache, url) && remove_old(cache, entry->stored_at);
        if (fits)
            done = done && make_room(cache, (int64_t)compressed.len + ROW_BYTES) &&
                   add_row(cache, url, entry, buf_str(&compressed));
        if (done && page_cache_do(cache, PAGE_SQL_COMMIT))
            shrink(cache);
    }
    pthread_mutex_unlock(&cache->lock);
    buf_finish(&compressed);
}

void page_cache_confirm(struct page_cache *cache, struct str url, const struct page_entry *entry)
{
    pthread_mutex_lock(&cache->lock);
    if (page_cache_ready(cache)) {
        sqlite3_stmt *confirm = page_cache_statement(cache, PAGE_SQL_CONFIRM);
        bind_str(confirm, 1, url);
        bind_text(confirm, 2, entry->etag);
        bind_text(confirm, 3, entry->last_modified);
        bind_number(confirm, 4, entry->stored_at);
        bind_number(confirm, 5, entry->fresh_until);
        bind_number(confirm, 6, entry->must_confirm);
        page_cache_step(cache, confirm, NULL);
    }
    pthread_mutex_unlock(&cache->lock);
}

void page_cache_remove(struct page_cache *cache, struct str url)
{
    pthread_mutex_lock(&cache->lock);
    if (page_cache_ready(cache))
        remove_row(cache, url);
    pthread_mutex_unlock(&cache->lock);
}
