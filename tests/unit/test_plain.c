#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "text/plain.h"

#include <string.h>
#include <time.h>

static void plain__leaves_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *markup, *text;
    } cases[] = {
        {"", ""},
        {"nothing to do", "nothing to do"},
        {"the <strong>light</strong>house of <span class=\"searchmatch\">Kell</span>", "the lighthouse of Kell"},
        {"one<br/>two<p>three</p><b>four</b>", "one two three four"},
        {"<jats:p>In 1857 <jats:italic>Kell</jats:italic> burned.</jats:p>", " In 1857 Kell burned. "},
        {"a &lt;b&gt; &amp;amp; &quot;c&quot; &#39;d&#39; &#x27;e&#x27; &apos;f&apos;",
         "a <b> &amp; \"c\" 'd' 'e' 'f'"},
        {"caf&eacute; &ndash; 5&nbsp;m &Omega; &hellip;", "café – 5 m Ω …"},
        {"AT&T &unknown; &; &#; &#x; &amp", "AT&T &unknown; &; &#; &#x; &amp"},
        {"&#0; &#xD800; &#1114112; &#99999999999999;", "� � � �"},
        {"a < b and c > d", "a < b and c > d"},
        {"3<4 but x<y", "3<4 but x<y"},
        {"cut off <stro", "cut off <stro"},
        {"<!-- hidden > still --> seen", " seen"},
        {"<!-- never closed", "<!-- never closed"},
        {"<script>alert('<b>x</b>')</script>after", "after"},
        {"before<STYLE>p > a {}</STYLE >after", "beforeafter"},
        {"<script>no end", ""},
        {"<?xml version=\"1.0\"?><!DOCTYPE html>x", "x"},
        {"<averyveryveryveryveryveryverylongname>x</averyveryveryveryveryveryverylongname>", "x"},
        {"bytes \xff stay", "bytes \xff stay"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, 10000);
        assert_int_equal(plain_from_markup(&out, str_of(cases[i].markup)), STATUS_OK);
        assert_string_equal(out.data ? out.data : "", cases[i].text);
        buf_finish(&out);
    }
}

static void plain__keeps_its_cap(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 8);
    assert_int_equal(plain_from_markup(&out, STR("<b>0123456789</b>")), STATUS_TOO_BIG);
    assert_string_equal(out.data, "01234567");
    buf_finish(&out);
}

/* Each of these would take minutes if every "<" or "&" were followed to the end of the text. */
static void plain__is_linear(void **state)
{
    (void)state;
    static const char *const parts[] = {"<a", "<!--", "&aaaa", "<script>", "<b>", "</", "<!-- a -->", "&#x;"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct buf markup, out;
        buf_init(&markup, BUF_UNBOUNDED);
        buf_init(&out, BUF_UNBOUNDED);
        while (markup.len < 500000)
            buf_add_text(&markup, parts[i]);
        clock_t began = clock();
        assert_int_equal(plain_from_markup(&out, buf_str(&markup)), STATUS_OK);
        assert_true(clock() - began < 2 * CLOCKS_PER_SEC);
        buf_finish(&markup);
        buf_finish(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain__leaves_the_text),
        cmocka_unit_test(plain__keeps_its_cap),
        cmocka_unit_test(plain__is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
