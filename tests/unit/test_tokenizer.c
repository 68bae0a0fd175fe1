#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/tokenizer.h"

/* A byte-level tokenizer of 256 bytes, some merges and added tokens, written as its tokenizer.json. */
static const char *const merges[][2] = {
    {"\xc4\xa0", "t"}, {"h", "e"},        {"\xc4\xa0t", "he"},      {"i", "n"},
    {"e", "r"},        {"\xc4\xa0", "a"}, {"\xc4\xa0", "\xc4\xa0"},
};
#define N_MERGES (sizeof merges / sizeof merges[0])

static void add_stand_in(struct buf *out, unsigned byte, unsigned *next)
{
    bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    char text[4];
    size_t length = utf8_encode(printable ? byte : 256 + (*next)++, text);
    if (text[0] == '"' || text[0] == '\\')
        buf_add_char(out, '\\');
    buf_add(out, str_make(text, length));
}

static void write_json(struct buf *out)
{
    unsigned next = 0;
    buf_add_text(out,
                 "{\"version\":\"1.0\",\"added_tokens\":["
                 "{\"id\":263,\"content\":\"<|im_start|>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
                 "\"normalized\":false,\"special\":true},"
                 "{\"id\":264,\"content\":\"<think>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
                 "\"normalized\":false,\"special\":false}],"
                 "\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"ByteLevel\","
                 "\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":null,"
                 "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,"
                 "\"use_regex\":true},\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
                 "\"continuing_subword_prefix\":\"\",\"end_of_word_suffix\":\"\",\"fuse_unk\":false,"
                 "\"byte_fallback\":false,\"vocab\":{");
    for (unsigned i = 0; i < 256; i++) {
        buf_add_char(out, '"');
        add_stand_in(out, i, &next);
        buf_addf(out, "\":%u,", i);
    }
    for (unsigned i = 0; i < N_MERGES; i++)
        buf_addf(out, "%s\"%s%s\":%u", i == 0 ? "" : ",", merges[i][0], merges[i][1], 256 + i);
    buf_add_text(out, "},\"merges\":[");
    for (unsigned i = 0; i < N_MERGES; i++)
        buf_addf(out, "%s\"%s %s\"", i == 0 ? "" : ",", merges[i][0], merges[i][1]);
    buf_add_text(out, "]}}");
}

struct world {
    struct tokenizer *tokenizer;
    char *image;
    size_t len;
};

static int set_up(void **state)
{
    struct buf json, image;
    struct error error = {0};
    struct world *w = mem_zalloc(sizeof *w);
    buf_init(&json, BUF_UNBOUNDED);
    buf_init(&image, BUF_UNBOUNDED);
    write_json(&json);
    struct tokenizer_source source = {.name = STR("tokenizer.json"), .main = buf_str(&json)};
    if (tokenizer_compile(&source, &image, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    w->len = image.len;
    w->image = aligned_alloc(64, (image.len + 63) & ~(size_t)63);
    memcpy(w->image, image.data, image.len);
    assert_int_equal(tokenizer_open(str_make(w->image, w->len), &w->tokenizer, &error), STATUS_OK);
    buf_finish(&json);
    buf_finish(&image);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    tokenizer_destroy(w->tokenizer);
    free(w->image);
    free(w);
    return 0;
}

static void expect(const struct world *w, struct str text, unsigned flags, const char *expected)
{
    struct token_ids ids;
    struct buf written;
    token_ids_init(&ids);
    buf_init(&written, BUF_UNBOUNDED);
    tokenizer_encode(w->tokenizer, text, flags, &ids);
    assert_int_equal(tokenizer_count(w->tokenizer, text, flags), ids.count);
    for (size_t i = 0; i < ids.count; i++)
        buf_addf(&written, "%s%u", i == 0 ? "" : " ", ids.ids[i]);
    assert_string_equal(ids.count == 0 ? "" : written.data, expected);
    buf_finish(&written);
    token_ids_finish(&ids);
}

static void tokenizer__cuts_added_tokens_out(void **state)
{
    expect(*state, STR(""), 0, "");
    expect(*state, STR("the in"), 0, "116 257 32 259");
    expect(*state, STR("in the"), 0, "259 258");
    expect(*state, STR("<|im_start|>the<think>"), 0, "263 116 257 264");
    expect(*state, STR("<|im_start|>"), TOKENIZER_PLAIN, "60 124 105 109 95 115 116 97 114 116 124 62");
    expect(*state, STR("a<think>"), TOKENIZER_PLAIN, "97 264");
}

static void tokenizer__normalizes_and_mends(void **state)
{
    expect(*state, STR("\xc3\xa9"), 0, "195 169");
    expect(*state, STR("e\xcc\x81"), 0, "195 169");
    expect(*state,
           STR("a\xff"
               "b"),
           0, "97 239 191 189 98");
    expect(*state, STR("\xe2\x82"), 0, "239 191 189");
}

static void tokenizer__gives_text_back(void **state)
{
    const struct world *w = *state;
    struct str text = STR("in the <|im_start|>\n\xf0\x9f\x98\x80 water");
    struct token_ids ids;
    struct buf out;
    token_ids_init(&ids);
    tokenizer_encode(w->tokenizer, text, 0, &ids);
    buf_init(&out, 1000);
    assert_int_equal(tokenizer_decode(w->tokenizer, ids.ids, ids.count, 0, &out, NULL), STATUS_OK);
    assert_true(str_equal(buf_str(&out), text));
    buf_reset(&out);
    assert_int_equal(tokenizer_decode(w->tokenizer, ids.ids, ids.count, TOKENIZER_SKIP_SPECIAL, &out, NULL), STATUS_OK);
    assert_true(str_equal(buf_str(&out), STR("in the \n\xf0\x9f\x98\x80 water")));
    assert_int_equal(tokenizer_decode(w->tokenizer, (uint32_t[]){1, 299}, 2, 0, &out, NULL), STATUS_INVALID);
    assert_int_equal(tokenizer_decode(w->tokenizer, (uint32_t[]){1u << 31}, 1, 0, &out, NULL), STATUS_INVALID);
    out.cap = out.len + 3;
    size_t len = out.len;
    assert_int_equal(tokenizer_decode(w->tokenizer, ids.ids, ids.count, 0, &out, NULL), STATUS_TOO_BIG);
    assert_int_equal(out.len, len);
    buf_finish(&out);
    token_ids_finish(&ids);
}

static void tokenizer__fits_whole_tokens_and_characters(void **state)
{
    const struct world *w = *state;
    const struct str texts[] = {STR("in the water \xf0\x9f\x98\x80\xf0\x9f\x98\x80 the<|im_start|>  in   "),
                                STR("e\xcc\x81"
                                    "e\xcc\x81 the \xf0\x9f\x98\x80 the"),
                                STR("a\xff\xff"
                                    "b the the")};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        size_t last = 0;
        for (int64_t n = -1; n < 40; n++) {
            size_t fits = tokenizer_fit(w->tokenizer, texts[t], 0, n);
            assert_true(fits <= texts[t].len && fits >= last);
            last = fits;
            assert_true(tokenizer_count(w->tokenizer, str_slice(texts[t], 0, fits), 0) <= (n < 0 ? 0 : n));
            assert_int_equal(utf8_floor(texts[t], fits), fits);
        }
        assert_int_equal(last, texts[t].len);
    }
    /* an emoji is four tokens: it goes as a whole */
    assert_int_equal(tokenizer_fit(w->tokenizer, STR("in\xf0\x9f\x98\x80"), 0, 4), 2);
    assert_int_equal(tokenizer_fit(w->tokenizer, STR("in\xf0\x9f\x98\x80"), 0, 5), 6);
}

static void tokenizer__knows_its_tokens(void **state)
{
    const struct world *w = *state;
    assert_int_equal(tokenizer_vocabulary(w->tokenizer), 265);
    assert_true(str_equal(tokenizer_text(w->tokenizer, 263), STR("<|im_start|>")));
    assert_true(str_equal(tokenizer_text(w->tokenizer, 258), STR(" the")));
    assert_int_equal(tokenizer_text(w->tokenizer, 265).len, 0);
    assert_true(tokenizer_begins_anew(w->tokenizer, STR("<|im_start|>user")));
    assert_false(tokenizer_begins_anew(w->tokenizer, STR("user")));
    assert_int_equal(tokenizer_chat_template(w->tokenizer).len, 0);
}

/* Texts of tokens stand in several places: short and long ones in the table of pieces, the rest apart. */
static void tokenizer__knows_texts_wherever_they_are(void **state)
{
    (void)state;
    static const char json[] =
        "{\"added_tokens\":[{\"id\":7,\"content\":\"a token that was added\",\"single_word\":false,"
        "\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true}],\"model\":{\"type\":\"BPE\","
        "\"vocab\":{\"a\":0,\"b\":1,\"aa\":2,\"aaaa\":3,\"aaaaaaaa\":4,\"aaaaaaaaaaaaaaaa\":5,"
        "\"made by no merge\":6},\"merges\":[\"a a\",\"aa aa\",\"aaaa aaaa\",\"aaaaaaaa aaaaaaaa\"]}}";
    static const char *const texts[] = {
        "a", "b", "aa", "aaaa", "aaaaaaaa", "aaaaaaaaaaaaaaaa", "made by no merge", "a token that was added", "",
    };
    struct tokenizer_source source = {.name = STR("tokenizer.json"), .main = STR(json)};
    struct tokenizer *tokenizer;
    struct buf image;
    struct error error = {0};
    buf_init(&image, BUF_UNBOUNDED);
    if (tokenizer_compile(&source, &image, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    char *aligned = aligned_alloc(64, (image.len + 63) & ~(size_t)63);
    memcpy(aligned, image.data, image.len);
    assert_int_equal(tokenizer_open(str_make(aligned, image.len), &tokenizer, &error), STATUS_OK);
    for (uint32_t id = 0; id < sizeof texts / sizeof texts[0]; id++)
        assert_true(str_equal(tokenizer_text(tokenizer, id), str_of(texts[id])));
    tokenizer_destroy(tokenizer);
    free(aligned);
    buf_finish(&image);
}

static void tokenizer__refuses_a_damaged_image(void **state)
{
    const struct world *w = *state;
    struct tokenizer *opened = NULL;
    struct error error;
    for (size_t at = 0; at < w->len; at += at < 1000 ? 1 : 997) {
        w->image[at] = (char)(w->image[at] ^ 4);
        assert_int_equal(tokenizer_open(str_make(w->image, w->len), &opened, &error), STATUS_INVALID);
        w->image[at] = (char)(w->image[at] ^ 4);
    }
    for (size_t len = 0; len < w->len; len += 1 + len / 3)
        assert_int_equal(tokenizer_open(str_make(w->image, len), &opened, &error), STATUS_INVALID);
    assert_null(opened);
}

static void *count_much(void *user)
{
    const struct world *w = user;
    char text[64];
    int64_t total = 0;
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "inner water %x there%u", i % 700 * 2654435761u, i % 50);
        total += tokenizer_count(w->tokenizer, str_of(text), 0);
    }
    return (void *)(intptr_t)total;
}

static void tokenizer__serves_many_threads(void **state)
{
    pthread_t threads[4];
    void *expected = count_much(*state), *found;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_much, *state), 0);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], &found);
        assert_ptr_equal(found, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokenizer__cuts_added_tokens_out),
        cmocka_unit_test(tokenizer__normalizes_and_mends),
        cmocka_unit_test(tokenizer__gives_text_back),
        cmocka_unit_test(tokenizer__fits_whole_tokens_and_characters),
        cmocka_unit_test(tokenizer__knows_its_tokens),
        cmocka_unit_test(tokenizer__knows_texts_wherever_they_are),
        cmocka_unit_test(tokenizer__refuses_a_damaged_image),
        cmocka_unit_test(tokenizer__serves_many_threads),
    };
    return cmocka_run_group_tests_name("tokenizer", tests, set_up, tear_down);
}
