/* What guarded traffic must not reach, by any way, with real servers on loopback in the place of internal ones. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "net/guard.h"
#include "support/http_run.h"
#include "support/http_stub.h"

/* ---- a name service ----
 *
 * This program's own getaddrinfo stands before libc's, also for libcurl, and asks nobody. Numeric addresses are
 * themselves, also with a dot behind; "a.b.c.d_e.f.g.h.test" has these addresses; "localhost" is 127.0.0.1; "dead.test"
 * never answers (until the program is about to end); "turn.test" is 127.0.0.1 once and 127.0.0.2 from then on. There is
 * nothing else. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static bool release_dead;
static int dead_lookups, turn_lookups;

static void wait_for_release(void)
{
    pthread_mutex_lock(&lock);
    dead_lookups++;
    while (!release_dead)
        pthread_cond_wait(&released, &lock);
    dead_lookups--;
    pthread_mutex_unlock(&lock);
}

typedef int getaddrinfo_fn(const char *, const char *, const struct addrinfo *, struct addrinfo **);

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints, struct addrinfo **out)
{
    getaddrinfo_fn *real = (getaddrinfo_fn *)dlsym(RTLD_NEXT, "getaddrinfo");
    struct addrinfo numeric = hints ? *hints : (struct addrinfo){0};
    struct str host = str_of(name), piece;
    if (str_equal(host, STR("dead.test"))) {
        wait_for_release();
        return EAI_AGAIN;
    }
    pthread_mutex_lock(&lock);
    if (str_equal(host, STR("turn.test")))
        host = turn_lookups++ == 0 ? STR("127.0.0.1") : STR("127.0.0.2");
    pthread_mutex_unlock(&lock);
    if (str_ends_with(host, STR(".")))
        host = str_slice(host, 0, host.len - 1);
    if (str_ends_with(host, STR(".test")))
        host = str_slice(host, 0, host.len - 5);
    if (str_equal(host, STR("localhost")))
        host = STR("127.0.0.1");
    numeric.ai_flags |= AI_NUMERICHOST;
    struct addrinfo *first = NULL, **last = &first;
    while (str_split_next(&host, '_', &piece)) {
        char *address = str_dup(piece);
        int result = real(address, service, &numeric, last);
        free(address);
        if (result != 0) {
            if (first)
                freeaddrinfo(first);
            return result;
        }
        while (*last)
            last = &(*last)->ai_next;
    }
    *out = first;
    return first ? 0 : EAI_NONAME;
}

/* ---- the fixture: an allowed server on 127.0.0.1, an internal one on 127.0.0.2 ---- */

struct fixture {
    struct loop *loop;
    struct guard guard; /* 127.0.0.1 is open */
    struct http_client *client;
    struct http_stub *allowed, *internal;
    char last_target[512];
};

/* "/to/URL" redirects to URL, with 127.0.0.2:0 standing for the internal server; "/see/CODE/URL" does with that code.
 */
static void answer(void *user, const struct http_stub_request *request, struct http_stub_script *script)
{
    struct fixture *fixture = user;
    snprintf(fixture->last_target, sizeof fixture->last_target, "%.*s", STR_ARG(request->target));
    if (str_starts_with(request->target, STR("/to/"))) {
        http_stub_sendf(script, "HTTP/1.1 302 Found\r\nLocation: %.*s\r\nContent-Length: 5\r\n\r\nmoved",
                        STR_ARG(str_slice(request->target, 4, request->target.len)));
    } else if (str_starts_with(request->target, STR("/echo"))) {
        http_stub_reply(script, 200, NULL, request->head);
    } else {
        http_stub_reply(script, 200, NULL, STR("reached"));
    }
}

static int setup(void **state)
{
    struct fixture *fixture = mem_zalloc(sizeof *fixture);
    fixture->loop = loop_create();
    assert_int_equal(guard_allow(&fixture->guard, STR("127.0.0.1/32"), NULL), STATUS_OK);
    fixture->client = http_client_create(fixture->loop, &(struct http_client_options){.guard = &fixture->guard});
    fixture->allowed = http_stub_start("127.0.0.1", answer, fixture);
    fixture->internal = http_stub_start("127.0.0.2", answer, fixture);
    turn_lookups = 0;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    http_client_destroy(fixture->client);
    loop_destroy(fixture->loop);
    http_stub_stop(fixture->allowed);
    http_stub_stop(fixture->internal);
    guard_finish(&fixture->guard);
    free(fixture);
    return 0;
}

static struct http_result fetch(struct fixture *fixture, enum http_traffic traffic, const char *url)
{
    struct http_options options = {.traffic = traffic, .url = url, .max_redirects = 5, .total_timeout_ms = 20000};
    return http_run(fixture->loop, fixture->client, &options);
}

__attribute__((format(printf, 2, 3))) static struct http_result get(struct fixture *fixture, const char *format, ...)
{
    va_list arguments;
    char url[512];
    va_start(arguments, format);
    vsnprintf(url, sizeof url, format, arguments);
    va_end(arguments);
    return fetch(fixture, HTTP_GUARDED, url);
}

static void assert_status(struct http_result result, enum status wanted)
{
    if (result.status != wanted)
        fail_msg("%s: status %d: %s", result.effective_url, result.status, result.message);
    http_run_forget(&result);
}

static int open_port(struct fixture *fixture)
{
    return http_stub_port(fixture->allowed);
}

static int internal_port(struct fixture *fixture)
{
    return http_stub_port(fixture->internal);
}

/* ---- spellings ---- */

static void guarded__no_spelling_reaches_loopback(void **state)
{
    struct fixture *fixture = *state;
    guard_finish(&fixture->guard);
    struct http_stub *six = http_stub_start("::1", answer, fixture);
    static const char *const hosts[] = {
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x7F.0.0.1",
        "0177.1",
        "017700000001",
        "0177.0.0.01",
        "127.0.0.1.",
        "127.000.000.001",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "sub.localhost",
        "0",
        "0.0.0.0",
        "0x0",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::1%25lo]",
        "[fe80::1%25lo]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "%31%32%37.0.0.1",
        "%6c%6f%63alhost",
        "user@127.0.0.1",
        "example.org@127.0.0.1",
        "user:pass@localhost",
        "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1",
        "\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1",
        "127\xe3\x80\x82"
        "0.0.1",
        "\xef\xbd\x8c\xef\xbd\x8f\xef\xbd\x83\xef\xbd\x81\xef\xbd\x8c\xef\xbd\x88\xef\xbd\x8f\xef\xbd\x93\xef\xbd\x94",
        "127.0.0.1.test",
        "127.0.0.1_127.0.0.2.test",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "224.0.0.1",
        "255.255.255.255"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        for (int server = 0; server < 2; server++) {
            int port = server == 0 ? open_port(fixture) : http_stub_port(six);
            assert_status(get(fixture, "http://%s:%d/", hosts[i], port), STATUS_REFUSED);
        }
    assert_int_equal(http_stub_connections(fixture->allowed), 0);
    assert_int_equal(http_stub_connections(six), 0);
    http_stub_stop(six);
}

static void guarded__spellings_that_are_no_url_reach_nothing(void **state)
{
    struct fixture *fixture = *state;
    guard_finish(&fixture->guard);
    static const char *const urls[] = {"http:127.0.0.1:%d/",
                                       "http:/127.0.0.1:%d/",
                                       "http:///127.0.0.1:%d/",
                                       "http:\\\\127.0.0.1:%d/",
                                       "http://127.0.0.1\\@example.test:%d/",
                                       "http://example.test\\@127.0.0.1:%d/",
                                       "http://127.0.0.1%%00.example.test:%d/",
                                       "http://127.0.0.1\t:%d/",
                                       "http://[127.0.0.1]:%d/",
                                       "http://127.0.0.1 :%d/",
                                       "http://%%0a127.0.0.1:%d/",
                                       " http://127.0.0.1:%d/",
                                       "HTTP://127.0.0.1:%d/",
                                       "http://0300.0250.0.1:%d/",
                                       "http://127.0.0.1,8.8.8.8:%d/",
                                       "http://[::1:%d/",
                                       "http://1.2.3.4.5.test:%d/"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        char url[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(url, sizeof url, urls[i], open_port(fixture));
#pragma GCC diagnostic pop
        struct http_result result = fetch(fixture, HTTP_GUARDED, url);
        assert_int_not_equal(result.status, STATUS_OK);
        http_run_forget(&result);
    }
    assert_int_equal(http_stub_connections(fixture->allowed), 0);
}

/* ---- names ---- */

static void guarded__names_of_internal_addresses_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct http_result result = get(fixture, "http://127.0.0.2.test:%d/secret", internal_port(fixture));
    assert_int_equal(result.status, STATUS_REFUSED);
    assert_non_null(strstr(result.message, ".test"));
    http_run_forget(&result);
    assert_int_equal(http_stub_connections(fixture->internal), 0);
}

static void guarded__messages_do_not_show_where_a_name_points(void **state)
{
    struct fixture *fixture = *state;
    turn_lookups = 1;
    struct http_result result = get(fixture, "http://turn.test:%d/", internal_port(fixture));
    assert_int_equal(result.status, STATUS_REFUSED);
    assert_null(strstr(result.message, "127."));
    assert_non_null(strstr(result.message, "turn.test"));
    http_run_forget(&result);
}

static void guarded__of_several_addresses_only_allowed_ones_are_used(void **state)
{
    struct fixture *fixture = *state;
    struct http_result result = get(fixture, "http://127.0.0.2_127.0.0.1.test:%d/", open_port(fixture));
    assert_int_equal(result.status, STATUS_OK);
    http_run_forget(&result);
    struct http_stub *twin = http_stub_start("127.0.0.3", answer, fixture);
    result = get(fixture, "http://127.0.0.3_127.0.0.1.test:%d/", http_stub_port(twin)); /* nobody listens there on .1 */
    assert_int_equal(result.status, STATUS_NETWORK);
    http_run_forget(&result);
    assert_int_equal(http_stub_connections(twin), 0);
    http_stub_stop(twin);
}

static void guarded__a_name_that_changes_its_address_is_refused(void **state)
{
    struct fixture *fixture = *state;
    assert_status(get(fixture, "http://turn.test:%d/", open_port(fixture)), STATUS_OK);
    /* A new client looks the name up again and finds the internal server. */
    http_client_destroy(fixture->client);
    fixture->client = http_client_create(fixture->loop, &(struct http_client_options){.guard = &fixture->guard});
    assert_status(get(fixture, "http://turn.test:%d/", internal_port(fixture)), STATUS_REFUSED);
    assert_int_equal(turn_lookups, 2);
    assert_int_equal(http_stub_connections(fixture->internal), 0);
}

/* ---- redirects ---- */

static void guarded__redirects_are_followed(void **state)
{
    struct fixture *fixture = *state;
    struct http_result result =
        get(fixture, "http://127.0.0.1:%d/to//to/http://127.0.0.1:%d/echo", open_port(fixture), open_port(fixture));
    assert_int_equal(result.status, STATUS_OK);
    assert_int_equal(result.redirects, 2);
    assert_string_equal(result.addresses, "127.0.0.1"); /* of three hops, told once */
    char wanted[64];
    snprintf(wanted, sizeof wanted, "http://127.0.0.1:%d/echo", open_port(fixture));
    assert_string_equal(result.effective_url, wanted);
    assert_memory_equal(result.body, "GET /echo ", 10);
    http_run_forget(&result);
    assert_int_equal(http_stub_connections(fixture->allowed), 1); /* the connection was kept */
}

static void guarded__redirects_to_internal_places_are_refused(void **state)
{
    struct fixture *fixture = *state;
    static const char *const places[] = {"http://127.0.0.2:%d/",
                                         "//127.0.0.2:%d/",
                                         "http://127.2:%d/",
                                         "http://2130706434:%d/",
                                         "http://[::ffff:127.0.0.2]:%d/",
                                         "http://127.0.0.2.test:%d/",
                                         "http://me:it@127.0.0.2:%d/",
                                         "http://169.254.169.254:%d/latest/meta-data/",
                                         "file:///etc/passwd?%d",
                                         "ftp://127.0.0.2:%d/",
                                         "gopher://127.0.0.2:%d/_GET",
                                         "dict://127.0.0.2:%d/x",
                                         "unix:///tmp/socket?%d"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char place[128];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(place, sizeof place, places[i], internal_port(fixture));
#pragma GCC diagnostic pop
        struct http_result result = get(fixture, "http://127.0.0.1:%d/to/%s", open_port(fixture), place);
        if (result.status != STATUS_REFUSED && result.status != STATUS_NETWORK && result.status != STATUS_INVALID)
            fail_msg("%s: %d %s", place, result.status, result.message);
        assert_int_not_equal(result.code, 200);
        assert_int_equal(result.body_len, 0);
        http_run_forget(&result);
    }
    assert_int_equal(http_stub_connections(fixture->internal), 0);
}

static void guarded__redirects_have_a_limit(void **state)
{
    struct fixture *fixture = *state;
    struct http_options options = {.max_redirects = 2};
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/to//to//to//echo", open_port(fixture));
    options.url = url;
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_NETWORK);
    assert_int_equal(result.redirects, 2);
    assert_non_null(strstr(result.message, "redirects"));
    http_run_forget(&result);
    options.max_redirects = 3;
    assert_status(http_run(fixture->loop, fixture->client, &options), STATUS_OK);
    options.max_redirects = 0;
    assert_status(http_run(fixture->loop, fixture->client, &options), STATUS_NETWORK);
}

static void guarded__keys_do_not_follow_to_another_origin(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(guard_allow(&fixture->guard, STR("127.0.0.2"), NULL), STATUS_OK);
    static const struct http_header headers[] = {{"authorization", "Bearer key"}, {"Cookie", "a=b"}, {"X-Kept", "1"}};
    char url[128];
    struct http_options options = {.url = url, .headers = headers, .n_headers = 3, .max_redirects = 5};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/to//echo", open_port(fixture));
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_non_null(strstr(result.body, "Bearer key"));
    http_run_forget(&result);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/to/http://127.0.0.2:%d/echo", open_port(fixture),
             internal_port(fixture));
    result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_OK);
    assert_null(strstr(result.body, "Bearer key"));
    assert_null(strstr(result.body, "a=b"));
    assert_non_null(strstr(result.body, "X-Kept: 1"));
    http_run_forget(&result);
}

static void guarded__credentials_in_urls_are_not_sent(void **state)
{
    struct fixture *fixture = *state;
    struct http_result result = get(fixture, "http://me:secret@127.0.0.1:%d/echo", open_port(fixture));
    assert_int_equal(result.status, STATUS_OK);
    assert_null(strstr(result.body, "Authorization"));
    assert_null(strstr(result.effective_url, "secret"));
    http_run_forget(&result);
    char url[128];
    snprintf(url, sizeof url, "http://me:secret@127.0.0.1:%d/echo", open_port(fixture));
    result = fetch(fixture, HTTP_CONFIGURED, url); /* the user's own are */
    assert_non_null(strstr(result.body, "Authorization: Basic bWU6c2VjcmV0"));
    assert_null(strstr(result.effective_url, "secret"));
    http_run_forget(&result);
}

static void configured__redirects_are_never_followed(void **state)
{
    struct fixture *fixture = *state;
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.2:%d/to/http://127.0.0.1:%d/echo", internal_port(fixture),
             open_port(fixture));
    struct http_result result = fetch(fixture, HTTP_CONFIGURED, url);
    assert_int_equal(result.status, STATUS_REFUSED);
    assert_int_equal(result.code, 302);
    assert_int_equal(result.redirects, 0);
    assert_non_null(strstr(result.location, "/echo"));
    assert_non_null(strstr(result.message, "redirect"));
    assert_non_null(strstr(result.message, result.location));
    assert_int_equal(http_stub_connections(fixture->allowed), 0);
    http_run_forget(&result);
}

/* ---- host policy ---- */

static enum status no_echo(void *user, const char *url, struct error *error)
{
    struct http_result *result = user;
    assert_null(result->body);
    assert_null(strchr(url, '@'));
    return strstr(url, "/to/") ? STATUS_OK : error_set(error, STATUS_REFUSED, "%s is on the block list", url);
}

static void guarded__every_hop_is_checked(void **state)
{
    struct fixture *fixture = *state;
    char url[128];
    snprintf(url, sizeof url, "http://x@127.0.0.1:%d/to//echo", open_port(fixture));
    struct http_options options = {.url = url, .check = no_echo, .max_redirects = 5};
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_REFUSED);
    assert_non_null(strstr(result.message, "/echo is on the block list"));
    http_run_forget(&result);
    assert_int_equal(http_stub_requests(fixture->allowed), 1);
}

/* ---- connections ---- */

static void guarded__does_not_use_configured_connections(void **state)
{
    struct fixture *fixture = *state;
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.2:%d/", internal_port(fixture));
    assert_status(fetch(fixture, HTTP_CONFIGURED, url), STATUS_OK);
    assert_status(fetch(fixture, HTTP_GUARDED, url), STATUS_REFUSED);
    assert_status(fetch(fixture, HTTP_CONFIGURED, url), STATUS_OK);
    assert_int_equal(http_stub_connections(fixture->internal), 1);
    assert_int_equal(http_stub_requests(fixture->internal), 2);
}

static void guarded__kept_connections_are_checked_again(void **state)
{
    struct fixture *fixture = *state;
    assert_status(get(fixture, "http://127.0.0.1:%d/", open_port(fixture)), STATUS_OK);
    guard_finish(&fixture->guard); /* what was allowed is so no longer */
    assert_status(get(fixture, "http://127.0.0.1:%d/", open_port(fixture)), STATUS_REFUSED);
    assert_int_equal(http_stub_requests(fixture->allowed), 1);
}

static void guarded__exemptions_open_their_network_only(void **state)
{
    struct fixture *fixture = *state;
    assert_status(get(fixture, "http://127.0.0.1:%d/", open_port(fixture)), STATUS_OK);
    assert_status(get(fixture, "http://127.1:%d/", open_port(fixture)), STATUS_OK);
    assert_status(get(fixture, "http://127.0.0.2:%d/", internal_port(fixture)), STATUS_REFUSED);
    assert_status(get(fixture, "http://[::ffff:127.0.0.1]:%d/", open_port(fixture)), STATUS_REFUSED);
    assert_int_equal(guard_allow(&fixture->guard, STR("127.0.0.2/31"), NULL), STATUS_OK);
    assert_status(get(fixture, "http://127.0.0.2:%d/", internal_port(fixture)), STATUS_OK);
}

/* ---- proxies ---- */

static const char *const proxy_variables[] = {"http_proxy",  "HTTP_PROXY", "https_proxy",
                                              "HTTPS_PROXY", "all_proxy",  "ALL_PROXY"};

static void set_proxies(struct http_stub *proxy)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", proxy ? http_stub_port(proxy) : 0);
    for (size_t i = 0; i < sizeof proxy_variables / sizeof proxy_variables[0]; i++)
        if (proxy)
            setenv(proxy_variables[i], url, 1);
        else
            unsetenv(proxy_variables[i]);
}

static void guarded__proxies_of_the_environment_are_ignored(void **state)
{
    struct fixture *fixture = *state;
    struct http_stub *proxy = http_stub_start(NULL, answer, fixture);
    set_proxies(proxy);
    assert_status(get(fixture, "http://127.0.0.1:%d/", open_port(fixture)), STATUS_OK);
    assert_status(get(fixture, "http://127.0.0.2:%d/", internal_port(fixture)), STATUS_REFUSED);
    assert_status(get(fixture, "https://127.0.0.2:%d/", internal_port(fixture)), STATUS_REFUSED);
    assert_status(
        get(fixture, "http://127.0.0.1:%d/to/http://127.0.0.2:%d/", open_port(fixture), internal_port(fixture)),
        STATUS_REFUSED);
    set_proxies(NULL);
    assert_int_equal(http_stub_connections(proxy), 0);
    http_stub_stop(proxy);
}

static void configured__proxies_of_the_environment_are_used_but_not_for_loopback(void **state)
{
    struct fixture *fixture = *state;
    struct http_stub *proxy = http_stub_start(NULL, answer, fixture);
    set_proxies(proxy);
    assert_status(fetch(fixture, HTTP_CONFIGURED, "http://model.test/v1"), STATUS_OK);
    assert_string_equal(fixture->last_target, "http://model.test/v1");
    assert_int_equal(http_stub_requests(proxy), 1);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", open_port(fixture));
    assert_status(fetch(fixture, HTTP_CONFIGURED, url), STATUS_OK);
    snprintf(url, sizeof url, "http://localhost:%d/v1", open_port(fixture));
    assert_status(fetch(fixture, HTTP_CONFIGURED, url), STATUS_OK);
    set_proxies(NULL);
    assert_int_equal(http_stub_requests(proxy), 1);
    http_stub_stop(proxy);
}

static void use_proxy(struct fixture *fixture, struct http_stub *proxy)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", http_stub_port(proxy));
    http_client_destroy(fixture->client);
    fixture->client =
        http_client_create(fixture->loop, &(struct http_client_options){.guard = &fixture->guard, .proxy = url});
}

static void guarded__targets_behind_a_proxy_are_looked_up_first(void **state)
{
    struct fixture *fixture = *state;
    struct http_stub *proxy = http_stub_start(NULL, answer, fixture);
    guard_finish(&fixture->guard); /* the proxy itself needs no exemption */
    use_proxy(fixture, proxy);
    setenv("no_proxy", "*", 1);
    setenv("NO_PROXY", "*", 1);
    assert_status(get(fixture, "http://8.8.8.8.test/page"), STATUS_OK);
    assert_string_equal(fixture->last_target, "http://8.8.8.8.test/page");
    struct http_result result = get(fixture, "http://8.8.8.8_9.9.9.9.test/page");
    assert_int_equal(result.status, STATUS_OK);
    assert_string_equal(result.addresses, "8.8.8.8 9.9.9.9"); /* where the page may come from, not the proxy's own */
    http_run_forget(&result);
    assert_status(get(fixture, "http://[2606:4700::1111]/page"), STATUS_OK);
    assert_int_equal(http_stub_requests(proxy), 3);
    static const char *const refused[] = {"127.0.0.1",
                                          "127.1",
                                          "2130706433",
                                          "localhost",
                                          "[::1]",
                                          "10.0.0.1.test",
                                          "8.8.8.8_10.0.0.1.test",
                                          "[::ffff:10.0.0.1]",
                                          "169.254.169.254"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_status(get(fixture, "http://%s/", refused[i]), STATUS_REFUSED);
    assert_status(get(fixture, "http://8.8.8.8.test/to/http://10.0.0.1.test/"),
                  STATUS_OK); /* its stub sees a whole URL */
    assert_status(get(fixture, "http://nowhere.test/"), STATUS_NETWORK);
    assert_int_equal(http_stub_requests(proxy), 4);
    unsetenv("no_proxy");
    unsetenv("NO_PROXY");
    http_stub_stop(proxy);
}

static void answer_redirect(void *user, const struct http_stub_request *request, struct http_stub_script *script)
{
    (void)user;
    (void)request;
    http_stub_reply(script, 302, "Location: http://10.0.0.1.test/\r\n", STR(""));
}

static void guarded__redirects_behind_a_proxy_are_looked_up_too(void **state)
{
    struct fixture *fixture = *state;
    struct http_stub *proxy = http_stub_start(NULL, answer_redirect, NULL);
    use_proxy(fixture, proxy);
    assert_status(get(fixture, "http://8.8.8.8.test/"), STATUS_REFUSED);
    assert_int_equal(http_stub_requests(proxy), 1);
    http_stub_stop(proxy);
}

/* ---- look-ups that fail or never answer ---- */

static void lookup__an_unknown_name_is_said(void **state)
{
    struct fixture *fixture = *state;
    for (int traffic = HTTP_GUARDED; traffic <= HTTP_CONFIGURED; traffic++) {
        struct http_result result = fetch(fixture, (enum http_traffic)traffic, "http://nowhere.test/");
        assert_int_equal(result.status, STATUS_NETWORK);
        assert_non_null(strstr(result.message, "nowhere.test is not found"));
        http_run_forget(&result);
    }
}

static void assert_prompt(struct fixture *fixture, int64_t since)
{
    assert_true(loop_now_ms(fixture->loop) - since < 2000);
}

static void lookup__a_dead_one_ends_by_time_out(void **state)
{
    struct fixture *fixture = *state;
    struct http_stub *proxy = http_stub_start(NULL, answer, fixture);
    for (int pass = 0; pass < 2; pass++) {
        int64_t start = loop_now_ms(fixture->loop);
        struct http_options options = {.url = "http://dead.test/", .connect_timeout_ms = 50};
        struct http_result result = http_run(fixture->loop, fixture->client, &options);
        assert_int_equal(result.status, STATUS_TIMEOUT);
        assert_non_null(strstr(result.message, "dead.test"));
        http_run_forget(&result);
        options = (struct http_options){.url = "http://dead.test/", .total_timeout_ms = 50};
        assert_status(http_run(fixture->loop, fixture->client, &options), STATUS_TIMEOUT);
        assert_prompt(fixture, start);
        use_proxy(fixture, proxy); /* once more with the guard's own look-up */
    }
    http_stub_stop(proxy);
}

static void stop(void *user)
{
    loop_stop(user);
}

static void lookup__a_dead_one_does_not_hold_up_cancel_or_the_end(void **state)
{
    struct fixture *fixture = *state;
    struct http_stub *proxy = http_stub_start(NULL, answer, fixture);
    for (int pass = 0; pass < 2; pass++) {
        struct http_result first = {.loop = fixture->loop}, second = {0};
        struct http_options options = {.url = "http://dead.test/"};
        struct http_request *request = http_request_start(fixture->client, &options, http_run_done, &first);
        http_request_start(fixture->client, &options, http_run_done, &second);
        struct loop_timer *timer = loop_timer_create(fixture->loop, stop, fixture->loop);
        loop_timer_start(timer, 30);
        loop_run(fixture->loop); /* the look-ups are under way */
        loop_timer_destroy(timer);
        int64_t start = loop_now_ms(fixture->loop);
        http_request_cancel(request);
        loop_run(fixture->loop);
        assert_int_equal(first.status, STATUS_CANCELED);
        assert_int_equal(first.done, 1);
        assert_int_equal(second.done, 0);
        use_proxy(fixture, proxy); /* ends the client */
        assert_int_equal(second.done, 1);
        assert_int_equal(second.status, STATUS_CANCELED);
        assert_prompt(fixture, start);
        http_run_forget(&first);
        http_run_forget(&second);
    }
    http_stub_stop(proxy);
}

/* Lets the threads that wait end, so that nothing of theirs is taken for a leak. */
static int release(void **state)
{
    (void)state;
    pthread_mutex_lock(&lock);
    release_dead = true;
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(guarded__no_spelling_reaches_loopback),
        TEST(guarded__spellings_that_are_no_url_reach_nothing),
        TEST(guarded__names_of_internal_addresses_are_refused),
        TEST(guarded__messages_do_not_show_where_a_name_points),
        TEST(guarded__of_several_addresses_only_allowed_ones_are_used),
        TEST(guarded__a_name_that_changes_its_address_is_refused),
        TEST(guarded__redirects_are_followed),
        TEST(guarded__redirects_to_internal_places_are_refused),
        TEST(guarded__redirects_have_a_limit),
        TEST(guarded__keys_do_not_follow_to_another_origin),
        TEST(guarded__credentials_in_urls_are_not_sent),
        TEST(configured__redirects_are_never_followed),
        TEST(guarded__every_hop_is_checked),
        TEST(guarded__does_not_use_configured_connections),
        TEST(guarded__kept_connections_are_checked_again),
        TEST(guarded__exemptions_open_their_network_only),
        TEST(guarded__proxies_of_the_environment_are_ignored),
        TEST(configured__proxies_of_the_environment_are_used_but_not_for_loopback),
        TEST(guarded__targets_behind_a_proxy_are_looked_up_first),
        TEST(guarded__redirects_behind_a_proxy_are_looked_up_too),
        TEST(lookup__an_unknown_name_is_said),
        TEST(lookup__a_dead_one_ends_by_time_out),
        TEST(lookup__a_dead_one_does_not_hold_up_cancel_or_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
