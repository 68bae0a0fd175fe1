/* The HTTP client when the other side, or its user, does not behave: faults, deadlines, cancels, crowds. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/mem.h"
#include "support/http_run.h"
#include "support/http_stub.h"

struct fixture {
    struct loop *loop;
    struct http_client *client;
    struct http_stub *stub;
};

/* A case is chosen by the path, so that every test sees the same server. */
static void answer(void *user, const struct http_stub_request *request, struct http_stub_script *script)
{
    (void)user;
    struct str path = request->target;
    static const struct {
        const char *path, *bytes;
        char end; /* c close, r reset, h hang, - go on */
    } plain[] = {
        {"/nothing", "", 'c'},
        {"/reset", "", 'r'},
        {"/silence", "", 'h'},
        {"/half-head", "HTTP/1.1 200 OK\r\nContent-Le", 'c'},
        {"/half-head-reset", "HTTP/1.1 200 OK\r\nContent-Le", 'r'},
        {"/stalled-head", "HTTP/1.1 200 OK\r\nContent-Le", 'h'},
        {"/late-body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", 'h'},
        {"/cut", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf ", 'c'},
        {"/cut-reset", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf ", 'r'},
        {"/cut-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf \r\n5\r\nab", 'c'},
        {"/cut-chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf \r\n", 'c'},
        {"/bad-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf \r\nzz\r\n", 'h'},
        {"/stalled", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf ", 'h'},
        {"/garbage", "220 smtp.example.org ESMTP ready\r\n", 'h'},
        {"/binary", "\x15\x03\x01\x02\x02\x16 no TLS expected here", 'c'},
        {"/bad-status", "HTTP/1.1 abc OK\r\n\r\n", 'c'},
        {"/bad-length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", 'c'},
    };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (str_equal(path, str_of(plain[i].path))) {
            http_stub_send(script, str_of(plain[i].bytes));
            http_stub_pause(script, 5); /* so that a reset does not overtake the bytes */
            if (plain[i].end == 'c')
                http_stub_close(script);
            else if (plain[i].end == 'r')
                http_stub_reset(script);
            else
                http_stub_hang(script);
            return;
        }
    if (str_equal(path, STR("/endless-body"))) {
        http_stub_send(script, STR("HTTP/1.1 200 OK\r\n\r\n"));
        http_stub_endless(script, STR("and on and on and on and on and on and on and on and on "));
    } else if (str_equal(path, STR("/endless-head"))) {
        http_stub_send(script, STR("HTTP/1.1 200 OK\r\n"));
        http_stub_endless(
            script, STR("X-More: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"));
    } else if (str_equal(path, STR("/endless-line"))) {
        http_stub_send(script, STR("HTTP/1.1 200 OK\r\nX-More: "));
        http_stub_endless(script,
                          STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    } else if (str_equal(path, STR("/keep-alives"))) {
        http_stub_send(script, STR("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"));
        for (int i = 0; i < 8; i++) {
            http_stub_pause(script, 40);
            http_stub_send(script, STR(": still here\n"));
        }
        http_stub_close(script);
    } else if (str_equal(path, STR("/tokens"))) {
        http_stub_send(script, STR("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"));
        for (int i = 0; i < 20; i++) {
            http_stub_pause(script, 2);
            http_stub_send(script, STR("data: token\n\n"));
        }
        http_stub_close(script);
    } else {
        http_stub_reply(script, 200, NULL, STR("fine"));
    }
}

static int setup(void **state)
{
    struct fixture *fixture = mem_zalloc(sizeof *fixture);
    fixture->loop = loop_create();
    fixture->client = http_client_create(fixture->loop, NULL);
    fixture->stub = http_stub_start(NULL, answer, NULL);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    http_client_destroy(fixture->client);
    loop_destroy(fixture->loop);
    http_stub_stop(fixture->stub);
    free(fixture);
    return 0;
}

/* Options for a path of the stub; the URL lives until the next call. */
static struct http_options to(struct fixture *fixture, const char *path)
{
    static char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", http_stub_port(fixture->stub), path);
    return (struct http_options){.traffic = HTTP_CONFIGURED, .url = url};
}

static void fault__is_told_apart_and_explained(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *path, *body, *says;
        int code;
        enum status status;
    } cases[] = {
        {"/nothing", "", "without an answer", 0, STATUS_NETWORK},
        {"/reset", "", "broke", 0, STATUS_NETWORK},
        {"/half-head", "", "in the middle", 0, STATUS_NETWORK},
        {"/half-head-reset", "", "broke", 0, STATUS_NETWORK},
        {"/cut", "half ", "broke", 200, STATUS_NETWORK},
        {"/cut-reset", "half ", "broke", 200, STATUS_NETWORK},
        {"/cut-chunk", "half ab", "broke", 200, STATUS_NETWORK},
        {"/cut-chunks", "half ", "broke", 200, STATUS_NETWORK},
        {"/bad-chunk", "half ", "broke", 200, STATUS_NETWORK},
        {"/garbage", "", "not in HTTP", 0, STATUS_NETWORK},
        {"/binary", "", "not in HTTP", 0, STATUS_NETWORK},
        {"/bad-status", "", "not in HTTP", 0, STATUS_NETWORK},
        {"/bad-length", "", "not in HTTP", 0, STATUS_NETWORK},
        {"/stalled-head", "", "sent nothing", 0, STATUS_TIMEOUT},
        {"/silence", "", "sent nothing", 0, STATUS_TIMEOUT},
        {"/late-body", "", "sent nothing", 200, STATUS_TIMEOUT},
        {"/stalled", "half ", "stopped sending", 200, STATUS_TIMEOUT},
        {"/endless-head", "", "headers", 0, STATUS_TOO_BIG},
        {"/endless-line", "", NULL, 0, STATUS_NETWORK},
    };
    char host[32];
    snprintf(host, sizeof host, "127.0.0.1:%d", http_stub_port(fixture->stub));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_options options = to(fixture, cases[i].path);
        options.first_byte_timeout_ms = 150;
        options.stall_timeout_ms = 100;
        struct http_result result = http_run(fixture->loop, fixture->client, &options);
        if (result.status != cases[i].status || (cases[i].says && !strstr(result.message, cases[i].says)))
            fail_msg("%s: status %d: %s", cases[i].path, result.status, result.message);
        assert_non_null(strstr(result.message, host));
        assert_string_equal(result.body, cases[i].body); /* what came is there */
        if (cases[i].code)
            assert_int_equal(result.code, cases[i].code);
        http_run_forget(&result);
    }
}

static void fault__nobody_listens(void **state)
{
    struct fixture *fixture = *state;
    int dead = socket(AF_INET, SOCK_STREAM, 0); /* bound and not listening: nobody else gets this port */
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof where;
    assert_int_equal(bind(dead, (struct sockaddr *)&where, size), 0);
    assert_int_equal(getsockname(dead, (struct sockaddr *)&where, &size), 0);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", ntohs(where.sin_port));
    struct http_options options = {.traffic = HTTP_CONFIGURED, .url = url};
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_NETWORK);
    assert_int_equal(result.code, 0);
    assert_int_equal(result.timing.first_byte_ms, -1);
    assert_non_null(strstr(result.message, "check that the server runs"));
    http_run_forget(&result);
    close(dead);
}

static void fault__tls_where_there_is_none(void **state)
{
    struct fixture *fixture = *state;
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%d/", http_stub_port(fixture->stub));
    struct http_options options = {.traffic = HTTP_CONFIGURED, .url = url, .connect_timeout_ms = 200};
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_TIMEOUT); /* the stub waits for the rest of a request */
    http_run_forget(&result);
}

static void deadline__keep_alives_put_the_stall_off(void **state)
{
    struct fixture *fixture = *state;
    struct http_options options = to(fixture, "/keep-alives"); /* takes 320 ms, with a byte every 40 ms */
    options.first_byte_timeout_ms = options.stall_timeout_ms = 200;
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_OK);
    assert_true(result.timing.total_ms >= 300);
    http_run_forget(&result);
    options.total_timeout_ms = 150;
    result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_TIMEOUT);
    assert_non_null(strstr(result.message, "did not finish within"));
    assert_in_range(result.timing.total_ms, 150, 1000);
    assert_int_equal(result.code, 200);
    assert_true(result.body_len > 0);
    http_run_forget(&result);
}

static void fault__an_endless_body_is_cut_at_the_cap(void **state)
{
    struct fixture *fixture = *state;
    struct http_options options = to(fixture, "/endless-body");
    options.max_body = 1000001;
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_TOO_BIG);
    assert_int_equal(result.body_len, 1000001);
    assert_int_equal(result.code, 200);
    http_run_forget(&result);
}

/* ---- cancel ---- */

struct watcher {
    struct fixture *fixture;
    struct http_request *request, *other;
    struct http_result result;
    int heads, data;
    bool cancel_at_head, cancel_at_data, start_at_data;
    struct http_result more;
};

static bool at_head(void *user, const struct http_response *head)
{
    (void)head;
    struct watcher *watcher = user;
    watcher->heads++;
    assert_int_equal(watcher->result.done, 0);
    if (watcher->cancel_at_head)
        http_request_cancel(watcher->request);
    return true;
}

static void at_data(void *user, struct str data)
{
    (void)data;
    struct watcher *watcher = user;
    watcher->data++;
    assert_int_equal(watcher->result.done, 0);
    if (watcher->cancel_at_data) {
        http_request_cancel(watcher->request);
        http_request_cancel(watcher->request);
        assert_int_equal(watcher->result.done, 0);
    }
    if (watcher->other)
        http_request_cancel(watcher->other);
    watcher->other = NULL;
    if (watcher->start_at_data) {
        watcher->start_at_data = false;
        struct http_options options = to(watcher->fixture, "/");
        http_request_start(watcher->fixture->client, &options, http_run_done, &watcher->more);
    }
}

static void watcher_done(void *user, struct http_response *response)
{
    struct watcher *watcher = user;
    http_request_cancel(watcher->request); /* changes nothing any more */
    http_run_done(&watcher->result, response);
}

static void start_watcher(struct watcher *watcher, const char *path)
{
    struct http_options options = to(watcher->fixture, path);
    options.on_headers = at_head;
    options.on_data = at_data;
    watcher->result.loop = watcher->fixture->loop;
    watcher->request = http_request_start(watcher->fixture->client, &options, watcher_done, watcher);
}

static void cancel__before_anything_happened(void **state)
{
    struct watcher watcher = {.fixture = *state};
    start_watcher(&watcher, "/tokens");
    http_request_cancel(watcher.request);
    assert_int_equal(watcher.result.done, 0);
    loop_run(watcher.fixture->loop);
    assert_int_equal(watcher.result.done, 1);
    assert_int_equal(watcher.result.status, STATUS_CANCELED);
    assert_int_equal(http_stub_requests(watcher.fixture->stub), 0);
    assert_int_equal(http_client_in_flight(watcher.fixture->client), 0);
    http_run_forget(&watcher.result);
}

static void cancel__inside_callbacks(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct watcher watcher = {.fixture = *state, .cancel_at_head = i == 0, .cancel_at_data = i == 1};
        start_watcher(&watcher, "/tokens");
        loop_run(watcher.fixture->loop);
        assert_int_equal(watcher.result.done, 1);
        assert_int_equal(watcher.result.status, STATUS_CANCELED);
        assert_int_equal(watcher.heads, 1);
        assert_int_equal(watcher.data, i); /* no callback after the cancel */
        http_run_forget(&watcher.result);
    }
}

static void cancel_request(void *user)
{
    struct watcher *watcher = user;
    http_request_cancel(watcher->request);
    assert_int_equal(watcher->result.done, 0);
}

static void cancel__at_any_time(void **state)
{
    static const char *const paths[] = {"/silence", "/late-body",    "/stalled",
                                        "/tokens",  "/endless-body", "/keep-alives"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (int ms = 0; ms < 12; ms += 3) {
            struct watcher watcher = {.fixture = *state};
            struct loop_timer *timer = loop_timer_create(watcher.fixture->loop, cancel_request, &watcher);
            start_watcher(&watcher, paths[i]);
            loop_timer_start(timer, ms);
            int64_t before = loop_now_ms(watcher.fixture->loop);
            loop_run(watcher.fixture->loop);
            assert_true(loop_now_ms(watcher.fixture->loop) - before < 1000);
            assert_int_equal(watcher.result.done, 1);
            assert_true(watcher.result.status == STATUS_CANCELED ||
                        (watcher.result.status == STATUS_TOO_BIG && i == 4));
            loop_timer_destroy(timer);
            http_run_forget(&watcher.result);
        }
}

static void cancel__one_request_from_another(void **state)
{
    struct watcher victim = {.fixture = *state}, watcher = {.fixture = *state};
    start_watcher(&victim, "/silence");
    victim.result.loop = NULL;
    start_watcher(&watcher, "/tokens");
    watcher.other = victim.request;
    loop_run(watcher.fixture->loop);
    assert_int_equal(watcher.result.status, STATUS_OK);
    assert_int_equal(victim.result.done, 1);
    assert_int_equal(victim.result.status, STATUS_CANCELED);
    http_run_forget(&watcher.result);
    http_run_forget(&victim.result);
}

static void request__can_be_started_inside_a_callback(void **state)
{
    struct watcher watcher = {.fixture = *state, .start_at_data = true};
    start_watcher(&watcher, "/tokens");
    loop_run(watcher.fixture->loop);
    assert_int_equal(watcher.result.status, STATUS_OK);
    assert_int_equal(watcher.more.done, 1);
    assert_string_equal(watcher.more.body, "fine");
    http_run_forget(&watcher.result);
    http_run_forget(&watcher.more);
}

/* ---- the end of the client ---- */

struct chain {
    struct fixture *fixture;
    int done, canceled, left;
};

static void start_again(void *user, struct http_response *response)
{
    struct chain *chain = user;
    chain->done++;
    chain->canceled += response->status == STATUS_CANCELED;
    if (chain->left-- > 0) {
        struct http_options options = to(chain->fixture, "/silence");
        http_request_start(chain->fixture->client, &options, start_again, chain);
    }
}

static void stop(void *user)
{
    loop_stop(user);
}

static void destroy__ends_what_is_under_way(void **state)
{
    struct fixture *fixture = *state;
    static const char *const paths[] = {"/silence", "/late-body", "/stalled", "/keep-alives"};
    struct chain chain = {.fixture = fixture, .left = 3};
    for (int i = 0; i < 20; i++) {
        struct http_options options = to(fixture, paths[i % 4]);
        http_request_start(fixture->client, &options, start_again, &chain);
    }
    struct loop_timer *timer = loop_timer_create(fixture->loop, stop, fixture->loop);
    loop_timer_start(timer, 10);
    loop_run(fixture->loop);
    loop_timer_destroy(timer);
    struct http_options options = to(fixture, "/"); /* and one that has not begun */
    http_request_start(fixture->client, &options, start_again, &chain);
    http_client_destroy(fixture->client);
    fixture->client = NULL;
    assert_int_equal(chain.done, 24);
    assert_int_equal(chain.canceled, 24);
    loop_turn(fixture->loop);
}

static void destroy__of_nothing(void **state)
{
    (void)state;
    struct loop *loop = loop_create();
    http_client_destroy(NULL);
    http_client_destroy(http_client_create(loop, NULL));
    loop_destroy(loop);
    loop_destroy(NULL);
}

/* ---- crowds ---- */

struct crowd {
    struct loop *loop;
    int left, ok;
    uint64_t bytes;
};

static void crowd_data(void *user, struct str data)
{
    struct crowd *crowd = user;
    crowd->bytes += data.len;
}

static void crowd_done(void *user, struct http_response *response)
{
    struct crowd *crowd = user;
    crowd->ok += response->status == STATUS_OK;
    if (--crowd->left == 0)
        loop_stop(crowd->loop);
}

static void crowd__a_thousand_streams(void **state)
{
    struct fixture *fixture = *state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int count = limit.rlim_cur >= 2200 ? 1000 : 300;
    struct crowd crowd = {.loop = fixture->loop, .left = count};
    struct http_options options = to(fixture, "/tokens");
    options.on_data = crowd_data;
    options.stall_timeout_ms = options.first_byte_timeout_ms = 20000;
    for (int i = 0; i < count; i++)
        http_request_start(fixture->client, &options, crowd_done, &crowd);
    assert_int_equal(http_client_in_flight(fixture->client), count);
    loop_run(fixture->loop);
    assert_int_equal(crowd.ok, count);
    assert_int_equal(crowd.bytes, (uint64_t)count * 20 * strlen("data: token\n\n"));
    assert_int_equal(http_client_in_flight(fixture->client), 0);
}

static void crowd__many_short_requests_share_connections(void **state)
{
    struct fixture *fixture = *state;
    for (int round = 0; round < 5; round++) {
        struct crowd crowd = {.loop = fixture->loop, .left = 100};
        struct http_options options = to(fixture, "/");
        for (int i = 0; i < 100; i++)
            http_request_start(fixture->client, &options, crowd_done, &crowd);
        loop_run(fixture->loop);
        assert_int_equal(crowd.ok, 100);
    }
    assert_int_equal(http_stub_requests(fixture->stub), 500);
    assert_int_equal(http_stub_connections(fixture->stub), 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fault__is_told_apart_and_explained),
        TEST(fault__nobody_listens),
        TEST(fault__tls_where_there_is_none),
        TEST(fault__an_endless_body_is_cut_at_the_cap),
        TEST(deadline__keep_alives_put_the_stall_off),
        TEST(cancel__before_anything_happened),
        TEST(cancel__inside_callbacks),
        TEST(cancel__at_any_time),
        TEST(cancel__one_request_from_another),
        TEST(request__can_be_started_inside_a_callback),
        TEST(destroy__ends_what_is_under_way),
        TEST(destroy__of_nothing),
        TEST(crowd__a_thousand_streams),
        TEST(crowd__many_short_requests_share_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
