/* Links of a page resolved against its base. */
#include "text/html/links.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_resolves(const struct html_base *base, const char *reference, enum html_link kind,
                            const char *expected)
{
    struct buf out;
    buf_init(&out, 65536);
    buf_add_text(&out, "");
    enum html_link found = html_base_resolve(base, str_of(reference), &out);
    if (found != kind || strcmp(out.data, expected) != 0)
        fail_msg("%s gave %d %s, not %d %s", reference, found, out.data, kind, expected);
    buf_finish(&out);
}

static void links__resolve_as_the_standard_says(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
#define REFERENCE(reference, address) {reference, address},
#include "tests/support/references.inc"
#undef REFERENCE
        {"%2e%2E/g", "http://a/b/g"},
        {"http:g", "http://a/b/c/g"},
        {"http:/g", "http://a/g"},
        {"https:/g/x", "https://g/x"},
        {"https:////g", "https://g/"},
        {"..\\g\\h", "http://a/b/g/h"},
        {"\\\\g\\h?a\\b", "http://g/h?a\\b"},
        {"  \n g h\t\r\n ", "http://a/b/c/g%20h"},
        {"/a\nb\tc", "http://a/abc"},
        {"/é?é=ö#é", "http://a/%C3%A9?%C3%A9=%C3%B6#%C3%A9"},
        {"/a%20b%zz", "http://a/a%20b%zz"},
        {"/a\"b<c>{d}'", "http://a/a%22b%3Cc%3E%7Bd%7D'"},
        {"/?a='b'&utm_source=x", "http://a/?a=%27b%27&utm_source=x"},
        {"HTTPS://User:Pw@ExAmple.COM:443", "https://User:Pw@example.com/"},
        {"http://x:8080/y", "http://x:8080/y"},
        {"http://x:80/", "http://x/"},
        {"https://x:80/", "https://x:80/"},
        {"http://münchen.de/ü", "http://münchen.de/%C3%BC"},
        {"http://[::1]:81/a", "http://[::1]:81/a"},
        {"a:b/c", NULL},
        {"javascript:alert(1)", NULL},
        {"JAVA\nSCRIPT:x", NULL},
        {" data:text/html,x", NULL},
        {"mailto:a@b", NULL},
        {"tel:+1", NULL},
        {"http://", NULL},
        {"https://:80/", NULL},
        {"http://a b/", NULL},
        {"//", NULL},
    };
    struct html_base base;
    html_base_init(&base, STR("http://a/b/c/d;p?q#f"), STR(""));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_resolves(&base, cases[i][0], cases[i][1] ? LINK_ADDRESS : LINK_NONE, cases[i][1] ? cases[i][1] : "");
    html_base_finish(&base);
}

static void links__tell_places_in_the_page(void **state)
{
    (void)state;
    struct html_base base;
    html_base_init(&base, STR("https://a.org/b?c=1"), STR("/other/"));
    assert_resolves(&base, "#note 1", LINK_WITHIN, "#note%201");
    assert_resolves(&base, "", LINK_WITHIN, "");
    assert_resolves(&base, "https://A.org/b?c=1#x", LINK_WITHIN, "#x");
    assert_resolves(&base, "https://a.org/b?c=12#x", LINK_ADDRESS, "https://a.org/b?c=12#x");
    assert_resolves(&base, "x#y", LINK_ADDRESS, "https://a.org/other/x#y");
    html_base_finish(&base);
}

static void links__take_the_page_s_own_base(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"https://a.org/b", "https://cdn.org/x/y?z#f", "https://cdn.org/x/g"},
        {"https://a.org/b", "/x/", "https://a.org/x/g"},
        {"https://a.org/b", "javascript:x", "https://a.org/g"},
        {"https://a.org/b", "//", "https://a.org/g"},
        {"", "https://a.org/b/", "https://a.org/b/g"},
        {"/file/x.html", "", "g"},
        {"", "/b/", "g"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct html_base base;
        html_base_init(&base, str_of(cases[i][0]), str_of(cases[i][1]));
        assert_resolves(&base, "g", LINK_ADDRESS, cases[i][2]);
        html_base_finish(&base);
    }
    struct html_base none = {0};
    assert_resolves(&none, "../a b?c#d", LINK_ADDRESS, "../a%20b?c#d");
    assert_resolves(&none, "https://x.org", LINK_ADDRESS, "https://x.org/");
    assert_resolves(&none, "javascript:x", LINK_NONE, "");
}

static void links__are_bounded(void **state)
{
    (void)state;
    struct html_base base;
    html_base_init(&base, STR("https://a.org/b/"), STR(""));
    struct buf dots, small;
    buf_init(&dots, BUF_UNBOUNDED);
    for (size_t i = 0; i < HTML_MAX_ADDRESS / 3; i++)
        buf_add_text(&dots, "../");
    assert_resolves(&base, dots.data, LINK_ADDRESS, "https://a.org/");
    buf_add_text(&dots, "xyz");
    assert_resolves(&base, dots.data, LINK_NONE, "");
    buf_finish(&dots);
    buf_init(&small, 10);
    assert_int_equal(html_base_resolve(&base, STR("x"), &small), LINK_NONE);
    buf_finish(&small);
    html_base_finish(&base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links__resolve_as_the_standard_says),
        cmocka_unit_test(links__tell_places_in_the_page),
        cmocka_unit_test(links__take_the_page_s_own_base),
        cmocka_unit_test(links__are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
