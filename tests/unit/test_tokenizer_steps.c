#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/normalize.h"
#include "text/tokenizer/steps.h"

/* What is expected was given by Hugging Face's tokenizers 0.23.3. */

static struct steps *steps_of(const struct tokenizer_spec *spec)
{
    struct error error;
    struct steps *steps;
    assert_int_equal(steps_from_spec(spec, &steps, &error), STATUS_OK);
    return steps;
}

static void assert_text(struct str got, const char *expected)
{
    if (!str_equal(got, str_of(expected)))
        print_error("got <%.*s>, not <%s>\n", STR_ARG(got), expected);
    assert_true(str_equal(got, str_of(expected)));
}

static struct str normalize_once(struct normalizer_step step, struct str text, struct buf *scratch)
{
    struct tokenizer_spec spec = {.normalizers = &step, .n_normalizers = 1};
    struct steps *steps = steps_of(&spec);
    struct str got = steps_normalize(steps, text, scratch);
    steps_destroy(steps);
    return got;
}

struct normalizing {
    enum normalizer_kind kind;
    const char *text, *expected;
};

static const struct normalizing normalizing[] = {
    {NORMALIZER_NFC, "e\u0301", "\u00E9"},
    {NORMALIZER_NFC, "\u1100\u1161\u11A8", "\uAC01"},
    {NORMALIZER_NFC, "\uAC00\u11A7", "\uAC00\u11A7"},
    {NORMALIZER_NFC, "a\u0316\u0301", "\u00E1\u0316"},
    {NORMALIZER_NFC, "a\u0315\u0300\u05AE\u0300b", "\u00E0\u05AE\u0300\u0315b"},
    {NORMALIZER_NFC, "\u0344", "\u0308\u0301"},
    {NORMALIZER_NFC, "\u2126\u212B", "\u03A9\u00C5"},
    {NORMALIZER_NFC, "\u0958", "\u0915\u093C"},
    {NORMALIZER_NFC, "\uF900 \U0002F800", "\u8C48 \u4E3D"},
    {NORMALIZER_NFC, "\U00011935\U00011930", "\U00011935\U00011930"},
    {NORMALIZER_NFD, "\u00E9\uAC01", "e\u0301\u1100\u1161\u11A8"},
    {NORMALIZER_NFD, "\U00011938", "\U00011938"},
    {NORMALIZER_NFD, "a\u0898\u0316", "a\u0898\u0316"},
    {NORMALIZER_NFKC, "\uFF21\uFF76\uFF9E\uFB01\u00B2", "A\u30ACfi2"},
    {NORMALIZER_NFKC, "\u32FF", "\u32FF"},
    {NORMALIZER_NFKD, "\uFDFA",
     "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064A\u0647 "
     "\u0648\u0633\u0644\u0645"},
    {NORMALIZER_LOWERCASE, "ABC\u0130\u03A3\U00010D50\uA7DC", "abci\u0307\u03C3\U00010D70\u019B"},
    {NORMALIZER_STRIP_ACCENTS, "e\u0301\u0903a\u1CF2\u07FD", "ea\u07FD"},
    {NORMALIZER_NMT, "a\x01\tb\u200B\uFFFD\u2581c\x7F", "a b   c"},
    {NORMALIZER_BYTE_LEVEL, "a \n\u00E9\u00AD", "a\u0120\u010A\u00C3\u00A9\u00C2\u0143"},
};

static void steps__normalize(void **state)
{
    (void)state;
    struct buf scratch;
    buf_init(&scratch, BUF_UNBOUNDED);
    for (size_t i = 0; i < sizeof normalizing / sizeof *normalizing; i++) {
        const struct normalizing *row = &normalizing[i];
        assert_text(normalize_once((struct normalizer_step){.kind = row->kind}, str_of(row->text), &scratch),
                    row->expected);
    }
    buf_finish(&scratch);
}

static void steps__leave_normal_text_where_it_is(void **state)
{
    (void)state;
    struct normalizer_step step[] = {
        {.kind = NORMALIZER_NFC},
        {.kind = NORMALIZER_LOWERCASE},
        {.kind = NORMALIZER_REPLACE, .pattern = {.text = STR("Q")}, .text = STR("q")},
        {.kind = NORMALIZER_STRIP, .right = true},
    };
    struct tokenizer_spec spec = {.normalizers = step, .n_normalizers = 4};
    struct steps *steps = steps_of(&spec);
    struct buf scratch;
    buf_init(&scratch, BUF_UNBOUNDED);
    struct str text = STR("plain \u00E9 \u4E2D\u6587 \uAC00 \u0301 \u0928\u092E\u0938\u094D\u0924\u0947 ");
    struct str got = steps_normalize(steps, text, &scratch);
    assert_ptr_equal(got.data, text.data);
    assert_int_equal(got.len, text.len - 1);
    assert_text(steps_normalize(steps, STR("AQ\u0301 "), &scratch), "aq\u0301");
    buf_finish(&scratch);
    steps_destroy(steps);
}

static void steps__stay_linear_on_marks(void **state)
{
    (void)state;
    struct buf text, scratch;
    buf_init(&text, BUF_UNBOUNDED);
    buf_init(&scratch, BUF_UNBOUNDED);
    buf_add_char(&text, 'a');
    for (int i = 0; i < 250000; i++)
        buf_add_text(&text, "\u0301\u0316");
    struct str got = normalize_once((struct normalizer_step){.kind = NORMALIZER_NFC}, buf_str(&text), &scratch);
    assert_int_equal(got.len, text.len - 1);
    assert_true(str_starts_with(got, STR("\u00E1\u0316\u0316")));
    assert_true(str_ends_with(got, STR("\u0301\u0301")));
    buf_finish(&text);
    buf_finish(&scratch);
}

static void steps__prepend_and_replace(void **state)
{
    (void)state;
    struct normalizer_step step[] = {
        {.kind = NORMALIZER_PREPEND, .text = STR("\u2581")},
        {.kind = NORMALIZER_REPLACE, .pattern = {.text = STR(" ")}, .text = STR("\u2581")},
    };
    struct tokenizer_spec spec = {.normalizers = step, .n_normalizers = 2};
    struct steps *steps = steps_of(&spec);
    struct buf scratch;
    buf_init(&scratch, BUF_UNBOUNDED);
    assert_text(steps_normalize(steps, STR(" a  b"), &scratch), "\u2581\u2581a\u2581\u2581b");
    assert_text(steps_normalize(steps, STR(""), &scratch), "");
    steps_destroy(steps);
    step[1].pattern = (struct spec_pattern){.text = STR(" {2,}"), .is_regex = true};
    steps = steps_of(&spec);
    assert_text(steps_normalize(steps, STR("a   b c"), &scratch), "\u2581a\u2581b c");
    buf_finish(&scratch);
    steps_destroy(steps);
}

static void collect(void *user, const char *text, const struct split_piece *pieces, size_t n)
{
    struct buf *out = user;
    for (size_t i = 0; i < n; i++) {
        buf_add_char(out, '[');
        buf_add(out, str_make(text + pieces[i].from, pieces[i].to - pieces[i].from));
        buf_add_char(out, ']');
    }
}

static void assert_pieces(const struct pre_tokenizer_step *list, size_t count, bool first, const char *text,
                          const char *expected)
{
    struct tokenizer_spec spec = {.pre_tokenizers = (struct pre_tokenizer_step *)list, .n_pre_tokenizers = count};
    struct steps *steps = steps_of(&spec);
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    steps_pre_tokenize(steps, str_of(text), first, collect, &out);
    assert_text(buf_str(&out), expected);
    buf_finish(&out);
    steps_destroy(steps);
}

static void steps__split_in_all_ways(void **state)
{
    (void)state;
    static const struct {
        enum split_behavior behavior;
        bool invert;
        const char *expected;
    } rows[] = {
        {SPLIT_REMOVED, false, "[the][final][countdown]"},
        {SPLIT_ISOLATED, false, "[the][-][final][-][-][countdown]"},
        {SPLIT_MERGED_WITH_PREVIOUS, false, "[the-][final-][-][countdown]"},
        {SPLIT_MERGED_WITH_NEXT, false, "[the][-final][-][-countdown]"},
        {SPLIT_CONTIGUOUS, false, "[the][-][final][--][countdown]"},
        {SPLIT_REMOVED, true, "[-][-][-]"},
        {SPLIT_MERGED_WITH_PREVIOUS, true, "[the][-final][-][-countdown]"},
        {SPLIT_MERGED_WITH_NEXT, true, "[the-][final-][-][countdown]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int regex = 0; regex < 2; regex++) {
            struct pre_tokenizer_step step = {.kind = PRE_TOKENIZER_SPLIT,
                                              .pattern = {.text = STR("-"), .is_regex = regex},
                                              .behavior = rows[i].behavior,
                                              .invert = rows[i].invert};
            assert_pieces(&step, 1, true, "the-final--countdown", rows[i].expected);
        }
}

struct cutting {
    struct pre_tokenizer_step step;
    bool first;
    const char *text, *expected;
};

static const struct cutting cutting[] = {
    {{.kind = PRE_TOKENIZER_DIGITS, .individual = true}, true, "a12\u2167b\u00B2", "[a][1][2][\u2167][b][\u00B2]"},
    {{.kind = PRE_TOKENIZER_DIGITS}, true, "a12\u2167b", "[a][12\u2167][b]"},
    {{.kind = PRE_TOKENIZER_PUNCTUATION, .behavior = SPLIT_ISOLATED}, true, "a.$\u3002 b", "[a][.][$][\u3002][ b]"},
    {{.kind = PRE_TOKENIZER_WHITESPACE}, true, " ab_1,. \u00E9\u0301!", "[ab_1][,.][\u00E9\u0301][!]"},
    {{.kind = PRE_TOKENIZER_WHITESPACE_SPLIT}, true, " a,b\u3000\n c", "[a,b][c]"},
    {{.kind = PRE_TOKENIZER_DELIMITER, .text = STR("-")}, true, "-a--b", "[a][b]"},
    {{.kind = PRE_TOKENIZER_BYTE_LEVEL, .use_regex = true}, true, "Hi you  all", "[Hi][ you][ ][ all]"},
    {{.kind = PRE_TOKENIZER_BYTE_LEVEL, .use_regex = true, .add_prefix_space = true}, true, "Hi 1", "[ Hi][ 1]"},
    {{.kind = PRE_TOKENIZER_BYTE_LEVEL, .add_prefix_space = true}, false, "Hi 1", "[ Hi 1]"},
    {{.kind = PRE_TOKENIZER_METASPACE, .text = STR("_"), .prepend = METASPACE_ALWAYS, .split = true},
     false,
     "Hi  you ",
     "[_Hi][_][_you][_]"},
    {{.kind = PRE_TOKENIZER_METASPACE, .text = STR("_"), .prepend = METASPACE_FIRST, .split = true},
     false,
     "Hi you",
     "[Hi][_you]"},
    {{.kind = PRE_TOKENIZER_METASPACE, .text = STR("_"), .prepend = METASPACE_FIRST}, true, "Hi you", "[_Hi_you]"},
    {{.kind = PRE_TOKENIZER_METASPACE, .text = STR("_"), .prepend = METASPACE_ALWAYS}, true, " a", "[_a]"},
    {{.kind = PRE_TOKENIZER_METASPACE, .text = STR("_"), .prepend = METASPACE_NEVER}, true, "ab", "[ab]"},
};

static void steps__cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cutting / sizeof *cutting; i++)
        assert_pieces(&cutting[i].step, 1, cutting[i].first, cutting[i].text, cutting[i].expected);
}

static void steps__cut_in_sequence(void **state)
{
    (void)state;
    static const struct pre_tokenizer_step list[] = {
        {.kind = PRE_TOKENIZER_SPLIT,
         .pattern = {.text = STR("\\p{N}{1,3}"), .is_regex = true},
         .behavior = SPLIT_ISOLATED},
        {.kind = PRE_TOKENIZER_SPLIT,
         .pattern = {.text = STR("[\u4E00-\u9FA5]+"), .is_regex = true},
         .behavior = SPLIT_ISOLATED},
        {.kind = PRE_TOKENIZER_SPLIT,
         .pattern = {.text = STR(" ?\\p{L}+|\\s+"), .is_regex = true},
         .behavior = SPLIT_ISOLATED},
        {.kind = PRE_TOKENIZER_BYTE_LEVEL},
    };
    assert_pieces(list, 4, true, "ab cd12345\u4E2D\u6587x  ,y", "[ab][ cd][123][45][\u4E2D\u6587][x][  ][,][y]");
    static const struct pre_tokenizer_step words[] = {
        {.kind = PRE_TOKENIZER_WHITESPACE_SPLIT},
        {.kind = PRE_TOKENIZER_METASPACE, .text = STR("_"), .prepend = METASPACE_FIRST, .split = true},
    };
    assert_pieces(words, 2, true, "ab cd", "[_ab][cd]");
    assert_pieces(words, 2, true, " ab cd", "[ab][cd]");
    assert_pieces(NULL, 0, true, "all of it", "[all of it]");
}

static void steps__know_the_single_splitter(void **state)
{
    (void)state;
    struct pre_tokenizer_step list[] = {
        {.kind = PRE_TOKENIZER_SPLIT, .pattern = splitter_gpt2(), .behavior = SPLIT_ISOLATED},
        {.kind = PRE_TOKENIZER_BYTE_LEVEL},
    };
    struct tokenizer_spec spec = {.pre_tokenizers = list, .n_pre_tokenizers = 2};
    struct steps *steps = steps_of(&spec);
    assert_non_null(steps_splitter(steps));
    steps_destroy(steps);
    list[1].add_prefix_space = true;
    steps = steps_of(&spec);
    assert_null(steps_splitter(steps));
    steps_destroy(steps);
    list[0] = (struct pre_tokenizer_step){.kind = PRE_TOKENIZER_BYTE_LEVEL, .use_regex = true};
    spec.n_pre_tokenizers = 1;
    steps = steps_of(&spec);
    assert_non_null(steps_splitter(steps));
    steps_destroy(steps);
}

#define DECODERS_MOST 4

struct decoding {
    struct decoder_step list[DECODERS_MOST];
    size_t count;
    const char *tokens[6];
    const char *expected;
};

static const struct decoding decodings[] = {
    {{{0}}, 0, {"a", "b"}, "a b"},
    {{{.kind = DECODER_BYTE_LEVEL}},
     1,
     {"\u0120a", "\u00E4", "\u00B8\u0143", "\u00FF", "\u4E2D"},
     " a\u4E2D\uFFFD\u4E2D"},
    {{{.kind = DECODER_REPLACE, .pattern = {.text = STR("\u2581")}, .text = STR(" ")},
      {.kind = DECODER_BYTE_FALLBACK},
      {.kind = DECODER_FUSE},
      {.kind = DECODER_STRIP, .text = STR(" "), .start = 1}},
     4,
     {"\u2581\u2581a", "<0xE4>", "<0xB8>", "<0xAD>", "b", "<0xFF>"},
     " a\u4E2Db\uFFFD"},
    {{{.kind = DECODER_BYTE_FALLBACK}}, 1, {"<0xE4>", "<0xB8>", "x", "<0x0a>", "<0xZZ>"}, "\uFFFD\uFFFDx\n<0xZZ>"},
    {{{.kind = DECODER_STRIP, .text = STR("a"), .start = 2}}, 1, {"aaab", "ab", "ba"}, "abbba"},
    {{{.kind = DECODER_METASPACE, .text = STR("_"), .prepend = METASPACE_ALWAYS}}, 1, {"_a_b", "_c"}, "ab c"},
    {{{.kind = DECODER_METASPACE, .text = STR("_"), .prepend = METASPACE_NEVER}}, 1, {"_a_b", "_c"}, " a b c"},
};

static void steps__decode(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof decodings / sizeof *decodings; i++) {
        const struct decoding *row = &decodings[i];
        struct tokenizer_spec spec = {.decoders = (struct decoder_step *)row->list, .n_decoders = row->count};
        struct steps *steps = steps_of(&spec);
        struct str texts[6];
        size_t count = 0;
        struct buf out;
        buf_init(&out, BUF_UNBOUNDED);
        for (; count < 6 && row->tokens[count]; count++)
            texts[count] = str_of(row->tokens[count]);
        steps_decode(steps, texts, count, &out);
        assert_text(buf_str(&out), row->expected);
        buf_finish(&out);
        steps_destroy(steps);
    }
}

static void steps__decode_bytes(void **state)
{
    (void)state;
    struct decoder_step step = {.kind = DECODER_BYTE_LEVEL};
    struct tokenizer_spec spec = {.decoders = &step, .n_decoders = 1, .model.byte_level = true};
    struct steps *steps = steps_of(&spec);
    struct str texts[] = {STR("\xE4\xB8"), STR("\xAD x"), STR("\xF0\x9F")};
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    steps_decode(steps, texts, 3, &out);
    assert_text(buf_str(&out), "\u4E2D x\uFFFD");
    buf_finish(&out);
    steps_destroy(steps);
}

static void steps__refuse_by_name(void **state)
{
    (void)state;
    struct error error;
    struct steps *steps;
    struct normalizer_step empty = {.kind = NORMALIZER_REPLACE, .text = STR("x")};
    struct tokenizer_spec spec = {.normalizers = &empty, .n_normalizers = 1};
    assert_int_equal(steps_from_spec(&spec, &steps, &error), STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.message, "Replace"));
    empty = (struct normalizer_step){.kind = NORMALIZER_PRECOMPILED, .text = STR("\xFF\xFF\xFF\x7F short")};
    assert_int_equal(steps_from_spec(&spec, &steps, &error), STATUS_SYNTAX);
    assert_non_null(strstr(error.message, "Precompiled"));
    struct pre_tokenizer_step list[] = {{.kind = PRE_TOKENIZER_BYTE_LEVEL}, {.kind = PRE_TOKENIZER_DIGITS}};
    spec = (struct tokenizer_spec){.pre_tokenizers = list, .n_pre_tokenizers = 2};
    assert_int_equal(steps_from_spec(&spec, &steps, &error), STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.message, "ByteLevel"));
}

/* Metaspace's scheme "first" asks where a piece began before it was normalized. */
static void steps__refuse_text_that_grows_without_end(void **state)
{
    (void)state;
    struct error error;
    struct steps *steps;
    struct normalizer_step twice = {.kind = NORMALIZER_REPLACE, .pattern = {.text = STR("a")}, .text = STR("aa")};
    struct normalizer_step all[16];
    for (size_t i = 0; i < 16; i++)
        all[i] = twice;
    struct tokenizer_spec spec = {.normalizers = all, .n_normalizers = 3};
    steps_destroy(steps_of(&spec));
    spec.n_normalizers = 16;
    assert_int_equal(steps_from_spec(&spec, &steps, &error), STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.message, "4096 times"));
}

static void steps__refuse_a_beginning_that_moves(void **state)
{
    (void)state;
    static const struct {
        struct normalizer_step normalizer;
        bool alone,
            behind_another; /* whether it is taken: where Metaspace is the only pre-tokenizer, where it is not */
    } rows[] = {
        {{.kind = NORMALIZER_NFKD}, true, false},
        {{.kind = NORMALIZER_NMT}, false, false},
        {{.kind = NORMALIZER_STRIP, .left = true}, false, false},
        {{.kind = NORMALIZER_STRIP, .right = true}, true, true},
        {{.kind = NORMALIZER_REPLACE, .pattern = {.text = STR("a")}}, false, false},
        {{.kind = NORMALIZER_REPLACE, .pattern = {.text = STR("''")}, .text = STR("xy")}, false, false},
        {{.kind = NORMALIZER_REPLACE, .pattern = {.text = STR(" ")}, .text = STR("\u2581")}, true, true},
        {{.kind = NORMALIZER_REPLACE, .pattern = {.text = STR(" {2,}"), .is_regex = true}, .text = STR(" ")},
         true,
         true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t behind = 0; behind < 2; behind++) {
            struct normalizer_step normalizer = rows[i].normalizer;
            struct pre_tokenizer_step list[] = {
                {.kind = PRE_TOKENIZER_DIGITS},
                {.kind = PRE_TOKENIZER_METASPACE, .prepend = METASPACE_FIRST, .text = STR("\u2581")}};
            struct tokenizer_spec spec = {.normalizers = &normalizer,
                                          .n_normalizers = 1,
                                          .pre_tokenizers = list + 1 - behind,
                                          .n_pre_tokenizers = 1 + behind};
            struct error error = {0};
            struct steps *steps = NULL;
            bool taken = steps_from_spec(&spec, &steps, &error) == STATUS_OK;
            assert_int_equal(taken, behind ? rows[i].behind_another : rows[i].alone);
            assert_true(taken || strstr(error.message, "first"));
            steps_destroy(steps);
        }
}

/* A map of one key: the root leads by 'A' to a leaf whose replacement is the text behind the array. */
static void steps__use_a_charsmap(void **state)
{
    (void)state;
    uint32_t units[256] = {0};
    units[0] = 1u << 10;                         /* children at 1 ^ byte */
    units[1 ^ 'A'] = 128u << 10 | 1u << 8 | 'A'; /* has a leaf, at its own place ^ 128 */
    units[1 ^ 'A' ^ 128] = 1u << 31;             /* the leaf: replacement at 0 */
    struct buf map, scratch;
    uint32_t len = sizeof units;
    buf_init(&map, BUF_UNBOUNDED);
    buf_init(&scratch, BUF_UNBOUNDED);
    buf_add(&map, str_make((const char *)&len, sizeof len));
    buf_add(&map, str_make((const char *)units, sizeof units));
    buf_add(&map, str_make("ab\0c", 5));
    struct normalizer_step step = {.kind = NORMALIZER_PRECOMPILED, .text = buf_str(&map)};
    assert_text(normalize_once(step, STR("xAy"), &scratch), "xaby");
    assert_text(normalize_once(step, STR("A\u0301 A\u0301\u0301\u0301"), &scratch), "ab ab\u0301\u0301\u0301");
    buf_finish(&map);
    buf_finish(&scratch);
}

static void steps__find_clusters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len;
    } rows[] = {
        {"ab", 1},
        {"\r\n", 2},
        {"\n\u0301", 1},
        {"e\u0301\u0302x", 5},
        {"\u1100\u1161\u11A8\u1100", 9},
        {"\U0001F468\u200D\U0001F469x", 11},
        {"\U0001F1E9\U0001F1EA\U0001F1EB", 8},
        {"\u0915\u094D\u0937\u0915", 9},
        {"\u0600a", 3},
        {"a\U00011B60", 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(cluster_len(str_of(rows[i].text), 0), rows[i].len);
}

/* Checks what the look says of `text` against what takes it apart. */
static void assert_look(struct str text)
{
    struct text_look look = text_look_over(text);
    struct buf out;
    assert_int_equal(look.valid, utf8_is_valid(text));
    if (!look.valid)
        return;
    buf_init(&out, BUF_UNBOUNDED);
    struct str head = str_slice(text, 0, look.composed), tail = str_slice(text, look.composed, text.len);
    assert_ptr_equal(normalize_form(NORMALIZER_NFC, head, &out).data, head.data);
    struct str composed = normalize_form(NORMALIZER_NFC, text, &out);
    if (tail.len == 0)
        assert_true(str_equal(composed, text));
    buf_finish(&out);
}

static void look__agrees_on_every_character(void **state)
{
    (void)state;
    char text[16] = "e";
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        size_t len = 1 + utf8_encode(c, text + 1);
        assert_look(str_make(text, len));
        if (c % 7 == 0)
            assert_look(str_make(text, len + utf8_encode(0x3041 + c % 0x100, text + len)));
    }
    assert_int_equal(text_look_over(STR("plain \u4E2D\u6587")).composed, 12);
    assert_int_equal(text_look_over(STR("e\u0301")).composed, 1);
    assert_true(text_look_over((struct str){0}).valid);
}

static void look__agrees_on_characters_among_others(void **state)
{
    (void)state;
    static const char *const others[] = {"\u304B", "\uFF21", "\u4E2D\u3002", "\u3068\u30C8\u6587"};
    static const char behind[] = "\u4E2D\u6587\u3001\u304B\u30AB\uFF0C ";
    for (uint32_t c = 0x800; c <= 0xFFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        char text[64];
        size_t len = strlen(others[c % 4]);
        memcpy(text, others[c % 4], len);
        len += utf8_encode(c, text + len);
        memcpy(text + len, behind, sizeof behind);
        assert_look(str_of(text));
        text[len - c % 3 - 1] = (char)c;
        assert_look(str_of(text));
    }
}

static void look__agrees_on_any_bytes(void **state)
{
    (void)state;
    static const unsigned char some[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xCC,
                                         0xDF, 0xE0, 0xE1, 0xE4, 0xE9, 0xEA, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
    const unsigned n = sizeof some;
    for (unsigned i = 0; i < n * n * n * n; i++) {
        char text[40];
        memset(text, 'x', sizeof text);
        unsigned rest = i;
        for (int k = 0; k < 4; k++, rest /= n)
            text[33 + k] = (char)some[rest % n];
        assert_look(str_make(text + 33, 4));
        if (i % 5 == 0)
            assert_look(str_make(text, 33 + i % 8));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps__normalize),
        cmocka_unit_test(steps__leave_normal_text_where_it_is),
        cmocka_unit_test(steps__stay_linear_on_marks),
        cmocka_unit_test(steps__prepend_and_replace),
        cmocka_unit_test(steps__split_in_all_ways),
        cmocka_unit_test(steps__cut),
        cmocka_unit_test(steps__cut_in_sequence),
        cmocka_unit_test(steps__know_the_single_splitter),
        cmocka_unit_test(steps__decode),
        cmocka_unit_test(steps__decode_bytes),
        cmocka_unit_test(steps__refuse_by_name),
        cmocka_unit_test(steps__refuse_text_that_grows_without_end),
        cmocka_unit_test(steps__refuse_a_beginning_that_moves),
        cmocka_unit_test(steps__use_a_charsmap),
        cmocka_unit_test(steps__find_clusters),
        cmocka_unit_test(look__agrees_on_every_character),
        cmocka_unit_test(look__agrees_on_characters_among_others),
        cmocka_unit_test(look__agrees_on_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
