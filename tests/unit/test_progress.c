/* How a run looks: lines from state, and what may never reach a terminal. */
#include "cli/progress.h"
#include "cli/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void progress__scales_numbers(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        const char *tokens, *time, *bytes;
    } cases[] = {
        {0, "0", "0:00", "0 B"},
        {1023, "1023", "0:01", "1023 B"},
        {1024, "1k", "0:01", "1 KB"},
        {1500, "1.5k", "0:01", "1.5 KB"},
        {112640, "110k", "1:52", "110 KB"},
        {3600000, "3.4M", "1:00:00", "3.4 MB"},
        {9000000, "8.6M", "2:30:00", "8.6 MB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, BUF_UNBOUNDED);
        progress_add_tokens(&out, cases[i].value);
        buf_add_char(&out, '|');
        progress_add_time(&out, cases[i].value);
        buf_add_char(&out, '|');
        progress_add_bytes(&out, (size_t)cases[i].value);
        char expected[80];
        snprintf(expected, sizeof expected, "%s|%s|%s", cases[i].tokens, cases[i].time, cases[i].bytes);
        assert_string_equal(out.data, expected);
        buf_finish(&out);
    }
}

#define DOT " \xC2\xB7 "

static void progress__drops_parts_where_it_is_narrow(void **state)
{
    (void)state;
    const struct progress progress = {.round = 3,
                                      .model_calls = 4,
                                      .max_calls = 100,
                                      .context_tokens = 12595,
                                      .context_limit = 112640,
                                      .elapsed_ms = 83000,
                                      .time_limit_ms = 9000000,
                                      .cost_usd = 0.0123,
                                      .activity = "search, visit"};
    static const struct {
        size_t columns;
        const char *line;
    } cases[] = {
        {100, "round 3" DOT "call 4/100" DOT "12.3k/110k tokens" DOT "1:23/2:30:00" DOT "$0.0123" DOT "search, visit"},
        {80, "round 3" DOT "call 4/100" DOT "12.3k/110k tokens" DOT "1:23/2:30:00" DOT "$0.0123"},
        {60, "round 3" DOT "12.3k/110k tokens" DOT "1:23/2:30:00" DOT "$0.0123"},
        {34, "round 3" DOT "1:23/2:30:00" DOT "$0.0123"},
        {22, "round 3" DOT "1:23/2:30:00"},
        {12, "1:23/2:30:00"},
        {11, "round 3"},
        {3, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, BUF_UNBOUNDED);
        progress_line(&progress, cases[i].columns, &out);
        assert_string_equal(out.data != NULL ? out.data : "", cases[i].line);
        assert_true(terminal_columns(buf_str(&out)) <= cases[i].columns);
        buf_finish(&out);
    }
    struct progress plain = progress;
    plain.cost_usd = -1;
    plain.time_limit_ms = 0;
    plain.activity = NULL;
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    progress_line(&plain, 100, &out);
    assert_string_equal(out.data, "round 3" DOT "call 4/100" DOT "12.3k/110k tokens" DOT "1:23");
    buf_finish(&out);
}

static void progress__fits_every_width(void **state)
{
    (void)state;
    const struct progress progress = {.round = 100,
                                      .model_calls = 99,
                                      .max_calls = 100,
                                      .context_tokens = 112639,
                                      .context_limit = 112640,
                                      .elapsed_ms = 8999000,
                                      .time_limit_ms = 9000000,
                                      .cost_usd = 12.5,
                                      .activity = "\xE6\x90\x9C\xE7\xB4\xA2"}; /* two wide characters */
    for (size_t columns = 0; columns < 130; columns++) {
        struct buf out;
        buf_init(&out, BUF_UNBOUNDED);
        progress_line(&progress, columns, &out);
        assert_true(terminal_columns(buf_str(&out)) <= columns);
        buf_finish(&out);
    }
}

static void progress__shows_calls(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        size_t columns;
        const char *line;
    } cases[] = {
        {"{\"query\": [\"first\", \"second\"]}", 80, "tool \"first\", \"second\""},
        {"{\"url\": [\"http://a/\"], \"goal\": \"who\"}", 80, "tool \"http://a/\"; goal \"who\""},
        {"{\"query\": [\"a\\u001b[2Jb\\nc\"]}", 80, "tool \"a\xEF\xBF\xBD[2Jb c\""},
        {"{\"n\": 3, \"deep\": {\"a\": null}}", 80, "tool 3; deep {\"a\":null}"},
        {"{\"query\": [\"a long query\"]}", 12, "tool \"a lon\xE2\x80\xA6"},
        {"{}", 80, "tool"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        json_t *arguments = NULL;
        buf_init(&out, BUF_UNBOUNDED);
        assert_int_equal(json_parse(str_of(cases[i].arguments), &arguments, NULL), STATUS_OK);
        progress_call("tool", arguments, STR(""), cases[i].columns, &out);
        assert_string_equal(out.data, cases[i].line);
        json_decref(arguments);
        buf_finish(&out);
    }
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    progress_call("python", NULL, STR("\nprint(1)\n"), 80, &out);
    assert_string_equal(out.data, "python print(1)");
    buf_finish(&out);
}

static void progress__shows_results(void **state)
{
    (void)state;
    static const struct {
        enum tool_outcome_status status;
        size_t n_sources;
        const char *text, *line;
    } cases[] = {
        {OUTCOME_OK, 1, "0123456789", "visit: 1 source, 10 B in 1.2 s"},
        {OUTCOME_OK, 0, "0123456789", "visit: 10 B in 1.2 s"},
        {OUTCOME_FAILED, 0, "\nno such\x1b]0;x\x07 host\nmore",
         "visit failed: no such\xEF\xBF\xBD]0;x\xEF\xBF\xBD host"},
        {OUTCOME_TIMEOUT, 0, "late", "visit took too long: stopped after 1.2 s"},
        {OUTCOME_INTERRUPTED, 0, "", "visit was interrupted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        const struct notice notice = {.kind = NOTICE_TOOL_FINISHED,
                                      .name = "visit",
                                      .status = cases[i].status,
                                      .n_sources = cases[i].n_sources,
                                      .text = str_of(cases[i].text),
                                      .elapsed_ms = 1234};
        buf_init(&out, BUF_UNBOUNDED);
        progress_result(&notice, 80, &out);
        assert_string_equal(out.data, cases[i].line);
        buf_finish(&out);
    }
}

static void terminal__cleans_what_others_wrote(void **state)
{
    (void)state;
#define BAD "\xEF\xBF\xBD"
    static const struct {
        const char *in, *lines, *one_line;
    } cases[] = {
        {"plain \xC3\xA4\n\tnext", "plain \xC3\xA4\n\tnext", "plain \xC3\xA4 next"},
        {"a\x1b[31mred\x1b[0m", "a" BAD "[31mred" BAD "[0m", "a" BAD "[31mred" BAD "[0m"},
        {"bell\a back\b del\x7f", "bell" BAD " back" BAD " del" BAD, "bell" BAD " back" BAD " del" BAD},
        {"c1 \xC2\x9b"
         "31m",
         "c1 " BAD "31m", "c1 " BAD "31m"}, /* CSI in one character */
        {"raw \x9b"
         "31m",
         "raw " BAD "31m", "raw " BAD "31m"}, /* and as a lone byte */
        {"over\rwrite\r\nline", "over" BAD "write\nline", "over" BAD "write line"},
        {"rtl \xE2\x80\xAE"
         "x",
         "rtl " BAD "x", "rtl " BAD "x"},
        {"iso \xE2\x81\xA6"
         "x",
         "iso " BAD "x", "iso " BAD "x"},
        {"sep\xE2\x80\xA8"
         "x",
         "sep" BAD "x", "sep" BAD "x"},
        {"a \n\n b", "a \n\n b", "a b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf lines, one_line;
        buf_init(&lines, BUF_UNBOUNDED);
        buf_init(&one_line, BUF_UNBOUNDED);
        terminal_clean(&lines, str_of(cases[i].in), false);
        terminal_clean(&one_line, str_of(cases[i].in), true);
        assert_string_equal(lines.data, cases[i].lines);
        assert_string_equal(one_line.data, cases[i].one_line);
        buf_finish(&lines);
        buf_finish(&one_line);
    }
    struct buf all;
    char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    buf_init(&all, BUF_UNBOUNDED);
    terminal_clean(&all, str_make(bytes, sizeof bytes), true);
    for (size_t i = 0; i < all.len; i++)
        assert_true((unsigned char)all.data[i] >= 0x20 && all.data[i] != 0x7f);
    buf_finish(&all);
}

static void terminal__measures_columns(void **state)
{
    (void)state;
    assert_int_equal(terminal_columns(STR("abc")), 3);
    assert_int_equal(terminal_columns(STR("\xE6\x90\x9C\xE7\xB4\xA2")), 4);
    assert_int_equal(terminal_columns(STR("e\xCC\x81")), 1); /* a combining accent takes none */
    static const struct {
        const char *text;
        size_t columns;
        const char *fitted;
    } cases[] = {
        {"abcdef", 6, "abcdef"},
        {"abcdef", 5, "abcd\xE2\x80\xA6"},
        {"abcdef", 1, "\xE2\x80\xA6"},
        {"abcdef", 0, ""},
        {"\xE6\x90\x9C\xE7\xB4\xA2", 4, "\xE6\x90\x9C\xE7\xB4\xA2"},
        {"\xE6\x90\x9C\xE7\xB4\xA2", 3, "\xE6\x90\x9C\xE2\x80\xA6"},
        {"\xE6\x90\x9C\xE7\xB4\xA2", 2, "\xE2\x80\xA6"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, BUF_UNBOUNDED);
        size_t taken = terminal_fit(&out, str_of(cases[i].text), cases[i].columns);
        assert_string_equal(out.data != NULL ? out.data : "", cases[i].fitted);
        assert_int_equal(taken, terminal_columns(buf_str(&out)));
        assert_true(taken <= cases[i].columns);
        buf_finish(&out);
    }
}

static void terminal__wraps_at_blanks(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, BUF_UNBOUNDED);
    terminal_wrap(&out, STR("one two three  four averyverylongword five"), 12, 2);
    assert_string_equal(out.data, "one two\n  three four\n  averyverylongword\n  five");
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress__scales_numbers),   cmocka_unit_test(progress__drops_parts_where_it_is_narrow),
        cmocka_unit_test(progress__fits_every_width), cmocka_unit_test(progress__shows_calls),
        cmocka_unit_test(progress__shows_results),    cmocka_unit_test(terminal__cleans_what_others_wrote),
        cmocka_unit_test(terminal__measures_columns), cmocka_unit_test(terminal__wraps_at_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
