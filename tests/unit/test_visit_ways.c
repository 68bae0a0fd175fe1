#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/visit_world.h"

#include <stdio.h>
#include <string.h>

static void visit_ways__reads_through_jina(void **state)
{
    (void)state;
    struct tool_world world;
    struct visit_options options = {
        .summarizer = VISIT_SUMMARY_EXTRACTIVE, .reader = VISIT_READER_JINA, .jina_key = "KEY-12345678"};
    visit_world_init(&world, "generic", options, NULL, 0);
    const char *text =
        tool_world_call(&world, "{\"url\": [\"http://93.184.215.14/x y#z\"], \"goal\": \"lighthouse built\"}");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "built in 1857");
    assert_string_equal(visit_world_log.jina_target, "/jina/http://93.184.215.14/x%20y");
    assert_string_equal(visit_world_log.jina_authorization, "Bearer KEY-12345678");
    text = tool_world_call(&world, "{\"url\": [\"http://93.184.215.14/gone\"], \"goal\": \"lighthouse built\"}");
    assert_int_equal(world.status, OUTCOME_FAILED);
    assert_holds(text, "HTTP 404");
    tool_world_finish(&world);
}

static void visit_ways__keeps_inner_addresses_from_jina(void **state)
{
    (void)state;
    static const char *const inner[] = {
        "http://10.0.0.1/",         "http://169.254.169.254/latest", "http://[::1]/",          "http://intranet/",
        "http://localhost/",        "http://db.internal/",           "http://printer.local/x", "http://0x0a000001/",
        "http://[::ffff:10.0.0.1]/"};
    struct tool_world world;
    visit_world_init(&world, "generic",
                     (struct visit_options){.summarizer = VISIT_SUMMARY_EXTRACTIVE, .reader = VISIT_READER_JINA}, NULL,
                     0);
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
        const char *text = tool_world_call(&world, "{\"url\": [\"%s\"], \"goal\": \"g\"}", inner[i]);
        assert_int_equal(world.status, OUTCOME_FAILED);
        assert_holds(text, "not on the public web");
    }
    assert_int_equal(http_stub_requests(world.stub), 0);
    tool_world_finish(&world);
}

static void visit_ways__fetches_itself_when_jina_fails(void **state)
{
    (void)state;
    struct tool_world world;
    visit_world_init(&world, "generic",
                     (struct visit_options){.summarizer = VISIT_SUMMARY_EXTRACTIVE, .reader = VISIT_READER_JINA}, NULL,
                     0);
    /* the stub is exempted by the guard, and "refused" makes its reader service say 401 */
    const char *text =
        tool_world_call(&world, "{\"url\": [\"%s/a_(b)?refused\"], \"goal\": \"lighthouse built\"}", world.base);
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "Maria Oswin");
    assert_holds(world.notices.data, "check JINA_API_KEY");
    tool_world_finish(&world);
}

#define EXTRACTIVE .summarizer = VISIT_SUMMARY_EXTRACTIVE

static const struct visit_options with_both = {EXTRACTIVE, .fallbacks = {VISIT_FALLBACK_JINA, VISIT_FALLBACK_ARCHIVE},
                                               .n_fallbacks = 2};
static const struct visit_options with_archive = {EXTRACTIVE, .fallbacks = {VISIT_FALLBACK_ARCHIVE}, .n_fallbacks = 1};
static const struct visit_options with_jina = {EXTRACTIVE, .fallbacks = {VISIT_FALLBACK_JINA}, .n_fallbacks = 1};

static void visit_ways__takes_what_is_gone_from_the_archive(void **state)
{
    (void)state;
    struct tool_world world;
    char expected[256];
    visit_world_init(&world, "generic", with_both, NULL, 0);
    const char *text = visit_world_read(&world, "/vanished?x=1&y=2");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "built in 1857 by the engineer Maria Oswin");
    assert_holds(text,
                 "Note: read from the Internet Archive's copy of 2023-05-01, since there is no such page (HTTP 404)");
    /* the page is told by its own address, and its links lead on from there */
    snprintf(expected, sizeof expected, "Link: %s/vanished?x=1&y=2\n", world.base);
    assert_holds(text, expected);
    snprintf(expected, sizeof expected, "](%s/keeper)", world.base);
    assert_holds(text, expected);
    snprintf(expected, sizeof expected, "%s/vanished?x=1&y=2", world.base);
    assert_string_equal(world.first_source, expected);
    /* a reader would see the same as we did, so it is not asked */
    assert_int_equal(visit_world_log.jina, 0);
    assert_holds(visit_world_log.archive_target, "vanished%3Fx%3D1%26y%3D2&timestamp=2");
    assert_holds(visit_world_log.copy_target, "/web/20230501120000id_/http://127.0.0.1");
    tool_world_finish(&world);
}

static void visit_ways__asks_others_when_a_site_does_not_let_in(void **state)
{
    (void)state;
    static const struct {
        const char *path, *why;
    } cases[] = {
        {"/403", "since the site does not let this program in (HTTP 403)\n"},
        {"/429", "since the site takes no more requests at the moment (HTTP 429)"},
        {"/500", "since the server has a fault of its own (HTTP 500)"},
        {"/empty", "since it holds no text"},
        {"/challenge", "since the site wants proof that a person is reading"},
        {"/scripts", "since it is made by scripts"},
        {"/hang", "since the server took too long"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tool_world world;
        struct visit_options options = with_both;
        options.page_timeout_ms = 700;
        visit_world_init(&world, "generic", options, NULL, 0);
        const char *text = visit_world_read(&world, cases[i].path);
        assert_int_equal(world.status, OUTCOME_OK);
        assert_holds(text, "Note: read through Jina Reader, since");
        assert_holds(text, cases[i].why);
        assert_holds(text, "The lighthouse was built in 1857.");
        assert_int_equal(visit_world_log.jina, 1);
        assert_int_equal(visit_world_log.archive, 0);
        tool_world_finish(&world);
    }
}

static void visit_ways__goes_on_when_a_service_fails(void **state)
{
    (void)state;
    static const struct {
        enum visit_fallback first, second;
        const char *path, *holds;
    } cases[] = {
        {VISIT_FALLBACK_JINA, VISIT_FALLBACK_ARCHIVE, "/403/refused", "the Internet Archive's copy of 2023-05-01"},
        {VISIT_FALLBACK_ARCHIVE, VISIT_FALLBACK_JINA, "/403", "the Internet Archive's copy of 2023-05-01"},
        {VISIT_FALLBACK_ARCHIVE, VISIT_FALLBACK_JINA, "/403/trap", "read through Jina Reader"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tool_world world;
        struct visit_options options = {EXTRACTIVE, .fallbacks = {cases[i].first, cases[i].second}, .n_fallbacks = 2};
        visit_world_init(&world, "generic", options, NULL, 0);
        const char *text = visit_world_read(&world, cases[i].path);
        assert_int_equal(world.status, OUTCOME_OK);
        assert_holds(text, cases[i].holds);
        assert_lacks(text, "10.0.0.1"); /* where the archive says the trap's copy is */
        tool_world_finish(&world);
    }
}

static void visit_ways__says_that_nobody_has_it(void **state)
{
    (void)state;
    struct tool_world world;
    visit_world_init(&world, "generic", with_both, NULL, 0);
    const char *text = visit_world_read(&world, "/403/never");
    assert_int_equal(world.status, OUTCOME_FAILED);
    assert_holds(text, "the site does not let this program in (HTTP 403). It could not be had from Jina Reader or the "
                       "Internet Archive either.");
    assert_holds(world.notices.data, "Jina Reader could not read the page");
    assert_holds(world.notices.data, "the Internet Archive has no copy of it");
    assert_int_equal(world.n_sources, 0);
    tool_world_finish(&world);

    visit_world_init(&world, "tongyi", with_both, NULL, 0);
    text = visit_world_read(&world, "/403/never");
    assert_holds(text, "The page could not be read: the site does not let this program in (HTTP 403).\n");
    tool_world_finish(&world);
}

static void visit_ways__asks_nobody_unless_told_to(void **state)
{
    (void)state;
    static const struct {
        const char *path, *holds;
    } cases[] = {{"/vanished", "HTTP 404"}, {"/403", "HTTP 403"}, {"/challenge", "proof"}, {"/scripts", "scripts"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tool_world world;
        visit_world_init_plain(&world);
        const char *text = visit_world_read(&world, cases[i].path);
        assert_int_equal(world.status, OUTCOME_FAILED);
        assert_holds(text, cases[i].holds);
        assert_lacks(text, "either");
        assert_int_equal(visit_world_log.jina + visit_world_log.archive, 0);
        tool_world_finish(&world);
    }
}

static void visit_ways__keeps_trained_formats(void **state)
{
    (void)state;
    struct tool_world world;
    visit_world_init(&world, "tongyi", with_both, NULL, 0);
    const char *text = visit_world_read(&world, "/vanished");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "Evidence in page: \n");
    assert_holds(text, "Maria Oswin");
    assert_lacks(text, "Internet Archive");
    assert_lacks(text, "Note:");
    tool_world_finish(&world);
}

/* A page that the user exempted stays inside: services outside do not learn of it. */
static void visit_ways__tells_nobody_outside_of_what_is_inside(void **state)
{
    (void)state;
    struct tool_world world;
    struct visit_options options = with_both;
    options.jina_url = "http://93.184.215.14";
    options.archive_url = "http://93.184.215.14";
    visit_world_init(&world, "generic", options, NULL, 0);
    const char *text = visit_world_read(&world, "/403");
    assert_int_equal(world.status, OUTCOME_FAILED);
    assert_holds(text, "HTTP 403");
    tool_world_finish(&world);

    visit_world_init(&world, "generic", with_both, NULL, 0);
    text = tool_world_call(&world, "{\"url\": [\"http://10.0.0.1/\", \"http://printer.local/\"], \"goal\": \"g\"}");
    assert_int_equal(world.status, OUTCOME_FAILED);
    assert_int_equal(http_stub_requests(world.stub), 0);
    tool_world_finish(&world);
}

static void visit_ways__reads_the_better_address_first(void **state)
{
    (void)state;
    struct tool_world world;
    char expected[256];
    visit_world_init_plain(&world);
    const char *text = visit_world_read(&world, "/g/p/-/blob/main/a.md");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "The lighthouse was built in 1857.");
    assert_lacks(text, "A page around the file");
    snprintf(expected, sizeof expected, "Note: read at %s/g/p/-/raw/main/a.md\n", world.base);
    assert_holds(text, expected);
    snprintf(expected, sizeof expected, "%s/g/p/-/blob/main/a.md", world.base);
    assert_string_equal(world.first_source, expected);
    /* where the better address has nothing, the page's own is read */
    text = visit_world_read(&world, "/g/p/-/blob/main/lost.md");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "says the page");
    assert_lacks(text, "Note:");
    text = visit_world_read(&world, "/g/p/-/blob/main/tower.png");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "as a picture");
    /* and where both fail, the page's own problem is told */
    text = visit_world_read(&world, "/g/p/-/blob/main/nothing.md");
    assert_int_equal(world.status, OUTCOME_FAILED);
    assert_holds(text, "there is no such page (HTTP 404)");
    tool_world_finish(&world);
}

/* A service is asked for the page, not for the other address where that has failed already. */
static void visit_ways__asks_others_for_the_page_itself(void **state)
{
    (void)state;
    struct tool_world world;
    char expected[256];
    visit_world_init(&world, "generic", with_both, NULL, 0);
    const char *text = visit_world_read(&world, "/g/p/-/blob/main/closed.md");
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "since the site does not let this program in (HTTP 403)");
    snprintf(expected, sizeof expected, "/jina/%s/g/p/-/blob/main/closed.md", world.base);
    assert_string_equal(visit_world_log.jina_target, expected);
    tool_world_finish(&world);
}

static void visit_ways__follows_links_that_lead_on(void **state)
{
    (void)state;
    struct tool_world world;
    char expected[256];
    visit_world_init_plain(&world);
    const char *text = tool_world_call(
        &world, "{\"url\": [\"https://www.google.com/url?sa=t&q=%s/a&usg=x\"], \"goal\": \"lighthouse built\"}",
        world.base);
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "Maria Oswin");
    snprintf(expected, sizeof expected, "Note: it leads to %s/a\n", world.base);
    assert_holds(text, expected);
    assert_true(strncmp(world.first_source, "https://www.google.com/url?", 27) == 0);
    /* what it leads to passes the guard like anything else */
    text = tool_world_call(&world, "{\"url\": [\"https://www.google.com/url?q=http://10.0.0.1/x\"], \"goal\": \"g\"}");
    assert_int_equal(world.status, OUTCOME_FAILED);
    assert_holds(text, "not on the public web");
    tool_world_finish(&world);
}

static void visit_ways__ends_in_time(void **state)
{
    (void)state;
    struct tool_world world;
    struct visit_options options = with_jina;
    visit_world_init(&world, "generic", options, NULL, 0);
    world.timeout_ms = 2500;
    const char *text = visit_world_read(&world, "/hang");
    assert_int_equal(world.status, OUTCOME_FAILED);
    assert_holds(text, "no time left");
    tool_world_finish(&world);
}

static void visit_ways__is_cancelled(void **state)
{
    (void)state;
    static const char *const paths[] = {"/vanished", "/403", "/403/refused", "/g/p/-/blob/main/lost.md"};
    for (int turns = 1; turns < 60; turns += 4) {
        struct tool_world world;
        char arguments[256];
        visit_world_init(&world, "generic", turns % 8 == 1 ? with_both : with_archive, NULL, 0);
        snprintf(arguments, sizeof arguments, "{\"url\": [\"%s%s\"], \"goal\": \"g\"}", world.base,
                 paths[turns / 4 % 4]);
        struct tool_run *run = tool_world_start(&world, arguments);
        for (int i = 0; i < turns && world.n_released == 0; i++)
            loop_turn(world.loop);
        if (world.n_released == 0) {
            tool_call_cancel(run);
            tool_world_until_released(&world);
        }
        tool_world_finish(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visit_ways__reads_through_jina),
        cmocka_unit_test(visit_ways__keeps_inner_addresses_from_jina),
        cmocka_unit_test(visit_ways__fetches_itself_when_jina_fails),
        cmocka_unit_test(visit_ways__takes_what_is_gone_from_the_archive),
        cmocka_unit_test(visit_ways__asks_others_when_a_site_does_not_let_in),
        cmocka_unit_test(visit_ways__goes_on_when_a_service_fails),
        cmocka_unit_test(visit_ways__says_that_nobody_has_it),
        cmocka_unit_test(visit_ways__asks_nobody_unless_told_to),
        cmocka_unit_test(visit_ways__keeps_trained_formats),
        cmocka_unit_test(visit_ways__tells_nobody_outside_of_what_is_inside),
        cmocka_unit_test(visit_ways__reads_the_better_address_first),
        cmocka_unit_test(visit_ways__asks_others_for_the_page_itself),
        cmocka_unit_test(visit_ways__follows_links_that_lead_on),
        cmocka_unit_test(visit_ways__ends_in_time),
        cmocka_unit_test(visit_ways__is_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
