#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "net/sse.h"

/* Events written down as "type|data|id\n", comments as "#text\n". */
static bool write_down(void *user, const struct sse_event *event)
{
    struct buf *out = user;
    if (event->kind == SSE_COMMENT)
        buf_addf(out, "#%.*s\n", STR_ARG(event->data));
    else
        buf_addf(out, "%.*s|%.*s|%.*s\n", STR_ARG(event->type), STR_ARG(event->data), STR_ARG(event->id));
    return true;
}

static const struct {
    const char *stream, *events;
} cases[] = {
    {"data: a\n\n", "message|a|\n"},
    {"data:a\n\ndata:  b\n\n", "message|a|\nmessage| b|\n"},
    {"data: a\r\n\r\n", "message|a|\n"},
    {"data: a\r\rdata: b\r\r", "message|a|\nmessage|b|\n"},
    {"data: a\n\r\ndata: b\r\n\ndata: c\r\n\r", "message|a|\nmessage|b|\nmessage|c|\n"},
    {"data: a\ndata: b\ndata\n\n", "message|a\nb\n|\n"},
    {"data\n\n", "message||\n"},
    {"data\ndata\n\n", "message|\n|\n"},
    {"\n\n\n", ""},
    {"event: ping\n\ndata: a\n\n", "message|a|\n"}, /* an event without data is dropped, with its type */
    {"event: add\ndata: 1\n\ndata: 2\n\n", "add|1|\nmessage|2|\n"},
    {"id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "message|a|7\nmessage|b|7\nmessage|c|\n"},
    {": keep-alive\n\n:\n:x\ndata: a\n\n", "# keep-alive\n#\n#x\nmessage|a|\n"},
    {"data: a\n: between\ndata: b\n\n", "# between\nmessage|a\nb|\n"},
    {"\xEF\xBB\xBF"
     "data: a\n\n",
     "message|a|\n"},
    {"\xEF\xBB\xBF\xEF\xBB\xBF"
     "data: a\n\n",
     ""},
    {"\xEF\xBB"
     "data: a\n\ndata: b\n\n",
     "message|b|\n"},
    {"data: a\n\n\xEF\xBB\xBF"
     "data: b\n\n",
     "message|a|\n"},
    {"Data: a\ndata : b\nfoo: c\nfoo\n\n", ""},
    {"data: a: b\n\n", "message|a: b|\n"},
    {"data: [DONE]\n\n", "message|[DONE]|\n"},
    {"data: a\n\ndata: [DONE]\n", "message|a|\nmessage|[DONE]|\n"}, /* closed right behind the line */
    {"data: a\n\ndata: cut", "message|a|\n"},
    {"retry: 3000\ndata: a\n\nretry: x\nretry: -1\n", "message|a|\n"},
};

static void run(const char *stream, size_t cut1, size_t cut2, struct buf *out, int64_t *retry_ms)
{
    struct sse_parser parser;
    struct str all = str_of(stream);
    sse_parser_init(&parser, 1000, write_down, out);
    assert_int_equal(sse_parser_feed(&parser, str_slice(all, 0, cut1)), STATUS_OK);
    assert_int_equal(sse_parser_feed(&parser, str_slice(all, cut1, cut2)), STATUS_OK);
    assert_int_equal(sse_parser_feed(&parser, str_slice(all, cut2, all.len)), STATUS_OK);
    sse_parser_end(&parser);
    *retry_ms = parser.retry_ms;
    sse_parser_finish(&parser);
}

static void sse__any_cut_gives_the_same_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t len = strlen(cases[i].stream);
        for (size_t a = 0; a <= len; a++)
            for (size_t b = a; b <= len; b++) {
                struct buf out;
                int64_t retry_ms;
                buf_init(&out, BUF_UNBOUNDED);
                buf_add_text(&out, "");
                run(cases[i].stream, a, b, &out, &retry_ms);
                assert_string_equal(out.data ? out.data : "", cases[i].events);
                assert_int_equal(retry_ms, strstr(cases[i].stream, "retry: 3000") ? 3000 : -1);
                buf_finish(&out);
            }
    }
}

static void sse__byte_by_byte_is_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        struct sse_parser parser;
        buf_init(&out, BUF_UNBOUNDED);
        sse_parser_init(&parser, 1000, write_down, &out);
        for (const char *c = cases[i].stream; *c; c++)
            assert_int_equal(sse_parser_feed(&parser, str_make(c, 1)), STATUS_OK);
        sse_parser_end(&parser);
        assert_string_equal(out.data ? out.data : "", cases[i].events);
        sse_parser_finish(&parser);
        buf_finish(&out);
    }
}

static void sse__end_tells_of_an_unfinished_line(void **state)
{
    (void)state;
    static const struct {
        const char *stream;
        bool cut;
    } ends[] = {{"", false}, {"data: a\n\n", false}, {"data: a\n", false}, {"data: a", true}, {":", true}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct buf out;
        struct sse_parser parser;
        buf_init(&out, BUF_UNBOUNDED);
        sse_parser_init(&parser, 100, write_down, &out);
        assert_int_equal(sse_parser_feed(&parser, str_of(ends[i].stream)), STATUS_OK);
        assert_int_equal(sse_parser_end(&parser), ends[i].cut);
        assert_int_equal(sse_parser_feed(&parser, STR("data: late\n\n")), STATUS_OK);
        assert_null(strstr(out.data ? out.data : "", "late"));
        sse_parser_finish(&parser);
        buf_finish(&out);
    }
}

static void sse__an_event_has_a_cap(void **state)
{
    (void)state;
    static const struct {
        const char *stream;
        enum status status;
    } caps[] = {
        {"data:12345\n\n", STATUS_OK},
        {"data:123456\n\n", STATUS_TOO_BIG},            /* the line */
        {"data:1234\ndata:12345\n\n", STATUS_OK},       /* 10 bytes together */
        {"data:12345\ndata:12345\n\n", STATUS_TOO_BIG}, /* 11 */
        {"data:1\n\ndata:12345\n\ndata:12345\n\n", STATUS_OK},
        {":123456789012\n", STATUS_TOO_BIG},
        {"12345678901", STATUS_TOO_BIG},
    };
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++)
        for (size_t cut = 0; cut <= strlen(caps[i].stream); cut++) {
            struct buf out;
            struct sse_parser parser;
            struct str all = str_of(caps[i].stream);
            buf_init(&out, BUF_UNBOUNDED);
            sse_parser_init(&parser, 10, write_down, &out);
            enum status first = sse_parser_feed(&parser, str_slice(all, 0, cut));
            enum status second = sse_parser_feed(&parser, str_slice(all, cut, all.len));
            assert_int_equal(second, caps[i].status);
            assert_true(first == STATUS_OK || first == caps[i].status);
            assert_int_equal(sse_parser_feed(&parser, STR("\n\n")), caps[i].status); /* it stays failed */
            sse_parser_finish(&parser);
            buf_finish(&out);
        }
}

static bool stop_at_second(void *user, const struct sse_event *event)
{
    (void)event;
    return ++*(int *)user < 2;
}

static void sse__a_reader_that_has_enough_gets_nothing_more(void **state)
{
    (void)state;
    int count = 0;
    struct sse_parser parser;
    sse_parser_init(&parser, 100, stop_at_second, &count);
    assert_int_equal(sse_parser_feed(&parser, STR("data: 1\n\ndata: 2\n\ndata: 3\n\n")), STATUS_OK);
    assert_int_equal(sse_parser_feed(&parser, STR("data: 4\n\ndata: 5\n")), STATUS_OK);
    sse_parser_end(&parser);
    assert_int_equal(count, 2);
    sse_parser_finish(&parser);
    sse_parser_finish(&parser);
    sse_parser_finish(NULL);
}

static void sse__bytes_of_data_are_untouched(void **state)
{
    (void)state;
    struct buf out;
    struct sse_parser parser;
    buf_init(&out, BUF_UNBOUNDED);
    sse_parser_init(&parser, 100, write_down, &out);
    assert_int_equal(sse_parser_feed(&parser, STR("data: \xff\xc3\x28 \xe4\xbd\xa0\t\n\n")), STATUS_OK);
    assert_string_equal(out.data, "message|\xff\xc3\x28 \xe4\xbd\xa0\t|\n");
    buf_reset(&out);
    assert_int_equal(sse_parser_feed(&parser, STR("id: a\0b\ndata: x\n\n")), STATUS_OK); /* an id with NUL is ignored */
    assert_string_equal(out.data, "message|x|\n");
    sse_parser_finish(&parser);
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sse__any_cut_gives_the_same_events),
        cmocka_unit_test(sse__byte_by_byte_is_the_same),
        cmocka_unit_test(sse__end_tells_of_an_unfinished_line),
        cmocka_unit_test(sse__an_event_has_a_cap),
        cmocka_unit_test(sse__a_reader_that_has_enough_gets_nothing_more),
        cmocka_unit_test(sse__bytes_of_data_are_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
