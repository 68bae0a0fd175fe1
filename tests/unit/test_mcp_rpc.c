/* JSON-RPC between us and an MCP server: what goes out, and what may come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/mem.h"
#include "tools/mcp/rpc.h"

#include <stdlib.h>
#include <string.h>

/* Everything that happens, one line each. */
struct world {
    struct mcp_rpc *rpc;
    struct buf seen;
};

static void on_send(void *user, struct str text, int64_t id, const char *method, const json_t *params)
{
    struct world *world = user;
    (void)params;
    buf_addf(&world->seen, "send %lld %s %.*s\n", (long long)id, method ? method : "-", STR_ARG(text));
}

static void on_request(void *user, const char *method, const json_t *params, const json_t *id, int64_t origin)
{
    struct world *world = user;
    char *text = json_to_text(params), *number = json_to_text(id);
    buf_addf(&world->seen, "request %s %s %s %lld\n", method, params ? text : "-", number, (long long)origin);
    free(text);
    free(number);
}

static void on_notification(void *user, const char *method, const json_t *params, int64_t origin)
{
    struct world *world = user;
    char *text = json_to_text(params);
    buf_addf(&world->seen, "notification %s %s %lld\n", method, params ? text : "-", (long long)origin);
    free(text);
}

static void on_garbage(void *user, const char *what)
{
    struct world *world = user;
    buf_addf(&world->seen, "garbage %s\n", what);
}

static void on_reply(void *user, const struct mcp_reply *reply)
{
    struct world *world = user;
    char *text = json_to_text(reply->result);
    buf_addf(&world->seen, "reply %d %s %lld %s\n", (int)reply->fate, reply->result ? text : "-",
             (long long)reply->code, reply->message ? reply->message : "-");
    free(text);
}

static void world_init(struct world *world)
{
    const struct mcp_rpc_options options = {.send = on_send,
                                            .on_request = on_request,
                                            .on_notification = on_notification,
                                            .on_garbage = on_garbage,
                                            .user = world};
    world->rpc = mcp_rpc_create(&options);
    buf_init(&world->seen, BUF_UNBOUNDED);
}

static void world_finish(struct world *world)
{
    mcp_rpc_destroy(world->rpc);
    buf_finish(&world->seen);
}

static void assert_seen(struct world *world, const char *expected)
{
    assert_string_equal(world->seen.data ? world->seen.data : "", expected);
    buf_reset(&world->seen);
    buf_add_text(&world->seen, "");
}

static void mcp_rpc__messages_go_out_as_json_rpc(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    assert_int_equal(mcp_rpc_next_id(world.rpc), 1);
    assert_int_equal(mcp_rpc_request(world.rpc, "a", json_pack("{s:s}", "k", "line\nbreak"), on_reply, &world), 1);
    assert_seen(&world,
                "send 1 a {\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"k\":\"line\\nbreak\"},\"id\":1}\n");
    mcp_rpc_notify(world.rpc, "b", NULL);
    assert_seen(&world, "send 0 b {\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n");
    json_t *id = json_string("x");
    mcp_rpc_respond(world.rpc, id, json_object());
    assert_seen(&world, "send 0 - {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n");
    mcp_rpc_refuse(world.rpc, id, MCP_ERROR_METHOD_NOT_FOUND, "no");
    assert_seen(&world, "send 0 - {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32601,\"message\":\"no\"}}\n");
    json_decref(id);
    world_finish(&world);
}

static void mcp_rpc__what_comes_in(void **state)
{
    (void)state;
    static const struct {
        const char *text, *seen;
    } cases[] = {
        {"", ""},
        {"  \r\n", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\r", "reply 0 {\"a\":1} 0 -\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-5,\"message\":\"not\\n today\"}}",
         "reply 1 - -5 not today\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", "reply 1 - 0 it gave no reason\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\"},\"result\":{}}", "reply 1 - 1 m\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", "reply 1 - 0 its answer is malformed\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}", "reply 1 - 0 its answer is malformed\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}", "garbage an answer to no request\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}", "garbage an answer to no request\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{}}", "garbage an answer to no request\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", "garbage an error that belongs to no request\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}", "request ping - 9 7\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\",\"params\":{\"x\":[]}}", "request m {\"x\":[]} \"a\" 7\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", "garbage a message with a malformed id\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", "garbage a message with a malformed id\n"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", "notification n - 7\n"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[1]}", "garbage a message with malformed parameters\n"},
        {"{\"jsonrpc\":\"2.0\"}", "garbage a message with a malformed id\n"},
        {"{\"jsonrpc\":\"1.0\",\"method\":\"n\"}", "garbage JSON that is no JSON-RPC message\n"},
        {"{\"level\":30,\"msg\":\"listening\"}", "garbage JSON that is no JSON-RPC message\n"},
        {"7", "garbage JSON that is no JSON-RPC message\n"},
        {"Server started", "garbage a text that is no JSON\n"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"n\"} {}", "garbage a text that is no JSON\n"},
        {"[]", ""},
        {"[{\"jsonrpc\":\"2.0\",\"method\":\"n\"},3,{\"jsonrpc\":\"2.0\",\"method\":\"m\"}]",
         "notification n - 7\ngarbage JSON that is no JSON-RPC message\nnotification m - 7\n"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"\xFF\"}", "notification \xEF\xBF\xBD - 7\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world world;
        world_init(&world);
        mcp_rpc_request(world.rpc, "a", NULL, on_reply, &world);
        buf_reset(&world.seen);
        mcp_rpc_take(world.rpc, str_of(cases[i].text), 7);
        if (strcmp(world.seen.len ? world.seen.data : "", cases[i].seen) != 0)
            fail_msg("%s gave %s instead of %s", cases[i].text, world.seen.len ? world.seen.data : "", cases[i].seen);
        world_finish(&world);
    }
}

static void mcp_rpc__nul_bytes_are_garbage(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    mcp_rpc_take(world.rpc, STR("{\"jsonrpc\":\"2.0\",\0\"method\":\"n\"}"), 0);
    assert_seen(&world, "garbage a text that is no JSON\n");
    world_finish(&world);
}

static void mcp_rpc__an_answer_counts_once(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    mcp_rpc_request(world.rpc, "a", NULL, on_reply, &world);
    mcp_rpc_request(world.rpc, "b", NULL, on_reply, &world);
    buf_reset(&world.seen);
    assert_true(mcp_rpc_waits(world.rpc, 1));
    mcp_rpc_take(world.rpc, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), 0);
    mcp_rpc_take(world.rpc, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), 0);
    assert_false(mcp_rpc_waits(world.rpc, 1));
    assert_seen(&world, "reply 0 {} 0 -\ngarbage an answer to no request\n");
    mcp_rpc_forget(world.rpc, 2);
    mcp_rpc_take(world.rpc, STR("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"), 0); /* late, and nobody's fault */
    mcp_rpc_fail(world.rpc, 2, MCP_LOST, "gone");
    assert_seen(&world, "");
    world_finish(&world);
}

/* A reply that asks again must not be failed with those that were there before. */
static void on_reply_ask_again(void *user, const struct mcp_reply *reply)
{
    struct world *world = user;
    buf_addf(&world->seen, "lost %s\n", reply->message);
    mcp_rpc_request(world->rpc, "again", NULL, on_reply_ask_again, world);
}

static void mcp_rpc__failing_all_spares_what_follows(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    for (int i = 0; i < 3; i++)
        mcp_rpc_request(world.rpc, "a", NULL, on_reply_ask_again, &world);
    buf_reset(&world.seen);
    mcp_rpc_fail_all(world.rpc, MCP_LOST, "gone");
    for (int64_t id = 1; id <= 6; id++)
        assert_int_equal(mcp_rpc_waits(world.rpc, id), id > 3);
    world_finish(&world);
}

static void mcp_rpc__what_is_too_much_is_dropped_unparsed(void **state)
{
    (void)state;
    struct world world;
    struct buf text;
    world_init(&world);
    buf_init(&text, BUF_UNBOUNDED);
    buf_add_text(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"a\":");
    for (int i = 0; i < MCP_MAX_DEPTH; i++)
        buf_add_char(&text, '[');
    mcp_rpc_take(world.rpc, buf_str(&text), 0);
    assert_seen(&world, "garbage a message that is nested too deep\n");
    buf_reset(&text);
    buf_add_char(&text, '[');
    for (int i = 0; i < 600000; i++)
        buf_add_text(&text, "1,");
    mcp_rpc_take(world.rpc, buf_str(&text), 0);
    assert_seen(&world, "garbage a message that is too large\n");
    buf_reset(&text); /* brackets and commas inside a string are only text */
    buf_add_text(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"a\":\"\\\"");
    for (int i = 0; i < 600000; i++)
        buf_add_text(&text, "[,");
    buf_add_text(&text, "\"}}");
    mcp_rpc_take(world.rpc, buf_str(&text), 0);
    assert_memory_equal(world.seen.data, "notification n", 14);
    buf_finish(&text);
    world_finish(&world);
}

static void mcp_rpc__an_answer_that_is_too_much_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *head, *tail;
        bool is_told;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":[", "]}}", true},
        {"{\"result\":{\"id\":7,\"a\":[", "]},\"x\":\"\\\"id\\\":7\", \"id\" : 1 }", true},
        {"{\"result\":{\"id\":1,\"a\":[", "]}}", false},                     /* another's number */
        {"{\"id\":1,\"method\":\"ping\",\"params\":{\"a\":[", "]}}", false}, /* a request */
        {"{\"id\":99999999999999999999999,\"result\":{\"a\":[", "]}}", false},
        {"{\"id\":[", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world world;
        struct buf text;
        world_init(&world);
        buf_init(&text, BUF_UNBOUNDED);
        assert_int_equal(mcp_rpc_request(world.rpc, "a", NULL, on_reply_ask_again, &world), 1);
        buf_add_text(&text, cases[i].head);
        for (int j = 0; j < 600000; j++)
            buf_add_text(&text, "1,");
        buf_add_text(&text, cases[i].tail);
        mcp_rpc_take(world.rpc, buf_str(&text), 0);
        assert_int_equal(mcp_rpc_waits(world.rpc, 1), !cases[i].is_told);
        buf_finish(&text);
        world_finish(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mcp_rpc__messages_go_out_as_json_rpc),
        cmocka_unit_test(mcp_rpc__what_comes_in),
        cmocka_unit_test(mcp_rpc__nul_bytes_are_garbage),
        cmocka_unit_test(mcp_rpc__an_answer_counts_once),
        cmocka_unit_test(mcp_rpc__failing_all_spares_what_follows),
        cmocka_unit_test(mcp_rpc__an_answer_that_is_too_much_is_told),
        cmocka_unit_test(mcp_rpc__what_is_too_much_is_dropped_unparsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
