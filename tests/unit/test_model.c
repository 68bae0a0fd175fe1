/* The server client against servers that answer, refuse and fail in every way. */
#include "core/mem.h"
#include "support/model_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define D(text)   "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"},\"finish_reason\":null}]}\n\n"
#define END(word) "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" word "\"}]}\n\n"
#define USAGE     "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":3}}\n\n"
#define DONE      "data: [DONE]\n\n"
#define GOOD                                                     \
    {                                                            \
        PLAY_SSE, .body = D("fi") D("ne") END("stop") USAGE DONE \
    }
#define FAIL(number, text)             \
    {                                  \
        PLAY_WHOLE, number, NULL, text \
    }
#define STR_INIT(literal)              \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_text(const struct watched *watched, const char *expected)
{
    assert_string_equal(watched->text.data ? watched->text.data : "", expected);
}

static void model__streams_a_completion(void **state)
{
    (void)state;
    static const struct play plays[] = {
        {PLAY_SSE,
         .body = ": hello\n\ndata: "
                 "{\"model\":\"m-real\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n" D(
                     "<think>a</think>") D("b \\u4e2d")
                     END("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":4,"
                                 "\"prompt_tokens_details\":{\"cached_tokens\":16}}}\n\n" DONE}};
    struct world world;
    struct world_server *server = world_play(&world, plays, COUNT(plays));
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_OK);
    assert_int_equal(watched.result.reason, FINISH_STOP);
    assert_text(&watched, "<think>a</think>b 中");
    assert_int_equal(watched.result.usage.prompt, 20);
    assert_int_equal(watched.result.usage.completion, 4);
    assert_int_equal(watched.result.usage.cached, 16);
    assert_int_equal(watched.result.usage.reasoning, -1);
    assert_int_equal(watched.result.tries, 1);
    assert_string_equal(watched.served_model, "m-real");
    assert_int_equal(watched.notice_count[MODEL_NOTICE_SERVED_MODEL], 1);

    assert_string_equal(server->paths[0], "/v1/chat/completions");
    assert_string_equal(server->authorization[0], "Bearer sk-test-key-1");
    assert_string_equal(server->bodies[0], "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":"
                                           "true},\"max_tokens\":1000,\"temperature\":0.5,"
                                           "\"top_k\":20,\"stop\":[\"<tool_response>\",\"\\n<tool_response>\"],"
                                           "\"messages\":[{\"role\":\"system\",\"content\":\"be "
                                           "\\\"good\\\"\"},{\"role\":\"user\",\"content\":\"question?\\nyes\"}]}");
    watched_finish(&watched);
    world_finish(&world);
}

static void model__reads_replies_of_every_form(void **state)
{
    (void)state;
    static const struct {
        struct play play;
        const char *text;
        enum finish_reason reason;
    } cases[] = {
        {{PLAY_BYTES, .body = D("one \\u00e9 ") D("byte") END("stop") DONE}, "one é byte", FINISH_STOP},
        /* one JSON object although a stream was asked for */
        {{PLAY_WHOLE,
          .body = "{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}],\"usage\":null}"},
         "whole",
         FINISH_STOP},
        {{PLAY_WHOLE, .headers = "Content-Type: text/plain\r\n",
          .body = "\n {\"choices\":[{\"message\":{\"content\":\"odd\"},\"finish_reason\":\"length\"}]}"},
         "odd",
         FINISH_LENGTH},
        /* events under another media type, with CRLF, named events, no space behind the colon */
        {{PLAY_WHOLE, .headers = "Content-Type: text/plain\r\n",
          .body = "event: "
                  "message\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}"
                  "\r\n\r\ndata: [DONE]\r\n\r\n"},
         "x",
         FINISH_STOP},
        /* the end of the stream is missing behind a finish reason: the completion is whole */
        {{PLAY_CUT, .body = D("cut late") END("stop")}, "cut late", FINISH_STOP},
        /* the server does not close */
        {{PLAY_OPEN, .body = D("open") END("stop") DONE}, "open", FINISH_STOP},
        {{PLAY_SSE,
          .body = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"thought\"}}]}\n\n" END("length") DONE},
         "<think>\nthought",
         FINISH_LENGTH},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world world;
        world_play(&world, &cases[i].play, 1);
        struct watched watched = world_complete(&world);
        assert_int_equal(watched.result.failure, MODEL_OK);
        assert_int_equal(watched.result.tries, 1);
        assert_int_equal(watched.result.reason, cases[i].reason);
        assert_text(&watched, cases[i].text);
        assert_int_equal(watched.result.usage.prompt, -1);
        watched_finish(&watched);
        world_finish(&world);
    }
}

static void model__retries_what_may_pass(void **state)
{
    (void)state;
    static const struct {
        struct play play;
        int restarts;
        const char *said;
    } cases[] = {
        {FAIL(429, "{\"error\":{\"message\":\"slow down\"}}"), 0, "slow down"},
        {FAIL(500, "boom"), 0, "boom"},
        {FAIL(503, "{\"error\":{\"message\":\"Loading model\"}}"), 0, "Loading model"},
        {FAIL(200, ""), 0, "nothing"},
        {FAIL(200, "{\"hello\": 1}"), 0, "no completion"},
        {FAIL(200, "%%garbage%%"), 0, "garbage"},
        {FAIL(200, "<html><body>Sign in</body></html>"), 0, "web page"},
        {FAIL(200, "{\"error\":{\"message\":\"inner trouble\"}}"), 0, "inner trouble"},
        {FAIL(200, "{\"choices\":[{\"message\":{\"content\":\"\"},\"finish_reason\":\"stop\"}]}"), 0, "empty"},
        {{PLAY_SSE, .body = D("") END("stop") DONE}, 0, "empty"},
        {{PLAY_SSE, .body = ""}, 0, "nothing"},
        {{PLAY_SSE, .body = DONE}, 0, ""},
        {{PLAY_SSE, .body = D("a") "data: {\"error\":{\"message\":\"worker died\"}}\n\n"}, 1, "worker died"},
        {{PLAY_SSE, .body = D("a") "event: error\ndata: {\"error\":{\"message\":\"worker died\"}}\n\n"},
         1,
         "worker died"},
        {{PLAY_SSE, .body = D("a") "data: {\"choi\n\n"}, 1, "cannot be read"},
        {{PLAY_SSE, .body = D("a") END("abort") DONE}, 1, "gave up"},
        {{PLAY_SSE, .body = D("a") END("error") DONE}, 1, "gave up"},
        {{PLAY_SSE, .body = D("a") END("content_filter") DONE}, 1, "content filter"},
        {{PLAY_SSE, .body = D("a")}, 1, "finish reason"},
        {{PLAY_SSE, .body = D("a") DONE}, 1, "finish reason"},
        {{PLAY_CUT, .body = D("a") D("b")}, 1, ""},
        {{PLAY_CUT, .body = ""}, 0, ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct play plays[] = {cases[i].play, GOOD};
        struct world world;
        struct world_server *server = world_play(&world, plays, 2);
        struct watched watched = world_complete(&world);
        if (watched.result.failure != MODEL_OK ||
            !strstr(watched.notices.data ? watched.notices.data : "", cases[i].said))
            print_error("case %zu: %s\n%s\n", i, watched.result.error.message, watched.notices.data);
        assert_int_equal(watched.result.failure, MODEL_OK);
        assert_text(&watched, "fine");
        assert_int_equal(watched.result.tries, 2);
        assert_int_equal(watched.restarts, cases[i].restarts);
        assert_int_equal(watched.notice_count[MODEL_NOTICE_RETRY], 1);
        assert_non_null(strstr(watched.notices.data, cases[i].said));
        assert_int_equal(server_posts(server), 2);
        assert_string_equal(server->bodies[0], server->bodies[1]);
        watched_finish(&watched);
        world_finish(&world);
    }
}

static void model__survives_a_reset(void **state)
{
    (void)state;
    static const struct play plays[] = {{.mode = PLAY_RESET}, {.mode = PLAY_RESET}, GOOD};
    struct world world;
    struct world_server *server = world_play(&world, plays, COUNT(plays));
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_OK);
    assert_text(&watched, "fine");
    assert_int_equal(server_posts(server), 3);
    assert_string_equal(server->bodies[0], server->bodies[2]);
    watched_finish(&watched);
    world_finish(&world);
}

static void model__gives_up_after_its_tries(void **state)
{
    (void)state;
    static const struct play plays[] = {FAIL(500, "boom sk-test-key-1 boom")};
    struct world world;
    struct world_server *server = world_play(&world, plays, 1);
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_UNAVAILABLE);
    assert_int_equal(watched.result.tries, 10);
    assert_int_equal(server_posts(server), 10);
    assert_int_equal(watched.notice_count[MODEL_NOTICE_RETRY], 9);
    assert_non_null(strstr(watched.result.error.message, "boom"));
    assert_null(strstr(watched.result.error.message, "sk-test-key"));
    assert_null(strstr(watched.notices.data, "sk-test-key"));
    watched_finish(&watched);
    world_finish(&world);
}

static void model__keeps_retry_after(void **state)
{
    (void)state;
    static const struct play plays[] = {{PLAY_WHOLE, 429, "Retry-After: 0.3\r\n", "{}"}, GOOD};
    struct world world;
    world_play(&world, plays, 2);
    int64_t began = loop_now_ms(world.loop);
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_OK);
    assert_true(loop_now_ms(world.loop) - began >= 300);
    watched_finish(&watched);
    world_finish(&world);
}

static void model__ends_at_final_refusals(void **state)
{
    (void)state;
    static const struct {
        struct play play;
        const char *said;
    } cases[] = {
        {FAIL(401, "{\"error\":{\"message\":\"bad key: sk-test-key-1\"}}"), "OPENAI_API_KEY"},
        {FAIL(402, "{}"), "credit"},
        {FAIL(403, "{}"), "key"},
        {FAIL(404, "{\"error\":{\"message\":\"The model `m` does not exist\"}}"), "--model"},
        {FAIL(413, "<html><title>413 Too Large</title></html>"), "413 Too Large"},
        {FAIL(400, "{\"error\":{\"message\":\"what is that\"}}"), "what is that"},
        {{PLAY_WHOLE, 302, "Location: http://127.0.0.1:1/\r\n", ""}, ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world world;
        struct world_server *server = world_play(&world, &cases[i].play, 1);
        struct watched watched = world_complete(&world);
        assert_int_equal(watched.result.failure, MODEL_REJECTED);
        assert_int_equal(server_posts(server), 1);
        if (!strstr(watched.result.error.message, cases[i].said))
            print_error("case %zu: %s\n", i, watched.result.error.message);
        assert_non_null(strstr(watched.result.error.message, cases[i].said));
        assert_null(strstr(watched.result.error.message, "sk-test"));
        watched_finish(&watched);
        world_finish(&world);
    }
}

static void model__leaves_out_refused_parameters(void **state)
{
    (void)state;
    static const struct play plays[] = {
        FAIL(400, "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                  "'max_completion_tokens' "
                  "instead.\",\"param\":\"max_tokens\"}}"),
        FAIL(400, "{\"error\":{\"message\":\"Unsupported value: 'temperature'\",\"param\":\"temperature\"}}"),
        FAIL(422, "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"top_k\"],\"msg\":\"Extra inputs are "
                  "not permitted\"}]}"),
        FAIL(400, "{\"error\":{\"message\":\"stop is not supported\"}}"),
        FAIL(400, "{\"error\":{\"message\":\"Unrecognized request argument supplied: stream_options\"}}"),
        FAIL(400, "{\"error\":{\"message\":\"streaming is not supported\"}}"),
        FAIL(200, "{\"choices\":[{\"message\":{\"content\":\"fine\"},\"finish_reason\":\"stop\"}]}"),
    };
    struct world world;
    world_init(&world);
    world.options.max_tries = 1; /* learning burns none */
    struct world_server *server = world_serve(&world, plays, COUNT(plays));
    world_client(&world);
    struct watched watched = world_complete(&world), second;
    assert_int_equal(watched.result.failure, MODEL_OK);
    assert_text(&watched, "fine");
    assert_int_equal(watched.notice_count[MODEL_NOTICE_PARAMETER_DROPPED], 6);
    assert_int_equal(watched.notice_count[MODEL_NOTICE_RETRY], 0);
    /* the next completion knows */
    second = world_complete(&world);
    assert_int_equal(second.result.failure, MODEL_OK);
    assert_int_equal(second.notice_count[MODEL_NOTICE_PARAMETER_DROPPED], 0);
    assert_int_equal(server_posts(server), 8);
    assert_string_equal(
        server->bodies[7],
        "{\"model\":\"m\",\"max_completion_tokens\":1000,\"messages\":[{\"role\":\"system\",\"content\":\"be "
        "\\\"good\\\"\"},{\"role\":\"user\",\"content\":\"question?\\nyes\"}]}");
    watched_finish(&watched);
    watched_finish(&second);
    world_finish(&world);
}

static void model__adapts_to_a_smaller_cap_and_no_system_role(void **state)
{
    (void)state;
    static const struct play plays[] = {
        FAIL(400, "{\"error\":{\"message\":\"max_tokens is too large: 1000. This model supports at most 512 completion "
                  "tokens\",\"param\":\"max_tokens\"}}"),
        FAIL(400, "{\"object\":\"error\",\"message\":\"System role not supported\"}"), GOOD};
    struct world world;
    struct world_server *server = world_play(&world, plays, COUNT(plays));
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_OK);
    assert_non_null(strstr(server->bodies[2], "\"max_tokens\":512"));
    assert_non_null(strstr(server->bodies[2],
                           "\"messages\":[{\"role\":\"user\",\"content\":\"be \\\"good\\\"\\n\\nquestion?\\nyes\"}]}"));
    watched_finish(&watched);
    world_finish(&world);
}

static void model__reports_a_context_that_is_too_long(void **state)
{
    (void)state;
    static const struct {
        struct play play;
        int64_t window;
    } cases[] = {
        {FAIL(400, "{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens. However, you "
                   "requested 9000\",\"code\":\"context_length_exceeded\"}}"),
         8192},
        {FAIL(400, "{\"error\":{\"code\":400,\"message\":\"the request exceeds the available context "
                   "size\",\"type\":\"exceed_context_size_error\",\"n_ctx\":4096}}"),
         4096},
        {FAIL(413, "{\"error\":{\"message\":\"prompt is too long: 213462 tokens > 20000 maximum\"}}"), 20000},
        {FAIL(500, "{\"error\":\"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)\"}"), 7424},
        {FAIL(422,
              "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 1512. Given: 1\"}"),
         1512},
        {FAIL(200, "{\"error\":{\"code\":400,\"message\":\"The input token count (132478) exceeds the maximum number "
                   "of tokens allowed (31072).\"}}"),
         31072},
        {{PLAY_SSE, .body = "event: error\ndata: {\"error\":{\"message\":\"The input (61709 tokens) is longer than the "
                            "model's context length (4090 tokens).\"}}\n\n"},
         4090},
        /* cut at once: the window is full */
        {{PLAY_SSE,
          .body = END(
              "length") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":2047,\"completion_tokens\":1}}\n\n" DONE},
         2048},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world world;
        struct world_server *server = world_play(&world, &cases[i].play, 1);
        assert_int_equal(model_window(world.client), 32768);
        struct watched watched = world_complete(&world);
        assert_int_equal(watched.result.failure, MODEL_CONTEXT_TOO_LONG);
        assert_int_equal(watched.result.window, cases[i].window);
        assert_int_equal(server_posts(server), 1);
        assert_int_equal(model_window(world.client), cases[i].window);
        assert_int_equal(watched.notice_count[MODEL_NOTICE_WINDOW], 1);
        watched_finish(&watched);
        world_finish(&world);
    }
}

static void model__times_out_without_bytes(void **state)
{
    (void)state;
    static const struct play stalls[] = {{.mode = PLAY_HANG}, {PLAY_STALL, .body = D("a")}, {PLAY_STALL, .body = ""}};
    for (size_t i = 0; i < COUNT(stalls); i++) {
        const struct play plays[] = {stalls[i], GOOD};
        struct world world;
        world_init(&world);
        world.options.first_byte_timeout_ms = world.options.stall_timeout_ms = 150;
        world_serve(&world, plays, 2);
        world_client(&world);
        struct watched watched = world_complete(&world);
        assert_int_equal(watched.result.failure, MODEL_OK);
        assert_text(&watched, "fine");
        assert_int_equal(watched.result.tries, 2);
        watched_finish(&watched);
        world_finish(&world);
    }
}

static void model__keeps_a_broken_completion_when_told_to(void **state)
{
    (void)state;
    static const struct play plays[] = {{PLAY_CUT, .body = D("<tool_call>{}</tool_call>")}, GOOD};
    struct world world;
    struct world_server *server = world_play(&world, plays, 2);
    struct watched watched = {.keep = true};
    world_start(&world, &watched, 1);
    world_wait(&world);
    assert_int_equal(watched.result.failure, MODEL_OK);
    assert_int_equal(watched.result.reason, FINISH_BROKEN);
    assert_text(&watched, "<tool_call>{}</tool_call>");
    assert_int_equal(server_posts(server), 1);
    watched_finish(&watched);
    world_finish(&world);
}

/* What may be a passing fault is asked for again; what stays is handed on as it is. */
static void model__hands_on_what_stays(void **state)
{
    (void)state;
    static const struct {
        struct play play;
        enum finish_reason reason;
        const char *text;
        size_t posts;
    } cases[] = {
        {{PLAY_SSE, .body = D("a") END("content_filter") DONE}, FINISH_CONTENT_FILTER, "a", 2},
        {{PLAY_SSE, .body = D("quiet") DONE}, FINISH_STOP, "quiet", 2}, /* a server that never gives a reason */
        {{PLAY_SSE, .body = END("stop") DONE}, FINISH_STOP, "", 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world world;
        struct world_server *server = world_play(&world, &cases[i].play, 1);
        struct watched watched = world_complete(&world);
        assert_int_equal(watched.result.failure, MODEL_OK);
        assert_int_equal(watched.result.reason, cases[i].reason);
        assert_text(&watched, cases[i].text);
        assert_int_equal(server_posts(server), cases[i].posts);
        watched_finish(&watched);
        world_finish(&world);
    }
}

static void model__cancels_from_anywhere(void **state)
{
    (void)state;
    static const struct play open[] = {{PLAY_STALL, .body = D("one") D("two") D("three")}};
    struct world world;
    world_play(&world, open, 1);
    /* inside a delta */
    struct watched inside = {.cancel_after = 1}, before = {0}, late = {0};
    world_start(&world, &inside, 1);
    world_wait(&world);
    assert_int_equal(inside.result.failure, MODEL_OK);
    assert_int_equal(inside.result.reason, FINISH_CANCELED);
    assert_text(&inside, "one");
    /* before anything happened */
    world_start(&world, &before, 1);
    model_call_cancel(world.client, before.call);
    model_call_cancel(world.client, before.call);
    assert_int_equal(before.done, 0);
    world_wait(&world);
    assert_int_equal(before.done, 1);
    assert_int_equal(before.result.reason, FINISH_CANCELED);
    /* at the deadline */
    world.deadline_ms = 100;
    world_start(&world, &late, 1);
    world_wait(&world);
    assert_int_equal(late.result.reason, FINISH_CANCELED);
    assert_text(&late, "onetwothree");
    watched_finish(&inside);
    watched_finish(&before);
    watched_finish(&late);
    world_finish(&world);
}

static void model__merges_the_extra_body(void **state)
{
    (void)state;
    static const struct play plays[] = {GOOD};
    json_t *extra =
        json_pack("{s:f,s:n,s:{s:b}}", "temperature", 0.9, "top_k", "chat_template_kwargs", "enable_thinking", 0);
    const struct http_header headers[] = {{"X-Title", "fathom"}};
    struct world world;
    world_init(&world);
    world.options.extra_body = extra;
    world.options.headers = headers;
    world.options.n_headers = 1;
    struct world_server *server = world_serve(&world, plays, 1);
    world_client(&world);
    struct watched watched = world_complete(&world);
    assert_int_equal(watched.result.failure, MODEL_OK);
    json_t *temperature = server_sent(server, 0, "temperature"), *top_k = server_sent(server, 0, "top_k"),
           *template = server_sent(server, 0, "chat_template_kwargs");
    assert_true(json_real_value(temperature) == 0.9);
    assert_null(top_k);
    assert_true(json_is_false(json_object_get(template, "enable_thinking")));
    json_decref(temperature);
    json_decref(template);
    watched_finish(&watched);
    world_finish(&world);
    json_decref(extra);

    /* but it cannot replace the conversation */
    struct model_client *client;
    struct error error;
    struct openai_endpoint endpoint = {"http://127.0.0.1:1/v1", NULL};
    json_t *bad = json_pack("{s:[]}", "messages");
    struct openai_options options = {.endpoints = &endpoint, .n_endpoints = 1, .extra_body = bad};
    assert_int_equal(openai_client_create(&options, &client, &error), STATUS_INVALID);
    json_decref(bad);
}

static void model__sends_thought_back_in_the_field_the_server_uses(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        struct play first;
    } cases[] = {
        {"reasoning_content",
         {PLAY_SSE,
          .body = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"t\"}}]}\n\n" D("a") END("stop") DONE}},
        {"reasoning",
         {PLAY_SSE, .body = "data: {\"choices\":[{\"delta\":{\"reasoning\":\"t\"}}]}\n\n" D("a") END("stop") DONE}},
    };
    static const struct prompt_message forms[] = {
        {.role = MESSAGE_ASSISTANT, .wire = STR_INIT("done"), .wire_thought = STR_INIT("my\\nthought")},
        {.role = MESSAGE_ASSISTANT,
         .wire = STR_INIT("<think>my\\nthought</think>done"),
         .split_thought = STR_INIT("my\\nthought"),
         .split_rest = STR_INIT("done")},
    };
    for (size_t i = 0; i < COUNT(cases) * COUNT(forms); i++) {
        bool is_inline = i >= COUNT(cases);
        const char *field = cases[i % COUNT(cases)].field;
        const struct play plays[] = {
            cases[i % COUNT(cases)].first, GOOD,
            FAIL(400, "{\"error\":{\"message\":\"property 'reasoning' and 'reasoning_content' are unsupported\"}}"),
            GOOD};
        struct world world;
        struct world_server *server = world_play(&world, plays, COUNT(plays));
        struct watched watched = world_complete(&world);
        watched_finish(&watched);
        prompt_view_add(&world.view, MESSAGE_ASSISTANT, STR("x"));
        world.view.messages[world.view.count - 1] = forms[is_inline];
        prompt_view_add(&world.view, MESSAGE_USER, STR("more"));
        watched = world_complete(&world);
        char *expected = mem_printf("{\"role\":\"assistant\",\"content\":\"done\",\"%s\":\"my\\nthought\"}", field);
        assert_non_null(strstr(server->bodies[1], expected));
        free(expected);
        watched_finish(&watched);
        /* where it is refused, as it was written, and not at all when it was asked for in the field alone */
        watched = world_complete(&world);
        assert_int_equal(watched.result.failure, MODEL_OK);
        assert_int_equal(strstr(server->bodies[3], "<think>my\\nthought</think>done") != NULL, is_inline);
        assert_int_equal(strstr(server->bodies[3], "my\\nthought") != NULL, is_inline);
        watched_finish(&watched);
        world_finish(&world);
    }
}

static void model__writes_prompts_for_plain_completions(void **state)
{
    (void)state;
    static const struct play plays[] = {
        {PLAY_SSE, .body = "data: {\"choices\":[{\"text\":\"<think>a</think>\"}]}\n\ndata: "
                           "{\"choices\":[{\"text\":\"b\",\"finish_reason\":\"stop\"}]}\n\n" DONE}};
    struct world world;
    world_init(&world);
    world.options.completions = true;
    struct world_server *server = world_serve(&world, plays, 1);
    world_client(&world);
    struct watched watched = world_complete(&world);
    assert_text(&watched, "<think>a</think>b");
    assert_string_equal(server->paths[0], "/v1/completions");
    assert_non_null(strstr(server->bodies[0],
                           "\"prompt\":\"<|im_start|>system\\nbe \\\"good\\\"<|im_end|>\\n<|im_start|>user\\nquestion?"
                           "\\nyes<|im_end|>\\n<|im_start|>assistant\\n\"}"));
    json_t *stops = server_sent(server, 0, "stop");
    assert_string_equal(json_string_value(json_array_get(stops, 0)), "<tool_response>");
    assert_string_equal(json_string_value(json_array_get(stops, 2)), "<|im_end|>");
    json_decref(stops);
    watched_finish(&watched);
    world_finish(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model__streams_a_completion),
        cmocka_unit_test(model__reads_replies_of_every_form),
        cmocka_unit_test(model__retries_what_may_pass),
        cmocka_unit_test(model__survives_a_reset),
        cmocka_unit_test(model__gives_up_after_its_tries),
        cmocka_unit_test(model__keeps_retry_after),
        cmocka_unit_test(model__ends_at_final_refusals),
        cmocka_unit_test(model__leaves_out_refused_parameters),
        cmocka_unit_test(model__adapts_to_a_smaller_cap_and_no_system_role),
        cmocka_unit_test(model__reports_a_context_that_is_too_long),
        cmocka_unit_test(model__times_out_without_bytes),
        cmocka_unit_test(model__keeps_a_broken_completion_when_told_to),
        cmocka_unit_test(model__hands_on_what_stays),
        cmocka_unit_test(model__cancels_from_anywhere),
        cmocka_unit_test(model__merges_the_extra_body),
        cmocka_unit_test(model__sends_thought_back_in_the_field_the_server_uses),
        cmocka_unit_test(model__writes_prompts_for_plain_completions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
