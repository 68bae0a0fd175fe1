/* Tokenizers in files: what is found, what is kept, when it is made anew, and that nothing waits or breaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base64.h"
#include "core/file.h"
#include "core/mem.h"
#include "store/tokenizer_store.h"

#define TOKENIZER(merge) \
    "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"bc\":4},\"merges\":[\"" merge "\"]}}"

struct place {
    char root[64];
    char *model, *json, *config, *jinja, *cache;
};

static int set_up(void **state)
{
    struct place *place = mem_zalloc(sizeof *place);
    snprintf(place->root, sizeof place->root, "/tmp/fathom-tokenizer-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    place->model = mem_printf("%s/model", place->root);
    place->json = mem_printf("%s/model/tokenizer.json", place->root);
    place->config = mem_printf("%s/model/tokenizer_config.json", place->root);
    place->jinja = mem_printf("%s/model/chat_template.jinja", place->root);
    place->cache = mem_printf("%s/cache/fathom/tokenizers", place->root);
    mkdir(place->model, 0700);
    *state = place;
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    struct place *place = *state;
    chmod(place->cache, 0700);
    nftw(place->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(place->model);
    free(place->json);
    free(place->config);
    free(place->jinja);
    free(place->cache);
    free(place);
    return 0;
}

/* Old enough for its times to be believed. */
static void put(const char *path, const char *contents)
{
    struct timespec while_ticking = {0, 60000000};
    assert_int_equal(file_write(path, str_of(contents), NULL), STATUS_OK);
    nanosleep(&while_ticking, NULL);
}

static struct tokenizer_store *open_store(const char *path, const char *cache)
{
    struct tokenizer_store *store = NULL;
    struct error error = {0};
    if (tokenizer_store_open(path, cache, &store, &error) != STATUS_OK)
        fail_msg("%s: %s", error.place, error.message);
    return store;
}

static void assert_opens(const char *path, const char *cache, enum tokenizer_origin origin, int64_t tokens_of_abc)
{
    struct tokenizer_store *store = open_store(path, cache);
    assert_int_equal(tokenizer_store_origin(store), origin);
    assert_int_equal(tokenizer_count(tokenizer_store_tokenizer(store), STR("abc"), 0), 2);
    struct token_ids ids;
    token_ids_init(&ids);
    tokenizer_encode(tokenizer_store_tokenizer(store), STR("abc"), 0, &ids);
    assert_int_equal(ids.ids[0], tokens_of_abc); /* 3 is "ab", 0 is "a" */
    token_ids_finish(&ids);
    tokenizer_store_close(store);
}

static char *cache_file(const struct place *place)
{
    DIR *listing = opendir(place->cache);
    char *found = NULL;
    for (struct dirent *entry; listing && (entry = readdir(listing)) != NULL;)
        if (entry->d_name[0] != '.') {
            assert_null(found);
            found = mem_printf("%s/%s", place->cache, entry->d_name);
        }
    if (listing)
        closedir(listing);
    return found;
}

/* ---- what is kept ---- */

static void cache__is_mapped_the_second_time(void **state)
{
    struct place *place = *state;
    put(place->json, TOKENIZER("a b"));
    assert_opens(place->model, place->cache, TOKENIZER_COMPILED, 3);
    assert_opens(place->model, place->cache, TOKENIZER_MAPPED, 3);
    assert_opens(place->json, place->cache, TOKENIZER_MAPPED, 3);
    assert_opens(place->json, NULL, TOKENIZER_COMPILED, 3);
    free(cache_file(place));
}

static void cache__follows_every_change(void **state)
{
    struct place *place = *state;
    put(place->json, TOKENIZER("a b"));
    assert_opens(place->json, place->cache, TOKENIZER_COMPILED, 3);
    put(place->json, TOKENIZER("b c")); /* as long as before */
    assert_opens(place->json, place->cache, TOKENIZER_COMPILED, 0);
    struct timespec long_ago[2] = {{1000, 1}, {1000, 1}};
    utimensat(AT_FDCWD, place->json, long_ago, 0);
    struct timespec while_ticking = {0, 60000000};
    nanosleep(&while_ticking, NULL);
    assert_opens(place->json, place->cache, TOKENIZER_VERIFIED, 0);
    assert_opens(place->json, place->cache, TOKENIZER_MAPPED, 0);
    put(place->config, "{\"chat_template\":\"one\"}");
    struct tokenizer_store *store = open_store(place->json, place->cache);
    assert_int_equal(tokenizer_store_origin(store), TOKENIZER_COMPILED);
    assert_true(str_equal(tokenizer_chat_template(tokenizer_store_tokenizer(store)), STR("one")));
    tokenizer_store_close(store);
    put(place->jinja, "two");
    store = open_store(place->json, place->cache);
    assert_true(str_equal(tokenizer_chat_template(tokenizer_store_tokenizer(store)), STR("two")));
    tokenizer_store_close(store);
    assert_opens(place->json, place->cache, TOKENIZER_MAPPED, 0);
    unlink(place->config);
    unlink(place->jinja);
    store = open_store(place->json, place->cache);
    assert_int_equal(tokenizer_chat_template(tokenizer_store_tokenizer(store)).len, 0);
    tokenizer_store_close(store);
}

/* Changed in the same tick in which it was looked at: the times cannot be believed. */
static void cache__does_not_believe_fresh_times(void **state)
{
    struct place *place = *state;
    struct timespec now;
    put(place->json, TOKENIZER("a b"));
    clock_gettime(CLOCK_REALTIME, &now);
    struct timespec times[2] = {{now.tv_sec + 5, 1}, {now.tv_sec + 5, 1}};
    utimensat(AT_FDCWD, place->json, times, 0);
    assert_opens(place->json, place->cache, TOKENIZER_COMPILED, 3);
    assert_opens(place->json, place->cache, TOKENIZER_VERIFIED, 3);
}

static void cache__damaged_files_are_made_anew(void **state)
{
    struct place *place = *state;
    put(place->json, TOKENIZER("a b"));
    assert_opens(place->json, place->cache, TOKENIZER_COMPILED, 3);
    char *path = cache_file(place);
    struct buf whole;
    buf_init(&whole, BUF_UNBOUNDED);
    assert_int_equal(file_read(path, &whole, NULL), STATUS_OK);
    for (size_t i = 0; i < whole.len + 40; i += i < 600 ? 37 : whole.len / 13) {
        struct str damaged = buf_str(&whole);
        if (i >= 40)
            whole.data[i - 40] = (char)(whole.data[i - 40] ^ 0x40);
        else
            damaged.len = i * whole.len / 40; /* cut short */
        unlink(path);
        assert_int_equal(file_write(path, damaged, NULL), STATUS_OK);
        chmod(path, 0600);
        struct tokenizer_store *store = open_store(place->json, place->cache);
        assert_int_equal(tokenizer_count(tokenizer_store_tokenizer(store), STR("abc"), 0), 2);
        assert_null(tokenizer_store_notice(store));
        tokenizer_store_close(store);
        if (i >= 40)
            whole.data[i - 40] = (char)(whole.data[i - 40] ^ 0x40);
        assert_opens(place->json, place->cache, TOKENIZER_MAPPED, 3);
    }
    buf_finish(&whole);
    free(path);
}

/* A link, a folder, a pipe, or what others may write to, in the place of the cache file. */
static void cache__trusts_only_its_own_files(void **state)
{
    struct place *place = *state;
    put(place->json, TOKENIZER("a b"));
    assert_opens(place->json, place->cache, TOKENIZER_COMPILED, 3);
    char *path = cache_file(place), *aside = mem_printf("%s/aside", place->root);
    chmod(path, 0666);
    assert_opens(place->json, place->cache, TOKENIZER_COMPILED, 3);
    rename(path, aside);
    assert_int_equal(symlink(aside, path), 0);
    assert_opens(place->json, place->cache, TOKENIZER_COMPILED, 3);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_opens(place->json, place->cache, TOKENIZER_COMPILED, 3);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    struct tokenizer_store *store = open_store(place->json, place->cache);
    assert_non_null(strstr(tokenizer_store_notice(store), "not cached"));
    assert_int_equal(tokenizer_count(tokenizer_store_tokenizer(store), STR("abc"), 0), 2);
    tokenizer_store_close(store);
    free(path);
    free(aside);
}

static void cache__is_gone_without_where_it_cannot_be(void **state)
{
    struct place *place = *state;
    put(place->json, TOKENIZER("a b"));
    static const char *const folders[] = {"/proc/fathom", "/dev/null/tokenizers", "/dev/full"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        struct tokenizer_store *store = open_store(place->json, folders[i]);
        assert_int_equal(tokenizer_store_origin(store), TOKENIZER_COMPILED);
        assert_non_null(strstr(tokenizer_store_notice(store), folders[i]));
        assert_int_equal(tokenizer_count(tokenizer_store_tokenizer(store), STR("abc"), 0), 2);
        tokenizer_store_close(store);
    }
}

static void cache__is_shared_by_many_processes(void **state)
{
    struct place *place = *state;
    enum { PROCESSES = 6, ROUNDS = 8 };
    pid_t children[PROCESSES];
    put(place->json, TOKENIZER("a b"));
    assert_opens(place->json, place->cache, TOKENIZER_COMPILED, 3);
    char *path = cache_file(place);
    for (size_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        for (size_t k = 0; children[i] == 0 && k < ROUNDS; k++) {
            struct tokenizer_store *store = NULL;
            if (tokenizer_store_open(place->json, place->cache, &store, NULL) != STATUS_OK ||
                tokenizer_count(tokenizer_store_tokenizer(store), STR("abc"), 0) != 2 || tokenizer_store_notice(store))
                _exit(1);
            tokenizer_store_close(store);
            if (k % 2 == 0)
                unlink(path);
        }
        if (children[i] == 0)
            _exit(0);
    }
    for (size_t i = 0; i < PROCESSES; i++) {
        int code = -1;
        waitpid(children[i], &code, 0);
        assert_int_equal(code, 0);
    }
    free(path);
}

/* ---- what is found ---- */

static void source__is_refused_at_once_when_it_is_none(void **state)
{
    struct place *place = *state;
    char *pipe = mem_printf("%s/pipe", place->root), *loop = mem_printf("%s/loop", place->root);
    char *empty = mem_printf("%s/empty", place->root), *hidden = mem_printf("%s/hidden", place->root);
    char *piece = mem_printf("%s/tokenizer.model", place->root), *nothing = mem_printf("%s/nothing", place->root);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(symlink(loop, loop), 0);
    put(empty, "");
    put(hidden, TOKENIZER("a b"));
    chmod(hidden, 0);
    assert_int_equal(file_write(piece, STR("\n\x0E\n\x05<unk>\x15\0\0\0\0\x18\x02"), NULL), STATUS_OK);
    const struct {
        const char *path, *part;
        enum status status;
    } rows[] = {
        {NULL, "no tokenizer", STATUS_INVALID},
        {"", "no tokenizer", STATUS_INVALID},
        {nothing, "No such file", STATUS_NOT_FOUND},
        {"/dev/zero", "neither a file nor a folder", STATUS_INVALID},
        {"/dev/null", "neither a file nor a folder", STATUS_INVALID},
        {pipe, "neither a file nor a folder", STATUS_INVALID},
        {loop, "symbolic links", STATUS_IO},
        {empty, "empty", STATUS_SYNTAX},
        {place->model, "no tokenizer.json", STATUS_NOT_FOUND},
        {piece, "SentencePiece", STATUS_UNSUPPORTED},
        {"/proc/self/exe", "neither a tokenizer.json nor", STATUS_UNSUPPORTED},
        {hidden, "denied", STATUS_IO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] - (geteuid() == 0); i++) {
        struct tokenizer_store *store = NULL;
        struct error error = {0};
        enum status status = tokenizer_store_open(rows[i].path, place->cache, &store, &error);
        if (status != rows[i].status || !strstr(error.message, rows[i].part))
            fail_msg("%s: %d %s", rows[i].path, status, error.message);
        if (rows[i].path && rows[i].path[0])
            assert_string_equal(error.place, rows[i].path);
        assert_null(store);
    }
    assert_null(cache_file(place));
    free(pipe);
    free(loop);
    free(empty);
    free(hidden);
    free(piece);
    free(nothing);
}

static void source__errors_name_the_file(void **state)
{
    struct place *place = *state;
    struct tokenizer_store *store = NULL;
    struct error error = {0};
    put(place->json, "{\"model\":\n{\"type\":\"BPE\",\"vocab\":{\"a\":x},\"merges\":[]}}");
    assert_int_equal(tokenizer_store_open(place->model, place->cache, &store, &error), STATUS_SYNTAX);
    assert_string_equal(error.place, place->json);
    assert_int_equal(error.line, 2);
    put(place->json, TOKENIZER("a b"));
    put(place->config, "{");
    assert_int_equal(tokenizer_store_open(place->model, place->cache, &store, &error), STATUS_SYNTAX);
    assert_string_equal(error.place, place->config);
}

/* As the folders of a model hub are made. */
static void source__links_are_followed(void **state)
{
    struct place *place = *state;
    char *blob = mem_printf("%s/blob", place->root);
    put(blob, TOKENIZER("a b"));
    assert_int_equal(symlink("../blob", place->json), 0);
    assert_opens(place->model, place->cache, TOKENIZER_COMPILED, 3);
    assert_opens(place->model, place->cache, TOKENIZER_MAPPED, 3);
    free(blob);
}

static void source__other_json_files_stand_alone(void **state)
{
    struct place *place = *state;
    char *other = mem_printf("%s/other.json", place->model);
    put(other, TOKENIZER("a b"));
    put(place->config, "not JSON");
    assert_opens(other, place->cache, TOKENIZER_COMPILED, 3);
    free(other);
}

static void source__rank_files_are_found(void **state)
{
    struct place *place = *state;
    struct buf ranks;
    char *path = mem_printf("%s/gpt2.tiktoken", place->model), *second = mem_printf("%s/b.tiktoken", place->model);
    buf_init(&ranks, BUF_UNBOUNDED);
    for (uint32_t i = 0; i < 50256; i++) {
        uint32_t mixed = i < 256 ? i : i * 2654435761u; /* odd, so all differ */
        assert_int_equal(base64_append(&ranks, str_make((const char *)&mixed, i < 256 ? 1 : 4)), STATUS_OK);
        buf_addf(&ranks, " %u\n", i);
    }
    put(path, ranks.data);
    struct tokenizer_store *store = open_store(place->model, place->cache);
    assert_string_equal(tokenizer_store_path(store), path);
    assert_int_equal(tokenizer_vocabulary(tokenizer_store_tokenizer(store)), 50257);
    assert_true(str_equal(tokenizer_text(tokenizer_store_tokenizer(store), 50256), STR("<|endoftext|>")));
    tokenizer_store_close(store);
    put(second, ranks.data);
    struct error error = {0};
    assert_int_equal(tokenizer_store_open(place->model, place->cache, &store, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "several"));
    buf_finish(&ranks);
    free(path);
    free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cache__is_mapped_the_second_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cache__follows_every_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cache__does_not_believe_fresh_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cache__damaged_files_are_made_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cache__trusts_only_its_own_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cache__is_gone_without_where_it_cannot_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cache__is_shared_by_many_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(source__is_refused_at_once_when_it_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(source__errors_name_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(source__links_are_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(source__other_json_files_stand_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(source__rank_files_are_found, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
