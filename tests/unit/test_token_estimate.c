/* The token estimate against counts of Qwen's own tokenizer (Qwen 2.5 and 3 give the same), recorded for texts of ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "text/token_estimate.h"

static const struct {
    const char *file;
    int64_t qwen, llama3;
} samples[] = {
    {"english.txt", 354, 346}, {"chinese.txt", 275, 343},  {"code.txt", 404, 401},
    {"json.txt", 456, 422},    {"log.txt", 2079, 1374},    {"machine.txt", 1827, 1574},
    {"russian.txt", 236, 226}, {"japanese.txt", 181, 192}, {"german.txt", 190, 185},
};

#define SAMPLE_COUNT (sizeof samples / sizeof samples[0])

static char *sample(size_t i, struct str *text)
{
    struct buf contents;
    struct error error;
    char *path = mem_printf("%s/tokens/%s", TEST_DATA, samples[i].file);
    buf_init(&contents, 1 << 20);
    if (file_read(path, &contents, &error) != STATUS_OK)
        fail_msg("%s: %s", path, error.message);
    free(path);
    size_t len = contents.len;
    char *data = buf_take(&contents);
    *text = str_make(data, len);
    return data;
}

static void token_estimate__errs_high_by_at_most_15_percent(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        struct str text;
        char *data = sample(i, &text);
        int64_t estimate = token_estimate_text(text);
        if (estimate < samples[i].qwen || (double)estimate > 1.15 * (double)samples[i].qwen)
            fail_msg("%s: %lld for %lld", samples[i].file, (long long)estimate, (long long)samples[i].qwen);
        free(data);
    }
}

static void token_estimate__least_is_below_every_vocabulary(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        struct str text;
        char *data = sample(i, &text);
        struct token_estimate estimate;
        token_estimate_init(&estimate);
        token_estimate_feed(&estimate, text);
        int64_t least = token_estimate_least(&estimate);
        assert_true(least <= samples[i].qwen && least <= samples[i].llama3);
        assert_true(least * 2 > samples[i].llama3);
        free(data);
    }
}

static int64_t count_in_pieces(struct str text, size_t piece)
{
    struct token_estimate estimate;
    token_estimate_init(&estimate);
    for (size_t i = 0; i < text.len; i += piece)
        token_estimate_feed(&estimate, str_slice(text, i, i + piece));
    return token_estimate_count(&estimate);
}

static void token_estimate__cuts_change_nothing(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 2, 3, 7, 64, 1000};
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        struct str text;
        char *data = sample(i, &text);
        for (size_t k = 0; k < sizeof pieces / sizeof pieces[0]; k++)
            assert_int_equal(count_in_pieces(text, pieces[k]), token_estimate_text(text));
        free(data);
    }
}

/* Everything that can stand at a cut: words, digits, marks, blanks of all kinds, wide characters, bytes that are no
 * UTF-8. */
static const char mixed[] =
    "The  \t\n\n  \"quick_brown-Fox\"() 12345 3.14 \xE4\xB8\xAD\xE6\x96\x87\xEF\xBC\x8C abc\xE4\xB8\xAD"
    "\xF0\x9F\x98\x80\xF0\x9F\x98\x80 \xD0\xBF\xD1\x80\xD0\xB8 \xC3\xA9t\xC3\xA9\xFF\xC0\x80 \xE4\xB8 x\xF0\x9F"
    "\r\n\t\tvoid*p=&q->next[0];//====== aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xE3\x80\x80\xC2\xA0 end "
    "\xF0\x9F\x98";

static void token_estimate__every_place_can_be_cut(void **state)
{
    (void)state;
    struct str text = STR(mixed);
    int64_t whole = token_estimate_text(text);
    for (size_t cut = 0; cut <= text.len; cut++) {
        struct token_estimate estimate;
        token_estimate_init(&estimate);
        token_estimate_feed(&estimate, str_slice(text, 0, cut));
        assert_true(token_estimate_count(&estimate) <= whole + 2); /* asking does not end a piece */
        token_estimate_feed(&estimate, str_slice(text, cut, text.len));
        assert_int_equal(token_estimate_count(&estimate), whole);
    }
}

static void token_estimate__counts_nothing_and_little(void **state)
{
    (void)state;
    assert_int_equal(token_estimate_text((struct str){0}), 0);
    assert_int_equal(token_estimate_text(STR("a")), 2); /* rounded up */
    assert_true(token_estimate_text(STR("1234567890")) >= 10);
    assert_true(token_estimate_text(STR("\xFF\xFF\xFF\xFF")) >= 4);
}

static void token_estimate__long_runs_cost_little_and_something(void **state)
{
    (void)state;
    static const struct {
        char c;
        int64_t least, most; /* tokens for 100,000 of it */
    } cases[] = {{' ', 500, 3000}, {'\n', 500, 110000}, {'-', 800, 20000}, {'a', 5000, 60000}, {'7', 100000, 115000}};
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_reset(&text);
        for (int k = 0; k < 100000; k++)
            buf_add_char(&text, cases[i].c);
        int64_t estimate = token_estimate_text(buf_str(&text));
        if (estimate < cases[i].least || estimate > cases[i].most)
            fail_msg("'%c': %lld", cases[i].c, (long long)estimate);
    }
    buf_finish(&text);
}

static void token_estimate__fits_a_prefix(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        struct str text;
        char *data = sample(i, &text);
        int64_t all = token_estimate_text(text);
        assert_int_equal(token_estimate_fit(text, all), text.len);
        assert_int_equal(token_estimate_fit(text, 0), 0);
        assert_int_equal(token_estimate_fit(text, -5), 0);
        for (int64_t tokens = 1; tokens < all; tokens += 1 + all / 40) {
            size_t fits = token_estimate_fit(text, tokens);
            struct str prefix = str_slice(text, 0, fits);
            assert_true(utf8_is_valid(prefix));
            assert_true(token_estimate_text(prefix) <= tokens);
            assert_true(token_estimate_text(str_slice(text, 0, fits + 24)) > tokens - 1);
        }
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_estimate__errs_high_by_at_most_15_percent),
        cmocka_unit_test(token_estimate__least_is_below_every_vocabulary),
        cmocka_unit_test(token_estimate__cuts_change_nothing),
        cmocka_unit_test(token_estimate__every_place_can_be_cut),
        cmocka_unit_test(token_estimate__counts_nothing_and_little),
        cmocka_unit_test(token_estimate__long_runs_cost_little_and_something),
        cmocka_unit_test(token_estimate__fits_a_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
