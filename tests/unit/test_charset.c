/* Character sets: found by mark, header, declaration and guess; converted with replacement, capped. */
#include "text/charset.h"

#include <iconv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/utf8.h"

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

/* UTF-8 to another set by iconv, for bytes to read. */
static void encode(const char *text, const char *name, struct buf *out)
{
    iconv_t converter = iconv_open(name, "utf-8");
    assert_true(converter != (iconv_t)-1);
    char *in = (char *)(uintptr_t)text, chunk[4096], *end = chunk;
    size_t left = strlen(text), room = sizeof chunk;
    assert_int_not_equal(iconv(converter, &in, &left, &end, &room), (size_t)-1);
    iconv(converter, NULL, NULL, &end, &room);
    assert_int_equal(buf_append(out, chunk, (size_t)(end - chunk)), STATUS_OK);
    iconv_close(converter);
}

static const char russian[] = "<p>Правительство утвердило новую программу развития железных дорог. Строительство "
                              "начнётся весной следующего года, сообщила пресс-служба министерства.</p>";
static const char greek[] = "<p>Η κυβέρνηση ενέκρινε ένα νέο πρόγραμμα ανάπτυξης των σιδηροδρόμων. Οι εργασίες θα "
                            "αρχίσουν την άνοιξη του επόμενου έτους, ανακοίνωσε το υπουργείο.</p>";
static const char chinese[] =
    "<p>政府批准了新的铁路发展计划。有关部门表示，工程将于明年春天开工。这座城市的居民等待这个"
    "决定已经很久了，他们希望交通能够更加便利。</p>";
static const char traditional[] =
    "<p>政府批准了新的鐵路發展計畫。有關部門表示，工程將於明年春天開工。這座城市的居民等待"
    "這個決定已經很久了，他們希望交通能夠更加便利。</p>";
static const char japanese[] =
    "<p>政府は鉄道の新しい整備計画を承認した。工事は来年の春に始まると国土交通省が発表した。市民は"
    "この決定を長い間待っていた。</p>";
static const char korean[] =
    "<p>정부가 새로운 철도 개발 계획을 승인했다. 공사는 내년 봄에 시작될 예정이라고 국토교통부가 "
    "밝혔다. 시민들은 이 결정을 오랫동안 기다려 왔다.</p>";
static const char french[] = "<p>Le gouvernement a approuvé un programme. Les habitants étaient très impatients, et "
                             "l'été a été long à Orléans, près de la forêt où le maire était né.</p>";

static void charset__passes_over_labels_that_the_bytes_contradict(void **state)
{
    (void)state;
    static const struct {
        const char *text, *set, *label;
    } cases[] = {
        {russian, "windows-1251", "utf-8"},
        {russian, "koi8-r", "utf-8"},
        {russian, "koi8-r", "windows-1251"},
        {russian, "windows-1251", "iso-8859-1"},
        {russian, "iso-8859-5", "windows-1251"},
        {russian, "utf-8", "windows-1251"},
        {russian, "utf-8", "koi8-r"},
        {greek, "windows-1253", "utf-8"},
        {greek, "windows-1253", "iso-8859-1"},
        {chinese, "gbk", "utf-8"},
        {chinese, "gbk", "iso-8859-1"},
        {chinese, "utf-8", "gb2312"},
        {chinese, "utf-8", "iso-8859-1"},
        {traditional, "big5", "utf-8"},
        {traditional, "big5", "gb2312"},
        {traditional, "utf-8", "big5"},
        {japanese, "shift_jis", "utf-8"},
        {japanese, "euc-jp", "utf-8"},
        {japanese, "euc-jp", "shift_jis"},
        {japanese, "iso-2022-jp", "utf-8"},
        {japanese, "iso-2022-jp", "iso-8859-1"},
        {japanese, "utf-8", "shift_jis"},
        {korean, "euc-kr", "utf-8"},
        {korean, "utf-8", "euc-kr"},
        {french, "windows-1252", "utf-8"},
        {french, "windows-1252", "utf-16"},
        {french, "utf-8", "iso-8859-1"},
        {french, "utf-8", "us-ascii"},
        {french, "utf-8", "gbk"},
        {french, "utf-8", "utf-16"},
        {french, "utf-16le", "utf-8"},
        {french, "utf-16be", "utf-16"},
        {french, "utf-16le", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf bytes;
        buf_init(&bytes, 4096);
        encode(cases[i].text, cases[i].set, &bytes);
        char type[64];
        snprintf(type, sizeof type, "text/html; charset=%s", cases[i].label);
        assert_converts(buf_str(&bytes), type, true, cases[i].text);
        buf_finish(&bytes);
    }
}

static void charset__believes_labels_that_fit(void **state)
{
    (void)state;
    static const struct {
        const char *text, *label;
    } cases[] = {
        {russian, "windows-1251"},  {russian, "koi8-r"},      {russian, "iso-8859-5"},  {russian, "ibm866"},
        {greek, "iso-8859-7"},      {chinese, "gb2312"},      {chinese, "gb18030"},     {traditional, "gbk"},
        {traditional, "big5"},      {japanese, "shift_jis"},  {japanese, "euc-jp"},     {japanese, "iso-2022-jp"},
        {korean, "euc-kr"},         {french, "iso-8859-15"},  {french, "windows-1252"}, {"\xC3\xA9", "iso-8859-1"},
        {"ÉTÉ À ÇA", "iso-8859-1"}, {"пять", "windows-1251"}, {"联通", "gbk"},          {"漢", "big5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf bytes;
        buf_init(&bytes, 4096);
        encode(cases[i].text, cases[i].label, &bytes);
        char type[64];
        snprintf(type, sizeof type, "text/html; charset=\"%s\"", cases[i].label);
        assert_converts(buf_str(&bytes), type, true, cases[i].text);
        buf_finish(&bytes);
    }
}

static void charset__finds_the_declaration_as_browsers_do(void **state)
{
    (void)state;
    static const struct {
        const char *before, *name;
    } cases[] = {
        {"<!-- <meta charset=koi8-r> --><meta charset=windows-1251>", "windows-1251"},
        {"<script>'<meta charset=koi8-r>'</script><meta charset=windows-1251>", "windows-1251"},
        {"<title><meta charset=koi8-r></title><meta charset = 'windows-1251' >", "windows-1251"},
        {"<meta name=x content='charset=koi8-r'><meta charset=windows-1251>", "windows-1251"},
        {"<meta content=\"text/html; charset=windows-1251\" http-equiv=\"content-type\"/>", "windows-1251"},
        {"<meta name='a>b' charset=\"windows-1251\">", "windows-1251"},
        {"<meta charset=nonsense><meta charset=utf-7><META CHARSET=WINDOWS-1251>", "windows-1251"},
        {"<meta charset=x-user-defined>", "windows-1252"},
        {"<meta http-equiv=content-type content='text/html;charset=unicode'>", "utf-8"},
        {"<?xml version=\"1.0\" encoding='UTF-16'?><meta charset=koi8-r>", "utf-8"},
        {"  <?xml version=\"1.0\" encoding='koi8-r'?><meta charset=utf-8>", "koi8-r"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct charset_found found = charset_find(str_of(cases[i].before), STR("text/html"), true);
        assert_string_equal(found.name, cases[i].name);
        assert_int_equal(found.source, CHARSET_FROM_DOCUMENT);
    }
    char late[8000];
    int blanks = 6000;
    snprintf(late, sizeof late, "<html>%*s<meta charset=koi8-r>", blanks, "");
    assert_string_equal(charset_find(str_of(late), STR(""), true).name, "koi8-r");
}

static void charset__reads_every_kind_of_two_byte_set(void **state)
{
    (void)state;
    assert_converts(STR("\x95\x32\x82\x36\x80"), "text/plain; charset=gb18030", false, "\xF0\xA0\x80\x80€"); /* four */
    assert_converts(STR("\xAD\xA1\xAD\xE2"), "text/plain; charset=euc-jp", false, "①№");
    assert_converts(STR("\x1B$B-!F|\x1B(B a \x1B(I1\x1B(B"), "text/plain; charset=iso-2022-jp", false, "①日 a ｱ");
    assert_converts(STR("\x88\x62\xFC\xFF\xA4\xA4z"), "text/plain; charset=big5", false,
                    "\xC3\x8A\xCC\x84\xEF\xBF\xBD中z");
    /* a pair that is none takes both its bytes, unless the second is ASCII */
    assert_converts(STR("\xD6\xD0\xFE\xFF\xD6\xD0\x81 x"), "text/plain; charset=gbk", false,
                    "中\xEF\xBF\xBD中\xEF\xBF\xBD x");
    assert_converts(STR("\x3D\xD8\x00\xDE\x00\xD8x\0\0"), "text/plain; charset=utf-16le", false,
                    "😀\xEF\xBF\xBDx\xEF\xBF\xBD");
}

static void charset__drops_marks_written_twice(void **state)
{
    (void)state;
    assert_converts(STR("\xEF\xBB\xBF\xEF\xBB\xBF"
                        "a"),
                    "", false, "a");
    assert_converts(STR("\xC3\xAF\xC2\xBB\xC2\xBF&#xFEFF;&#65279;<p>"), "", true, "<p>");
}

static void charset__keeps_utf8_with_a_few_errors(void **state)
{
    (void)state;
    assert_converts(STR("caf\xC3\xA9 \xFF caf\xC3\xA9"), "text/html; charset=utf-8", true, "café \xEF\xBF\xBD café");
    /* of one stray byte in a text nobody knows more */
    assert_converts(STR("caf\xE9 cr\xE8me"), "text/html; charset=utf-8", true, "café crème");
}

/* Whatever the bytes, the result is valid UTF-8. */
static void charset__survives_noise_of_every_label(void **state)
{
    (void)state;
    static const char *const names[] = {"utf-8",        "utf-16le",  "utf-16be", "utf-32",       "gb18030",
                                        "big5",         "cp932",     "euc-jp",   "iso-2022-jp",  "iso-2022-kr",
                                        "euc-kr",       "johab",     "euc-tw",   "windows-1251", "windows-1255",
                                        "windows-1258", "macintosh", "viscii"};
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char noise[3000];
        for (size_t k = 0; k < sizeof noise; k++) {
            seed = seed * 1664525u + 1013904223u;
            noise[k] = (char)(seed >> 24);
        }
        struct buf out;
        buf_init(&out, 65536);
        char type[64];
        snprintf(type, sizeof type, "text/html; charset=%s", names[i]);
        for (size_t length = 0; length < 40; length++)
            assert_int_equal(charset_to_utf8(str_make(noise + length, length), str_of(type), true, &out, NULL),
                             STATUS_OK);
        assert_int_equal(charset_to_utf8(str_make(noise, sizeof noise), str_of(type), true, &out, NULL), STATUS_OK);
        buf_reset(&out);
        assert_int_equal(charset_convert(charset_of_label(str_of(names[i])), str_make(noise, sizeof noise), &out),
                         STATUS_OK);
        assert_true(utf8_is_valid(buf_str(&out)));
        buf_finish(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charset__labels_mean_what_browsers_mean),
        cmocka_unit_test(charset__converts_by_mark_header_declaration_and_bytes),
        cmocka_unit_test(charset__guesses_what_nobody_says),
        cmocka_unit_test(charset__replaces_what_is_wrong),
        cmocka_unit_test(charset__stops_at_the_cap_with_whole_characters),
        cmocka_unit_test(charset__passes_over_labels_that_the_bytes_contradict),
        cmocka_unit_test(charset__believes_labels_that_fit),
        cmocka_unit_test(charset__finds_the_declaration_as_browsers_do),
        cmocka_unit_test(charset__reads_every_kind_of_two_byte_set),
        cmocka_unit_test(charset__drops_marks_written_twice),
        cmocka_unit_test(charset__keeps_utf8_with_a_few_errors),
        cmocka_unit_test(charset__survives_noise_of_every_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
