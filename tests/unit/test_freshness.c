#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "net/freshness.h"
#include "net/http_date.h"

#include <string.h>

#define NOW INT64_C(784111777) /* Sun, 06 Nov 1994 08:49:37 GMT */

static void freshness__judges_responses(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct freshness_headers headers;
        bool store, must_confirm;
        int64_t lifetime_s;
    } cases[] = {
        {"nothing said", {0}, true, false, 0},
        {"max-age", {.cache_control = "max-age=600"}, true, false, 600},
        {"max-age in capitals, quoted, among others",
         {.cache_control = "Public, MAX-AGE=\"600\" , x=\"a,b\""},
         true,
         false,
         600},
        {"s-maxage is for shared caches", {.cache_control = "s-maxage=9999, max-age=60"}, true, false, 60},
        {"private is for us", {.cache_control = "private, max-age=60"}, true, false, 60},
        {"no-store", {.cache_control = "max-age=60, no-store"}, false, false, 60},
        {"no-store alone", {.cache_control = "no-store"}, false, false, 0},
        {"no-store within a quoted value is none", {.cache_control = "x=\"no-store\", max-age=5"}, true, false, 5},
        {"no-cache", {.cache_control = "no-cache, max-age=60"}, true, true, 0},
        {"no-cache of a field", {.cache_control = "no-cache=\"Set-Cookie\", max-age=60"}, true, true, 0},
        {"must-revalidate", {.cache_control = "max-age=60, must-revalidate"}, true, true, 60},
        {"pragma of old", {.pragma = "no-cache", .expires = "Sun, 06 Nov 1994 09:49:37 GMT"}, true, true, 0},
        {"cache-control goes before pragma", {.pragma = "no-cache", .cache_control = "max-age=7"}, true, false, 7},
        {"overflow", {.cache_control = "max-age=99999999999999999999999999"}, true, false, FRESHNESS_MAX_S},
        {"2^31 and beyond", {.cache_control = "max-age=2147483648"}, true, false, FRESHNESS_MAX_S},
        {"negative", {.cache_control = "max-age=-1"}, true, false, 0},
        {"a fraction", {.cache_control = "max-age=1.5"}, true, false, 0},
        {"no number", {.cache_control = "max-age=soon", .expires = "Sun, 06 Nov 1994 09:49:37 GMT"}, true, false, 0},
        {"twice: the shorter", {.cache_control = "max-age=600, max-age=10"}, true, false, 10},
        {"age", {.cache_control = "max-age=600", .age = "100"}, true, false, 500},
        {"age beyond", {.cache_control = "max-age=600", .age = "99999999999999999999"}, true, false, 0},
        {"age garbage", {.cache_control = "max-age=600", .age = "old"}, true, false, 600},
        {"date behind", {.cache_control = "max-age=600", .date = "Sun, 06 Nov 1994 08:47:57 GMT"}, true, false, 500},
        {"date ahead", {.cache_control = "max-age=600", .date = "Sun, 06 Nov 2094 08:47:57 GMT"}, true, false, 600},
        {"expires",
         {.expires = "Sun, 06 Nov 1994 09:49:37 GMT", .date = "Sun, 06 Nov 1994 08:49:37 GMT"},
         true,
         false,
         3600},
        {"expires by the server's clock",
         {.expires = "Sun, 06 Nov 1994 08:49:37 GMT", .date = "Sun, 06 Nov 1994 07:49:37 GMT"},
         true,
         false,
         0},
        {"expires 0", {.expires = "0", .last_modified = "Sun, 06 Nov 1984 08:49:37 GMT"}, true, false, 0},
        {"expires past", {.expires = "Sun, 06 Nov 1984 08:49:37 GMT"}, true, false, 0},
        {"expires in the year 9999", {.expires = "Fri, 31 Dec 9999 23:59:59 GMT"}, true, false, FRESHNESS_MAX_S},
        {"changed 1000 s ago", {.last_modified = "Sun, 06 Nov 1994 08:32:57 GMT"}, true, false, 100},
        {"changed long ago",
         {.last_modified = "Sun, 06 Nov 1974 08:32:57 GMT"},
         true,
         false,
         FRESHNESS_MAX_HEURISTIC_S},
        {"changed tomorrow", {.last_modified = "Mon, 07 Nov 1994 08:32:57 GMT"}, true, false, 0},
        {"changed nonsense", {.last_modified = "yesterday"}, true, false, 0},
        {"vary by what is undone", {.vary = "Accept-Encoding", .cache_control = "max-age=1"}, true, false, 1},
        {"vary by what is never sent", {.vary = "accept-encoding, Cookie ,Authorization"}, true, false, 0},
        {"vary by what is always the same", {.vary = "Accept, accept-language, Turbo-Frame"}, true, false, 0},
        {"vary by the program's name", {.vary = "Accept-Encoding,User-Agent"}, false, false, 0},
        {"vary by anything", {.vary = "*"}, false, false, 0},
        {"vary by nothing", {.vary = " , "}, true, false, 0},
        {"empty",
         {.cache_control = "", .vary = "", .expires = "", .date = "", .age = "", .last_modified = ""},
         true,
         false,
         0},
        {"a quote that never ends", {.cache_control = "max-age=\"60, no-store"}, true, false, 0},
        {"nothing but commas", {.cache_control = ",,, ,=,=5,"}, true, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct freshness found = freshness_judge(&cases[i].headers, NOW);
        if (found.store != cases[i].store || found.must_confirm != cases[i].must_confirm ||
            found.lifetime_s != cases[i].lifetime_s)
            fail_msg("%s: store %d, must confirm %d, %lld s", cases[i].what, found.store, found.must_confirm,
                     (long long)found.lifetime_s);
    }
}

static void freshness__knows_validators(void **state)
{
    (void)state;
    static const char *const good[] = {"\"a\"", "W/\"a\"", "\"\"", "\"5f-\xc3\xa9\"", "\"!#$%&'()\""};
    static const char *const bad[] = {"",    "a",       "\"",       "\"a",      "a\"", "w/\"a\"",
                                      "W/a", "\"a b\"", "\"a\"b\"", "\"\x01\"", "*",   "\"a\", \"b\""};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(freshness_is_etag(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(freshness_is_etag(bad[i]));
    assert_false(freshness_is_etag(NULL));
    static char huge[FRESHNESS_MAX_VALIDATOR + 3];
    memset(huge, 'e', sizeof huge - 1);
    huge[0] = huge[sizeof huge - 2] = '"';
    assert_false(freshness_is_etag(huge));
    memmove(huge + sizeof huge - 4, "\"", 2);
    assert_true(freshness_is_etag(huge));

    assert_true(freshness_is_date("Sun, 06 Nov 1994 08:49:37 GMT", NOW));
    assert_true(freshness_is_date("Sunday, 06-Nov-94 08:49:37 GMT", NOW));
    assert_true(freshness_is_date("Sun Nov  6 08:49:37 1994", NOW));
    assert_false(freshness_is_date("garbage", NOW));
    assert_false(freshness_is_date("", NOW));
    assert_false(freshness_is_date(NULL, NOW));
    assert_false(freshness_is_date("Sun, 99 Nov 1994 08:49:37 GMT", NOW));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freshness__judges_responses),
        cmocka_unit_test(freshness__knows_validators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
