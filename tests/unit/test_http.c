/* Requests and responses of the HTTP client, as long as the other side behaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "core/mem.h"
#include "net/guard.h"
#include "support/http_run.h"
#include "support/http_stub.h"

struct fixture {
    struct loop *loop;
    struct guard guard; /* 127.0.0.1 is open */
    struct http_client *client;
    struct http_stub *stub;
    char url[64];
};

/* Answers with what was asked: the head and the body, under a path that says how. */
static void answer(void *user, const struct http_stub_request *request, struct http_stub_script *script)
{
    (void)user;
    struct str path = request->target;
    if (str_equal(path, STR("/echo"))) {
        struct buf echo;
        buf_init(&echo, BUF_UNBOUNDED);
        buf_add(&echo, request->head);
        buf_add(&echo, request->body);
        http_stub_reply(script, 200,
                        "Content-Type: Text/Plain; charset=utf-8\r\nX-One:  1 \r\nX-Two: a\r\nX-Two: b\r\n",
                        buf_str(&echo));
        buf_finish(&echo);
    } else if (str_equal(path, STR("/404"))) {
        http_stub_reply(script, 404, "Content-Type: application/json\r\n", STR("{\"error\":\"gone\"}"));
    } else if (str_equal(path, STR("/chunked"))) {
        http_stub_send(script, STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"));
        http_stub_pause(script, 5);
        http_stub_send(script, STR("6\r\n world\r\n0\r\nX-Trailer: x\r\n\r\n"));
    } else if (str_equal(path, STR("/continue"))) {
        http_stub_send(script, STR("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-One: no\r\n\r\n"));
        http_stub_reply(script, 200, "X-One: yes\r\n", STR("ok"));
    } else if (str_equal(path, STR("/close"))) {
        http_stub_send(script, STR("HTTP/1.0 200 OK\r\n\r\nuntil the end"));
        http_stub_close(script);
    } else if (str_equal(path, STR("/bytes"))) {
        struct str response = STR("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
        for (size_t i = 0; i < response.len; i++) {
            http_stub_send(script, str_slice(response, i, i + 1));
            http_stub_pause(script, 1);
        }
    } else if (str_equal(path, STR("/empty"))) {
        http_stub_send(script, STR("HTTP/1.1 204 No Content\r\n\r\n"));
    } else if (str_equal(path, STR("/drop-second")) && request->number == 2) {
        http_stub_close(script); /* as a server does that found the idle connection too old */
    } else {
        http_stub_reply(script, 200, NULL, STR("here"));
    }
}

static int setup(void **state)
{
    struct fixture *fixture = mem_zalloc(sizeof *fixture);
    fixture->loop = loop_create();
    assert_int_equal(guard_allow(&fixture->guard, STR("127.0.0.1"), NULL), STATUS_OK);
    fixture->client = http_client_create(fixture->loop, &(struct http_client_options){.guard = &fixture->guard});
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
    guard_finish(&fixture->guard);
    free(fixture);
    return 0;
}

static const char *at(struct fixture *fixture, const char *path)
{
    snprintf(fixture->url, sizeof fixture->url, "http://127.0.0.1:%d%s", http_stub_port(fixture->stub), path);
    return fixture->url;
}

static struct http_result get(struct fixture *fixture, enum http_traffic traffic, const char *path)
{
    struct http_options options = {.traffic = traffic, .url = at(fixture, path)};
    return http_run(fixture->loop, fixture->client, &options);
}

static void http__gets_a_page(void **state)
{
    for (int traffic = HTTP_GUARDED; traffic <= HTTP_CONFIGURED; traffic++) {
        struct http_result result = get(*state, (enum http_traffic)traffic, "/echo");
        assert_int_equal(result.status, STATUS_OK);
        assert_int_equal(result.code, 200);
        assert_int_equal(result.version, 11);
        assert_int_equal(result.received, result.body_len);
        assert_memory_equal(result.body, "GET /echo HTTP/1.1\r\n", 20);
        assert_non_null(strstr(result.body, "\r\nUser-Agent: fathom/"));
        assert_null(strstr(result.body, "Expect:"));
        assert_null(strstr(result.body, "Accept-Encoding:"));
        assert_string_equal(result.content_type, "Text/Plain; charset=utf-8");
        assert_string_equal(result.effective_url, at(*state, "/echo"));
        assert_true(result.timing.first_byte_ms >= 0 && result.timing.total_ms >= result.timing.first_byte_ms);
        http_run_forget(&result);
    }
}

static void http__any_status_code_is_a_response(void **state)
{
    struct http_result result = get(*state, HTTP_CONFIGURED, "/404");
    assert_int_equal(result.status, STATUS_OK);
    assert_int_equal(result.code, 404);
    assert_string_equal(result.body, "{\"error\":\"gone\"}");
    http_run_forget(&result);
}

static void look_at_headers(void *user, struct http_response *response)
{
    assert_string_equal(http_response_header(response, "x-one"), "1");
    assert_string_equal(http_response_header(response, "X-TWO"), "a");
    assert_null(http_response_header(response, "X-Three"));
    char *list = http_response_header_list(response, "x-two");
    assert_string_equal(list, "a, b");
    free(list);
    assert_null(http_response_header_list(response, "X-Three"));
    assert_string_equal(response->addresses, "127.0.0.1");
    loop_stop(user);
}

static void http__headers_are_found_by_name(void **state)
{
    struct fixture *fixture = *state;
    struct http_options options = {.url = at(fixture, "/echo")};
    http_request_start(fixture->client, &options, look_at_headers, fixture->loop);
    loop_run(fixture->loop);
}

static void http__bodies_come_in_every_framing(void **state)
{
    static const struct {
        const char *path, *body;
        int code, version;
    } cases[] = {{"/chunked", "hello world", 200, 11},
                 {"/continue", "ok", 200, 11},
                 {"/close", "until the end", 200, 10},
                 {"/bytes", "abc", 200, 11},
                 {"/empty", "", 204, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_result result = get(*state, HTTP_GUARDED, cases[i].path);
        assert_int_equal(result.status, STATUS_OK);
        assert_int_equal(result.code, cases[i].code);
        assert_int_equal(result.version, cases[i].version);
        assert_string_equal(result.body, cases[i].body);
        http_run_forget(&result);
    }
}

static void http__sends_method_headers_and_bytes(void **state)
{
    struct fixture *fixture = *state;
    char text[] = "{\"a\":1}", value[] = "Bearer key";
    const struct http_header headers[] = {
        {"Authorization", value}, {"Content-Type", "application/json"}, {"Accept", NULL}, {"X-Empty", ""}};
    struct http_options options = {.traffic = HTTP_CONFIGURED,
                                   .url = at(fixture, "/echo"),
                                   .headers = headers,
                                   .n_headers = 4,
                                   .body = str_of(text)};
    struct http_result result = {.loop = fixture->loop};
    http_request_start(fixture->client, &options, http_run_done, &result);
    memset(text, 'x', sizeof text - 1); /* all was copied */
    memset(value, 'x', sizeof value - 1);
    loop_run(fixture->loop);
    assert_memory_equal(result.body, "POST /echo HTTP/1.1\r\n", 21);
    assert_non_null(strstr(result.body, "\r\nAuthorization: Bearer key\r\n"));
    assert_non_null(strstr(result.body, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(result.body, "\r\nX-Empty:\r\n"));
    assert_non_null(strstr(result.body, "\r\nContent-Length: 7\r\n"));
    assert_null(strstr(result.body, "\r\nAccept:"));
    assert_non_null(strstr(result.body, "\r\n\r\n{\"a\":1}"));
    http_run_forget(&result);
}

static void http__methods(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *method, *body, *starts;
    } cases[] = {{"PUT", "x", "PUT /echo "},
                 {"DELETE", "", "DELETE /echo "},
                 {"POST", "", "POST /echo "},
                 {"GET", "", "GET /echo "},
                 {"GET", "x", "GET /echo "}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_options options = {
            .url = at(fixture, "/echo"), .method = cases[i].method, .body = str_of(cases[i].body)};
        struct http_result result = http_run(fixture->loop, fixture->client, &options);
        assert_memory_equal(result.body, cases[i].starts, strlen(cases[i].starts));
        assert_string_equal(strstr(result.body, "\r\n\r\n") + 4, cases[i].body);
        assert_null(strstr(result.body, "Content-Type"));
        http_run_forget(&result);
    }
    struct http_options options = {.url = at(fixture, "/close"), .method = "HEAD"};
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_OK);
    assert_int_equal(result.body_len, 0);
    http_run_forget(&result);
}

/* A body in pieces: gives at most 1000 bytes at a time, as a transcript of many chunks does. */
static size_t read_pieces(void *user, uint64_t offset, char *out, size_t size)
{
    struct str *all = user;
    size_t count = size < 1000 ? size : 1000;
    count = count < all->len - (size_t)offset ? count : all->len - (size_t)offset;
    memcpy(out, all->data + offset, count);
    return count;
}

static struct str make_pattern(size_t len)
{
    char *bytes = mem_alloc(len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)('a' + (i / 7 + i / 1003) % 26);
    return str_make(bytes, len);
}

static void http__sends_a_body_that_is_read_in_pieces(void **state)
{
    struct fixture *fixture = *state;
    struct str all = make_pattern(430 * 1024);
    struct http_body body = {.length = all.len, .read = read_pieces, .user = &all};
    struct http_options options = {.traffic = HTTP_CONFIGURED, .url = at(fixture, "/echo"), .reader = &body};
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_OK);
    assert_memory_equal(strstr(result.body, "\r\n\r\n") + 4, all.data, all.len);
    http_run_forget(&result);
    free((char *)all.data);
}

static void http__a_body_is_sent_again_when_an_idle_connection_is_dead(void **state)
{
    struct fixture *fixture = *state;
    struct str all = make_pattern(100000);
    struct http_body body = {.length = all.len, .read = read_pieces, .user = &all};
    struct http_options options = {.traffic = HTTP_CONFIGURED, .url = at(fixture, "/drop-second"), .reader = &body};
    for (int i = 0; i < 2; i++) {
        struct http_result result = http_run(fixture->loop, fixture->client, &options);
        assert_int_equal(result.status, STATUS_OK);
        assert_string_equal(result.body, "here");
        http_run_forget(&result);
    }
    assert_int_equal(http_stub_requests(fixture->stub), 3);
    assert_int_equal(http_stub_connections(fixture->stub), 2);
    free((char *)all.data);
}

static size_t read_nothing(void *user, uint64_t offset, char *out, size_t size)
{
    (void)user;
    (void)offset;
    (void)out;
    (void)size;
    return 0;
}

static void http__a_body_that_cannot_be_read_fails_the_request(void **state)
{
    struct fixture *fixture = *state;
    struct http_body body = {.length = 10, .read = read_nothing};
    struct http_options options = {.url = at(fixture, "/echo"), .reader = &body};
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_IO);
    http_run_forget(&result);
}

static void http__connections_are_used_again_within_one_kind_of_traffic(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 3; i++) {
        struct http_result result = get(fixture, HTTP_CONFIGURED, "/");
        http_run_forget(&result);
    }
    assert_int_equal(http_stub_connections(fixture->stub), 1);
    for (int i = 0; i < 3; i++) {
        struct http_result result = get(fixture, HTTP_GUARDED, "/");
        http_run_forget(&result);
    }
    assert_int_equal(http_stub_connections(fixture->stub), 2);
    assert_int_equal(http_stub_requests(fixture->stub), 6);
}

/* ---- content encodings ---- */

static struct str gzip(struct str plain)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&stream, plain.len);
    char *out = mem_alloc(room);
    stream.next_in = (unsigned char *)(uintptr_t)plain.data;
    stream.avail_in = (unsigned)plain.len;
    stream.next_out = (unsigned char *)out;
    stream.avail_out = (unsigned)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t len = stream.total_out;
    deflateEnd(&stream);
    return str_make(out, len);
}

static void answer_packed(void *user, const struct http_stub_request *request, struct http_stub_script *script)
{
    struct str accepted = http_stub_header(request, "Accept-Encoding");
    bool damaged = str_equal(request->target, STR("/damaged"));
    assert_true(str_find(accepted, STR("gzip"), 0) != STR_NONE);
    http_stub_reply(script, 200, "Content-Encoding: gzip\r\n", damaged ? STR("not gzip at all") : *(struct str *)user);
}

static struct http_result get_packed(struct fixture *fixture, struct str packed, size_t max_body, const char *path)
{
    struct http_stub *stub = http_stub_start(NULL, answer_packed, &packed);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", http_stub_port(stub), path);
    struct http_options options = {.url = url, .accept_encoding = true, .max_body = max_body};
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    http_stub_stop(stub);
    return result;
}

static void http__unpacks_what_it_offered_to(void **state)
{
    struct str plain = make_pattern(200000), packed = gzip(plain);
    struct http_result result = get_packed(*state, packed, 0, "/");
    assert_int_equal(result.status, STATUS_OK);
    assert_int_equal(result.body_len, plain.len);
    assert_memory_equal(result.body, plain.data, plain.len);
    http_run_forget(&result);
    result = get_packed(*state, packed, 0, "/damaged");
    assert_int_equal(result.status, STATUS_NETWORK);
    assert_non_null(strstr(result.message, "does not unpack"));
    http_run_forget(&result);
    free((char *)plain.data);
    free((char *)packed.data);
}

static void http__a_small_packed_body_cannot_grow_beyond_the_cap(void **state)
{
    struct str plain = str_make(mem_zalloc(50000000), 50000000), packed = gzip(plain);
    assert_true(packed.len < 100000);
    struct http_result result = get_packed(*state, packed, 1000000, "/");
    assert_int_equal(result.status, STATUS_TOO_BIG);
    assert_int_equal(result.body_len, 1000000); /* what came is there */
    assert_int_equal(result.received, 1000000);
    assert_non_null(strstr(result.message, "1000000 bytes"));
    http_run_forget(&result);
    free((char *)plain.data);
    free((char *)packed.data);
}

/* ---- streaming ---- */

struct stream {
    struct loop *loop;
    struct buf seen;
    int heads, code;
    bool want_stream;
    struct http_result result;
};

static bool head_seen(void *user, const struct http_response *head)
{
    struct stream *stream = user;
    stream->heads++;
    stream->code = head->code;
    assert_int_equal(head->version, 11);
    return stream->want_stream;
}

static void data_seen(void *user, struct str data)
{
    struct stream *stream = user;
    assert_int_equal(stream->result.done, 0);
    assert_true(data.len > 0);
    buf_add(&stream->seen, data);
}

static void stream_done(void *user, struct http_response *response)
{
    struct stream *stream = user;
    http_run_done(&stream->result, response);
    loop_stop(stream->loop);
}

static void http__streams_or_collects_as_the_head_decides(void **state)
{
    struct fixture *fixture = *state;
    for (int want = 0; want < 2; want++) {
        struct stream stream = {.loop = fixture->loop, .want_stream = want};
        buf_init(&stream.seen, BUF_UNBOUNDED);
        buf_add_text(&stream.seen, "");
        struct http_options options = {.url = at(fixture, "/continue"), .on_headers = head_seen, .on_data = data_seen};
        http_request_start(fixture->client, &options, stream_done, &stream);
        loop_run(fixture->loop);
        assert_int_equal(stream.heads, 1);
        assert_int_equal(stream.code, 200);
        assert_int_equal(stream.result.status, STATUS_OK);
        assert_int_equal(stream.result.received, 2);
        assert_string_equal(want ? stream.seen.data : stream.result.body, "ok");
        assert_int_equal(want ? stream.result.body_len : stream.seen.len, 0);
        http_run_forget(&stream.result);
        buf_finish(&stream.seen);
    }
}

static size_t most_of_head(void *user, const struct http_response *head)
{
    (void)user;
    return head->code == 200 && http_response_header(head, "X-One") ? 1 : 1000;
}

static void http__the_head_decides_how_much_body_may_come(void **state)
{
    struct fixture *fixture = *state;
    struct http_options options = {.url = at(fixture, "/continue"), .max_body_of = most_of_head};
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_TOO_BIG);
    assert_string_equal(result.body, "o");
    http_run_forget(&result);
    options.url = at(fixture, "/chunked");
    options.max_body = 5; /* is never passed */
    result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_TOO_BIG);
    assert_string_equal(result.body, "hello");
    http_run_forget(&result);
}

static void http__streams_without_looking_at_the_head(void **state)
{
    struct fixture *fixture = *state;
    struct stream stream = {.loop = fixture->loop};
    buf_init(&stream.seen, BUF_UNBOUNDED);
    struct http_options options = {.url = at(fixture, "/chunked"), .on_data = data_seen};
    http_request_start(fixture->client, &options, stream_done, &stream);
    loop_run(fixture->loop);
    assert_string_equal(stream.seen.data, "hello world");
    assert_int_equal(stream.result.received, 11);
    http_run_forget(&stream.result);
    buf_finish(&stream.seen);
}

static void http__on_headers_comes_for_empty_bodies_too(void **state)
{
    struct fixture *fixture = *state;
    struct stream stream = {.loop = fixture->loop, .want_stream = true};
    struct http_options options = {.url = at(fixture, "/empty"), .on_headers = head_seen, .on_data = data_seen};
    http_request_start(fixture->client, &options, stream_done, &stream);
    loop_run(fixture->loop);
    assert_int_equal(stream.heads, 1);
    assert_int_equal(stream.code, 204);
    http_run_forget(&stream.result);
}

/* ---- what is malformed here ---- */

static void http__malformed_requests_are_refused(void **state)
{
    struct fixture *fixture = *state;
    static const struct http_header bad_headers[] = {
        {"X-A", "b\r\nX-Injected: 1"}, {"X-A\r\n", "b"}, {"X A", "b"}, {"", "b"}, {"X:", "b"}, {"X", "\x01"}};
    for (size_t i = 0; i < sizeof bad_headers / sizeof bad_headers[0]; i++) {
        struct http_options options = {.url = at(fixture, "/"), .headers = &bad_headers[i], .n_headers = 1};
        struct http_result result = http_run(fixture->loop, fixture->client, &options);
        assert_int_equal(result.status, STATUS_INVALID);
        http_run_forget(&result);
    }
    static const char *const bad_urls[] = {"", "nonsense", "/path", "http://", "http://a b/", "http://h:99999/"};
    for (size_t i = 0; i < sizeof bad_urls / sizeof bad_urls[0]; i++) {
        struct http_options options = {.url = bad_urls[i]};
        struct http_result result = http_run(fixture->loop, fixture->client, &options);
        assert_int_equal(result.status, STATUS_INVALID);
        assert_int_equal(result.code, 0);
        http_run_forget(&result);
    }
    struct http_options options = {.url = at(fixture, "/"), .method = "GET / HTTP/1.1\r\nX:"};
    struct http_result result = http_run(fixture->loop, fixture->client, &options);
    assert_int_equal(result.status, STATUS_INVALID);
    http_run_forget(&result);
    assert_int_equal(http_stub_requests(fixture->stub), 0);
}

static void http__only_http_and_https(void **state)
{
    struct fixture *fixture = *state;
    static const char *const urls[] = {"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:70/_x",
                                       "dict://127.0.0.1/",  "ws://127.0.0.1/",  "javascript://127.0.0.1/"};
    for (size_t i = 0; i < 2 * sizeof urls / sizeof urls[0]; i++) {
        struct http_options options = {.traffic = i % 2 ? HTTP_GUARDED : HTTP_CONFIGURED, .url = urls[i / 2]};
        struct http_result result = http_run(fixture->loop, fixture->client, &options);
        assert_true(result.status == STATUS_REFUSED || result.status == STATUS_INVALID);
        http_run_forget(&result);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(http__gets_a_page),
        TEST(http__any_status_code_is_a_response),
        TEST(http__headers_are_found_by_name),
        TEST(http__bodies_come_in_every_framing),
        TEST(http__sends_method_headers_and_bytes),
        TEST(http__methods),
        TEST(http__sends_a_body_that_is_read_in_pieces),
        TEST(http__a_body_is_sent_again_when_an_idle_connection_is_dead),
        TEST(http__a_body_that_cannot_be_read_fails_the_request),
        TEST(http__connections_are_used_again_within_one_kind_of_traffic),
        TEST(http__unpacks_what_it_offered_to),
        TEST(http__a_small_packed_body_cannot_grow_beyond_the_cap),
        TEST(http__streams_or_collects_as_the_head_decides),
        TEST(http__the_head_decides_how_much_body_may_come),
        TEST(http__streams_without_looking_at_the_head),
        TEST(http__on_headers_comes_for_empty_bodies_too),
        TEST(http__malformed_requests_are_refused),
        TEST(http__only_http_and_https),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
