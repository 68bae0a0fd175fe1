#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/mem.h"
#include "support/made_image.h"
#include "text/tokenizer/unigram.h"

/* What is expected was given by Hugging Face's tokenizers 0.23.3. */

struct world {
    struct made_image image;
    struct unigram *unigram;
};

static void make(struct world *w, const struct spec_token *tokens, size_t count, bool byte_fallback)
{
    struct model_spec model = {.kind = MODEL_UNIGRAM,
                               .byte_fallback = byte_fallback,
                               .tokens = (struct spec_token *)tokens,
                               .n_tokens = count};
    struct error error;
    assert_int_equal(unigram_compile(&model, made_image_begin(&w->image), &error), STATUS_OK);
    w->unigram = unigram_open(made_image_end(&w->image));
}

static void finish(struct world *w)
{
    unigram_destroy(w->unigram);
    made_image_finish(&w->image);
}

static void assert_ids(const struct world *w, const char *text, const char *expected)
{
    struct split_piece piece = {0, (uint32_t)strlen(text)};
    struct token_ids ids = {0};
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    buf_add_text(&out, "");
    int64_t count = unigram_encode(w->unigram, text, &piece, 1, &ids);
    assert_int_equal(count, ids.count);
    assert_int_equal(unigram_encode(w->unigram, text, &piece, 1, NULL), count);
    for (size_t i = 0; i < ids.count; i++)
        buf_addf(&out, "%u ", ids.ids[i]);
    assert_string_equal(out.data, expected);
    buf_finish(&out);
    free(ids.ids);
}

static void unigram__takes_the_likeliest(void **state)
{
    (void)state;
    static const struct spec_token tokens[] = {
        {STR("<unk>"), 0, 0}, {STR("a"), 1, 0},    {STR("b"), 2, 0},     {STR("c"), 3, 0},       {STR("d"), 4, 0},
        {STR("cd"), 5, 1.0},  {STR("ab"), 6, 2.0}, {STR("abc"), 7, 5.0}, {STR("abcd"), 8, 10.0},
    };
    struct world w;
    make(&w, tokens, 9, false);
    assert_ids(&w, "abcdacdxx", "8 1 5 0 ");
    assert_ids(&w, "\u4E2D\u6587a\u4E2D", "0 1 0 ");
    assert_ids(&w, "x<unk>y", "0 ");
    finish(&w);
}

static void unigram__keeps_the_first_of_equals(void **state)
{
    (void)state;
    static const struct spec_token tokens[] = {
        {STR("<unk>"), 0, 0}, {STR("a"), 1, -1}, {STR("aa"), 2, -1}, {STR("aaa"), 3, -2}, {STR("aaaa"), 4, -2},
    };
    struct world w;
    make(&w, tokens, 5, false);
    assert_ids(&w, "aaa", "3 ");
    assert_ids(&w, "aaaa", "4 ");
    assert_ids(&w, "aaaaa", "1 4 ");
    finish(&w);
}

static void unigram__spells_unknown_characters(void **state)
{
    (void)state;
    static const struct spec_token tokens[] = {
        {STR("<unk>"), 0, 0}, {STR("a"), 1, -1}, {STR("<0xC3>"), 2, -5}, {STR("<0xA9>"), 3, -5}, {STR("xy"), 4, -50},
    };
    struct world w;
    make(&w, tokens, 5, true);
    assert_ids(&w, "a\u00E9a", "1 2 3 1 ");
    assert_ids(&w, "a\u00E9z", "1 0 ");
    assert_ids(&w, "xy", "4 ");
    finish(&w);
}

static void unigram__is_linear(void **state)
{
    (void)state;
    static const struct spec_token tokens[] = {{STR("<unk>"), 0, 0}, {STR("a"), 1, -3}, {STR("aaaa"), 2, -4}};
    enum { LEN = 1 << 20 };
    char *text = mem_alloc(LEN);
    struct world w;
    make(&w, tokens, 3, false);
    memset(text, 'a', LEN);
    assert_int_equal(unigram_encode(w.unigram, text, &(struct split_piece){0, LEN}, 1, NULL), LEN / 4);
    finish(&w);
    free(text);
}

static void unigram__refuses_a_model_without_unknown(void **state)
{
    (void)state;
    struct spec_token token = {STR("a"), 0, 0};
    struct model_spec model = {.kind = MODEL_UNIGRAM, .tokens = &token, .n_tokens = 1, .unknown = -1};
    struct image_writer writer = {NULL, 0};
    struct error error;
    assert_int_equal(unigram_compile(&model, &writer, &error), STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.message, "unk_id"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unigram__takes_the_likeliest),
        cmocka_unit_test(unigram__keeps_the_first_of_equals),
        cmocka_unit_test(unigram__spells_unknown_characters),
        cmocka_unit_test(unigram__is_linear),
        cmocka_unit_test(unigram__refuses_a_model_without_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
