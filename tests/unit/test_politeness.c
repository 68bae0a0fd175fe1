#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "net/politeness.h"

#include <stdlib.h>
#include <string.h>

static const struct politeness_options usual = {.max_parallel = 4, .gap_ms = 100};

/* The names of all whose turn has come at `now`, joined; users are their names. */
static const char *turns(struct politeness *politeness, int64_t now, int64_t *next)
{
    static char names[256];
    int64_t ignored;
    names[0] = '\0';
    for (const char *user; (user = politeness_next(politeness, now, next ? next : &ignored)) != NULL;)
        strncat(names, user, sizeof names - strlen(names) - 1);
    return names;
}

static struct politeness_place *enter(struct politeness *politeness, const char *url, const char *name)
{
    return politeness_enter(politeness, str_of(url), (void *)(uintptr_t)name);
}

static void politeness__names_sites(void **state)
{
    (void)state;
    static const struct {
        const char *url, *site;
        bool loopback;
    } cases[] = {
        {"https://en.wikipedia.org/wiki/X", "wikipedia.org", false},
        {"http://WIKIPEDIA.org:8080/", "wikipedia.org", false},
        {"https://www.bbc.co.uk/news", "bbc.co.uk", false},
        {"https://a.github.io/", "a.github.io", false},
        {"https://b.a.github.io/", "a.github.io", false},
        {"https://github.io/", "github.io", false},
        {"https://co.uk/", "co.uk", false},
        {"https://www.b\xC3\xBC"
         "cher.de/",
         "xn--bcher-kva.de", false},
        {"http://intranet/", "intranet", false},
        {"http://a.b.localhost/", "b.localhost", false},
        {"http://192.0.2.7:81/", "192.0.2.7", false},
        {"http://[2001:db8::1]/", "[2001:db8::1]", false},
        {"http://127.0.0.1/", "127.0.0.1:80", true},
        {"http://127.9.9.9:8080/", "127.9.9.9:8080", true},
        {"http://2130706433/", "127.0.0.1:80", true},
        {"http://[::1]:5/", "[::1]:5", true},
        {"http://localhost:5/", "localhost:5", true},
        {"http://127.example.com/", "example.com", false},
        {"nonsense", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool loopback = !cases[i].loopback;
        char *site = politeness_site(str_of(cases[i].url), &loopback);
        assert_string_equal(site, cases[i].site);
        assert_int_equal(loopback, cases[i].loopback);
        free(site);
    }
}

static void politeness__spaces_one_site(void **state)
{
    (void)state;
    struct politeness *politeness = politeness_create(&usual);
    int64_t next;
    struct politeness_place *a = enter(politeness, "https://www.kell.example/1", "a");
    enter(politeness, "https://kell.example/2", "b");
    enter(politeness, "http://img.kell.example:8080/3", "c");
    enter(politeness, "https://other.example/", "x");
    assert_true(strlen(turns(politeness, 1000, &next)) == 2); /* the first of each site at once */
    assert_int_equal(next, 1100);
    assert_string_equal(turns(politeness, 1099, &next), "");
    assert_string_equal(turns(politeness, 1100, &next), "b");
    assert_int_equal(next, 1200);
    politeness_leave(politeness, a); /* an end does not shorten the gap */
    assert_string_equal(turns(politeness, 1150, &next), "");
    assert_string_equal(turns(politeness, 5000, &next), "c");
    assert_int_equal(next, INT64_MAX);
    politeness_destroy(politeness);
}

static void politeness__lets_four_in(void **state)
{
    (void)state;
    struct politeness *politeness = politeness_create(&usual);
    static const char names[][2] = {"a", "b", "c", "d", "e", "f"};
    struct politeness_place *places[6];
    char order[16] = "";
    int64_t next;
    for (int i = 0; i < 6; i++)
        places[i] = enter(politeness, "https://kell.example/", names[i]);
    for (int64_t now = 0; now < 2000; now += 50)
        strcat(order, turns(politeness, now, &next));
    assert_string_equal(order, "abcd");
    assert_int_equal(next, INT64_MAX);       /* nothing but an end lets the next in */
    politeness_leave(politeness, places[4]); /* e has waited long enough */
    politeness_leave(politeness, places[1]);
    assert_string_equal(turns(politeness, 2000, &next), "f");
    politeness_destroy(politeness);
}

static void politeness__without_gap(void **state)
{
    (void)state;
    struct politeness *politeness = politeness_create(&(struct politeness_options){.max_parallel = 2});
    enter(politeness, "https://kell.example/", "a");
    enter(politeness, "https://kell.example/", "b");
    enter(politeness, "https://kell.example/", "c");
    assert_string_equal(turns(politeness, 0, NULL), "ab");
    politeness_destroy(politeness);
}

static void politeness__leaves_this_machine_alone(void **state)
{
    (void)state;
    struct politeness *politeness = politeness_create(&usual);
    for (int i = 0; i < 6; i++)
        enter(politeness, "http://127.0.0.1:8080/", "a");
    assert_string_equal(turns(politeness, 0, NULL), "aaaaaa");
    /* a pause holds for it all the same, and for this port alone */
    politeness_pause(politeness, STR("http://127.0.0.1:8080/x"), 0, 500);
    struct politeness_place *waiting = enter(politeness, "http://127.0.0.1:8080/", "b");
    enter(politeness, "http://127.0.0.1:8081/", "c");
    int64_t next;
    assert_string_equal(turns(politeness, 0, &next), "c");
    assert_int_equal(next, 500);
    politeness_leave(politeness, waiting);
    politeness_destroy(politeness);

    politeness = politeness_create(&(struct politeness_options){.max_parallel = 2, .gap_ms = 0, .loopback_too = true});
    for (int i = 0; i < 6; i++)
        enter(politeness, "http://127.0.0.1:8080/", "a");
    assert_string_equal(turns(politeness, 0, NULL), "aa");
    politeness_destroy(politeness);
}

static void politeness__keeps_pauses(void **state)
{
    (void)state;
    struct politeness *politeness = politeness_create(&usual);
    struct str url = STR("https://www.kell.example/");
    int64_t next;
    politeness_pause(politeness, url, 1000, 2000);
    politeness_pause(politeness, url, 1000, 50); /* a shorter one takes nothing back */
    politeness_pause(politeness, url, 1000, -5);
    struct politeness_place *first = enter(politeness, "https://kell.example/", "a");
    enter(politeness, "https://kell.example/", "b");
    struct politeness_place *other = enter(politeness, "https://other.example/", "x");
    assert_int_equal(politeness_paused_ms(first, 1500), 1500);
    assert_int_equal(politeness_paused_ms(other, 1500), 0);
    assert_string_equal(turns(politeness, 1500, &next), "x");
    assert_int_equal(next, 3000);
    assert_string_equal(turns(politeness, 3000, &next), "a");
    assert_int_equal(next, 3100);
    assert_string_equal(turns(politeness, 3100, &next), "b");
    assert_int_equal(politeness_paused_ms(first, 3000), 0);
    politeness_destroy(politeness);
}

static void politeness__ends_with_somebody_under_way(void **state)
{
    (void)state;
    struct politeness *politeness = politeness_create(&usual);
    struct politeness_place *place = enter(politeness, "https://kell.example/", "a");
    turns(politeness, 0, NULL);
    politeness_leave(politeness, place);
    turns(politeness, 1000, NULL);
    enter(politeness, "https://kell.example/", "b");
    assert_string_equal(turns(politeness, 1000, NULL), "b");
    politeness_leave(politeness, NULL);
    politeness_destroy(politeness); /* with somebody under way */
    politeness_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(politeness__names_sites),
        cmocka_unit_test(politeness__spaces_one_site),
        cmocka_unit_test(politeness__lets_four_in),
        cmocka_unit_test(politeness__without_gap),
        cmocka_unit_test(politeness__leaves_this_machine_alone),
        cmocka_unit_test(politeness__keeps_pauses),
        cmocka_unit_test(politeness__ends_with_somebody_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
