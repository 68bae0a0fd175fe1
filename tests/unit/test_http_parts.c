/* The pure parts of the net room: waiting times and URLs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/retry.h"
#include "net/url.h"

static void retry__waits_double_up_to_the_cap(void **state)
{
    (void)state;
    static const int64_t full[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};
    for (unsigned tries = 1; tries <= sizeof full / sizeof full[0]; tries++) {
        int64_t nominal = full[tries - 1];
        assert_int_equal(retry_delay_ms(tries, -1, 0), nominal / 2);
        assert_int_equal(retry_delay_ms(tries, -1, 0.5), nominal * 3 / 4);
        assert_in_range(retry_delay_ms(tries, -1, 0.999999), nominal - 2, nominal);
    }
    assert_in_range(retry_delay_ms(4000000000u, -1, 0.999999), 29990, 30000);
}

static void retry__is_never_earlier_than_the_server_said(void **state)
{
    (void)state;
    assert_int_equal(retry_delay_ms(1, 0, 0.99), 0);
    assert_int_equal(retry_delay_ms(5, 20000, 0), 20000);
    assert_in_range(retry_delay_ms(5, 20000, 0.999), 20000, 21000);
    assert_in_range(retry_delay_ms(1, 1000, 0.999), 1000, 1100);
    assert_in_range(retry_delay_ms(1, RETRY_AFTER_MAX_MS, 0.999), 600000, 601000);
}

static void retry__reads_retry_after(void **state)
{
    (void)state;
    const int64_t now = 784111777; /* Sun, 06 Nov 1994 08:49:37 GMT */
    static const struct {
        const char *value;
        int64_t ms;
    } cases[] = {
        {NULL, -1},
        {"", -1},
        {" ", -1},
        {"soon", -1},
        {"-1", -1},
        {"1 s", -1},
        {"0x10", -1},
        {"1e3", -1},
        {"inf", -1},
        {"nan", -1},
        {"0", 0},
        {"7", 7000},
        {" 7 ", 7000},
        {"1.5", 1500},
        {"0.0001", 1},
        {"600", 600000},
        {"601", 600000},
        {"99999999999999999999999999", 600000},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 0},
        {"Sun, 06 Nov 1994 08:49:47 GMT", 10000},
        {"Sunday, 06-Nov-94 08:49:47 GMT", 10000},
        {"Sun Nov  6 08:49:47 1994", 10000},
        {"Sun, 06 Nov 1994 08:49:27 GMT", 0},
        {"Mon, 07 Nov 1994 08:49:37 GMT", 600000},
        {"Sun, 06 Nov 1994 08:49:47", -1},
        {"Sun, 06 Foo 1994 08:49:47 GMT", -1},
        {"Sun, 32 Nov 1994 08:49:47 GMT", -1},
        {"Sun, 06 Nov 1994 24:49:47 GMT", -1},
        {"Sunday, 06-Nov-40 08:49:47 GMT", 600000},
        {"Sunday, 06-Nov-45 08:49:47 GMT", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (retry_after_parse(cases[i].value, now) != cases[i].ms)
            fail_msg("\"%s\" gives %lld", cases[i].value, (long long)retry_after_parse(cases[i].value, now));
}

static void retry__chance_is_spread_and_repeatable(void **state)
{
    (void)state;
    uint64_t a = 42, b = 42;
    int low = 0;
    for (int i = 0; i < 1000; i++) {
        double chance = retry_chance(&a);
        assert_true(chance == retry_chance(&b));
        assert_true(chance >= 0 && chance < 1);
        low += chance < 0.5;
    }
    assert_in_range(low, 430, 570);
}

/* Runs a function that gives a fresh string; NULL stands for a failure. */
static void check(const char *what, char *got, const char *wanted)
{
    if (!wanted ? got != NULL : !got || strcmp(got, wanted) != 0)
        fail_msg("%s gives %s, not %s", what, got ? got : "nothing", wanted ? wanted : "nothing");
    free(got);
}

static void url__parts(void **state)
{
    (void)state;
    struct url url;
    assert_int_equal(url_parse(STR("HTTPS://me:se%63ret@Example.ORG.:8443/a/../b%20c?q=1&r#top"), &url, NULL),
                     STATUS_OK);
    assert_string_equal(url.scheme, "https");
    assert_string_equal(url.user, "me");
    assert_string_equal(url.password, "se%63ret");
    assert_string_equal(url.host, "example.org");
    assert_int_equal(url.port, 8443);
    assert_string_equal(url.path, "/b%20c");
    assert_string_equal(url.query, "q=1&r");
    assert_string_equal(url.fragment, "top");
    url_finish(&url);
    url_finish(&url);
    url_finish(NULL);

    assert_int_equal(url_parse(STR("http://[2001:DB8::1]"), &url, NULL), STATUS_OK);
    assert_string_equal(url.host, "[2001:db8::1]");
    assert_int_equal(url.port, 80);
    assert_string_equal(url.path, "/");
    assert_null(url.user);
    assert_null(url.query);
    assert_null(url.fragment);
    url_finish(&url);

    assert_int_equal(url_parse(STR("corpus://man/printf.3"), &url, NULL), STATUS_OK);
    assert_string_equal(url.scheme, "corpus");
    assert_string_equal(url.host, "man");
    assert_int_equal(url.port, 0);
    url_finish(&url);
}

static void url__hosts_are_read_as_they_are_fetched(void **state)
{
    (void)state;
    static const struct {
        const char *url, *host;
    } cases[] = {
        {"http://127.1/", "127.0.0.1"},
        {"http://2130706433/", "127.0.0.1"},
        {"http://0x7f.1", "127.0.0.1"},
        {"http://0177.0.0.1", "127.0.0.1"},
        {"http://%31%32%37.0.0.1/", "127.0.0.1"},
        {"http://LocalHost./", "localhost"},
        {"http://evil.org\\@127.0.0.1/", "127.0.0.1"},
        {"http://good.org@127.0.0.1/", "127.0.0.1"},
        {"http://good.org#@127.0.0.1/", "good.org"},
        {"http://good.org?@127.0.0.1/", "good.org"},
        {"http://b\xc3\xbc"
         "cher.example/",
         "xn--bcher-kva.example"},
        {"http://stra\xc3\x9f"
         "e.example/",
         "xn--strae-oqa.example"},
        {"http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/", "127.0.0.1"}, /* fullwidth digits */
        {"http://127\xe3\x80\x82"
         "1/",
         "127.0.0.1"},                             /* an ideographic full stop */
        {"http://\xe2\x91\xa0.1.1.1/", "1.1.1.1"}, /* a digit in a circle */
        {"http://\xef\xbc\x90x7f.1/", "127.0.0.1"},
        {"http://\xe2\x84\x80.example/", NULL}, /* a/c in one character */
        {"http://a\xef\xbc\x8f"
         "b.example/",
         NULL}, /* a fullwidth slash */
        {"http://a\xff.example/", NULL},
        {"http://\xe3\x8b\x8f/", "ltd"},
        {"http://exa mple.org/", NULL},
        {"http:///path", "path"}, /* as browsers do */
        {"http:////path", NULL},
        {"http://", NULL},
        {"//example.org/", NULL},
        {"example.org", NULL},
        {"", NULL},
        {"http://127.0.0.1./", "127.0.0.1"},
        {"http://6./", "0.0.0.6"},
        {"http://0x7f%2e1/", "127.0.0.1"},
        {"http://%7f/", NULL},
        {"http://a%20b/", NULL},
        {"http://a..b/", NULL},
        {"http://a../", NULL},
        {"http://./", NULL},
        {"http://a\nb/", NULL},
        {"http://host:99999/", NULL},
        {"http://host:0x50/", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(cases[i].url, url_host(str_of(cases[i].url)), cases[i].host);
    check("NUL", url_host(STR("http://a\0b/")), NULL);
    char *long_url = malloc(URL_MAX_LENGTH + 2);
    memset(long_url, 'a', URL_MAX_LENGTH + 1);
    memcpy(long_url, "http://a/", 9);
    check("too long", url_host(str_make(long_url, URL_MAX_LENGTH + 1)), NULL);
    check("just short enough", url_host(str_make(long_url, URL_MAX_LENGTH)), "a");
    free(long_url);
}

static void url__references_are_resolved(void **state)
{
    (void)state;
    static const char *const base = "http://a/b/c/d;p?q";
    static const struct {
        const char *reference, *result;
    } cases[] = {
#define REFERENCE(reference, address) {reference, address},
#include "tests/support/references.inc"
#undef REFERENCE
        {"g:h", NULL},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"", "http://a/b/c/d;p?q"},
        {" g ", "http://a/b/c/g"},
        {"g h", "http://a/b/c/g%20h"},
        {"https://x.org/y", "https://x.org/y"},
        {"?u=http://x//y", "http://a/b/c/d;p?u=http://x//y"},
        {"javascript:alert(1)", NULL},
        {"mailto:a@b.org", NULL},
        {"http://", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *out = NULL;
        enum status status = url_join(str_of(base), str_of(cases[i].reference), &out, NULL);
        assert_int_equal(status == STATUS_OK, out != NULL);
        check(cases[i].reference, out, cases[i].result);
    }
    char *out = NULL;
    assert_int_equal(url_join(STR("http://h/x#a/b"), STR("c"), &out, NULL), STATUS_OK);
    check("a base with a fragment", out, "http://h/c");
    assert_int_equal(url_join(STR("https://[::1]:8080"), STR("c?d"), &out, NULL), STATUS_OK);
    check("a base without a path", out, "https://[::1]:8080/c?d");
    struct error error;
    assert_int_equal(url_join(STR("nonsense"), STR("c"), &out, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "nonsense"));
}

static void url__canonical_form(void **state)
{
    (void)state;
    static const struct {
        const char *url, *canonical;
    } cases[] = {
        {"HTTP://Example.org", "http://example.org/"},
        {"http://example.org:80/", "http://example.org/"},
        {"https://example.org:443/", "https://example.org/"},
        {"https://example.org:80/", "https://example.org:80/"},
        {"http://example.org./A", "http://example.org/A"},
        {"http://u:p@example.org/a#b", "http://example.org/a"},
        {"http://example.org/a/./b/../c", "http://example.org/a/c"},
        {"http://example.org/%7euser/%3a%2F", "http://example.org/~user/%3A%2F"},
        {"http://example.org/a/%2e%2e/b", "http://example.org/b"},
        {"http://example.org/?a=%e4%bd%a0&b", "http://example.org/?a=%E4%BD%A0&b"},
        {"http://example.org/\xe4\xbd\xa0", "http://example.org/%E4%BD%A0"},
        {"http://example.org/a%", "http://example.org/a%25"},
        {"http://example.org/a%2", "http://example.org/a%252"},
        {"http://example.org/a%zz", "http://example.org/a%25zz"},
        {"http://example.org/%%%343a3", "http://example.org/%25%2543a3"},
        {"no url", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *out = NULL;
        enum status status = url_canonical(str_of(cases[i].url), &out, NULL);
        assert_int_equal(status == STATUS_OK, out != NULL);
        check(cases[i].url, out, cases[i].canonical);
    }
}

static void url__origins(void **state)
{
    (void)state;
    check("origin", url_origin(STR("https://me@Example.org:443/x?y")), "https://example.org");
    check("origin", url_origin(STR("http://[::1]:8080/x")), "http://[::1]:8080");
    check("origin", url_origin(STR("nothing")), NULL);
    assert_true(url_same_origin(STR("http://a.org/x"), STR("HTTP://A.ORG:80/y?z")));
    assert_false(url_same_origin(STR("http://a.org/"), STR("https://a.org/")));
    assert_false(url_same_origin(STR("http://a.org/"), STR("http://a.org:8080/")));
    assert_false(url_same_origin(STR("http://a.org/"), STR("http://a.org.evil.org/")));
    assert_false(url_same_origin(STR("x"), STR("x")));
    check("credentials", url_without_credentials(STR("http://me:secret@h/p?q#f")), "http://h/p?q#f");
    check("credentials", url_without_credentials(STR("me:secret@h")), "(not a URL)");
}

static void url__queries_are_built(void **state)
{
    (void)state;
    struct buf url;
    buf_init(&url, 64);
    assert_int_equal(buf_append_str(&url, STR("http://h/s")), STATUS_OK);
    assert_int_equal(url_add_query(&url, STR("q"), STR("a b&c=\xc3\xa9/~")), STATUS_OK);
    assert_int_equal(url_add_query(&url, STR("n 1"), STR("")), STATUS_OK);
    assert_string_equal(url.data, "http://h/s?q=a%20b%26c%3D%C3%A9%2F~&n%201=");
    assert_int_equal(url_add_query(&url, STR("x"), STR("a value that is too long")), STATUS_TOO_BIG);
    assert_string_equal(url.data, "http://h/s?q=a%20b%26c%3D%C3%A9%2F~&n%201=");
    assert_int_equal(url_encode(&url, STR("another that is too long, too")), STATUS_TOO_BIG);
    assert_string_equal(url.data, "http://h/s?q=a%20b%26c%3D%C3%A9%2F~&n%201=");
    buf_finish(&url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry__waits_double_up_to_the_cap),
        cmocka_unit_test(retry__is_never_earlier_than_the_server_said),
        cmocka_unit_test(retry__reads_retry_after),
        cmocka_unit_test(retry__chance_is_spread_and_repeatable),
        cmocka_unit_test(url__parts),
        cmocka_unit_test(url__hosts_are_read_as_they_are_fetched),
        cmocka_unit_test(url__references_are_resolved),
        cmocka_unit_test(url__canonical_form),
        cmocka_unit_test(url__origins),
        cmocka_unit_test(url__queries_are_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
