/* How visit fetches: page cache, politeness, robots.txt, documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/mem.h"
#include "support/tool_world.h"
#include "tools/visit/visit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HTML "Content-Type: text/html; charset=utf-8\r\n"
#define PAGE                                                                                                          \
    "<html><head><title>Kell</title></head><body><article><p>The lighthouse of Kell was built in 1857 by Maria Oswin" \
    ".</p></article></body></html>"

/* What the stub does; set before a request, read by its thread. */
static struct {
    pthread_mutex_t lock;
    bool broken;        /* every page is a fault of the server */
    const char *robots; /* NULL: 404 */
    int robots_code;    /* other than 200 */
    int robots_asked;
    char validators[2048]; /* If-None-Match and If-Modified-Since of the last request for a page */
    char seen[4096];       /* targets, each followed by a blank */
} site = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_request(const struct http_stub_request *request)
{
    struct str etag = http_stub_header(request, "If-None-Match");
    struct str date = http_stub_header(request, "If-Modified-Since");
    snprintf(site.validators, sizeof site.validators, "%.*s|%.*s", STR_ARG(etag), STR_ARG(date));
    size_t used = strlen(site.seen);
    snprintf(site.seen + used, sizeof site.seen - used, "%.*s ", STR_ARG(request->target));
}

static void reply_robots(struct http_stub_script *script)
{
    site.robots_asked++;
    if (site.robots_code == -1)
        http_stub_close(script);
    else if (site.robots_code == 302)
        http_stub_reply(script, 302, "Location: /robots.txt\r\n", STR(""));
    else if (site.robots_code > 0)
        http_stub_reply(script, site.robots_code, NULL, STR("User-agent: *\nDisallow: /\n"));
    else
        http_stub_reply(script, site.robots ? 200 : 404, "Content-Type: text/plain\r\n", str_of(site.robots));
}

static void reply_huge_etag(struct http_stub_script *script, size_t size)
{
    char *etag = mem_alloc(size + 1);
    memset(etag, 'e', size);
    etag[size] = '\0';
    http_stub_sendf(script,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %zu\r\nETag: \"%s\"\r\n\r\n%s",
                    strlen(PAGE), etag, PAGE);
    free(etag);
}

static bool reply_with_etag(const struct http_stub_request *request, struct http_stub_script *script,
                            const char *headers)
{
    if (!str_equal(http_stub_header(request, "If-None-Match"), STR("\"v1\"")))
        return http_stub_reply(script, 200, headers, STR(PAGE)), true;
    http_stub_sendf(script, "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=600\r\n\r\n");
    return true;
}

static bool reply_page(const struct http_stub_request *request, struct http_stub_script *script)
{
    static const struct {
        const char *target, *headers;
    } plain[] = {
        {"/fresh", HTML "Cache-Control: max-age=600\r\n"},
        {"/fresh?q=2", HTML "Cache-Control: max-age=600\r\n"},
        {"/fresh-twice", HTML "Cache-Control: public\r\nCache-Control: max-age=600\r\n"},
        {"/no-store", HTML "Cache-Control: no-store\r\nETag: \"v1\"\r\n"},
        {"/no-store-second-line", HTML "Cache-Control: max-age=600\r\nCache-Control: no-store\r\n"},
        {"/vary", HTML "Cache-Control: max-age=600\r\nVary: User-Agent\r\n"},
        {"/nothing-said", HTML},
        {"/stale", HTML "Cache-Control: max-age=0\r\n"},
        {"/stale-strict", HTML "Cache-Control: max-age=0, must-revalidate\r\n"},
        {"/garbage", HTML "Last-Modified: the day before\r\nETag: unquoted\r\nExpires: never\r\nAge: old\r\n"},
        {"/forever", HTML "Cache-Control: max-age=999999999999999999999999\r\n"},
        {"/dated", HTML "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nCache-Control: no-cache\r\n"},
    };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (str_equal(request->target, str_of(plain[i].target)))
            return http_stub_reply(script, 200, plain[i].headers, STR(PAGE)), true;
    }
    if (str_equal(request->target, STR("/etag")))
        return reply_with_etag(request, script, HTML "ETag: \"v1\"\r\n");
    if (str_equal(request->target, STR("/etag-no-cache")))
        return reply_with_etag(request, script, HTML "ETag: \"v1\"\r\nCache-Control: no-cache\r\n");
    return false;
}

static void handler(void *user, const struct http_stub_request *request, struct http_stub_script *script)
{
    (void)user;
    struct str target = request->target;
    pthread_mutex_lock(&site.lock);
    if (str_equal(target, STR("/robots.txt"))) {
        reply_robots(script);
        pthread_mutex_unlock(&site.lock);
        return;
    }
    note_request(request);
    if (site.broken)
        http_stub_reply(script, 500, "Retry-After: 0\r\n", STR("oops"));
    else if (reply_page(request, script))
        ;
    else if (str_equal(target, STR("/redirect")))
        http_stub_reply(script, 302, "Location: /etag\r\n", STR(""));
    else if (str_equal(target, STR("/to-forbidden")))
        http_stub_reply(script, 302, "Location: /forbidden/x\r\n", STR(""));
    else if (str_equal(target, STR("/partial")))
        http_stub_reply(script, 203, HTML "Cache-Control: max-age=600\r\n", STR(PAGE));
    else if (str_equal(target, STR("/304")))
        http_stub_send(script, STR("HTTP/1.1 304 Not Modified\r\n\r\n"));
    else if (str_equal(target, STR("/large-etag")))
        reply_huge_etag(script, 100000);
    else if (str_equal(target, STR("/huge-etag")))
        reply_huge_etag(script, 1000000);
    else if (str_equal(target, STR("/busy")))
        http_stub_reply(script, 429, "Retry-After: 60\r\n", STR("slow down"));
    else if (str_equal(target, STR("/challenge")))
        http_stub_reply(script, 403, HTML "cf-mitigated: challenge\r\n", STR("<title>Just a moment...</title>"));
    else if (str_equal(target, STR("/shell")))
        http_stub_reply(script, 200, HTML,
                        STR("<html><head><title>App</title></head><body><div id=\"root\">Loading</div>"
                            "<script src='/app.js'></script></body></html>"));
    else
        http_stub_reply(script, 404, NULL, STR("no"));
    pthread_mutex_unlock(&site.lock);
}

/* ---- a world with a cache ---- */

static char folder[64], cache_path[128];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fathom-visit-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(cache_path, sizeof cache_path, "%s/pages.db", folder);
    site.broken = false;
    site.robots = NULL;
    site.robots_code = site.robots_asked = 0;
    site.validators[0] = site.seen[0] = '\0';
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void start(struct tool_world *world, struct visit_options options)
{
    struct error error;
    tool_world_init(world, "generic", handler, NULL, 0);
    options.summarizer = VISIT_SUMMARY_EXTRACTIVE;
    options.guard = &world->guard;
    assert_int_equal(visit_tool_create(&options, &world->tool, &error), STATUS_OK);
}

static void start_cached(struct tool_world *world)
{
    start(world, (struct visit_options){.cache_path = cache_path});
}

static const char *visit(struct tool_world *world, const char *path)
{
    return tool_world_call(world, "{\"url\": [\"%s%s\"], \"goal\": \"when was the lighthouse built\"}", world->base,
                           path);
}

static void assert_read(struct tool_world *world, const char *path)
{
    const char *text = visit(world, path);
    if (world->status != OUTCOME_OK)
        fail_msg("%s: %s", path, text);
    assert_holds(text, "1857");
}

static void assert_lost(struct tool_world *world, const char *path, const char *why)
{
    const char *text = visit(world, path);
    assert_int_equal(world->status, OUTCOME_FAILED);
    assert_holds(text, why);
}

/* ---- cache ---- */

static void visit_cache__asks_no_more_than_it_must(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int requests;           /* of two visits */
        const char *validators; /* of the second */
    } cases[] = {
        {"/fresh", 1, "|"},       {"/fresh?q=2", 1, "|"}, /* another page */
        {"/fresh-twice", 1, "|"}, {"/forever", 1, "|"},
        {"/no-store", 2, "|"},    {"/no-store-second-line", 2, "|"},
        {"/vary", 2, "|"},        {"/nothing-said", 2, "|"},
        {"/stale", 2, "|"},       {"/garbage", 2, "|"},
        {"/etag", 2, "\"v1\"|"},  {"/dated", 2, "|Sun, 06 Nov 1994 08:49:37 GMT"},
        {"/large-etag", 2, "|"},  {"/partial", 2, "|"},
    };
    struct tool_world world;
    start_cached(&world);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int before = http_stub_requests(world.stub);
        assert_read(&world, cases[i].path);
        assert_read(&world, cases[i].path);
        int requests = http_stub_requests(world.stub) - before;
        if (requests != cases[i].requests || strcmp(site.validators, cases[i].validators) != 0)
            fail_msg("%s: %d requests, %s", cases[i].path, requests, site.validators);
    }
    tool_world_finish(&world);
}

static void visit_cache__serves_another_process(void **state)
{
    (void)state;
    struct tool_world world;
    char url[128];
    start_cached(&world);
    assert_read(&world, "/fresh");
    snprintf(url, sizeof url, "%s/fresh", world.base);
    tool_world_finish(&world); /* the server, too, is gone */
    start_cached(&world);
    const char *text = tool_world_call(&world, "{\"url\": [\"%s\"], \"goal\": \"when was it built\"}", url);
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "1857");
    tool_world_finish(&world);
}

static void visit_cache__a_confirmed_copy_is_fresh_again(void **state)
{
    (void)state;
    struct tool_world world;
    start_cached(&world);
    assert_read(&world, "/etag");
    assert_read(&world, "/etag"); /* 304 with max-age=600 */
    assert_read(&world, "/etag");
    assert_int_equal(http_stub_requests(world.stub), 2);
    tool_world_finish(&world);
}

static void visit_cache__keeps_where_redirects_led(void **state)
{
    (void)state;
    struct tool_world world;
    start_cached(&world);
    assert_read(&world, "/redirect");
    assert_read(&world, "/redirect"); /* the redirect is followed again, its end confirmed */
    assert_string_equal(site.validators, "\"v1\"|");
    assert_int_equal(http_stub_requests(world.stub), 4);
    assert_read(&world, "/redirect");
    assert_int_equal(http_stub_requests(world.stub), 4);
    tool_world_finish(&world);
}

static void visit_cache__an_old_copy_is_better_than_nothing(void **state)
{
    (void)state;
    struct tool_world world;
    start_cached(&world);
    assert_read(&world, "/stale");
    assert_read(&world, "/stale-strict");
    assert_read(&world, "/etag-no-cache");
    site.broken = true;
    assert_read(&world, "/stale");
    assert_holds(world.notices.data, "the copy of 20");
    assert_holds(world.text, "read from a copy kept on 20");
    assert_lost(&world, "/stale-strict", "HTTP 500");
    assert_lost(&world, "/etag-no-cache", "HTTP 500");
    assert_lost(&world, "/nothing-said", "HTTP 500");
    http_stub_stop(world.stub);
    world.stub = NULL;
    assert_read(&world, "/stale");
    assert_holds(world.notices.data, "could not be reached");
    assert_lost(&world, "/stale-strict", "could not be reached");
    tool_world_finish(&world);
}

static void visit_cache__believes_no_304_that_nobody_asked_for(void **state)
{
    (void)state;
    struct tool_world world;
    start_cached(&world);
    assert_lost(&world, "/304", "HTTP 304");
    assert_lost(&world, "/304", "HTTP 304");
    assert_lost(&world, "/huge-etag", "could not be reached");
    tool_world_finish(&world);
}

/* What came from an internal network by an exemption is not given out where there is none. */
static void visit_cache__keeps_the_guards_rules(void **state)
{
    (void)state;
    struct tool_world world;
    struct guard strict;
    struct error error;
    struct visit_options options = {.summarizer = VISIT_SUMMARY_EXTRACTIVE, .cache_path = cache_path, .guard = &strict};
    guard_init(&strict);
    start_cached(&world);
    assert_read(&world, "/fresh");
    assert_read(&world, "/fresh");
    assert_int_equal(http_stub_requests(world.stub), 1);
    tool_destroy(world.tool);
    assert_int_equal(visit_tool_create(&options, &world.tool, &error), STATUS_OK);
    assert_read(&world, "/fresh"); /* the client still has its exemption, so it is fetched anew */
    assert_int_equal(http_stub_requests(world.stub), 2);
    tool_world_finish(&world);
}

static void visit_cache__is_not_needed(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, (struct visit_options){.cache_path = "/dev/null/pages.db"});
    assert_read(&world, "/fresh");
    assert_holds(world.notices.data, "pages are not cached");
    assert_read(&world, "/fresh");
    assert_int_equal(world.notices.len, 0); /* said once */
    tool_world_finish(&world);
}

/* ---- politeness ---- */

static void visit_politeness__keeps_pauses(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, (struct visit_options){0});
    assert_lost(&world, "/busy", "HTTP 429");
    assert_lost(&world, "/fresh", "asked not to be asked again for another");
    assert_string_equal(site.seen, "/busy ");
    tool_world_finish(&world);
}

static void visit_politeness__ends_waiting_with_the_call(void **state)
{
    (void)state;
    struct tool_world world;
    char arguments[512];
    start(&world, (struct visit_options){.site_parallel = 1, .site_gap_ms = 30000});
    snprintf(arguments, sizeof arguments, "{\"url\": [\"%s/fresh\", \"%s/stale\"], \"goal\": \"when was it built\"}",
             world.base, world.base);
    struct tool_run *run = tool_world_start(&world, arguments);
    while (http_stub_requests(world.stub) == 0)
        loop_turn(world.loop);
    tool_call_cancel(run); /* the second waits for its turn */
    tool_world_until_released(&world);
    world.timeout_ms = 400; /* the gap of the first still holds */
    assert_lost(&world, "/fresh", "no time left");
    assert_int_equal(http_stub_requests(world.stub), 1);
    tool_world_finish(&world);
}

static void visit_politeness__reads_all_pages_of_a_call(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, (struct visit_options){.site_parallel = 1, .site_gap_ms = -1});
    const char *text = tool_world_call(
        &world,
        "{\"url\": [\"%s/fresh\", \"%s/stale\", \"%s/dated\", \"%s/forever\"], \"goal\": \"when was it built\"}",
        world.base, world.base, world.base, world.base);
    assert_int_equal(world.status, OUTCOME_OK);
    assert_int_equal(world.n_sources, 4);
    assert_lacks(text, "could not");
    tool_world_finish(&world);
}

/* ---- robots.txt ---- */

static void visit_robots__are_heeded_when_asked(void **state)
{
    (void)state;
    struct tool_world world;
    site.robots = "User-agent: *\nDisallow: /fresh\nDisallow: /forbidden\nAllow: /fresh?\n";
    start(&world, (struct visit_options){0});
    assert_read(&world, "/fresh");
    assert_int_equal(site.robots_asked, 0);
    tool_world_finish(&world);

    start(&world, (struct visit_options){.robots = true});
    assert_lost(&world, "/fresh", "robots.txt forbids");
    assert_read(&world, "/fresh?q=2");
    assert_read(&world, "/stale");
    assert_lost(&world, "/to-forbidden", "robots.txt forbids");
    assert_int_equal(site.robots_asked, 1);
    assert_null(strstr(site.seen, "/forbidden"));
    tool_world_finish(&world);
}

static void visit_robots__what_cannot_be_read(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *why; /* NULL: the page is read */
    } cases[] = {
        {404, NULL},
        {401, NULL},
        {403, NULL},
        {302, NULL}, /* for ever to itself */
        {500, "could not be read"},
        {503, "could not be read"},
        {-1, "could not be read"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tool_world world;
        site.robots_code = cases[i].code;
        start(&world, (struct visit_options){.robots = true});
        if (cases[i].why)
            assert_lost(&world, "/stale", cases[i].why);
        else
            assert_read(&world, "/stale");
        tool_world_finish(&world);
    }
}

static void visit_robots__are_asked_once_for_all(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, (struct visit_options){.robots = true});
    tool_world_call(&world, "{\"url\": [\"%s/fresh\", \"%s/stale\", \"%s/dated\"], \"goal\": \"when was it built\"}",
                    world.base, world.base, world.base);
    assert_int_equal(world.n_sources, 3);
    assert_int_equal(site.robots_asked, 1);
    tool_world_finish(&world);
}

/* https:// is only our guess where no scheme was given, for robots.txt as for the page. */
static void visit_robots__where_no_scheme_was_given(void **state)
{
    (void)state;
    struct tool_world world;
    site.robots = "User-agent: *\nDisallow: /forbidden\n";
    start(&world, (struct visit_options){.robots = true, .page_timeout_ms = 500});
    const char *text = tool_world_call(&world, "{\"url\": [\"%s/fresh\"], \"goal\": \"when was the lighthouse built\"}",
                                       world.base + strlen("http://"));
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(text, "1857");
    tool_world_finish(&world);
}

/* Whose call fetched it is over before it came: somebody else's call goes on with it. */
static void visit_robots__outlive_a_cancelled_call(void **state)
{
    (void)state;
    struct tool_world world;
    char arguments[256];
    start(&world, (struct visit_options){.robots = true});
    snprintf(arguments, sizeof arguments, "{\"url\": [\"%s/fresh\"], \"goal\": \"when was it built\"}", world.base);
    struct tool_run *first = tool_world_start(&world, arguments);
    loop_turn(world.loop);
    tool_world_start(&world, arguments); /* waits for the same robots.txt */
    loop_turn(world.loop);
    tool_call_cancel(first);
    while (world.n_released < 2)
        loop_turn(world.loop);
    assert_int_equal(world.n_done, 1);
    assert_int_equal(world.status, OUTCOME_OK);
    assert_holds(world.text, "1857");
    tool_world_finish(&world);
}

/* ---- what is no page ---- */

static void visit_fetch__tells_challenges_and_shells(void **state)
{
    (void)state;
    struct tool_world world;
    start(&world, (struct visit_options){0});
    assert_lost(&world, "/challenge", "proof that a person is reading");
    assert_lost(&world, "/shell", "made by scripts");
    tool_world_finish(&world);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(visit_cache__asks_no_more_than_it_must),
        IN_FOLDER(visit_cache__serves_another_process),
        IN_FOLDER(visit_cache__a_confirmed_copy_is_fresh_again),
        IN_FOLDER(visit_cache__keeps_where_redirects_led),
        IN_FOLDER(visit_cache__an_old_copy_is_better_than_nothing),
        IN_FOLDER(visit_cache__believes_no_304_that_nobody_asked_for),
        IN_FOLDER(visit_cache__keeps_the_guards_rules),
        IN_FOLDER(visit_cache__is_not_needed),
        IN_FOLDER(visit_politeness__keeps_pauses),
        IN_FOLDER(visit_politeness__ends_waiting_with_the_call),
        IN_FOLDER(visit_politeness__reads_all_pages_of_a_call),
        IN_FOLDER(visit_robots__are_heeded_when_asked),
        IN_FOLDER(visit_robots__what_cannot_be_read),
        IN_FOLDER(visit_robots__are_asked_once_for_all),
        IN_FOLDER(visit_robots__where_no_scheme_was_given),
        IN_FOLDER(visit_robots__outlive_a_cancelled_call),
        IN_FOLDER(visit_fetch__tells_challenges_and_shells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
