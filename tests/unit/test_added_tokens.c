#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/mem.h"
#include "support/made_image.h"
#include "text/tokenizer/added.h"
#include "text/tokenizer/added_internal.h"

/* What is expected was given by Hugging Face's tokenizers 0.23.3. */

struct world {
    struct made_image image;
    struct added_tokens *added;
};

static void make(struct world *w, const struct added_token *tokens, size_t count, enum normalizer_kind *normalizer)
{
    struct normalizer_step step = {.kind = normalizer ? *normalizer : NORMALIZER_NFC};
    struct tokenizer_spec spec = {.added = (struct added_token *)tokens,
                                  .n_added = count,
                                  .normalizers = &step,
                                  .n_normalizers = normalizer != NULL};
    struct error error;
    assert_int_equal(added_tokens_compile(&spec, made_image_begin(&w->image), &error), STATUS_OK);
    w->added = added_tokens_open(made_image_end(&w->image));
}

static void finish(struct world *w)
{
    added_tokens_destroy(w->added);
    made_image_finish(&w->image);
}

/* The text with each match as {id:what it took}. */
static void assert_matches(const struct world *w, const char *text, bool normalized, bool plain, const char *expected)
{
    struct buf out;
    size_t at = 0;
    struct str s = str_of(text);
    buf_init(&out, BUF_UNBOUNDED);
    for (struct added_match match; added_tokens_next(w->added, s, at, normalized, plain, &match); at = match.to) {
        buf_add(&out, str_slice(s, at, match.from));
        buf_addf(&out, "{%u:%.*s}", match.id, STR_ARG(str_slice(s, match.from, match.to)));
    }
    buf_add(&out, str_slice(s, at, s.len));
    assert_string_equal(out.data ? out.data : "", expected);
    buf_finish(&out);
}

static void added__leftmost_and_longest(void **state)
{
    (void)state;
    static const struct added_token tokens[] = {
        {.content = STR("<a>"), .id = 1}, {.content = STR("<a>b"), .id = 2}, {.content = STR(">x"), .id = 3},
        {.content = STR("\n"), .id = 4},  {.content = STR("\n\n"), .id = 5}, {.content = STR(""), .id = 6},
    };
    struct world w;
    make(&w, tokens, 6, NULL);
    assert_matches(&w, "q<a>b<a>x<a", false, false, "q{2:<a>b}{1:<a>}x<a");
    assert_matches(&w, "\n\n\n>x", false, false, "{5:\n\n}{4:\n}{3:>x}");
    assert_matches(&w, "", false, false, "");
    finish(&w);
}

static void added__take_space_along(void **state)
{
    (void)state;
    static const struct added_token tokens[] = {
        {.content = STR("<l>"), .id = 1, .lstrip = true},
        {.content = STR("<r>"), .id = 2, .rstrip = true},
        {.content = STR("  "), .id = 3},
    };
    struct world w;
    make(&w, tokens, 3, NULL);
    assert_matches(&w, "a \u3000\n<l>b", false, false, "a{1: \u3000\n<l>}b");
    assert_matches(&w, "<r> \u00A0b", false, false, "{2:<r> \u00A0}b");
    assert_matches(&w, "<r> <l> c", false, false, "{2:<r> }{1:<l>} c");
    assert_matches(&w, "<r>  a", false, false, "{2:<r>}{3:  }a");
    assert_matches(&w, "<r>   a", false, false, "{2:<r>}{3:  } a");
    assert_matches(&w, "a  <l>b", false, false, "a{3:  }{1:<l>}b");
    assert_matches(&w, "a   <l>b", false, false, "a{3:  }{1: <l>}b");
    finish(&w);
}

static void added__single_words(void **state)
{
    (void)state;
    static const struct added_token tokens[] = {
        {.content = STR("w"), .id = 1, .single_word = true},
        {.content = STR("<w>"), .id = 2, .single_word = true},
    };
    struct world w;
    make(&w, tokens, 2, NULL);
    assert_matches(&w, "w a w", false, false, "{1:w} a {1:w}");
    assert_matches(&w, "ww awb \u00E9w w\u0301 w.", false, false, "ww awb \u00E9w w\u0301 {1:w}.");
    assert_matches(&w, "a<w>b <w>", false, false, "a<w>b {2:<w>}");
    finish(&w);
}

static void added__special_ones_as_plain_text(void **state)
{
    (void)state;
    static const struct added_token tokens[] = {
        {.content = STR("<s>"), .id = 1, .special = true},
        {.content = STR("s>x"), .id = 2},
    };
    struct world w;
    struct str content;
    bool special;
    make(&w, tokens, 2, NULL);
    assert_matches(&w, "<s>x s>x", false, false, "{1:<s>}x {2:s>x}");
    assert_matches(&w, "<s>x s>x", false, true, "<s>x {2:s>x}");
    assert_true(added_tokens_at(w.added, 1, &content, &special));
    assert_true(special && str_equal(content, STR("<s>")));
    assert_false(added_tokens_at(w.added, 0, &content, NULL));
    assert_false(added_tokens_at(w.added, 3, &content, NULL));
    finish(&w);
}

static void added__normalized(void **state)
{
    (void)state;
    static const struct added_token tokens[] = {
        {.content = STR("Foo"), .id = 1, .normalized = true},
        {.content = STR("Bar"), .id = 2},
    };
    struct world w;
    make(&w, tokens, 2, &(enum normalizer_kind){NORMALIZER_LOWERCASE});
    assert_matches(&w, "foo Foo Bar bar", false, false, "foo Foo {2:Bar} bar");
    assert_matches(&w, "foo Foo Bar bar", true, false, "{1:foo} Foo Bar bar");
    finish(&w);
}

static void added__begin_anew(void **state)
{
    (void)state;
    static const struct added_token tokens[] = {
        {.content = STR("<|im_start|>"), .id = 1},
        {.content = STR("<l>"), .id = 2, .lstrip = true},
        {.content = STR("\n"), .id = 3},
        {.content = STR("\n\n"), .id = 4},
        {.content = STR("<n>"), .id = 5, .normalized = true},
        {.content = STR("ab"), .id = 6},
        {.content = STR("qabx"), .id = 7},
    };
    struct world w;
    make(&w, tokens, 7, NULL);
    assert_true(added_tokens_begin_anew(w.added, STR("<|im_start|>user")));
    assert_true(added_tokens_begin_anew(w.added, STR("<n>user")));
    assert_false(added_tokens_begin_anew(w.added, STR("<l>")));
    assert_false(added_tokens_begin_anew(w.added, STR("\nx")));
    assert_false(added_tokens_begin_anew(w.added, STR("\n\nx")));
    assert_false(added_tokens_begin_anew(w.added, STR("ab")));
    assert_true(added_tokens_begin_anew(w.added, STR("qabx")));
    assert_false(added_tokens_begin_anew(w.added, STR("user<|im_start|>")));
    assert_false(added_tokens_begin_anew(w.added, STR("")));
    finish(&w);
    make(&w, tokens, 7, &(enum normalizer_kind){NORMALIZER_NFC});
    assert_true(added_tokens_begin_anew(w.added, STR("<|im_start|>user")));
    assert_false(added_tokens_begin_anew(w.added, STR("<n>user")));
    finish(&w);
}

static void added__rstrip_spoils_white_space(void **state)
{
    (void)state;
    static const struct added_token tokens[] = {
        {.content = STR("<r>"), .id = 1, .rstrip = true},
        {.content = STR("\t"), .id = 2},
    };
    struct world w;
    make(&w, tokens, 2, NULL);
    assert_true(added_tokens_begin_anew(w.added, STR("<r> a")));
    assert_false(added_tokens_begin_anew(w.added, STR("\ta")));
    finish(&w);
}

/* Many tokens, found again one by one and at once. */
static void added__many(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    static struct added_token tokens[MANY];
    static char texts[MANY][16];
    struct buf all;
    struct world w;
    buf_init(&all, BUF_UNBOUNDED);
    for (uint32_t i = 0; i < MANY; i++) {
        int len = snprintf(texts[i], sizeof texts[i], "<unused%u>", i);
        tokens[i] = (struct added_token){.content = str_make(texts[i], (size_t)len), .id = 5 * i};
        buf_add_text(&all, texts[i]);
        buf_add_text(&all, "<unused");
    }
    make(&w, tokens, MANY, NULL);
    size_t at = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        struct added_match match;
        assert_true(added_tokens_next(w.added, buf_str(&all), at, false, false, &match));
        assert_int_equal(match.id, 5 * i);
        assert_int_equal(match.from, i ? at + 7 : 0);
        at = match.to;
    }
    buf_finish(&all);
    finish(&w);
}

static void added__none(void **state)
{
    (void)state;
    struct world w;
    struct added_match match;
    make(&w, NULL, 0, NULL);
    assert_false(added_tokens_next(w.added, STR("text"), 0, false, false, &match));
    assert_false(added_tokens_next(w.added, STR("text"), 0, true, false, &match));
    assert_false(added_tokens_begin_anew(w.added, STR("text")));
    finish(&w);
}

static void added__share_an_id(void **state)
{
    (void)state;
    struct added_token tokens[] = {
        {.content = STR("<one>"), .id = 7, .shares_id = true},
        {.content = STR("<two>"), .id = 7, .shares_id = true},
        {.content = STR("<three>"), .id = 8},
        {.content = STR("<four>"), .id = 8},
    };
    struct world w;
    struct str content;
    make(&w, tokens, 4, NULL);
    assert_matches(&w, "<one><two><three><four>", false, false, "{7:<one>}{7:<two>}<three>{8:<four>}");
    assert_true(added_tokens_at(w.added, 7, &content, NULL));
    assert_true(str_equal(content, STR("<two>")));
    assert_true(added_tokens_at(w.added, 8, &content, NULL));
    assert_true(str_equal(content, STR("<four>")));
    assert_false(added_tokens_at(w.added, 6, &content, NULL));
    assert_false(added_tokens_at(w.added, 9, &content, NULL));
    finish(&w);
}

/* Whether some occurrence of `other` begins before one of `pattern` and ends behind its beginning. */
static bool reaches_into(struct str other, struct str pattern)
{
    for (size_t at = 1; at < other.len; at++) {
        struct str tail = str_slice(other, at, other.len);
        if (pattern.len && (str_starts_with(tail, pattern) || str_starts_with(pattern, tail)))
            return true;
    }
    return false;
}

static void added__finds_overlaps(void **state)
{
    (void)state;
    enum { MOST = 6 };
    char texts[MOST][8];
    struct str patterns[MOST];
    bool found[MOST];
    uint32_t random = 1;
    for (int round = 0; round < 20000; round++) {
        size_t count = 1 + (size_t)round % MOST;
        for (size_t i = 0; i < count; i++) {
            patterns[i] = str_make(texts[i], (random = random * 1103515245 + 12345) >> 16 & 7);
            for (size_t k = 0; k < patterns[i].len; k++)
                texts[i][k] = (char)('a' + ((random = random * 1103515245 + 12345) >> 16) % 3);
        }
        added_find_overlaps(patterns, count, found);
        for (size_t i = 0; i < count; i++) {
            bool expected = false;
            for (size_t k = 0; k < count; k++)
                expected |= reaches_into(patterns[k], patterns[i]);
            assert_int_equal(found[i], expected);
        }
    }
}

/* Contents made to overlap, as many as a file may have. */
static void added__compiles_in_linear_time(void **state)
{
    (void)state;
    struct added_token *tokens = mem_calloc(SPEC_MAX_ADDED, sizeof *tokens);
    char *text = mem_alloc(SPEC_MAX_ADDED + 64);
    for (size_t i = 0; i < SPEC_MAX_ADDED + 64; i++)
        text[i] = "ab"[__builtin_popcountl(i) & 1];
    for (uint32_t i = 0; i < SPEC_MAX_ADDED; i++)
        tokens[i] = (struct added_token){.content = str_make(text + i, 1 + i % 64), .id = i};
    struct world w;
    make(&w, tokens, SPEC_MAX_ADDED, NULL);
    assert_false(added_tokens_begin_anew(w.added, str_make(text, 64)));
    finish(&w);
    free(tokens);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added__leftmost_and_longest),
        cmocka_unit_test(added__take_space_along),
        cmocka_unit_test(added__single_words),
        cmocka_unit_test(added__special_ones_as_plain_text),
        cmocka_unit_test(added__normalized),
        cmocka_unit_test(added__begin_anew),
        cmocka_unit_test(added__rstrip_spoils_white_space),
        cmocka_unit_test(added__many),
        cmocka_unit_test(added__none),
        cmocka_unit_test(added__share_an_id),
        cmocka_unit_test(added__finds_overlaps),
        cmocka_unit_test(added__compiles_in_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
