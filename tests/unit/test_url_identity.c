#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "net/url.h"

#include <stdlib.h>

static void url_identity__names_the_page(void **state)
{
    (void)state;
    static const struct {
        const char *url, *identity;
    } cases[] = {
        {"https://example.org/", "example.org"},
        {"http://example.org", "example.org"},
        {"HTTPS://WWW.Example.ORG:443/", "example.org"},
        {"http://example.org:80/", "example.org"},
        {"http://example.org:8080/a", "example.org:8080/a"},
        {" https://example.org/a/ ", "example.org/a"},
        {"https://example.org/a//", "example.org/a"},
        {"https://example.org/a#part", "example.org/a"},
        {"https://example.org/%7Euser/%c3%a9", "example.org/~user/%C3%A9"},
        {"https://example.org/a/../b/./c", "example.org/b/c"},
        {"https://user:secret@example.org/a", "example.org/a"},
        /* forms of a site */
        {"https://m.example.org/a", "example.org/a"},
        {"https://www.m.example.org/a", "example.org/a"},
        {"https://mobile.example.org/a", "example.org/a"},
        {"https://en.m.wikipedia.org/wiki/Argon", "en.wikipedia.org/wiki/Argon"},
        {"https://amp.example.org/a", "example.org/a"},
        {"https://en.m.www.example.org/a", "en.example.org/a"},
        {"https://amp.dev/", "amp.dev"},
        {"https://mobile.de/", "mobile.de"},
        {"https://m.co/", "m.co"},
        {"https://www.gov/", "www.gov"},
        {"https://wwwx.example.org/", "wwwx.example.org"},
        {"https://127.0.0.1/a", "127.0.0.1/a"},
        {"https://[2001:db8::1]/a", "[2001:db8::1]/a"},
        /* AMP */
        {"https://example.org/story/amp", "example.org/story"},
        {"https://example.org/story/amp/", "example.org/story"},
        {"https://example.org/story.amp", "example.org/story"},
        {"https://example.org/story.amp.html", "example.org/story.html"},
        {"https://example.org/story?amp=1", "example.org/story"},
        {"https://example.org/story?amp", "example.org/story"},
        {"https://example.org/story?outputType=amp&id=3", "example.org/story?id=3"},
        {"https://www.google.com/amp/s/www.example.org/story/amp/", "example.org/story"},
        {"https://example-org.cdn.ampproject.org/c/s/www.example.org/story.html", "example.org/story.html"},
        {"https://example-org.cdn.ampproject.org/v/example.org/story?utm_source=x", "example.org/story"},
        {"https://www.google.com/amp/about", "google.com/amp/about"},
        {"https://google.com/amp/s/www.google.com/amp/s/m.example.org/a/amp/amp/", "example.org/a"},
        {"https://example.org/camp", "example.org/camp"},
        /* tracking */
        {"https://example.org/a?utm_source=x&utm_medium=y&id=1", "example.org/a?id=1"},
        {"https://example.org/a?id=1&UTM_Campaign=z", "example.org/a?id=1"},
        {"https://example.org/a?gclid=1&fbclid=2&msclkid=3&mc_cid=4&yclid=5&igshid=6", "example.org/a"},
        {"https://example.org/a?_ga=1&_gl=2&srsltid=3", "example.org/a"},
        {"https://example.org/a?&&b=2&", "example.org/a?b=2"},
        {"https://example.org/a?", "example.org/a"},
        {"https://example.org/?utm=1&utmost=2", "example.org?utm=1&utmost=2"},
        {"https://example.org/a?b=2&a=1", "example.org/a?b=2&a=1"},
        {"https://example.org/a?ref=main", "example.org/a?ref=main"},
        {"https://example.org/watch?v=abc&gclid", "example.org/watch?v=abc"},
        /* no addresses of the web */
        {"man:printf(3)", "man:printf(3)"},
        {" no url ", "no url"},
        {"ftp://www.example.org/a/", "ftp://www.example.org/a/"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *identity = url_identity(str_of(cases[i].url));
        assert_string_equal(identity, cases[i].identity);
        free(identity);
    }
}

static void url_identity__keeps_pages_apart(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"https://example.org/a", "https://example.org/A"},
        {"https://example.org/?id=1", "https://example.org/?id=2"},
        {"https://example.org/", "https://example.com/"},
        {"https://a.example.org/", "https://b.example.org/"},
        {"https://example.org/a", "https://example.org/a/b"},
        {"https://example.org/", "https://example.org:8443/"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char *first = url_identity(str_of(pairs[i][0])), *second = url_identity(str_of(pairs[i][1]));
        assert_string_not_equal(first, second);
        free(first);
        free(second);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(url_identity__names_the_page),
        cmocka_unit_test(url_identity__keeps_pages_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
