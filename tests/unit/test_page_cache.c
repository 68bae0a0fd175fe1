#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/mem.h"
#include "store/page_cache.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW INT64_C(1700000000)

static char folder[64], path[128];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fathom-cache-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/deep/er/pages.db", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static struct page_cache *open_cache(int64_t max_bytes)
{
    return page_cache_create(&(struct page_cache_options){.path = path, .max_bytes = max_bytes, .max_age_s = 1000});
}

static struct page_entry entry_of(const char *body, int64_t stored_at)
{
    struct page_entry entry = {
        .final_url = (char *)(uintptr_t) "https://e.example/final",
        .addresses = (char *)(uintptr_t) "192.0.2.1 2001:db8::1",
        .content_type = (char *)(uintptr_t) "text/html",
        .etag = (char *)(uintptr_t) "\"tag\"",
        .stored_at = stored_at,
        .fresh_until = stored_at + 10,
    };
    entry.body = (struct buf){(char *)(uintptr_t)body, strlen(body), 0, strlen(body)};
    return entry;
}

static void store(struct page_cache *cache, const char *url, const char *body, int64_t now)
{
    struct page_entry entry = entry_of(body, now);
    page_cache_store(cache, str_of(url), &entry);
}

/* Bytes that do not compress. */
static void store_noise(struct page_cache *cache, const char *url, size_t size)
{
    static unsigned seed = 1;
    struct page_entry entry = entry_of("", NOW);
    char *bytes = mem_alloc(size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(rand_r(&seed) >> 7);
    entry.body = (struct buf){bytes, size, 0, size};
    page_cache_store(cache, str_of(url), &entry);
    free(bytes);
}

static bool has(struct page_cache *cache, const char *url, int64_t now)
{
    struct page_entry entry = {0};
    bool found = page_cache_find(cache, str_of(url), now, &entry);
    page_entry_finish(&entry);
    return found;
}

static void assert_quiet(struct page_cache *cache)
{
    char *notice = page_cache_notice(cache);
    if (notice)
        fail_msg("%s", notice);
}

static void assert_said(struct page_cache *cache, const char *part)
{
    char *notice = page_cache_notice(cache);
    assert_non_null(notice);
    assert_non_null(strstr(notice, part));
    assert_null(strstr(notice, folder));
    free(notice);
    assert_quiet(cache);
}

static void page_cache__keeps_pages(void **state)
{
    (void)state;
    struct page_cache *cache = open_cache(1 << 20);
    struct page_entry entry;
    assert_false(has(cache, "https://e.example/a", NOW));
    store(cache, "https://e.example/a", "Body \xff of a", NOW);
    page_cache_destroy(cache);

    cache = open_cache(1 << 20); /* what was stored is in the file */
    assert_true(page_cache_find(cache, STR("https://e.example/a"), NOW + 5, &entry));
    assert_string_equal(entry.final_url, "https://e.example/final");
    assert_string_equal(entry.addresses, "192.0.2.1 2001:db8::1");
    assert_string_equal(entry.content_type, "text/html");
    assert_string_equal(entry.etag, "\"tag\"");
    assert_null(entry.last_modified);
    assert_string_equal(entry.body.data, "Body \xff of a");
    assert_int_equal(entry.stored_at, NOW);
    assert_int_equal(entry.fresh_until, NOW + 10);
    assert_false(entry.must_confirm);
    page_entry_finish(&entry);

    store(cache, "https://e.example/a", "", NOW + 20); /* in place of the older; an empty one is one, too */
    assert_true(page_cache_find(cache, STR("https://e.example/a"), NOW + 20, &entry));
    assert_int_equal(entry.body.len, 0);
    page_entry_finish(&entry);
    assert_false(has(cache, "https://e.example/A", NOW));
    page_cache_remove(cache, STR("https://e.example/a"));
    assert_false(has(cache, "https://e.example/a", NOW));
    assert_quiet(cache);
    page_cache_destroy(cache);
    page_cache_destroy(NULL);
}

static void page_cache__belongs_to_its_user(void **state)
{
    (void)state;
    struct stat info;
    char deep[96];
    mode_t before = umask(0);
    struct page_cache *cache = open_cache(1 << 20);
    store(cache, "u", "text", NOW);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    snprintf(deep, sizeof deep, "%s/deep/er", folder);
    assert_int_equal(stat(deep, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    char *log = mem_printf("%s-wal", path);
    assert_int_equal(stat(log, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    free(log);
    page_cache_destroy(cache);
    umask(before);
}

static void page_cache__confirms(void **state)
{
    (void)state;
    struct page_cache *cache = open_cache(1 << 20);
    struct page_entry entry, told = {.last_modified = (char *)(uintptr_t) "Sun, 06 Nov 1994 08:49:37 GMT",
                                     .stored_at = NOW + 900,
                                     .fresh_until = NOW + 950,
                                     .must_confirm = true};
    store(cache, "u", "text", NOW);
    page_cache_confirm(cache, STR("u"), &told);
    page_cache_confirm(cache, STR("unknown"), &told);
    assert_true(page_cache_find(cache, STR("u"), NOW + 1500, &entry)); /* the age counts from the confirmation */
    assert_string_equal(entry.etag, "\"tag\"");
    assert_string_equal(entry.last_modified, "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_string_equal(entry.body.data, "text");
    assert_int_equal(entry.fresh_until, NOW + 950);
    assert_true(entry.must_confirm);
    page_entry_finish(&entry);
    assert_false(has(cache, "unknown", NOW));
    page_cache_destroy(cache);
}

static void page_cache__forgets_old_pages(void **state)
{
    (void)state;
    struct page_cache *cache = open_cache(1 << 20);
    store(cache, "old", "text", NOW);
    assert_true(has(cache, "old", NOW + 1000));
    assert_false(has(cache, "old", NOW + 1001));
    store(cache, "new", "text", NOW + 1001);
    assert_false(has(cache, "old", NOW)); /* it is gone, not only passed over */
    assert_true(has(cache, "new", NOW + 1001));
    page_cache_destroy(cache);
}

static int64_t bytes_on_disk(void)
{
    int64_t total = 0;
    static const char *const endings[] = {"", "-wal"};
    for (size_t i = 0; i < 2; i++) {
        struct stat info;
        char *name = mem_printf("%s%s", path, endings[i]);
        if (stat(name, &info) == 0)
            total += info.st_size;
        free(name);
    }
    return total;
}

static void page_cache__stays_within_its_size(void **state)
{
    (void)state;
    struct page_cache *cache = open_cache(1 << 20);
    char url[16];
    for (int i = 0; i < 60; i++) {
        snprintf(url, sizeof url, "u%d", i);
        store_noise(cache, url, 60000);
        assert_true(has(cache, "u0", NOW)); /* used, so it stays */
        assert_in_range(bytes_on_disk(), 1, (1 << 20) + 65536);
    }
    assert_true(has(cache, "u59", NOW));
    assert_false(has(cache, "u1", NOW));
    assert_false(has(cache, "u40", NOW));
    assert_true(has(cache, "u55", NOW));

    /* A page that would drive out most others is not kept, nor is what it replaces. */
    store_noise(cache, "u59", 900000);
    assert_false(has(cache, "u59", NOW));
    assert_true(has(cache, "u55", NOW));
    page_cache_destroy(cache);

    /* A smaller bound holds from the next store on. */
    cache = open_cache(256 * 1024);
    store_noise(cache, "small", 1000);
    assert_true(has(cache, "small", NOW));
    page_cache_destroy(cache);
    assert_in_range(bytes_on_disk(), 1, 256 * 1024 + 65536);
}

/* Writes `text` over the file's bytes from `offset` on. */
static void overwrite(off_t offset, const char *text, size_t times)
{
    int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    for (size_t i = 0; i < times; i++)
        assert_int_equal(pwrite(file, text, strlen(text), offset + (off_t)(i * strlen(text))), strlen(text));
    close(file);
}

static void page_cache__begins_anew_when_damaged(void **state)
{
    (void)state;
    static const struct {
        off_t offset;
        size_t times;
    } cases[] = {{0, 1}, {0, 500}, {4096, 500}, {100, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct page_cache *cache = open_cache(1 << 20);
        char url[16];
        for (int k = 0; k < 10; k++) {
            snprintf(url, sizeof url, "u%d", k);
            store_noise(cache, url, 20000);
        }
        page_cache_destroy(cache);
        overwrite(cases[i].offset, "This is not a database. ", cases[i].times);

        cache = open_cache(1 << 20);
        has(cache, "u3", NOW);
        store(cache, "new", "text", NOW);
        store(cache, "new", "text", NOW); /* the damage may be found by the first */
        assert_true(has(cache, "new", NOW));
        assert_said(cache, "damaged");
        page_cache_destroy(cache);
        char *aside = mem_printf("%s.damaged", path);
        assert_int_equal(access(aside, F_OK), 0);
        unlink(aside);
        unlink(path);
        free(aside);
    }
}

static void page_cache__does_not_trust_a_body(void **state)
{
    (void)state;
    struct page_cache *cache = open_cache(1 << 20);
    store_noise(cache, "u", 3000);
    page_cache_destroy(cache);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE page SET body_bytes = 1000000000000", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    cache = open_cache(1 << 20);
    assert_false(has(cache, "u", NOW));
    store_noise(cache, "u", 3000);
    assert_true(has(cache, "u", NOW));
    page_cache_destroy(cache);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE body SET bytes = substr(bytes, 1, 100) || zeroblob(length(bytes) - 100)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    cache = open_cache(1 << 20);
    assert_false(has(cache, "u", NOW));
    page_cache_destroy(cache);
}

static void page_cache__leaves_other_databases_alone(void **state)
{
    (void)state;
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/other.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE mine (a); INSERT INTO mine VALUES (7)", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    struct buf before, after;
    struct error error;
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    assert_int_equal(file_read(path, &before, &error), STATUS_OK);
    struct page_cache *cache = open_cache(1 << 20);
    store(cache, "u", "text", NOW);
    assert_false(has(cache, "u", NOW));
    assert_said(cache, "something else");
    page_cache_destroy(cache);
    assert_int_equal(file_read(path, &after, &error), STATUS_OK);
    assert_true(str_equal(buf_str(&before), buf_str(&after)));
    buf_finish(&before);
    buf_finish(&after);
}

static void page_cache__goes_without(void **state)
{
    (void)state;
    static const char *const places[] = {"/dev/null/pages.db", "/dev/full", "/proc/nothing/pages.db", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s", places[i]);
        struct page_cache *cache = open_cache(1 << 20);
        store(cache, "u", "text", NOW);
        assert_false(has(cache, "u", NOW));
        assert_said(cache, "not cached");
        page_cache_destroy(cache);
    }
}

static void page_cache__takes_the_place_of_an_older_format(void **state)
{
    (void)state;
    sqlite3 *db;
    struct page_cache *cache = open_cache(1 << 20);
    store(cache, "u", "text", NOW);
    page_cache_destroy(cache);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DROP TABLE page; PRAGMA user_version = 77", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    cache = open_cache(1 << 20);
    store(cache, "u", "text", NOW);
    assert_true(has(cache, "u", NOW));
    assert_quiet(cache);
    page_cache_destroy(cache);
}

static void *use_much(void *user)
{
    struct page_cache *cache = user;
    for (int i = 0; i < 60; i++) {
        char url[16];
        struct page_entry entry;
        snprintf(url, sizeof url, "u%d", i % 7);
        store(cache, url, url, NOW);
        if (page_cache_find(cache, str_of(url), NOW, &entry)) {
            assert_string_equal(entry.body.data, url);
            page_entry_finish(&entry);
        }
    }
    return NULL;
}

/* Two caches on one file stand for two processes. */
static void page_cache__is_used_by_many_at_once(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct page_cache *caches[2] = {open_cache(1 << 20), open_cache(1 << 20)};
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_much, caches[i % 2]), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 2; i++) {
        assert_true(has(caches[i], "u3", NOW));
        assert_quiet(caches[i]);
    }
    /* one finds the file damaged and moves it; the other must not move the new one */
    overwrite(0, "This is not a database. ", 1000);
    store_noise(caches[0], "n", 20000);
    store(caches[0], "a", "text", NOW);
    store(caches[1], "b", "text", NOW);
    store(caches[1], "b", "text", NOW);
    assert_true(has(caches[0], "a", NOW));
    assert_true(has(caches[1], "b", NOW));
    assert_true(has(caches[1], "a", NOW));
    page_cache_destroy(caches[0]);
    page_cache_destroy(caches[1]);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(page_cache__keeps_pages),
        IN_FOLDER(page_cache__belongs_to_its_user),
        IN_FOLDER(page_cache__confirms),
        IN_FOLDER(page_cache__forgets_old_pages),
        IN_FOLDER(page_cache__stays_within_its_size),
        IN_FOLDER(page_cache__begins_anew_when_damaged),
        IN_FOLDER(page_cache__does_not_trust_a_body),
        IN_FOLDER(page_cache__leaves_other_databases_alone),
        IN_FOLDER(page_cache__goes_without),
        IN_FOLDER(page_cache__takes_the_place_of_an_older_format),
        IN_FOLDER(page_cache__is_used_by_many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
