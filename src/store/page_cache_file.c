/* The file of the page cache. Whatever is wrong with it, the caller goes on without. */
#include "store/page_cache_internal.h"

#include "core/embed.h"
#include "core/mem.h"
#include "store/statements.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Another process writes for milliseconds; who waits longer does better without the cache. */
#define BUSY_MS 1000

#define PAGE_BYTES 4096

static const char *const statement_names[PAGE_SQL_COUNT] = {
    [PAGE_SQL_BEGIN] = "begin",
    [PAGE_SQL_COMMIT] = "commit",
    [PAGE_SQL_ROLLBACK] = "rollback",
    [PAGE_SQL_FIND] = "find",
    [PAGE_SQL_USE] = "use",
    [PAGE_SQL_ADD] = "add",
    [PAGE_SQL_ADD_BODY] = "add_body",
    [PAGE_SQL_CONFIRM] = "confirm",
    [PAGE_SQL_REMOVE] = "remove",
    [PAGE_SQL_REMOVE_OLD] = "remove_old",
    [PAGE_SQL_REMOVE_UNUSED] = "remove_unused",
    [PAGE_SQL_SIZE] = "size",
    [PAGE_SQL_SHRINK] = "shrink",
};

/* ---- what went wrong ---- */

static void note(struct page_cache *cache, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct page_cache *cache, const char *format, ...)
{
    struct buf text;
    va_list arguments;
    if (cache->notice)
        return; /* the first says most */
    buf_init(&text, BUF_UNBOUNDED);
    va_start(arguments, format);
    buf_addv(&text, format, arguments);
    va_end(arguments);
    cache->notice = buf_take(&text);
}

static void switch_off(struct page_cache *cache, const char *why)
{
    page_cache_close(cache);
    cache->off = true;
    note(cache, "pages are not cached: %s (--cache names another file, --no-cache goes without)", why);
}

void page_cache_close(struct page_cache *cache)
{
    for (size_t i = 0; i < PAGE_SQL_COUNT; i++)
        sqlite3_finalize(cache->statements[i]);
    memset(cache->statements, 0, sizeof cache->statements);
    sqlite3_close(cache->db);
    cache->db = NULL;
}

static void with_ending(const char *path, const char *ending, void (*act)(const char *path, const char *full))
{
    char *full = mem_printf("%s%s", path, ending);
    act(path, full);
    free(full);
}

static void remove_file(const char *path, const char *full)
{
    (void)path;
    unlink(full);
}

static void move_aside(const char *path, const char *full)
{
    if (rename(path, full) != 0)
        unlink(path);
}

/* Whether the path still names the file that was opened. Another process may have moved it, or a person removed it. */
static bool is_in_place(const struct page_cache *cache)
{
    struct stat now;
    return stat(cache->path, &now) == 0 && now.st_dev == cache->device && now.st_ino == cache->inode;
}

/* Takes the file out of the way, unless another process has done so and a new one stands in its place. */
static void begin_anew(struct page_cache *cache, bool keep)
{
    page_cache_close(cache);
    if (!is_in_place(cache))
        return;
    with_ending(cache->path, keep ? ".damaged" : "", keep ? move_aside : remove_file);
    with_ending(cache->path, "-wal", remove_file);
    with_ending(cache->path, "-shm", remove_file);
}

/* Deals with a failure of SQLite: afterwards the file is open and usable, closed and to be tried again, or off. */
static void deal_with(struct page_cache *cache, int code)
{
    switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: /* others were too quick for it */
        break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        begin_anew(cache, true);
        note(cache, "the page cache was damaged; it is begun anew, and the old file is kept beside it");
        return;
    case SQLITE_FULL:
        if (!cache->had_said)
            note(cache, "the page cache cannot grow: the disk is full");
        cache->had_said = true;
        break;
    case SQLITE_READONLY:
        if (code == SQLITE_READONLY_DBMOVED) {
            page_cache_close(cache);
            return;
        }
        switch_off(cache, "its file cannot be written to");
        return;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        switch_off(cache, "its file cannot be opened");
        return;
    default: /* SQLite's codes, not ours */
        switch_off(cache, "its file cannot be used");
        return;
    }
    if (cache->db && !sqlite3_get_autocommit(cache->db))
        sqlite3_exec(cache->db, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- opening ---- */

/* Makes the folders above the file, for this user alone. */
static void make_folders(const char *path)
{
    char *folder = mem_strdup(path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
    free(folder);
}

/* Notes which file it is, and has it created unreadable to others: SQLite would make it as the umask says, and gives
 * its side files the same mode. Never by a descriptor: closing one drops the locks that another cache of this process
 * has on the file (https://www.sqlite.org/howtocorrupt.html, 2.2). */
static bool claim_file(struct page_cache *cache)
{
    struct stat now;
    mknod(cache->path, S_IFREG | 0600, 0);
    if (stat(cache->path, &now) != 0 || !S_ISREG(now.st_mode)) {
        switch_off(cache, "its file cannot be opened");
        return false;
    }
    cache->device = now.st_dev;
    cache->inode = now.st_ino;
    return true;
}

static int read_number(struct page_cache *cache, const char *pragma, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(cache->db, pragma, -1, &statement, NULL);
    if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        *out = sqlite3_column_int64(statement, 0);
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code;
}

static int create_tables(struct page_cache *cache)
{
    struct str schema = {0};
    char format[128];
    snprintf(format, sizeof format, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             PAGE_CACHE_APPLICATION, PAGE_CACHE_FORMAT);
    embed_find("src/store/page_cache_schema.sql", &schema);
    int code = sqlite3_exec(cache->db, schema.data, NULL, NULL, NULL);
    return code == SQLITE_OK ? sqlite3_exec(cache->db, format, NULL, NULL, NULL) : code;
}

struct format {
    int64_t application, version, tables;
};

static int read_format(struct page_cache *cache, struct format *out)
{
    int code = read_number(cache, "PRAGMA application_id", &out->application);
    if (code == SQLITE_OK)
        code = read_number(cache, "PRAGMA user_version", &out->version);
    if (code == SQLITE_OK)
        code = read_number(cache, "SELECT count(*) FROM sqlite_schema", &out->tables);
    return code;
}

/* Before the file is touched: somebody's other database stays as it is. */
static int check_owner(struct page_cache *cache)
{
    struct format format = {0};
    int code = sqlite3_exec(cache->db, "BEGIN", NULL, NULL, NULL); /* else it may be made between two reads */
    if (code == SQLITE_OK)
        code = read_format(cache, &format);
    if (code == SQLITE_OK)
        code = sqlite3_exec(cache->db, "COMMIT", NULL, NULL, NULL);
    if (code == SQLITE_OK && format.application != PAGE_CACHE_APPLICATION && (format.application || format.tables))
        switch_off(cache, "the file is a database of something else");
    return code;
}

static int set_up(struct page_cache *cache)
{
    char pragmas[256];
    int64_t log_bytes = cache->max_bytes / 8 < 4194304 ? cache->max_bytes / 8 : 4194304;
    long long log_pages = log_bytes / PAGE_BYTES + 1;
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA synchronous = OFF; PRAGMA page_size = %d; PRAGMA auto_vacuum = INCREMENTAL; "
             "PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = %lld; PRAGMA wal_autocheckpoint = %lld",
             PAGE_BYTES, (long long)log_bytes, log_pages);
    return sqlite3_exec(cache->db, pragmas, NULL, NULL, NULL);
}

/* Inside a transaction, so that of two processes one makes the tables. */
static int need_tables(struct page_cache *cache)
{
    struct format format = {0};
    int code = sqlite3_exec(cache->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = read_format(cache, &format);
    if (code != SQLITE_OK)
        return code;
    if (format.tables == 0)
        return create_tables(cache);
    code = sqlite3_exec(cache->db, "COMMIT", NULL, NULL, NULL);
    if (format.version != PAGE_CACHE_FORMAT)
        begin_anew(cache, false); /* of another version: nothing in it is worth converting */
    return code;
}

static bool try_to_open(struct page_cache *cache)
{
    if (!claim_file(cache))
        return false;
    int code = sqlite3_open_v2(cache->path, &cache->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (cache->db)
        sqlite3_busy_timeout(cache->db, BUSY_MS);
    if (code == SQLITE_OK)
        code = check_owner(cache);
    if (code == SQLITE_OK && cache->db)
        code = set_up(cache);
    if (code == SQLITE_OK && cache->db)
        code = need_tables(cache);
    if (code == SQLITE_OK && cache->db) /* not before: a new file that a power cut spoils is no loss, waiting is */
        code = sqlite3_exec(cache->db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    if (code != SQLITE_OK) {
        deal_with(cache, code);
        page_cache_close(cache);
    }
    return cache->db;
}

bool page_cache_ready(struct page_cache *cache)
{
    if (cache->db && !is_in_place(cache))
        page_cache_close(cache);
    if (cache->off || cache->db)
        return !cache->off;
    make_folders(cache->path);
    /* Once for the file as it is, and once for a new one in place of it. */
    return try_to_open(cache) || (!cache->off && try_to_open(cache));
}

/* ---- statements ---- */

sqlite3_stmt *page_cache_statement(struct page_cache *cache, enum page_sql which)
{
    if (!cache->db)
        return NULL;
    sqlite3_stmt **statement = &cache->statements[which];
    if (!*statement) {
        struct str text = statement_text("src/store/page_cache_statements.sql", statement_names[which]);
        if (sqlite3_prepare_v3(cache->db, text.data, (int)text.len, SQLITE_PREPARE_PERSISTENT, statement, NULL) !=
            SQLITE_OK)
            return NULL;
    }
    sqlite3_reset(*statement);
    sqlite3_clear_bindings(*statement);
    return *statement;
}

bool page_cache_step(struct page_cache *cache, sqlite3_stmt *statement, bool *row)
{
    if (!cache->db)
        return false;
    int code = statement ? sqlite3_step(statement) : sqlite3_extended_errcode(cache->db);
    while (statement && !row && code == SQLITE_ROW)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
        if (row)
            *row = code == SQLITE_ROW;
        else
            sqlite3_reset(statement);
        return true;
    }
    if (statement)
        sqlite3_reset(statement);
    deal_with(cache, code);
    return false;
}

bool page_cache_do(struct page_cache *cache, enum page_sql which)
{
    return page_cache_step(cache, page_cache_statement(cache, which), NULL);
}
