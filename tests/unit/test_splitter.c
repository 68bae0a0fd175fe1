#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/utf8.h"
#include "text/tokenizer/splitter_internal.h"
#include "text/tokenizer/unicode_class.h"

#define LONG ((size_t)300 * 1000)

/* At least one of each kind that a pattern tells apart, and what lies at the edges: ASCII of every sort, letters of
 * every case, marks, numbers, spaces of one, two and three bytes, line ends, controls, the long s, characters newer
 * than PCRE2's edition, the last of each length. */
static const uint32_t samples[] = {
    'a',    's',    'S',    'l',    'r',     'e',     'Z',     '\'',    ' ',     '\n',     '\r',   '\t',
    '0',    '9',    '/',    '.',    '!',     '+',     '_',     0x00,    0x7F,    0x85,     0xA0,   0xB2,
    0xB5,   0xAA,   0xC9,   0xDF,   0x17F,   0x1C5,   0x2B0,   0x300,   0x483,   0x5D0,    0x663,  0x7FF,
    0x903,  0x200D, 0x2028, 0x2160, 0x212A,  0x20AC,  0x3000,  0x3042,  0x3099,  0x30FB,   0x4E2D, 0x9FA5,
    0x9FA6, 0xE000, 0xFFFD, 0xFFFF, 0x1171E, 0x1E030, 0x11F04, 0x1F600, 0x31350, 0x10FFFF,
};
#define N_SAMPLES (sizeof samples / sizeof *samples)

struct pieces {
    struct split_piece *items;
    size_t count, capacity;
};

static struct splitter *create(struct spec_pattern pattern, enum splitter_engine engine)
{
    struct splitter *splitter = NULL;
    struct error error = {0};
    if (splitter_create(pattern, engine, &splitter, &error) != STATUS_OK)
        fail_msg("%.*s: %s", STR_ARG(pattern.text), error.message);
    return splitter;
}

static struct spec_pattern regex(const char *text)
{
    return (struct spec_pattern){.text = str_of(text), .is_regex = true};
}

static struct pieces split(const struct splitter *splitter, struct str text)
{
    struct pieces all = {0};
    struct split_piece batch[SPLITTER_BATCH];
    struct split_walk walk;
    size_t n;
    split_walk_begin(&walk, splitter, text);
    while ((n = split_walk_next(&walk, batch)) > 0)
        for (size_t i = 0; i < n; i++) {
            all.items = mem_grow(all.items, all.count, &all.capacity, sizeof *all.items);
            all.items[all.count++] = batch[i];
        }
    split_walk_end(&walk);
    return all;
}

static void check_covers(const struct pieces *pieces, struct str text)
{
    size_t at = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        assert_int_equal(pieces->items[i].from, at);
        assert_true(pieces->items[i].to > at);
        at = pieces->items[i].to;
    }
    assert_int_equal(at, text.len);
}

/* Both engines' splitters of one known pattern. */
struct both {
    const struct splitter_known *known;
    struct splitter *hand, *pcre2;
};

static struct both both_create(size_t index)
{
    struct both both = {.known = splitter_known_at(index)};
    if (!both.known)
        return both;
    struct spec_pattern pattern = regex(both.known->pattern);
    pattern.is_tiktoken = both.known->tiktoken_only;
    both.hand = create(pattern, SPLITTER_AUTO);
    both.pcre2 = create(pattern, SPLITTER_PCRE2);
    return both;
}

static void both_destroy(struct both *both)
{
    splitter_destroy(both->hand);
    splitter_destroy(both->pcre2);
}

static void check_equal(const struct both *both, struct str text)
{
    struct pieces hand = split(both->hand, text), pcre2 = split(both->pcre2, text);
    size_t n = hand.count < pcre2.count ? hand.count : pcre2.count, i = 0;
    while (i < n && hand.items[i].from == pcre2.items[i].from && hand.items[i].to == pcre2.items[i].to)
        i++;
    if (i < n || hand.count != pcre2.count)
        fail_msg("%s: %zu and %zu pieces, different from piece %zu of %.*s", both->known->pattern, hand.count,
                 pcre2.count, i, STR_ARG(text));
    if (both->known->covers_all)
        check_covers(&hand, text);
    free(hand.items);
    free(pcre2.items);
}

static void add_code_point(struct buf *out, uint32_t code_point)
{
    char bytes[4];
    buf_add(out, str_make(bytes, utf8_encode(code_point, bytes)));
}

/* All short texts: what stands at the end counts for some patterns. */
static void splitter__equals_pcre2_on_all_pairs(void **state)
{
    (void)state;
    struct both both;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t k = 0; (both = both_create(k)).known; k++) {
        for (size_t i = 0; i < N_SAMPLES * N_SAMPLES; i++) {
            buf_reset(&text);
            add_code_point(&text, samples[i / N_SAMPLES]);
            add_code_point(&text, samples[i % N_SAMPLES]);
            check_equal(&both, buf_str(&text));
        }
        both_destroy(&both);
    }
    buf_finish(&text);
}

/* One text with every three of the samples behind one another. */
static void splitter__equals_pcre2_on_all_triples(void **state)
{
    (void)state;
    struct both both;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t i = 0; i < N_SAMPLES * N_SAMPLES * N_SAMPLES; i++) {
        add_code_point(&text, samples[i / (N_SAMPLES * N_SAMPLES)]);
        add_code_point(&text, samples[i / N_SAMPLES % N_SAMPLES]);
        add_code_point(&text, samples[i % N_SAMPLES]);
    }
    for (size_t k = 0; (both = both_create(k)).known; k++) {
        check_equal(&both, buf_str(&text));
        both_destroy(&both);
    }
    buf_finish(&text);
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

static void splitter__equals_pcre2_on_random_text(void **state)
{
    (void)state;
    struct both both;
    struct buf text;
    uint64_t seed = 4;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t k = 0; (both = both_create(k)).known; k++) {
        for (int round = 0; round < 2000; round++) {
            buf_reset(&text);
            for (uint32_t n = next_random(&seed) % 40; n > 0; n--) {
                uint32_t kind = next_random(&seed) % 8, random = next_random(&seed);
                uint32_t c = kind < 5 ? samples[random % N_SAMPLES] : random % (kind == 5 ? 0x80 : 0x110000);
                for (uint32_t times = random % 5 ? 1 : random % 7; times > 0 && (c < 0xD800 || c > 0xDFFF); times--)
                    add_code_point(&text, c);
            }
            check_equal(&both, buf_str(&text));
        }
        both_destroy(&both);
    }
    buf_finish(&text);
}

/* Mostly ASCII and long enough to be read in blocks; of few characters, so that every rule is met often. */
static void add_ascii(struct buf *text, uint64_t *seed)
{
    static const char common[] = "aabsStlLrRveEZ''' \n\r\t07/.!  ";
    uint32_t kinds = 2 + next_random(seed) % (sizeof common - 2), first = next_random(seed) % sizeof common;
    for (uint32_t n = next_random(seed) % 300; n > 0; n--) {
        uint32_t random = next_random(seed), at = (first + random % kinds) % (sizeof common - 1);
        uint32_t times = random % 7 ? 1 : 1 + (random >> 8) % 4;
        uint32_t c = random % 97 ? (unsigned char)common[at] : samples[(random >> 16) % N_SAMPLES];
        while (times-- > 0)
            add_code_point(text, c);
    }
}

static void splitter__equals_pcre2_on_ascii_in_blocks(void **state)
{
    (void)state;
    struct both both;
    struct buf text;
    uint64_t seed = 5;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t k = 0; (both = both_create(k)).known; k++) {
        for (int round = 0; round < 3000; round++) {
            buf_reset(&text);
            add_ascii(&text, &seed);
            check_equal(&both, buf_str(&text));
        }
        both_destroy(&both);
    }
    buf_finish(&text);
}

/* Cuts by each of the splitters into matches and what lies between them, in order. */
static void cut_by_all(const struct splitter *const *splitters, size_t n, struct str text, size_t base,
                       struct pieces *out)
{
    if (text.len == 0)
        return;
    if (n == 0) {
        out->items = mem_grow(out->items, out->count, &out->capacity, sizeof *out->items);
        out->items[out->count++] = (struct split_piece){(uint32_t)base, (uint32_t)(base + text.len)};
        return;
    }
    struct pieces matches = split(splitters[0], text);
    size_t at = 0;
    for (size_t i = 0; i <= matches.count; i++) {
        size_t from = i < matches.count ? matches.items[i].from : text.len;
        size_t to = i < matches.count ? matches.items[i].to : text.len;
        cut_by_all(splitters + 1, n - 1, str_slice(text, at, from), base + at, out);
        cut_by_all(splitters + 1, n - 1, str_slice(text, from, to), base + from, out);
        at = to;
    }
    free(matches.items);
}

static void check_joined(const struct splitter *const *splitters, size_t n, struct str text)
{
    const struct splitter *joined = splitter_join(splitters, n);
    struct pieces expected = {0}, found = split(joined, text);
    cut_by_all(splitters, n, text, 0, &expected);
    assert_int_equal(found.count, expected.count);
    for (size_t i = 0; i < found.count; i++) {
        assert_int_equal(found.items[i].from, expected.items[i].from);
        assert_int_equal(found.items[i].to, expected.items[i].to);
    }
    free(expected.items);
    free(found.items);
}

/* DeepSeek's three; of those that are known, the ones that leave text out. */
static void create_three(struct splitter *three[3])
{
    size_t n = 0;
    for (size_t k = 0; splitter_known_at(k); k++)
        if (!splitter_known_at(k)->covers_all && n < 3)
            three[n++] = create(regex(splitter_known_at(k)->pattern), SPLITTER_AUTO);
    assert_int_equal(n, 3);
}

static void splitter__joins_patterns_that_follow_each_other(void **state)
{
    (void)state;
    struct splitter *three[3];
    struct buf text;
    uint64_t seed = 6;
    create_three(three);
    const struct splitter *const splitters[] = {three[0], three[1], three[2]};
    assert_null(splitter_join(splitters, 2));
    assert_null(splitter_join(splitters + 1, 1));
    buf_init(&text, BUF_UNBOUNDED);
    for (int round = 0; round < 20000; round++) {
        buf_reset(&text);
        uint32_t kinds = 2 + next_random(&seed) % (N_SAMPLES - 2), first = next_random(&seed) % N_SAMPLES;
        for (uint32_t length = next_random(&seed) % 40; length > 0; length--) {
            uint32_t random = next_random(&seed), times = random % 5 ? 1 : 1 + (random >> 8) % 4;
            while (times-- > 0)
                add_code_point(&text, samples[(first + (random >> 16) % kinds) % N_SAMPLES]);
        }
        check_joined(splitters, 3, buf_str(&text));
        buf_reset(&text);
        add_ascii(&text, &seed);
        check_joined(splitters, 3, buf_str(&text));
    }
    buf_finish(&text);
    for (size_t i = 0; i < 3; i++)
        splitter_destroy(three[i]);
}

/* Every text of three samples stands alone in its memory, so that a sanitizer sees what is read behind it. */
static void splitter__reads_nothing_behind_the_text(void **state)
{
    (void)state;
    struct splitter *three[3], *known[32] = {0};
    size_t n_known = 0;
    struct buf text;
    create_three(three);
    const struct splitter *const splitters[] = {three[0], three[1], three[2]};
    for (; splitter_known_at(n_known); n_known++) {
        const struct splitter_known *one = splitter_known_at(n_known);
        struct spec_pattern pattern = {str_of(one->pattern), true, one->tiktoken_only};
        assert_true(n_known < sizeof known / sizeof known[0]);
        known[n_known] = create(pattern, SPLITTER_AUTO);
    }
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t i = 0; i < N_SAMPLES * N_SAMPLES * N_SAMPLES; i++) {
        buf_reset(&text);
        add_code_point(&text, samples[i % N_SAMPLES]);
        add_code_point(&text, samples[i / N_SAMPLES % N_SAMPLES]);
        add_code_point(&text, samples[i / N_SAMPLES / N_SAMPLES]);
        char *alone = mem_calloc(text.len, 1);
        memcpy(alone, text.data, text.len);
        struct pieces pieces = split(splitter_join(splitters, 3), str_make(alone, text.len));
        check_covers(&pieces, str_make(alone, text.len));
        free(pieces.items);
        for (size_t k = 0; k < n_known; k++)
            free(split(known[k], str_make(alone, text.len)).items);
        free(alone);
    }
    buf_finish(&text);
    for (size_t k = 0; k < n_known; k++)
        splitter_destroy(known[k]);
    for (size_t k = 0; k < 3; k++)
        splitter_destroy(three[k]);
}

/* Every code point there is, in an order that mixes them. */
static void splitter__equals_pcre2_on_every_code_point(void **state)
{
    (void)state;
    struct both both;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (uint64_t i = 0; i < 0x110000; i++) {
        uint32_t c = (uint32_t)(i * 700001 % 0x110000);
        if (c < 0xD800 || c > 0xDFFF)
            add_code_point(&text, c);
    }
    for (size_t k = 0; (both = both_create(k)).known; k++) {
        check_equal(&both, buf_str(&text));
        both_destroy(&both);
    }
    buf_finish(&text);
}

/* The pieces of `text`, with a bar between them. */
static char *joined(const struct splitter *splitter, const char *text)
{
    struct pieces pieces = split(splitter, str_of(text));
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    for (size_t i = 0; i < pieces.count; i++) {
        if (i)
            buf_add_char(&out, '|');
        buf_add(&out, str_slice(str_of(text), pieces.items[i].from, pieces.items[i].to));
    }
    free(pieces.items);
    return buf_take(&out);
}

static void splitter__splits_as_the_libraries_do(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text, *pieces;
        bool is_tiktoken;
    } cases[] = {
        {"[a-c]x", "ax bx dx", "ax|bx", false},
        {"\\p{N}{1,3}", "12345a6", "123|45|6", false},
        {"\\p{N}{1,3}+", "12345a6", "12345|6", false},
        {"\\p{N}{1,3}+", "12345a6", "123|45|6", true},
        {"xa{2}?", "xaaxa", "xaa|x", false},
        {"a(?i)b|c", "aB aC b", "aB|aC", false},
        {"(?i:k)", "kKx\u212A", "k|K|\u212A", false},
        {"(?i:'s)", "it's 'S '\u017F", "'s|'S|'\u017F", false},
        {"[\\p{L}&&[^\\p{Han}]]+", "ab\u4E2Dc", "ab|c", false},
        {"[a-z&&[^aeiou]]", "abe", "b", false},
        {"\\p{L}", "\U0001E030 \U00031350 \U00010D4A \U00011F04 1", "\U0001E030|\U00031350|\U00010D4A|\U00011F04",
         false},
        {"\\w+", "a\u00B2b", "a\u00B2b", false},
        {"[\\w]+", "a\u00B2b", "a|b", false},
        {"\\w+", "a\u00B2b\u200Dc", "a|b\u200Dc", true},
        {"\\h+", "xcafe0y", "cafe0", false},
        {"\\R", "a\r\nb\nc", "\r\n|\n", false},
        {"(?m:.+)", "a\nb", "a\nb", false},
        {".+$", "a\nb", "a|b", false},
        {"^.", "ab\nc", "a|c", false},
        {"[[:punct:]]", "a$.", "$|.", false},
        {"\\p{Punct}", "a$.", ".", false},
        {"\\bb", "b ab b", "b|b", false},
        {"(?<=a)b(?!c)", "ab abc bb", "b", false},
        {"a{,2}b", "aaab", "aab", false},
        {"{a", "{a", "{a", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec_pattern pattern = regex(cases[i].pattern);
        pattern.is_tiktoken = cases[i].is_tiktoken;
        struct splitter *splitter = create(pattern, SPLITTER_AUTO);
        char *pieces = joined(splitter, cases[i].text);
        assert_string_equal(pieces, cases[i].pieces);
        free(pieces);
        splitter_destroy(splitter);
    }
}

static void splitter__gives_pieces_of_gpt2(void **state)
{
    (void)state;
    struct splitter *splitter = create(splitter_gpt2(), SPLITTER_AUTO);
    char *pieces = joined(splitter, "It's  12 o'clock:\n\n  IT'S 5\u2082! ");
    assert_string_equal(pieces, "It|'s| | 12| o|'|clock|:|\n\n | IT|'|S| 5\u2082|!| ");
    assert_true(splitter_covers_all(splitter));
    free(pieces);
    splitter_destroy(splitter);
}

static void splitter__keeps_empty_matches(void **state)
{
    (void)state;
    struct splitter *splitter = create(regex("(?=b)|a"), SPLITTER_AUTO);
    struct pieces pieces = split(splitter, STR("xbab"));
    assert_int_equal(pieces.count, 2);
    assert_int_equal(pieces.items[0].from, 1);
    assert_int_equal(pieces.items[0].to, 1);
    assert_int_equal(pieces.items[1].from, 2);
    assert_int_equal(pieces.items[1].to, 3);
    free(pieces.items);
    splitter_destroy(splitter);
}

static void splitter__finds_literal_text(void **state)
{
    (void)state;
    struct splitter *splitter = create((struct spec_pattern){.text = STR("a.")}, SPLITTER_AUTO);
    char *pieces = joined(splitter, "a.aba.a.");
    assert_string_equal(pieces, "a.|a.|a.");
    assert_false(splitter_covers_all(splitter));
    free(pieces);
    splitter_destroy(splitter);
    splitter = create((struct spec_pattern){0}, SPLITTER_AUTO);
    struct pieces none = split(splitter, STR("abc"));
    assert_int_equal(none.count, 0);
    splitter_destroy(splitter);
}

static void splitter__refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        enum status status;
        const char *names;
    } cases[] = {
        {"(a)\\1", STATUS_UNSUPPORTED, "back reference"},
        {"(?<n>a)", STATUS_UNSUPPORTED, "kind of group"},
        {"(?x) a", STATUS_UNSUPPORTED, "kind of group"},
        {"(?~a)", STATUS_UNSUPPORTED, "kind of group"},
        {"(*UTF)a", STATUS_UNSUPPORTED, "kind of group"},
        {"\\X", STATUS_UNSUPPORTED, "\\X"},
        {"\\K", STATUS_UNSUPPORTED, "\\K"},
        {"\\p{Foo}", STATUS_UNSUPPORTED, "\\p{Foo}"},
        {"\\pL", STATUS_UNSUPPORTED, "without braces"},
        {"[[:foo:]]", STATUS_UNSUPPORTED, "[[:foo:]"},
        {"(?i:ss)", STATUS_UNSUPPORTED, "without regard to case"},
        {"(?i:\u00E9)", STATUS_UNSUPPORTED, "without regard to case"},
        {"(?i:[\u00E9])", STATUS_UNSUPPORTED, "without regard to case"},
        {"a{3,2}", STATUS_UNSUPPORTED, "more to less"},
        {"a{2,99999}", STATUS_UNSUPPORTED, "as often"},
        {"(?<=a+)b", STATUS_UNSUPPORTED, "lookbehind"},
        {"\\xE9", STATUS_UNSUPPORTED, "byte"},
        {"(a", STATUS_SYNTAX, "not closed"},
        {"a)", STATUS_SYNTAX, "opens"},
        {"[a", STATUS_SYNTAX, "not closed"},
        {"*a", STATUS_SYNTAX, "repeat"},
        {"a|?", STATUS_SYNTAX, "repeat"},
        {"[z-a]", STATUS_SYNTAX, "range"},
        {"[a-\\d]", STATUS_SYNTAX, "range"},
        {"a\\", STATUS_SYNTAX, "backslash"},
        {"\xFF", STATUS_SYNTAX, "UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct splitter *splitter = NULL;
        struct error error = {0};
        assert_int_equal(splitter_create(regex(cases[i].pattern), SPLITTER_AUTO, &splitter, &error), cases[i].status);
        assert_null(splitter);
        if (!strstr(error.message, cases[i].names))
            fail_msg("%s: %s", cases[i].pattern, error.message);
    }
}

static void splitter__refuses_what_is_too_large(void **state)
{
    (void)state;
    struct buf text;
    struct splitter *splitter = NULL;
    buf_init(&text, BUF_UNBOUNDED);
    for (int i = 0; i < 200; i++)
        buf_add_char(&text, '(');
    assert_int_equal(splitter_create(regex(text.data), SPLITTER_AUTO, &splitter, NULL), STATUS_UNSUPPORTED);
    buf_reset(&text);
    for (int i = 0; i < 200; i++)
        buf_add_char(&text, '[');
    assert_int_equal(splitter_create(regex(text.data), SPLITTER_AUTO, &splitter, NULL), STATUS_UNSUPPORTED);
    buf_reset(&text);
    for (int i = 0; i < 8000; i++)
        buf_add_text(&text, "\\W");
    assert_int_equal(splitter_create(regex(text.data), SPLITTER_AUTO, &splitter, NULL), STATUS_UNSUPPORTED);
    buf_reset(&text);
    for (int i = 0; i < 20000; i++)
        buf_add_char(&text, 'a');
    assert_int_equal(splitter_create(regex(text.data), SPLITTER_AUTO, &splitter, NULL), STATUS_UNSUPPORTED);
    buf_finish(&text);
}

/* A long run of one thing, before and behind something else. With anything but linear time this would not end. */
static void splitter__stays_linear(void **state)
{
    (void)state;
    static const char *const units[] = {"a",   "A",      " ",      "\n",      " \n",    "\t ", "'",
                                        "1",   ".",      "\u4E2D", "\u4E2DA", "\u0301", "aA",  "\r",
                                        "/\n", "\u3000", "\u0663", " .",      "\u0301A"};
    struct both both;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t k = 0; (both = both_create(k)).known; k++) {
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            buf_reset(&text);
            buf_add_char(&text, 'x');
            while (text.len < LONG)
                buf_add_text(&text, units[i]);
            buf_add_text(&text, "\u4E2Dy");
            struct pieces pieces = split(both.hand, buf_str(&text));
            if (both.known->covers_all)
                check_covers(&pieces, buf_str(&text));
            free(pieces.items);
        }
        both_destroy(&both);
    }
    buf_finish(&text);
}

/* Where JIT's stack is too small the interpreter goes on. */
static void splitter__ends_long_matches(void **state)
{
    (void)state;
    struct splitter *splitter = create(regex("(?:a|b|(?:cd?)+)+"), SPLITTER_AUTO);
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    while (text.len < LONG)
        buf_add_text(&text, "abcdc");
    struct pieces pieces = split(splitter, buf_str(&text));
    assert_int_equal(pieces.count, 1);
    assert_int_equal(pieces.items[0].to, text.len);
    free(pieces.items);
    buf_finish(&text);
    splitter_destroy(splitter);
}

/* What is left is unmatched, in bounded time: no other library has pieces for it. */
static void splitter__gives_up_where_ways_never_end(void **state)
{
    (void)state;
    static const char *const patterns[] = {"a*b(?=c)",   "[^c]*\\d",      "(?:a+)+$",
                                           "(?:a|aa)+$", "(?:(?:a*)*)*!", "(?:a?){30}a{30}!"};
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    while (text.len < LONG)
        buf_add_char(&text, 'a');
    buf_add_char(&text, 'b');
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct splitter *splitter = create(regex(patterns[i]), SPLITTER_AUTO);
        struct pieces pieces = split(splitter, buf_str(&text));
        assert_int_equal(pieces.count, 0);
        assert_true(splitter_gave_up(splitter));
        free(pieces.items);
        splitter_destroy(splitter);
    }
    buf_finish(&text);
}

/* Whatever PCRE2 sees of the text at a time. */
static void splitter__finds_matches_of_any_length(void **state)
{
    (void)state;
    struct splitter *splitter = create(regex("a+b|(?<=c)\\d+(?!\\d)|\\s+(?!\\S)|\\s+|x$"), SPLITTER_AUTO);
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t length = 1; length < 40000; length += length / 3 + 1) {
        buf_reset(&text);
        for (const char *unit = "ac7 x"; *unit; unit++) {
            for (size_t i = 0; i < length; i++)
                buf_add_char(&text, *unit);
            if (*unit == 'a')
                buf_add_char(&text, 'b');
        }
        struct pieces pieces = split(splitter, buf_str(&text));
        uint32_t n = (uint32_t)length, i = 0;
        assert_int_equal(pieces.count, length > 1 ? 5 : 4);
        assert_int_equal(pieces.items[i].from, 0);
        assert_int_equal(pieces.items[i++].to, n + 1);
        assert_int_equal(pieces.items[i].from, 2 * n + 1);
        assert_int_equal(pieces.items[i++].to, 3 * n + 1);
        if (length > 1)
            assert_int_equal(pieces.items[i++].to, 4 * n);
        assert_int_equal(pieces.items[i++].to, 4 * n + 1);
        assert_int_equal(pieces.items[i].from, 5 * n);
        free(pieces.items);
    }
    assert_false(splitter_gave_up(splitter));
    buf_finish(&text);
    splitter_destroy(splitter);
}

static void unicode_class__knows_the_editions(void **state)
{
    (void)state;
    assert_true(unicode_class('a') & UNICODE_LL);
    assert_true(unicode_class(0x1E030) & UNICODE_LM); /* Unicode 15 */
    assert_true(unicode_class(0x10D4A) & UNICODE_LO); /* Unicode 16 */
    assert_true(unicode_class(0x11DE0) & UNICODE_CN); /* Unicode 17 */
    assert_true(unicode_is_numeric(0x11DE0));
    assert_true(unicode_is_numeric('7') && unicode_is_numeric(0xBD) && !unicode_is_numeric('x'));
    assert_true(unicode_is_punctuation('$') && unicode_is_punctuation(0x3002) && !unicode_is_punctuation(0x20AC));
    assert_false(unicode_is_punctuation(0x2E43)); /* newer than that list */
    assert_true(unicode_is_whitespace(0x85) && unicode_is_whitespace(0x3000) && !unicode_is_whitespace(0x200B));
    assert_true(unicode_is_word('_') && unicode_is_word(0x200D) && !unicode_is_word(0xB2));
    assert_true(unicode_is_mark(0x301) && unicode_is_mark(0x903) && !unicode_is_mark('a'));
    assert_true(unicode_class(0x110000) == UNICODE_CN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splitter__equals_pcre2_on_all_pairs),
        cmocka_unit_test(splitter__equals_pcre2_on_all_triples),
        cmocka_unit_test(splitter__equals_pcre2_on_random_text),
        cmocka_unit_test(splitter__equals_pcre2_on_ascii_in_blocks),
        cmocka_unit_test(splitter__joins_patterns_that_follow_each_other),
        cmocka_unit_test(splitter__reads_nothing_behind_the_text),
        cmocka_unit_test(splitter__equals_pcre2_on_every_code_point),
        cmocka_unit_test(splitter__splits_as_the_libraries_do),
        cmocka_unit_test(splitter__gives_pieces_of_gpt2),
        cmocka_unit_test(splitter__keeps_empty_matches),
        cmocka_unit_test(splitter__finds_literal_text),
        cmocka_unit_test(splitter__refuses_by_name),
        cmocka_unit_test(splitter__refuses_what_is_too_large),
        cmocka_unit_test(splitter__stays_linear),
        cmocka_unit_test(splitter__ends_long_matches),
        cmocka_unit_test(splitter__gives_up_where_ways_never_end),
        cmocka_unit_test(splitter__finds_matches_of_any_length),
        cmocka_unit_test(unicode_class__knows_the_editions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
