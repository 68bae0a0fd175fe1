#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/buf.h"
#include "net/robots.h"

static void robots__decides(void **state)
{
    (void)state;
    static const struct {
        const char *text, *target;
        bool allowed;
    } cases[] = {
        /* nothing that forbids */
        {"", "/x", true},
        {"User-agent: *\n", "/x", true},
        {"User-agent: *\nDisallow:\n", "/x", true},
        {"Disallow: /\n", "/x", true}, /* in no group */
        {"<html>User-agent: * Disallow: /</html>", "/x", true},
        {"User-agent: Other\nDisallow: /\n", "/x", true},
        /* groups */
        {"User-agent: *\nDisallow: /\n", "/", false},
        {"User-agent: *\nDisallow: /\n", "/robots.txt", true},
        {"user-AGENT:*\nDISALLOW:/x", "/x", false},
        {"User-agent: Fathom\nDisallow: /x\n", "/x", false},
        {"User-agent: fathom/2.0 (x)\nDisallow: /x\n", "/x", false},
        {"User-agent: Fathomer\nDisallow: /x\n", "/x", true},
        {"User-agent: *\nDisallow: /\n\nUser-agent: Fathom\nDisallow: /x\n", "/y", true},
        {"User-agent: Fathom\nDisallow: /x\n\nUser-agent: *\nDisallow: /\n", "/x", false},
        {"User-agent: Fathom\n\nUser-agent: *\nDisallow: /\n", "/y", false}, /* one run of names */
        {"User-agent: A\nUser-agent: Fathom\nUser-agent: B\nDisallow: /x\n", "/x", false},
        {"User-agent: Fathom\nDisallow: /x\nUser-agent: B\nDisallow: /y\n", "/y", true},
        {"User-agent: Fathom\nDisallow: /x\nUser-agent: B\nDisallow: /y\nUser-agent: fathom\nDisallow: /z\n", "/z",
         false},
        {"User-agent: Fathom\nDisallow: /x\nUser-agent: B\nDisallow: /y\nUser-agent: fathom\nDisallow: /z\n", "/x",
         false},
        {"User-agent: *\nSitemap: https://e.example/s\nDisallow: /x\n", "/x", false},
        {"User-agent: *\nCrawl-delay: 5\nUser-agent: B\nDisallow: /x\n", "/x", false},
        /* the form of lines */
        {"\xEF\xBB\xBFUser-agent: *\nDisallow: /x\n", "/x", false},
        {"User-agent: *\r\nDisallow: /x\r\n", "/x", false},
        {"User-agent: *\rDisallow: /x\r", "/x", false},
        {"  User-agent :\t* # all\n  Disallow :  /x # secret\n", "/x", false},
        {"User-agent: *\nDisallow: /x#y\n", "/x", false},
        {"# User-agent: *\nDisallow: /x\n", "/x", true},
        {"User-agent: *\nDisallow /x\n", "/x", true},
        {"User-agent: *\nDisallow: x\n", "/x", true},
        {"User-agent: *\nDisallow: /x", "/xyz", false},
        {"User-agent: *\nDisallow: /x/", "/x", true},
        {"User-agent: *\nDisallow: /X", "/x", true},
        /* the longest decides, Allow where equal */
        {"User-agent: *\nDisallow: /a\nAllow: /a/b\n", "/a/b/c", true},
        {"User-agent: *\nAllow: /a/b\nDisallow: /a\n", "/a/c", false},
        {"User-agent: *\nAllow: /a\nDisallow: /a\n", "/a", true},
        {"User-agent: *\nDisallow: /a\nAllow: /a\n", "/a", true},
        {"User-agent: *\nAllow: /p\nDisallow: /\n", "/page", true},
        {"User-agent: *\nAllow: /folder\nDisallow: /folder\n", "/folder/page", true},
        {"User-agent: *\nAllow: /page\nDisallow: /*.htm\n", "/page.htm", false},
        {"User-agent: *\nAllow: /page\nDisallow: /*.ph\n", "/page.php5", true},
        {"User-agent: *\nAllow: /page\nDisallow: /*.php\n", "/page.php5", false},
        {"User-agent: *\nAllow: /$\nDisallow: /\n", "/", true},
        {"User-agent: *\nAllow: /$\nDisallow: /\n", "/page.htm", false},
        /* "*" and "$" */
        {"User-agent: *\nDisallow: /fish*\n", "/fishheads/yummy.html", false},
        {"User-agent: *\nDisallow: /*.php\n", "/folder/filename.php?parameters", false},
        {"User-agent: *\nDisallow: /*.php$\n", "/filename.php?parameters", true},
        {"User-agent: *\nDisallow: /*.php$\n", "/a.php/b.php", false},
        {"User-agent: *\nDisallow: /fish*.php\n", "/Fish.PHP", true},
        {"User-agent: *\nDisallow: /a*b*c$\n", "/abcbcxbc", false},
        {"User-agent: *\nDisallow: *\n", "/x", false},
        {"User-agent: *\nDisallow: */x\n", "/y/x", false},
        {"User-agent: *\nDisallow: /a$b\n", "/a$bc", false},
        {"User-agent: *\nDisallow: /x**$\n", "/xyz", false},
        {"User-agent: *\nDisallow: /*?\n", "/x?y", false},
        {"User-agent: *\nDisallow: /*?\n", "/x", true},
        /* escapes */
        {"User-agent: *\nDisallow: /foo/bar?baz=https://foo.bar\n", "/foo/bar?baz=https://foo.bar", false},
        {"User-agent: *\nDisallow: /foo/bar/\xE3\x83\x84\n", "/foo/bar/%E3%83%84", false},
        {"User-agent: *\nDisallow: /foo/bar/%e3%83%84\n", "/foo/bar/%E3%83%84", false},
        {"User-agent: *\nDisallow: /foo/bar/%62%61%7A\n", "/foo/bar/baz", false},
        {"User-agent: *\nDisallow: /%7Ejoe/\n", "/~joe/x", false},
        {"User-agent: *\nDisallow: /a%2Fb\n", "/a/b", true},
        {"User-agent: *\nDisallow: /a%2fb\n", "/a%2Fb", false},
        {"User-agent: *\nDisallow: /a%2A\n", "/ab", true},
        {"User-agent: *\nDisallow: /100%\n", "/100%", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct robots *robots = robots_parse(str_of(cases[i].text), STR(ROBOTS_PRODUCT));
        if (robots_allows(robots, str_of(cases[i].target)) != cases[i].allowed)
            fail_msg("%s is not %s by:\n%s", cases[i].target, cases[i].allowed ? "allowed" : "forbidden",
                     cases[i].text);
        robots_destroy(robots);
    }
    assert_true(robots_allows(NULL, STR("/x")));
}

static void robots__reads_no_more_than_its_cap(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, "User-agent: *\nDisallow: /early\n");
    while (text.len < ROBOTS_MAX_BYTES)
        buf_add_text(&text, "# nothing here\n");
    buf_add_text(&text, "Disallow: /late\n");
    struct robots *robots = robots_parse(buf_str(&text), STR(ROBOTS_PRODUCT));
    assert_false(robots_allows(robots, STR("/early")));
    assert_true(robots_allows(robots, STR("/late")));
    robots_destroy(robots);
    buf_finish(&text);
}

/* Without an end to it this test would take minutes. */
static void robots__is_not_held_up(void **state)
{
    (void)state;
    struct buf text, target;
    buf_init(&text, BUF_UNBOUNDED);
    buf_init(&target, BUF_UNBOUNDED);
    buf_add_text(&text, "User-agent: *\n");
    while (text.len < ROBOTS_MAX_BYTES - 5000) {
        buf_add_text(&text, "Disallow: /*");
        for (int i = 0; i < 4000; i++)
            buf_add_char(&text, 'a');
        buf_add_text(&text, "b\n");
    }
    buf_add_char(&target, '/');
    for (int i = 0; i < 16000; i++)
        buf_add_char(&target, 'a');
    struct robots *robots = robots_parse(buf_str(&text), STR(ROBOTS_PRODUCT));
    assert_false(robots_allows(robots, buf_str(&target)));
    assert_true(robots_allows(robots, STR("/short")));
    robots_destroy(robots);
    buf_finish(&target);
    buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(robots__decides),
        cmocka_unit_test(robots__reads_no_more_than_its_cap),
        cmocka_unit_test(robots__is_not_held_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
