/* Character sets: found by mark, header, declaration and guess; converted with replacement, capped. */
#include "text/charset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_converts(struct str bytes, const char *content_type, bool markup, const char *expected)
{
    struct buf out;
    buf_init(&out, 4096);
    assert_int_equal(charset_to_utf8(bytes, str_of(content_type), markup, &out, NULL), STATUS_OK);
    assert_string_equal(out.data ? out.data : "", expected);
    buf_finish(&out);
}

static void charset__labels_mean_what_browsers_mean(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"latin1", "windows-1252"},
        {"ISO-8859-1", "windows-1252"},
        {" US-ASCII ", "windows-1252"},
        {"gb2312", "gb18030"},
        {"GBK", "gb18030"},
        {"Shift_JIS", "cp932"},
        {"x-sjis", "cp932"},
        {"euc-kr", "cp949"},
        {"big5", "big5-hkscs"},
        {"iso-8859-9", "windows-1254"},
        {"UTF8", "utf-8"},
        {"koi8-r", "koi8-r"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(charset_of_label(str_of(cases[i][0])), cases[i][1]);
    assert_null(charset_of_label(STR("no-such-set")));
    assert_null(charset_of_label(STR("")));
}

static void charset__converts_by_mark_header_declaration_and_bytes(void **state)
{
    (void)state;
    assert_converts(STR("caf\xE9 \x93q\x94"), "text/html; charset=iso-8859-1", false, "café “q”");
    assert_converts(STR("\xEF\xBB\xBF"
                        "caf\xC3\xA9"),
                    "text/html; charset=latin1", false, "café");
    assert_converts(STR("\xFF\xFEh\0i\0"), "", false, "hi");
    assert_converts(STR("\xFE\xFF\0h\0i"), "", false, "hi");
    assert_converts(STR("<meta charset=\"windows-1251\"><p>\xCF\xF0\xE8\xE2\xE5\xF2"), "", true,
                    "<meta charset=\"windows-1251\"><p>Привет");
    assert_converts(STR("<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>\x93\xFA\x96\x7B"), "",
                    true, "<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>日本");
    assert_converts(STR("<?xml version='1.0' encoding='gb2312'?>\xD6\xD0"), "", true,
                    "<?xml version='1.0' encoding='gb2312'?>中");
    assert_converts(STR("plain caf\xC3\xA9"), "", false, "plain café");
    /* what can be read as ASCII is no UTF-16, and a declaration inside plain text means nothing */
    assert_converts(STR("<meta charset=utf-16>x"), "", true, "<meta charset=utf-16>x");
    assert_converts(STR(""), "text/plain; charset=", true, "");
}

static void charset__guesses_what_nobody_says(void **state)
{
    (void)state;
    struct charset_found found =
        charset_find(STR("\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0! \xDD\xF2\xEE \xEF\xF0\xEE\xF1\xF2\xEE\xE9 "
                         "\xF2\xE5\xEA\xF1\xF2 \xED\xE0 \xF0\xF3\xF1\xF1\xEA\xEE\xEC \xFF\xE7\xFB\xEA\xE5."),
                     STR(""), false);
    assert_string_equal(found.name, "windows-1251");
    assert_int_equal(found.source, CHARSET_FROM_BYTES);
}

static void charset__replaces_what_is_wrong(void **state)
{
    (void)state;
    assert_converts(STR("a\xFFz"), "text/plain; charset=utf-8", false, "a\xEF\xBF\xBDz");
    assert_converts(STR("a\x81"), "text/plain; charset=shift_jis", false, "a\xEF\xBF\xBD");
    assert_converts(STR("a\xA4\xA2\xFFz"), "text/plain; charset=euc-jp", false, "aあ\xEF\xBF\xBDz");
}

static void charset__stops_at_the_cap_with_whole_characters(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 5);
    assert_int_equal(charset_to_utf8(STR("\xC3\xA9\xC3\xA9\xC3\xA9"), STR("charset=utf-8"), false, &out, NULL),
                     STATUS_TOO_BIG);
    assert_int_equal(out.len, 4);
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charset__labels_mean_what_browsers_mean),
        cmocka_unit_test(charset__converts_by_mark_header_declaration_and_bytes),
        cmocka_unit_test(charset__guesses_what_nobody_says),
        cmocka_unit_test(charset__replaces_what_is_wrong),
        cmocka_unit_test(charset__stops_at_the_cap_with_whole_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
