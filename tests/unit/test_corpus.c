/* The corpus: indexing, again and again, links, searching, and files that are no corpus. */
#include "store/corpus.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/file_reader.h"
#include "core/file.h"
#include "core/mem.h"

struct world {
    char folder[64]; /* of everything */
    char docs[80];   /* what is indexed */
    char db[80];
};

static int setup(void **state)
{
    struct world *world = mem_zalloc(sizeof *world);
    strcpy(world->folder, "/tmp/fathom-corpus-XXXXXX");
    if (!mkdtemp(world->folder))
        return -1;
    snprintf(world->docs, sizeof world->docs, "%s/docs", world->folder);
    snprintf(world->db, sizeof world->db, "%s/c.db", world->folder);
    mkdir(world->docs, 0700);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    char *command = mem_printf("chmod -R u+rwx '%s'; rm -rf '%s'", world->folder, world->folder);
    int result = system(command);
    free(command);
    free(world);
    return result;
}

static void put(const struct world *world, const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", world->docs, name);
    for (char *slash = strchr(path + strlen(world->docs) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    assert_int_equal(file_write(path, str_of(text), NULL), STATUS_OK);
    free(path);
}

static void drop(const struct world *world, const char *name)
{
    char *path = mem_printf("%s/%s", world->docs, name);
    assert_int_equal(unlink(path), 0);
    free(path);
}

static struct corpus_report index_folder(const struct world *world, const char *folder)
{
    struct corpus_index_options options = {.reader = &file_reader, .jobs = 3};
    struct corpus_report report;
    struct corpus *corpus;
    struct error error;
    assert_int_equal(corpus_open(world->db, CORPUS_CREATE, &corpus, &error), STATUS_OK);
    assert_int_equal(corpus_index(corpus, &folder, 1, &options, &report, &error), STATUS_OK);
    corpus_close(corpus);
    return report;
}

static struct corpus_report index_docs(const struct world *world)
{
    return index_folder(world, world->docs);
}

/* The links found for a query, separated by spaces. */
static char *search(const struct world *world, struct str query)
{
    struct corpus *corpus;
    struct corpus_results results;
    struct buf links;
    buf_init(&links, BUF_UNBOUNDED);
    assert_int_equal(corpus_open(world->db, CORPUS_READ, &corpus, NULL), STATUS_OK);
    assert_int_equal(corpus_search(corpus, query, 10, &results, NULL), STATUS_OK);
    for (size_t i = 0; i < results.count; i++) {
        assert_true(results.hits[i].score > 0);
        assert_true(i == 0 || results.hits[i - 1].score >= results.hits[i].score);
        assert_non_null(results.hits[i].snippet);
        buf_addf(&links, "%s%s", i ? " " : "", results.hits[i].url);
    }
    corpus_results_finish(&results);
    corpus_close(corpus);
    return buf_take(&links);
}

static void assert_found(const struct world *world, const char *query, const char *expected)
{
    char *links = search(world, str_of(query));
    assert_string_equal(links, expected);
    free(links);
}

static void assert_document(const struct world *world, const char *link, const char *title, const char *part)
{
    struct corpus *corpus;
    struct buf text;
    char *found_title = NULL, *url = NULL;
    buf_init(&text, 1 << 20);
    assert_int_equal(corpus_open(world->db, CORPUS_READ, &corpus, NULL), STATUS_OK);
    enum status status = corpus_document(corpus, str_of(link), &found_title, &url, &text, NULL);
    if (title) {
        assert_int_equal(status, STATUS_OK);
        assert_string_equal(found_title, title);
        assert_true(corpus_is_link(str_of(url)));
        assert_non_null(strstr(text.data, part));
    } else {
        assert_int_equal(status, STATUS_NOT_FOUND);
    }
    free(found_title);
    free(url);
    buf_finish(&text);
    corpus_close(corpus);
}

static void corpus__finds_documents_of_every_kind(void **state)
{
    const struct world *world = *state;
    put(world, "a.txt", "The quick brown fox jumps over the lazy dog.");
    put(world, "sub/b.md", "# Whales\n\nWhales are mammals that live in the sea.\n");
    put(world, "c.html", "<!DOCTYPE html><title>Volcanoes</title><p>Lava comes out of volcanoes.");
    put(world, "d.jsonl",
        "{\"_id\": \"x/1\", \"title\": \"Comets\", \"text\": \"A comet has a tail.\"}\n"
        "{\"id\": 7, \"contents\": \"A meteor burns up.\"}\nbroken\n");
    put(world, "e.png", "\x89PNG\r\n\x1A\n");
    put(world, "f.bin", "\x01\x02\x03\x04\x05");
    struct corpus_report report = index_docs(world);
    assert_int_equal(report.documents, 5);
    assert_int_equal(report.added, 5);
    assert_int_equal(report.not_text, 2);
    assert_int_equal(report.failed, 0);
    assert_found(world, "foxes jumping", "corpus://docs/a.txt");
    assert_found(world, "mammal in the sea", "corpus://docs/sub/b.md");
    assert_found(world, "lava", "corpus://docs/c.html");
    assert_found(world, "comet's tail", "corpus://docs/d.jsonl/x%2F1");
    assert_found(world, "meteors", "corpus://docs/d.jsonl/7");
    assert_found(world, "zebra", "");
    assert_document(world, "corpus://docs/sub/b.md", "Whales", "live in the sea");
    assert_document(world, "corpus://docs/d.jsonl/x%2f1", "Comets", "tail");
    assert_document(world, " CORPUS://docs/c%2ehtml#top", "Volcanoes", "Lava");
    assert_document(world, "corpus://docs/none", NULL, NULL);
    assert_document(world, "https://docs/a.txt", NULL, NULL);
    assert_document(world, "corpus://", NULL, NULL);
}

static void corpus__follows_changes(void **state)
{
    const struct world *world = *state;
    put(world, "a.txt", "Apples are red.");
    put(world, "b.txt", "Bananas are yellow.");
    put(world, "c.txt", "Cherries are red.");
    index_docs(world);
    struct corpus_report report = index_docs(world);
    assert_int_equal(report.unchanged, 3);
    assert_int_equal(report.added + report.changed + report.removed, 0);

    put(world, "a.txt", "Apricots are orange now.");
    drop(world, "b.txt");
    put(world, "d.txt", "Dates are brown.");
    report = index_docs(world);
    assert_int_equal(report.changed, 1);
    assert_int_equal(report.removed, 1);
    assert_int_equal(report.added, 1);
    assert_int_equal(report.unchanged, 1);
    assert_int_equal(report.documents, 3);
    assert_found(world, "apples", "");
    assert_found(world, "bananas", "");
    assert_found(world, "apricots", "corpus://docs/a.txt");
    assert_found(world, "red", "corpus://docs/c.txt");

    put(world, "c.txt", "Cherries are red."); /* only its time changes */
    report = index_docs(world);
    assert_int_equal(report.unchanged, 3);
    put(world, "c.txt", "\x01\x02\x03\x04"); /* no text any more */
    report = index_docs(world);
    assert_int_equal(report.removed, 1);
    assert_found(world, "cherries", "");

    sqlite3 *db; /* FTS5 itself agrees that its index fits what was put in and taken out */
    assert_int_equal(sqlite3_open(world->db, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "INSERT INTO passage_index (passage_index) VALUES ('integrity-check')", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
}

static void corpus__keeps_folders_of_one_name_apart(void **state)
{
    const struct world *world = *state;
    put(world, "one/docs/x.txt", "Alpha text.");
    put(world, "two/docs/x.txt", "Beta text.");
    char *one = mem_printf("%s/one/docs", world->docs), *two = mem_printf("%s/two/docs/", world->docs);
    index_folder(world, two);
    index_folder(world, one);
    index_folder(world, two);
    assert_found(world, "beta", "corpus://docs/x.txt");
    assert_found(world, "alpha", "corpus://docs-2/x.txt");
    char *file = mem_printf("%s/one/docs/x.txt", world->docs);
    put(world, "odd/a b#%?\xC3\xA9.txt", "Gamma text.");
    char *odd = mem_printf("%s/odd", world->docs);
    index_folder(world, odd);
    assert_found(world, "gamma", "corpus://odd/a%20b%23%25%3F%C3%A9.txt");
    assert_document(world, "corpus://odd/a%20b%23%25%3F%C3%A9.txt", "a b#%?é.txt", "Gamma");
    index_folder(world, file);
    assert_document(world, "corpus://x.txt", "x.txt", "Alpha");
    assert_found(world, "alpha", "corpus://docs-2/x.txt"); /* equal texts are shown once */
    free(one);
    free(two);
    free(file);
    free(odd);
}

static void corpus__treats_links_as_other_names(void **state)
{
    const struct world *world = *state;
    put(world, "real.txt", "Only one text here.");
    char *link_path = mem_printf("%s/other.txt", world->docs), *outside = mem_printf("%s/outside.txt", world->docs);
    char *secret = mem_printf("%s/secret.txt", world->folder), *loop = mem_printf("%s/loop", world->docs);
    assert_int_equal(file_write(secret, STR("A secret text."), NULL), STATUS_OK);
    assert_int_equal(symlink("real.txt", link_path), 0);
    assert_int_equal(symlink("../secret.txt", outside), 0);
    assert_int_equal(symlink(".", loop), 0);
    struct corpus_report report = index_docs(world);
    assert_int_equal(report.added, 1);
    assert_int_equal(report.aliases, 1);
    assert_found(world, "text", "corpus://docs/real.txt");
    assert_found(world, "secret", "");
    assert_document(world, "corpus://docs/other.txt", "real.txt", "Only one text");
    report = index_docs(world);
    assert_int_equal(report.unchanged, 2);
    free(link_path);
    free(outside);
    free(secret);
    free(loop);
}

static void corpus__goes_on_past_bad_files(void **state)
{
    const struct world *world = *state;
    put(world, "good.txt", "Good text.");
    put(world, "bad.txt.gz", "\x1F\x8B\x08 this is no gzip stream at all");
    put(world, "big.txt", "Too big for the cap that is set below.");
    struct corpus *corpus;
    struct corpus_report report;
    struct corpus_index_options options = {.reader = &file_reader, .max_file_bytes = 36};
    const char *folder = world->docs;
    assert_int_equal(corpus_open(world->db, CORPUS_CREATE, &corpus, NULL), STATUS_OK);
    assert_int_equal(corpus_index(corpus, &folder, 1, &options, &report, NULL), STATUS_OK);
    assert_int_equal(report.added, 1);
    assert_int_equal(report.failed, 2);
    const char *missing = "/no/such/folder";
    struct error error;
    assert_int_equal(corpus_index(corpus, &missing, 1, &options, &report, &error), STATUS_NOT_FOUND);
    assert_string_equal(error.place, missing);
    corpus_close(corpus);
    assert_found(world, "good", "corpus://docs/good.txt");
}

static void corpus__takes_any_query(void **state)
{
    const struct world *world = *state;
    put(world, "a.txt", "NEAR and OR words: title body passage.");
    put(world, "b.txt", "中国的首都是北京。");
    index_docs(world);
    static const struct str queries[] = {
        {"\"", 1},       {"' OR 1=1 --", 11},   {"NEAR(a b, 2)", 12},
        {"title:x*", 8}, {"a\0b", 3},           {"^(){}[]", 7},
        {"\xFF\xFE", 2}, {"the of and", 10},    {"", 0},
        {"-", 1},        {"passage_index", 13}, {"%s%n", 4},
    };
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
        free(search(world, queries[i]));
    assert_found(world, "\"OR\" body NEAR", "corpus://docs/a.txt");
    assert_found(world, "北京", "corpus://docs/b.txt");
    assert_found(world, "the of and", "");
    struct buf longest;
    buf_init(&longest, BUF_UNBOUNDED);
    for (int i = 0; longest.len < 10240; i++)
        buf_addf(&longest, "word%d passage ", i);
    char *links = search(world, buf_str(&longest));
    assert_string_equal(links, "corpus://docs/a.txt");
    free(links);
    buf_finish(&longest);
}

static void corpus__ranks_by_title_and_best_passage(void **state)
{
    const struct world *world = *state;
    struct buf filler;
    buf_init(&filler, BUF_UNBOUNDED);
    for (int i = 0; i < 300; i++)
        buf_addf(&filler, "Filler number %d speaks of weather and of roads.\n\n", i);
    char *deep =
        mem_printf("# Long\n\n%s\n\n## Locks\n\nThe mutex guards the queue of waiting threads.\n\n## End\n\n%s",
                   filler.data, filler.data);
    put(world, "deep.md", deep);
    put(world, "title.md", "# Mutex\n\nAbout a way to wait in a row.\n");
    for (int i = 0; i < 12; i++) {
        char *name = mem_printf("n%d.txt", i);
        put(world, name, filler.data);
        free(name);
    }
    index_docs(world);
    struct corpus *corpus;
    struct corpus_results results;
    assert_int_equal(corpus_open(world->db, CORPUS_READ, &corpus, NULL), STATUS_OK);
    assert_int_equal(corpus_search(corpus, STR("what does the mutex guard"), 5, &results, NULL), STATUS_OK);
    assert_true(results.count >= 2);
    size_t at = strcmp(results.hits[0].url, "corpus://docs/deep.md") == 0 ? 0 : 1;
    assert_string_equal(results.hits[at].url, "corpus://docs/deep.md");
    assert_string_equal(results.hits[at].headings, "Long > Locks");
    assert_non_null(strstr(results.hits[at].snippet, "mutex guards the queue"));
    corpus_results_finish(&results);
    corpus_close(corpus);
    free(deep);
    buf_finish(&filler);
}

static void corpus__refuses_files_that_are_none(void **state)
{
    const struct world *world = *state;
    struct corpus *corpus;
    struct error error;
    assert_int_equal(corpus_open(world->db, CORPUS_READ, &corpus, &error), STATUS_NOT_FOUND);
    assert_int_equal(corpus_open("/no/such/folder/c.db", CORPUS_CREATE, &corpus, &error), STATUS_IO);
    assert_int_equal(corpus_open(world->docs, CORPUS_READ, &corpus, &error), STATUS_IO);

    assert_int_equal(file_write(world->db,
                                STR("this is a text and not a database at all, but longer than a header "
                                    "of one hundred bytes, so that it is looked at"),
                                NULL),
                     STATUS_OK);
    assert_int_equal(corpus_open(world->db, CORPUS_READ, &corpus, &error), STATUS_INVALID);
    assert_int_equal(corpus_open(world->db, CORPUS_CREATE, &corpus, &error), STATUS_INVALID);
    unlink(world->db);

    sqlite3 *db;
    assert_int_equal(sqlite3_open(world->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE mine (x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(corpus_open(world->db, CORPUS_CREATE, &corpus, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "not a corpus"));
    unlink(world->db);

    put(world, "a.txt", "text");
    index_docs(world);
    assert_int_equal(sqlite3_open(world->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(corpus_open(world->db, CORPUS_READ, &corpus, &error), STATUS_UNSUPPORTED);
}

/* A file cut off or overwritten anywhere gives an error or a result, never a crash. */
static void corpus__survives_damage(void **state)
{
    const struct world *world = *state;
    for (int i = 0; i < 60; i++) {
        char *name = mem_printf("%d.txt", i),
             *text = mem_printf("Document %d tells of apples and number %d.", i, i * 7);
        put(world, name, text);
        free(name);
        free(text);
    }
    index_docs(world);
    struct buf whole;
    buf_init(&whole, BUF_UNBOUNDED);
    assert_int_equal(file_read(world->db, &whole, NULL), STATUS_OK);
    for (size_t round = 0; round < 60; round++) {
        struct buf damaged;
        buf_init(&damaged, BUF_UNBOUNDED);
        buf_add(&damaged, buf_str(&whole));
        if (round < 20)
            buf_truncate(&damaged, whole.len * round / 20);
        else
            for (size_t i = 0; i < 200; i++)
                damaged.data[(round * 7919 + i * 104729) % damaged.len] ^= (char)(1 + (round + i) % 255);
        assert_int_equal(file_write(world->db, buf_str(&damaged), NULL), STATUS_OK);
        struct corpus *corpus;
        struct corpus_results results;
        if (corpus_open(world->db, CORPUS_READ, &corpus, NULL) == STATUS_OK) {
            if (corpus_search(corpus, STR("apples number 49"), 10, &results, NULL) == STATUS_OK)
                corpus_results_finish(&results);
            corpus_close(corpus);
        }
        buf_finish(&damaged);
    }
    buf_finish(&whole);
}

static void corpus__reads_where_nothing_can_be_written(void **state)
{
    const struct world *world = *state;
    put(world, "a.txt", "Apples.");
    index_docs(world);
    struct corpus *corpus;
    struct error error;
    if (geteuid() == 0)
        skip(); /* root writes everywhere */
    chmod(world->db, 0400);
    chmod(world->folder, 0500);
    assert_found(world, "apples", "corpus://docs/a.txt");
    assert_int_equal(corpus_open(world->db, CORPUS_CREATE, &corpus, &error), STATUS_IO);
    chmod(world->folder, 0700);
}

static void corpus__needs_the_right_to_write_for_indexing(void **state)
{
    const struct world *world = *state;
    put(world, "a.txt", "Apples.");
    index_docs(world);
    struct corpus *corpus;
    const char *folder = world->docs;
    assert_int_equal(corpus_open(world->db, CORPUS_READ, &corpus, NULL), STATUS_OK);
    assert_int_equal(corpus_index(corpus, &folder, 1, NULL, NULL, NULL), STATUS_ORDER);
    corpus_close(corpus);
}

static void corpus__lets_two_processes_index_at_once(void **state)
{
    const struct world *world = *state;
    for (int i = 0; i < 900; i++) {
        char *name = mem_printf("%d/%d.txt", i % 10, i), *text = mem_printf("Number %d is here, word%d.", i, i);
        put(world, name, text);
        free(name);
        free(text);
    }
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct corpus *corpus;
            struct corpus_index_options options = {.reader = &file_reader, .jobs = 2};
            const char *folder = world->docs;
            struct error error;
            bool good = corpus_open(world->db, CORPUS_CREATE, &corpus, &error) == STATUS_OK &&
                        corpus_index(corpus, &folder, 1, &options, NULL, &error) == STATUS_OK;
            if (!good)
                print_error("%s\n", error.message);
            _exit(good ? 0 : 1);
        }
    }
    for (int i = 0; i < 2; i++) {
        int result = -1;
        assert_int_equal(waitpid(children[i], &result, 0), children[i]);
        assert_int_equal(result, 0);
    }
    struct corpus_report report = index_docs(world);
    assert_int_equal(report.documents, 900);
    assert_int_equal(report.unchanged, 900);
    assert_found(world, "word123", "corpus://docs/3/123.txt");
}

static void on_file(void *user, const struct corpus_progress *progress)
{
    if (progress->files_done == 500)
        atomic_store((atomic_bool *)user, true);
}

static void corpus__keeps_what_was_done_before_an_interruption(void **state)
{
    const struct world *world = *state;
    for (int i = 0; i < 1500; i++) {
        char *name = mem_printf("%d.txt", i);
        put(world, name, name);
        free(name);
    }
    struct corpus *corpus;
    atomic_bool cancel = false;
    struct corpus_index_options options = {.jobs = 2, .progress = on_file, .user = &cancel, .cancel = &cancel};
    const char *folder = world->docs;
    assert_int_equal(corpus_open(world->db, CORPUS_CREATE, &corpus, NULL), STATUS_OK);
    assert_int_equal(corpus_index(corpus, &folder, 1, &options, NULL, NULL), STATUS_CANCELED);
    corpus_close(corpus);
    struct corpus_report report = index_docs(world);
    assert_int_equal(report.documents, 1500);
    assert_true(report.unchanged >= 400 && report.added >= 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(corpus__finds_documents_of_every_kind),
        TEST(corpus__follows_changes),
        TEST(corpus__keeps_folders_of_one_name_apart),
        TEST(corpus__treats_links_as_other_names),
        TEST(corpus__goes_on_past_bad_files),
        TEST(corpus__takes_any_query),
        TEST(corpus__ranks_by_title_and_best_passage),
        TEST(corpus__refuses_files_that_are_none),
        TEST(corpus__survives_damage),
        TEST(corpus__reads_where_nothing_can_be_written),
        TEST(corpus__needs_the_right_to_write_for_indexing),
        TEST(corpus__lets_two_processes_index_at_once),
        TEST(corpus__keeps_what_was_done_before_an_interruption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
